//! What a thread keeps between calls.

use crate::deflate::{Compressor, Decompressor};
use crate::error::Error;

/// Bytes that libdeflate 1.26 allocates for a decompressor, rounded up: it does not tell.
const DECOMPRESSOR_BYTES: usize = 16 << 10;
/// Bytes that libdeflate 1.26 allocates for a compressor of the largest level, rounded up: it does not tell.
const COMPRESSOR_BYTES: usize = 9 << 20;

/// Contexts and buffers that a thread keeps between calls.
///
/// A default one has allocated nothing. Contexts are made when a codec first needs them, and buffers grow to the
/// longest stage that a [`Chain`](crate::Chain) promised, never beyond. After an error it is as usable as before.
#[derive(Default)]
pub struct Scratch {
    pub(crate) contexts: Contexts,
    pub(crate) buffers: Buffers,
}

/// The libraries' contexts.
#[derive(Default)]
pub(crate) struct Contexts {
    pub(crate) zstd_decompressor: Option<zstd_safe::DCtx<'static>>,
    pub(crate) zstd_compressor: Option<zstd_safe::CCtx<'static>>,
    pub(crate) decompressor: Option<Decompressor>,
    pub(crate) compressor: Option<Compressor>,
    /// What blosc has shuffled: one block before it is unshuffled, or a chunk before it is compressed.
    pub(crate) block: Vec<u8>,
    /// For the chain behind a filter.
    pub(crate) nested: Option<Box<Nested>>,
}

/// What the chain behind a filter needs for itself, so that it leaves alone what the chain around it holds.
#[derive(Default)]
pub(crate) struct Nested {
    pub(crate) scratch: Scratch,
    /// The elements between the filter and the chain behind it.
    pub(crate) elements: Vec<u8>,
}

impl Contexts {
    /// What the chain behind a filter needs, made when it is first asked for.
    pub(crate) fn nested(&mut self) -> &mut Nested {
        self.nested.get_or_insert_default()
    }
}

/// What lies between two stages: one holds the last stage's output while the other takes the next one's.
#[derive(Default)]
pub(crate) struct Buffers {
    pub(crate) first: Vec<u8>,
    pub(crate) second: Vec<u8>,
    /// What the last stage came to, where it goes behind something else.
    pub(crate) last: Vec<u8>,
}

impl Scratch {
    /// Bytes of memory that it holds; an upper bound where a library does not tell.
    #[must_use]
    pub fn allocated_bytes(&self) -> usize {
        let Contexts { zstd_decompressor, zstd_compressor, decompressor, compressor, block, nested } =
            &self.contexts;
        let nested = nested.as_ref();
        zstd_decompressor.as_ref().map_or(0, zstd_safe::DCtx::sizeof)
            + zstd_compressor.as_ref().map_or(0, zstd_safe::CCtx::sizeof)
            + decompressor.as_ref().map_or(0, |_| DECOMPRESSOR_BYTES)
            + compressor.as_ref().map_or(0, |_| COMPRESSOR_BYTES)
            + block.capacity()
            + nested.map_or(0, |nested| nested.scratch.allocated_bytes() + nested.elements.capacity())
            + self.buffers.first.capacity()
            + self.buffers.second.capacity()
            + self.buffers.last.capacity()
    }
}

/// The first `length` bytes of `buffer`, grown if they are not there; what they hold is not defined.
///
/// # Errors
///
/// `Internal` where there is no memory for them.
#[inline]
pub(crate) fn room(buffer: &mut Vec<u8>, length: usize) -> Result<&mut [u8], Error> {
    if buffer.len() < length {
        buffer.try_reserve_exact(length - buffer.len()).map_err(|_| no_memory(length))?;
        buffer.resize(length, 0);
    }
    Ok(&mut buffer[..length])
}

#[cold]
fn no_memory(length: usize) -> Error {
    Error::internal("chain", format!("wanted memory for {length} bytes of a chunk, found none"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_default_one_allocates_nothing_and_can_be_sent() {
        fn sendable<T: Send + 'static>(_: &T) {}
        let scratch = Scratch::default();
        sendable(&scratch);
        assert_eq!(scratch.allocated_bytes(), 0);
    }

    #[test]
    fn room_grows_and_never_shrinks() {
        let mut buffer = Vec::new();
        assert_eq!(room(&mut buffer, 10).unwrap().len(), 10);
        assert_eq!(room(&mut buffer, 4).unwrap().len(), 4);
        assert_eq!(buffer.len(), 10);
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        let mut buffer = vec![1; 10];
        let error = room(&mut buffer, usize::MAX).unwrap_err();
        assert_eq!((error.kind(), buffer.len()), (ErrorKind::Internal, 10));
    }
}
