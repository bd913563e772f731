//! Stored elements, some at a time, one behind the other in native byte order.

use super::super::tile::outside;
use crate::byte_swap::swap_into;
use crate::chain::DecodedChunk;
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

    /// So many elements, the first of them so many bytes from the chunk's start, the others each `stride` bytes from the one
    /// before.
    ///
    /// # Errors
    ///
    /// `Internal` where they lie outside what there is of the chunk.
    #[inline]
    pub(super) fn elements(&mut self, first: isize, stride: isize, count: usize) -> Result<&[u8], Error> {
        let (bytes, size) = (self.chunk.bytes, self.element_bytes);
        let found = usize::try_from(first).ok().and_then(|first| first.checked_sub(self.chunk.start));
        let Some(first) = found else { return Err(outside(bytes.len())) };
        let is_swapped = self.chunk.swap_unit_bytes.is_some();
        if usize::try_from(stride) == Ok(size) || count == 1 {
            let end = first.saturating_add(count.saturating_mul(size));
            let found = bytes.get(first..end).ok_or_else(|| outside(bytes.len()))?;
            if !is_swapped {
                return Ok(found);
            }
            self.make_room(count);
            let room = &mut self.room[..count * size];
            swap_into(found, room, size);
            return Ok(room);
        }
        self.make_room(count);
        let room = &mut self.room[..count * size];
        let gathered = match (size, is_swapped) {
            (1, _) => gather::<1, false>(bytes, first, stride, room),
            (2, false) => gather::<2, false>(bytes, first, stride, room),
            (4, false) => gather::<4, false>(bytes, first, stride, room),
            (8, false) => gather::<8, false>(bytes, first, stride, room),
            (2, true) => gather::<2, true>(bytes, first, stride, room),
            (4, true) => gather::<4, true>(bytes, first, stride, room),
            _ => gather::<8, true>(bytes, first, stride, room),
        };
        gathered.map(|()| &*room).ok_or_else(|| outside(bytes.len()))
    }

    fn make_room(&mut self, count: usize) {
        let len = count.saturating_mul(self.element_bytes);
        if self.room.len() < len {
            self.room.resize(len, 0);
        }
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
