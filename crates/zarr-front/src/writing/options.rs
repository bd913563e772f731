//! How a write is run.

use crate::{Error, ErrorKind};

/// What becomes of chunks of which every element is the fill value, bit for bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EmptyChunks {
    /// They are not stored, and removed where they were: zarr-python's `write_empty_chunks=False`.
    #[default]
    Omit,
    /// They are stored as all others.
    Store,
}

/// How a write is run.
#[derive(Clone, Copy, Default)]
pub struct WriteOptions<'a> {
    /// What becomes of chunks that hold nothing but the fill value. In a v2 array without a fill value there are none.
    pub empty_chunks: EmptyChunks,
    /// Whether chunks and shards are written past the page cache ([`Medium::put_past_cache`](swath_ioengine::Medium::put_past_cache)): of
    /// much data that nobody reads soon.
    pub past_cache: bool,
    /// Called on the calling thread between two objects; returning true ends the write, after which each object is either
    /// written whole or as it was.
    pub interrupt: Option<&'a dyn Fn() -> bool>,
    /// Called on the calling thread between two objects: how many of the write's objects have been begun, and how many
    /// there are.
    pub progress: Option<&'a dyn Fn(u64, u64)>,
}

impl WriteOptions<'_> {
    /// `Cancelled` where the interrupt says so.
    pub(super) fn check_interrupt(&self) -> Result<(), Error> {
        match self.interrupt.is_some_and(|interrupt| interrupt()) {
            true => Err(Error::new(ErrorKind::Cancelled, "the write was interrupted")),
            false => Ok(()),
        }
    }
}
