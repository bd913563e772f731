//! A chain of codecs, compiled once per array.

mod compile;
mod decode;
mod encode;
mod filtered;
mod optional;
mod stage;
mod variable;

use crate::layout::ChunkLayout;
use crate::reorder::Reorder;
pub use decode::DecodedChunk;
use stage::Stage;
pub use variable::{VariableChain, VariableChunk};

/// What decoding does with the checksums of `crc32c` and its like.
///
/// Those inside gzip, zlib and zstd streams are always checked, by the libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Checksums {
    /// Compares them: a chunk that does not match is an error.
    #[default]
    Verify,
    /// Passes them over.
    Skip,
}

/// A chain of codecs compiled for one chunk layout.
///
/// In encode order: any number of array->array codecs, one array->bytes codec, any number of bytes->bytes codecs. It
/// holds no buffers and is shared by all threads, each with its own [`Scratch`](crate::Scratch).
///
/// ```
/// use swath_codecs::{Chain, ChunkLayout, Codec, Element, NumberType, Scratch};
///
/// let layout = ChunkLayout { shape: vec![2, 2], element: Element::number(NumberType::UInt8) };
/// let transpose = Codec::from_v3("transpose", &serde_json::json!({"order": [1, 0]}))?;
/// let bytes = Codec::from_v3("bytes", &serde_json::Value::Null)?;
/// let chain = Chain::compile(&[transpose, bytes], &layout)?;
///
/// let mut chunk = [0; 4];
/// chain.decode_into(&[1, 2, 3, 4], &mut chunk, &mut Scratch::default())?;
/// assert_eq!(chunk, [1, 3, 2, 4]);
/// # Ok::<(), swath_codecs::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Chain {
    layout: ChunkLayout,
    decoded_len: usize,
    /// From the bytes that the array->bytes codec made to a C-order native chunk.
    to_native: Reorder,
    /// And back.
    to_stored: Reorder,
    /// Of each logical axis in those bytes.
    strides: Vec<usize>,
    /// Of each logical axis in a C-order chunk.
    native_strides: Vec<usize>,
    swap_unit_bytes: Option<usize>,
    /// What makes bytes of those bytes, in encode order: the bytes->bytes codecs, behind an array->bytes codec that is not
    /// `bytes`; or one filter, with the chain behind it.
    stages: Vec<Stage>,
    encoded_len_max: u64,
    encoded_len_fixed: Option<u64>,
    checksums: Checksums,
    phrases: Vec<String>,
}

impl Chain {
    /// The same chain with another treatment of checksums; a compiled one verifies.
    #[must_use]
    pub fn with_checksums(mut self, checksums: Checksums) -> Self {
        self.set_checksums(checksums);
        self
    }

    fn set_checksums(&mut self, checksums: Checksums) {
        self.checksums = checksums;
        for stage in &mut self.stages {
            stage.set_checksums(checksums);
        }
    }

    /// The layout that the chain was compiled for.
    #[must_use]
    pub fn layout(&self) -> &ChunkLayout {
        &self.layout
    }

    /// Bytes of a decoded chunk.
    #[must_use]
    #[inline]
    pub fn decoded_len(&self) -> usize {
        self.decoded_len
    }

    /// The most stored bytes that a sound chunk can have, by which callers bound their reads.
    ///
    /// An eighth and 4 KiB over the content for each compressor, more than any of the libraries makes.
    #[must_use]
    #[inline]
    pub fn encoded_len_max(&self) -> u64 {
        self.encoded_len_max
    }

    /// The most stored bytes that so many sound chunks have together.
    ///
    /// The 4 KiB that each compressor is allowed for are much for small chunks: of all but one chunk, 256 bytes of them count.
    #[must_use]
    pub fn encoded_len_max_of(&self, chunks: u64) -> u64 {
        let spare = self.spare_bytes();
        self.encoded_len_max.saturating_sub(spare).saturating_mul(chunks).saturating_add(spare)
    }

    /// What of [`encoded_len_max`](Self::encoded_len_max) chunks do not use that are small and many.
    fn spare_bytes(&self) -> u64 {
        self.stages.iter().map(Stage::spare_bytes).sum()
    }

    /// Stored bytes of every chunk where that is fixed: no compressor in the chain. Otherwise `None`.
    #[must_use]
    #[inline]
    pub fn encoded_len_fixed(&self) -> Option<u64> {
        self.encoded_len_fixed
    }

    /// Whether stored bytes are the C-order native chunk itself.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.stages.is_empty() && self.to_native.is_identity()
    }

    /// Whether the last stage of decoding writes a C-order native chunk straight into a target: no transpose, no swap
    /// and no checksum after the last decompression.
    ///
    /// True as well where the only work is one copy of the stored bytes. Where it is false,
    /// [`decode_view`](Self::decode_view) leaves the last copy to a caller that copies anyway.
    #[must_use]
    pub fn decodes_in_place(&self) -> bool {
        self.to_native.is_identity() && self.stages_write_target()
    }

    /// Bytes between neighbours along each logical axis of a stored chunk, where the stored bytes are its elements and
    /// nothing else, so that any part of them can be read alone: see [`view_part`](Self::view_part).
    #[must_use]
    #[inline]
    pub fn part_strides(&self) -> Option<&[usize]> {
        self.stages.is_empty().then_some(&self.strides)
    }

    /// One short phrase per codec, in encode order: `blosc(lz4, bitshuffle, level 5)`.
    #[must_use]
    pub fn describe(&self) -> Vec<String> {
        self.phrases.clone()
    }

    /// Whether the first stage in encode order, the last to decode, makes bytes of its own, or no stage does.
    fn stages_write_target(&self) -> bool {
        let first_copies = self.stages.first().is_some_and(|stage| !stage.is_view());
        first_copies || self.stages.iter().all(Stage::is_view)
    }
}
