//! Stored elements, some at a time, one behind the other in native byte order.

use super::super::tile::outside;
use crate::byte_swap::swap_into;
use crate::chain::DecodedChunk;
use crate::conversion::StoredRows;
use crate::error::Error;

/// The elements of a decoded chunk.
pub(super) struct Stored<'c> {
    chunk: DecodedChunk<'c>,
    element_bytes: usize,
    room: Vec<u8>,
}

impl<'c> Stored<'c> {
    /// Elements of so many bytes: 1, 2, 4 or 8.
    pub(super) fn new(chunk: &DecodedChunk<'c>, element_bytes: usize) -> Stored<'c> {
        Stored { chunk: *chunk, element_bytes, room: Vec::new() }
    }

    /// Some rows of elements, the first of them so many bytes from the chunk's start. Of each row and each element in it, the
    /// next one lies as many bytes behind it as `rows` and `row` say.
    ///
    /// # Errors
    ///
    /// `Internal` where they lie outside what there is of the chunk.
    #[inline(always)]
    pub(super) fn rows(&mut self, first: isize, rows: Spaced, row: Spaced) -> Result<StoredRows<'_>, Error> {
        let (bytes, size) = (self.chunk.bytes, self.element_bytes);
        let found = usize::try_from(first).ok().and_then(|first| first.checked_sub(self.chunk.start));
        let Some(first) = found else { return Err(outside(bytes.len())) };
        let is_run = usize::try_from(row.stride) == Ok(size) || row.count == 1;
        let row_bytes = row.count.saturating_mul(size);
        let stride = if rows.count == 1 { Some(row_bytes) } else { usize::try_from(rows.stride).ok() };
        if let Some(stride) = stride.filter(|_| is_run && self.chunk.swap_unit_bytes.is_none()) {
            let last = first.saturating_add(stride.saturating_mul(rows.count.saturating_sub(1)));
            let found =
                bytes.get(first..last.saturating_add(row_bytes)).ok_or_else(|| outside(bytes.len()))?;
            return Ok(StoredRows::new(found, stride, row_bytes));
        }
        self.gather(first, rows, row, is_run)?;
        Ok(StoredRows::new(&self.room, row_bytes, row_bytes))
    }

    /// Copies the rows' elements together, where they lie apart or are swapped.
    #[inline(never)]
    fn gather(&mut self, first: usize, rows: Spaced, row: Spaced, is_run: bool) -> Result<(), Error> {
        let row_bytes = row.count.saturating_mul(self.element_bytes);
        self.make_room(rows.count.saturating_mul(row.count));
        let mut at = first;
        for room in self.room.chunks_exact_mut(row_bytes.max(1)).take(rows.count) {
            let taken = take(&self.chunk, at, row, is_run, room);
            taken.ok_or_else(|| outside(self.chunk.bytes.len()))?;
            // Past the last one it may leave the chunk, and is not used.
            at = at.wrapping_add_signed(rows.stride);
        }
        Ok(())
    }

    fn make_room(&mut self, count: usize) {
        let len = count.saturating_mul(self.element_bytes);
        if self.room.len() < len {
            self.room.resize(len, 0);
        }
    }
}

/// So many things, so many bytes from each to the next.
#[derive(Clone, Copy)]
pub(super) struct Spaced {
    pub(super) count: usize,
    pub(super) stride: isize,
}

/// Fills `room` with a row of elements in native byte order; `None` where one lies outside the chunk.
fn take(chunk: &DecodedChunk<'_>, first: usize, row: Spaced, is_run: bool, room: &mut [u8]) -> Option<()> {
    let (bytes, is_swapped) = (chunk.bytes, chunk.swap_unit_bytes.is_some());
    let size = room.len() / row.count.max(1);
    if is_run {
        let found = bytes.get(first..first.checked_add(room.len())?)?;
        match is_swapped {
            true => swap_into(found, room, size),
            false => room.copy_from_slice(found),
        }
        return Some(());
    }
    match (size, is_swapped) {
        (1, _) => gather::<1, false>(bytes, first, row.stride, room),
        (2, false) => gather::<2, false>(bytes, first, row.stride, room),
        (4, false) => gather::<4, false>(bytes, first, row.stride, room),
        (8, false) => gather::<8, false>(bytes, first, row.stride, room),
        (2, true) => gather::<2, true>(bytes, first, row.stride, room),
        (4, true) => gather::<4, true>(bytes, first, row.stride, room),
        _ => gather::<8, true>(bytes, first, row.stride, room),
    }
}

/// Gathers elements of `N` bytes, reversed where they are swapped; `None` where one lies outside.
fn gather<const N: usize, const SWAPPED: bool>(
    bytes: &[u8],
    first: usize,
    stride: isize,
    room: &mut [u8],
) -> Option<()> {
    let mut at = first;
    for element in room.as_chunks_mut::<N>().0 {
        *element = *bytes.get(at..)?.first_chunk::<N>()?;
        if SWAPPED {
            element.reverse();
        }
        // Past the last one it may leave the chunk, and is not used.
        at = at.wrapping_add_signed(stride);
    }
    Some(())
}
