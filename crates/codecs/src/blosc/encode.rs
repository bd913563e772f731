//! Encodes a blosc buffer: of zstd by blocks of our own (`zstd_blocks.rs`), of others by c-blosc, whose blocks are arranged before.
//!
//! c-blosc shuffles by SSE2 unless all of it is compiled for AVX2 (docs/decisions/0003). Where this machine has kernels
//! for the elements, blocks are arranged here, c-blosc compresses them as they are, and the header is told how they were
//! arranged: the bytes are those that c-blosc alone comes to.

use super::NAME;
use super::arrange::{bitshuffle, has_kernels, shuffle};
use super::ffi::{self, Settings};
use super::header::{HEADER_BYTES, Header, mark_arranged};
use super::zstd_blocks;
use crate::error::Error;
use crate::scratch::{Contexts, room};

/// What is longer is left to c-blosc, which arranges block by block: arranged as a whole it would leave a core's
/// second-level cache, and take as much memory again.
const ARRANGED_BYTES_MAX: usize = 1 << 20;

/// MIN_BUFFERSIZE of blosc.c: shorter buffers are stored, and shorter blocks are made so long.
const BLOCK_BYTES_MIN: usize = 128;

/// BLOSC_MAX_TYPESIZE of blosc.h: larger elements are taken for bytes.
const ELEMENT_BYTES_MAX: usize = 255;

/// MAX_SPLITS of blosc.c: blocks of larger elements are not split into streams.
const SPLITS_MAX: usize = 16;

/// Encodes `source`, and puts it behind what `target` holds.
///
/// # Errors
///
/// `Internal` where c-blosc refuses the settings or the length, or there is no memory.
pub(super) fn encode(
    settings: &Settings,
    source: &[u8],
    target: &mut Vec<u8>,
    contexts: &mut Contexts,
) -> Result<(), Error> {
    let start = target.len();
    let is_compressed = settings.level != 0 && BLOCK_BYTES_MIN <= source.len();
    let is_arranged = is_compressed && is_arranged_here(settings);
    let is_plain = settings.shuffle == 0 && settings.element_bytes <= ELEMENT_BYTES_MAX;
    if settings.compressor == c"zstd" && is_compressed && (is_arranged || is_plain) {
        let block_bytes = block_bytes(settings, source.len());
        return zstd_blocks::encode(settings, block_bytes, source, target, contexts);
    }
    if is_arranged && source.len() <= ARRANGED_BYTES_MAX {
        let block_bytes = block_bytes(settings, source.len());
        let arranged = room(&mut contexts.block, source.len())?;
        for (block, arranged) in source.chunks(block_bytes).zip(arranged.chunks_mut(block_bytes)) {
            arrange(settings, block, arranged);
        }
        ffi::compress(&Settings { shuffle: 0, ..*settings }, arranged, target).ok_or_else(refused)?;
        let stored = &mut target[start..];
        let header = Header::parse(stored)?;
        if header.block_bytes == block_bytes {
            // What does not become shorter is stored, and that is not arranged.
            if header.is_stored {
                stored[HEADER_BYTES..].copy_from_slice(source);
            }
            mark_arranged(stored, settings.shuffle);
            return Ok(());
        }
        // Another version of c-blosc, which makes blocks of other lengths.
        target.truncate(start);
    }
    ffi::compress(settings, source, target).ok_or_else(refused)
}

/// Arranges a block that is shuffled by bytes or bits; both slices have one length.
pub(super) fn arrange(settings: &Settings, block: &[u8], arranged: &mut [u8]) {
    match settings.shuffle {
        1 => shuffle(settings.element_bytes, block, arranged),
        _ => bitshuffle(settings.element_bytes, block, arranged),
    }
}

/// Whether blocks are arranged, by kernels that are here.
fn is_arranged_here(settings: &Settings) -> bool {
    let is_shuffled = match settings.shuffle {
        0 => false,
        // c-blosc does not shuffle bytes of elements of one.
        1 => settings.element_bytes != 1,
        _ => true,
    };
    is_shuffled && has_kernels(settings.element_bytes)
}

/// The bytes of blocks that c-blosc cuts so many bytes into: `compute_blocksize` of blosc.c, for levels above 0.
fn block_bytes(settings: &Settings, len: usize) -> usize {
    const KIB: usize = 1 << 10;
    let Settings { element_bytes, .. } = *settings;
    let name = settings.compressor.to_bytes();
    let is_slow = matches!(name, b"lz4hc" | b"zlib" | b"zstd");
    let cached = if is_slow { 64 * KIB } else { 32 * KIB };
    let mut block = match (settings.block_bytes, settings.level) {
        (0, _) if len < 32 * KIB => len,
        (0, 1) => cached / 2,
        (0, 2) => cached,
        (0, 3) => cached * 2,
        (0, 4 | 5) => cached * 4,
        (0, 9) if is_slow => cached * 16,
        (0, _) => cached * 8,
        (asked, _) => asked.max(BLOCK_BYTES_MIN),
    };
    if name != b"zstd" && element_bytes <= SPLITS_MAX && BLOCK_BYTES_MIN <= block / element_bytes {
        block = (block.min(256 * KIB) * element_bytes).clamp(64 * KIB, 1024 * KIB);
    }
    let block = block.min(len);
    if element_bytes < block { block / element_bytes * element_bytes } else { block }
}

#[cold]
fn refused() -> Error {
    Error::internal(NAME, "wanted c-blosc to compress, found it to refuse")
}

#[cfg(test)]
mod tests {
    use super::super::decode::tests::{chunk, codec};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn bytes_equal_those_of_c_blosc(codec in codec(), chunk in chunk(), before in 0..3usize) {
            let settings = codec.settings(1).unwrap();
            let (mut found, mut wanted) = (vec![7; before], vec![7; before]);
            encode(&settings, &chunk, &mut found, &mut Contexts::default()).unwrap();
            ffi::compress(&settings, &chunk, &mut wanted).unwrap();
            prop_assert_eq!(found, wanted);
        }
    }

    /// Chunks of many blocks, of which some or all do not become shorter.
    #[test]
    fn long_chunks_are_those_of_c_blosc() {
        let mut state = 1u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        };
        for (noisy_blocks, shuffle, level) in
            [(0, 2, 1), (2, 2, 1), (3, 2, 3), (1, 1, 1), (2, 0, 5), (1, 2, 9)]
        {
            let chunk: Vec<u8> = (0..(3usize << 20) + 4104)
                .map(|at| if at >> 18 & 3 < noisy_blocks { noise() } else { (at / 600).to_le_bytes()[0] })
                .collect();
            for (block_bytes, element_bytes) in [(256 << 10, 4), (0, 8), (300_000, 2)] {
                let compressor = c"zstd";
                let settings = Settings { level, shuffle, element_bytes, block_bytes, compressor };
                let (mut found, mut wanted) = (vec![7], vec![7]);
                encode(&settings, &chunk, &mut found, &mut Contexts::default()).unwrap();
                ffi::compress(&settings, &chunk, &mut wanted).unwrap();
                assert!(found == wanted, "{noisy_blocks} {shuffle} {level} {block_bytes} {element_bytes}");
            }
        }
        let settings =
            Settings { level: 1, shuffle: 2, element_bytes: 4, block_bytes: 0, compressor: c"zstd" };
        let chunk: Vec<u8> = (0..2 << 20).map(|_| noise()).collect();
        let (mut found, mut wanted) = (Vec::new(), Vec::new());
        encode(&settings, &chunk, &mut found, &mut Contexts::default()).unwrap();
        ffi::compress(&settings, &chunk, &mut wanted).unwrap();
        assert!(found == wanted && Header::parse(&found).unwrap().is_stored);
    }

    /// Levels and lengths beyond those of the random chunks: what [`block_bytes`] has to know.
    #[test]
    fn blocks_are_as_long_as_those_of_c_blosc() {
        let source: Vec<u8> = (0..ARRANGED_BYTES_MAX).map(|at| (at / 6 % 251).to_le_bytes()[0]).collect();
        for level in 1..=9 {
            for compressor in [c"blosclz", c"lz4", c"lz4hc", c"zlib", c"zstd"] {
                for (element_bytes, block_bytes) in [(2, 0), (4, 0), (8, 0), (16, 0), (2, 1000), (4, 300_000)]
                {
                    for len in [128, 32_767, 32_768, 200_001, ARRANGED_BYTES_MAX] {
                        let settings = Settings { level, shuffle: 1, element_bytes, block_bytes, compressor };
                        let mut stored = Vec::new();
                        // The slow ones need not compress to cut.
                        ffi::compress(&settings, &source[..len], &mut stored).unwrap();
                        let header = Header::parse(&stored).unwrap();
                        assert_eq!(
                            header.block_bytes,
                            super::block_bytes(&settings, len),
                            "{level} {compressor:?}"
                        );
                    }
                }
            }
        }
    }
}
