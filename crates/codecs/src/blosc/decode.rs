//! Decodes a blosc buffer block by block, over the libraries that this crate binds anyway.
//!
//! c-blosc would do it too, but makes a zstd context and a temporary a call, and shuffles by SSE2 unless all of it is
//! compiled for AVX2 (docs/decisions/0003). It still decodes BloscLZ, a format that no other library has, and is the
//! oracle in the tests.

use super::arrange::{unbitshuffle, unshuffle};
use super::header::{Arrangement, BlockFormat, HEADER_BYTES, Header};
use super::{NAME, ffi};
use crate::deflate::{self, Format};
use crate::error::{Error, Wanted};
use crate::lz4;
use crate::scratch::{Contexts, room};
use crate::zstd::ZstdCodec;

/// MAX_SPLITS of blosc.c: elements of more bytes are not split into streams.
const SPLITS_MAX: usize = 16;
/// MIN_BUFFERSIZE of blosc.c: blocks of fewer elements are not split into streams.
const SPLIT_ELEMENTS_MIN: usize = 128;

/// Decodes the buffer that `header` was read from; `target` has its decoded length.
pub(super) fn decode(
    header: &Header,
    source: &[u8],
    target: &mut [u8],
    contexts: &mut Contexts,
) -> Result<(), Error> {
    let source = &source[..header.stored_len];
    if header.decoded_len == 0 {
        return Ok(());
    }
    if header.is_stored {
        let content = &source[HEADER_BYTES..];
        if content.len() != target.len() {
            return Err(Error::wrong_length(NAME, Wanted::Exactly(target.len()), content.len() as u64));
        }
        target.copy_from_slice(content);
        return Ok(());
    }
    if header.format == BlockFormat::BloscLz {
        return match ffi::decompress(header, source, target) {
            Some(written) => Wanted::Exactly(target.len()).check(NAME, written),
            None => Err(Error::corrupt(NAME, "wanted sound blosclz blocks, found none")),
        };
    }
    let mut staging = std::mem::take(&mut contexts.block);
    let result = decode_blocks(header, source, target, &mut staging, contexts);
    contexts.block = staging;
    result
}

fn decode_blocks(
    header: &Header,
    source: &[u8],
    target: &mut [u8],
    staging: &mut Vec<u8>,
    contexts: &mut Contexts,
) -> Result<(), Error> {
    for (index, block) in target.chunks_mut(header.block_bytes).enumerate() {
        // The table of starts follows the header.
        let start = length_at(source, HEADER_BYTES + 4 * index)?;
        let streams = source.get(start..).ok_or_else(|| past_end(source, start))?;
        // c-blosc leaves a last block of fewer bytes unsplit, and a block of less than an element unshuffled.
        let is_whole = block.len() == header.block_bytes;
        let stream_count = stream_count(header, is_whole);
        match header.arrangement {
            Arrangement::Plain => decode_streams(header, streams, block, stream_count, contexts)?,
            Arrangement::Shuffled => {
                let staging = room(staging, block.len())?;
                decode_streams(header, streams, staging, stream_count, contexts)?;
                unshuffle(header.element_bytes, staging, block);
            }
            Arrangement::BitShuffled => {
                let staging = room(staging, block.len())?;
                decode_streams(header, streams, staging, stream_count, contexts)?;
                unbitshuffle(header.element_bytes, staging, block);
            }
        }
    }
    Ok(())
}

/// How many streams a block is: one for each byte of the element, or one.
fn stream_count(header: &Header, is_whole: bool) -> usize {
    let is_split = !header.is_unsplit
        && is_whole
        && header.element_bytes <= SPLITS_MAX
        && SPLIT_ELEMENTS_MIN <= header.block_bytes / header.element_bytes;
    if is_split { header.element_bytes } else { 1 }
}

/// Decodes the streams of one block, each with its length before it, to all of `block`.
fn decode_streams(
    header: &Header,
    mut streams: &[u8],
    block: &mut [u8],
    stream_count: usize,
    contexts: &mut Contexts,
) -> Result<(), Error> {
    let stream_bytes = block.len() / stream_count;
    if stream_bytes * stream_count != block.len() {
        return Err(Error::corrupt(
            NAME,
            format!("wanted blocks of whole elements of {stream_count} bytes, found one of {}", block.len()),
        ));
    }
    for part in block.chunks_exact_mut(stream_bytes) {
        let stored_len = length_at(streams, 0)?;
        let (stream, rest) = match streams.get(4..).and_then(|rest| rest.split_at_checked(stored_len)) {
            Some(parts) => parts,
            None => return Err(past_end(streams, stored_len)),
        };
        if stored_len == stream_bytes {
            part.copy_from_slice(stream);
        } else {
            let written = decode_stream(header.format, stream, part, contexts)?;
            Wanted::Exactly(stream_bytes).check(NAME, written)?;
        }
        streams = rest;
    }
    Ok(())
}

/// Decodes one stream to the front of `target`; returns the bytes written.
fn decode_stream(
    format: BlockFormat,
    stream: &[u8],
    target: &mut [u8],
    contexts: &mut Contexts,
) -> Result<usize, Error> {
    let wanted = Wanted::Exactly(target.len());
    match format {
        BlockFormat::Lz4 => lz4::decompress_block(stream, target).ok_or_else(|| {
            Error::corrupt(NAME, format!("wanted a sound lz4 block of {wanted} bytes, found none"))
        }),
        BlockFormat::Zstd => ZstdCodec::decode(stream, target, wanted, &mut contexts.zstd_decompressor),
        BlockFormat::Zlib => {
            let progress =
                deflate::decode(NAME, Format::Zlib, stream, target, wanted, &mut contexts.decompressor)?;
            Ok(progress.written)
        }
        BlockFormat::Snappy => snap::raw::Decoder::new().decompress(stream, target).map_err(|error| {
            Error::corrupt(NAME, format!("wanted a sound snappy block of {wanted} bytes: {error}"))
        }),
        BlockFormat::BloscLz => Err(Error::unsupported(NAME, "wanted another format than blosclz here")),
    }
}

/// The little-endian length of four bytes at `at`.
fn length_at(bytes: &[u8], at: usize) -> Result<usize, Error> {
    let length = bytes.get(at..).and_then(|bytes| bytes.first_chunk::<4>());
    match length.map(|length| usize::try_from(u32::from_le_bytes(*length))) {
        Some(Ok(length)) => Ok(length),
        _ => Err(past_end(bytes, at)),
    }
}

#[cold]
fn past_end(bytes: &[u8], at: usize) -> Error {
    Error::corrupt(NAME, format!("wanted offsets and lengths within {} bytes, found {at}", bytes.len()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{BloscCodec, BloscCompressor, BloscShuffle};
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn codec() -> impl Strategy<Value = BloscCodec> {
        (
            prop::sample::select(vec![
                BloscCompressor::Lz4,
                BloscCompressor::Lz4Hc,
                BloscCompressor::Zlib,
                BloscCompressor::Zstd,
                BloscCompressor::BloscLz,
            ]),
            prop::sample::select(vec![BloscShuffle::None, BloscShuffle::Byte, BloscShuffle::Bit]),
            0..=9,
            prop::sample::select(vec![0, 128, 500, 1024, 4096, 65_536]),
            1..34usize,
        )
            .prop_map(|(compressor, shuffle, level, block_bytes, element_bytes)| BloscCodec {
                compressor,
                shuffle,
                level,
                block_bytes,
                element_bytes: Some(element_bytes),
            })
    }

    pub(crate) fn chunk() -> impl Strategy<Value = Vec<u8>> {
        (any::<u32>(), 0..20_000u32, 0..8u32).prop_map(|(seed, length, noise_bits)| {
            let mut state = seed;
            (0..length)
                .map(|index| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let [noise, ..] = state.to_be_bytes().map(|byte| byte & ((1 << noise_bits) - 1));
                    (index / 6).to_le_bytes()[0] ^ noise
                })
                .collect()
        })
    }

    /// By c-blosc, whole.
    fn oracle(source: &[u8], length: usize) -> Option<Vec<u8>> {
        let header = Header::parse(source).ok().filter(|header| header.decoded_len == length)?;
        let mut target = vec![0; length];
        (ffi::decompress(&header, source, &mut target)? == length).then_some(target)
    }

    fn ours(source: &[u8], length: usize, contexts: &mut Contexts) -> Option<Vec<u8>> {
        let mut target = vec![0xA5; length];
        BloscCodec::decode(source, &mut target, Wanted::Exactly(length), contexts).ok()?;
        Some(target)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn equals_c_blosc(codec in codec(), chunk in chunk()) {
            let mut stored = Vec::new();
            codec.encode(1, &chunk, &mut stored, &mut Contexts::default()).unwrap();
            let mut contexts = Contexts::default();
            prop_assert_eq!(oracle(&stored, chunk.len()), Some(chunk.clone()));
            prop_assert_eq!(ours(&stored, chunk.len(), &mut contexts), Some(chunk));
        }

        #[test]
        fn refuses_what_c_blosc_refuses(
            codec in codec(),
            chunk in chunk(),
            damage in prop::collection::vec((0..60usize, any::<u8>()), 1..3),
        ) {
            let mut stored = Vec::new();
            codec.encode(1, &chunk, &mut stored, &mut Contexts::default()).unwrap();
            for (at, value) in damage {
                if let Some(byte) = stored.get_mut(at) {
                    *byte = value;
                }
            }
            let oracle = oracle(&stored, chunk.len());
            if let Some(decoded) = ours(&stored, chunk.len(), &mut Contexts::default()) {
                // zlib refuses distances past the window that a stream states, which libdeflate does not; other
                // bytes are never allowed.
                let may_refuse = codec.compressor == BloscCompressor::Zlib;
                prop_assert!(oracle.as_ref() == Some(&decoded) || (may_refuse && oracle.is_none()));
            }
        }
    }

    #[test]
    fn snappy_blocks_decode() {
        // Made by hand: c-blosc is built without snappy.
        let chunk: Vec<u8> = (0..512u32).map(|index| (index / 5).to_le_bytes()[0]).collect();
        let stream = snap::raw::Encoder::new().compress_vec(&chunk).unwrap();
        let mut stored = vec![2, 1, 0x50, 1];
        for length in [512, 512, 16 + 4 + 4 + stream.len(), 20, stream.len()] {
            stored.extend_from_slice(&u32::try_from(length).unwrap().to_le_bytes());
        }
        stored.extend_from_slice(&stream);
        assert_eq!(ours(&stored, 512, &mut Contexts::default()), Some(chunk));
        stored.truncate(stored.len() - 1);
        assert_eq!(ours(&stored, 512, &mut Contexts::default()), None);
    }
}
