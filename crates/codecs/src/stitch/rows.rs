//! Rows of a tile, handed out as slices.

use super::copy::Loop;
use super::output::Output;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Some rows of one tile of an output.
pub(super) struct Rows<'a> {
    start: NonNull<u8>,
    rows: [&'a mut [u8]; ROWS_AT_ONCE],
}

/// The memory of an output, for whoever has claimed a tile of it.
pub(super) struct TileMemory<'a> {
    start: NonNull<u8>,
    output: PhantomData<&'a Output<'a>>,
}

impl<'a> TileMemory<'a> {
    pub(super) fn new(output: &'a Output<'a>) -> TileMemory<'a> {
        TileMemory { start: output.start, output: PhantomData }
    }

    /// So many bytes, the first of them `at` bytes from the output's start.
    ///
    /// # Safety
    ///
    /// They lie within a tile that the caller has claimed.
    #[expect(unsafe_code, reason = "hands out the claimed bytes")]
    #[inline]
    pub(super) unsafe fn bytes(&mut self, at: usize, len: usize) -> &mut [u8] {
        // SAFETY: within a tile, and the tile within the output.
        let start = unsafe { self.start.add(at) };
        // SAFETY: initialised bytes of a tile, which its claim alone may touch; what was handed out before is not used any
        // more, as it borrows from this.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), len) }
    }
}

/// Rows that are handed out at a time.
const ROWS_AT_ONCE: usize = 32;

impl<'a> Rows<'a> {
    pub(super) fn new(output: &'a Output<'a>) -> Rows<'a> {
        Rows { start: output.start, rows: std::array::from_fn(|_| Default::default()) }
    }

    /// Hands the rows of one loop, of `run_bytes` each, to `copy`, with where the first one starts in the chunk, and how far
    /// apart they start there.
    ///
    /// # Safety
    ///
    /// Every row, from `target` in the output on, lies within a tile that the caller has claimed, and was not handed out
    /// before.
    #[expect(unsafe_code, reason = "hands out the claimed bytes, some rows at a time")]
    pub(super) unsafe fn hand_out<E>(
        &mut self,
        (source, target): (usize, usize),
        run: Loop,
        run_bytes: usize,
        copy: &mut impl FnMut(usize, usize, &mut [&mut [u8]]) -> Result<(), E>,
    ) -> Result<(), E> {
        // Rows that go backwards in the chunk are copied one by one.
        let (stride, at_once) = match usize::try_from(run.source_stride) {
            Ok(stride) => (stride, ROWS_AT_ONCE),
            Err(_) => (0, 1),
        };
        let (mut done, mut at) = (0, target);
        while done < run.count {
            let count = at_once.min(run.count - done);
            for row in &mut self.rows[..count] {
                // SAFETY: the row lies within the tile, and the tile within the output.
                let memory = unsafe { self.start.add(at) };
                // SAFETY: the row's bytes are initialised and belong to the tile, which this claim alone may touch; the
                // rows of a tile are disjoint, and each is handed out once.
                *row = unsafe { std::slice::from_raw_parts_mut(memory.as_ptr(), run_bytes) };
                // Past the last row it may leave the output, and is not used.
                at = at.wrapping_add(run.target_stride);
            }
            let from = source.wrapping_add_signed(run.source_stride.wrapping_mul(signed(done)));
            copy(from, stride, &mut self.rows[..count])?;
            done += count;
        }
        Ok(())
    }
}

/// Counts of elements in memory fit.
fn signed(count: usize) -> isize {
    isize::try_from(count).unwrap_or(isize::MAX)
}
