//! What a planned window asks of its open object: looked at once, before it is decided how the window is read.

use super::serve::SERVED_BYTES_MAX;
use crate::storage_len;
use crate::window::WindowStorage;

/// What a window wants.
pub(super) struct Demand {
    /// Bytes of all its reads.
    pub(super) bytes: u64,
    /// Bytes of the pages that they touch, one read at a time: what the page cache would take in.
    pub(super) page_bytes: u64,
    /// Whether each of the reads can be served from bytes that are there already.
    pub(super) is_servable: bool,
}

const PAGE_BYTES: u64 = 4096;

impl Demand {
    /// Of an object of `size` bytes. Reads that lie outside it want nothing.
    pub(super) fn of(storage: &WindowStorage, size: u64) -> Demand {
        let mut demand = Demand { bytes: 0, page_bytes: 0, is_servable: true };
        for read in &storage.reads {
            let (offset, len) = read.range.resolve(size).unwrap_or((0, 0));
            let is_small = len <= storage_len(SERVED_BYTES_MAX);
            demand.is_servable &= is_small || read.takes_pieces || read.target.is_some();
            let pages = (offset % PAGE_BYTES).saturating_add(len).div_ceil(PAGE_BYTES);
            demand.bytes = demand.bytes.saturating_add(len);
            demand.page_bytes = demand.page_bytes.saturating_add(pages.saturating_mul(PAGE_BYTES));
        }
        demand
    }
}
