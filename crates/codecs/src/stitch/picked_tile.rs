//! Filling tiles whose elements are picked one by one.

use super::copy::{Loop, LoopNest, copy_nest, copy_nest_swapped};
use super::cut_axis::CutAxis;
use super::output::memory;
use super::pick_nest::{PickNest, PickedLoop, Step, copy_picks};
use super::picked::{Along, CutView, view_of};
use super::picks::{Picks, Run};
use super::rows::Rows;
use super::tile::{Reach, Tile, divide, outside};
use crate::chain::DecodedChunk;
use crate::error::Error;

/// The part of a chunk that there is: where it starts, and its bytes.
type Part = (usize, usize);

/// How a tile of picks is copied.
#[expect(clippy::large_enum_variant, reason = "made once a tile, where an allocation would cost more")]
enum Copy<'a> {
    /// By loops, from these places in the part of the chunk and in the output on.
    Nest(PickNest<'a>, usize, usize),
    /// Row by row of the chunk: picks number its elements in another order than they are stored.
    Rows(PickedRows<'a>),
}

/// Picks of a chunk, along the rows that its elements have.
struct PickedRows<'a> {
    runs: &'a [Run],
    shape: &'a [u64],
    strides: &'a [usize],
    element_bytes: usize,
    target: usize,
    part: Part,
}

impl<'a> Tile<'a> {
    /// [`Tile::write`] of picks.
    #[expect(unsafe_code, reason = "writes to the claimed bytes")]
    #[inline(never)]
    pub(super) fn write_picked(self, chunk: &DecodedChunk<'_>) -> Result<(), Error> {
        let (source, target) = (chunk.bytes.as_ptr(), self.output.start.as_ptr());
        match self.picked_copy(chunk.strides, (chunk.start, chunk.bytes.len()))? {
            Copy::Nest(nest, first, at) => {
                let source = source.wrapping_add(first);
                // SAFETY: the tile's elements lie within the output: `Output::push_cuts` and `push_points` made room.
                let target = unsafe { target.add(at) };
                // SAFETY: every combination reads within the bytes, as `picked_copy` has checked, and writes the tile's own
                // bytes, which this claim alone may write; chunk and output are distinct borrows. `Tile::write` has checked
                // the unit.
                unsafe { copy_picks(source, target, &nest, chunk.swap_unit_bytes) };
                Ok(())
            }
            Copy::Rows(rows) => rows.each(|from, to, row| {
                let mut nest = LoopNest::<1>::new(rows.element_bytes);
                nest.push(row);
                let source = source.wrapping_add(from);
                // SAFETY: as above.
                let target = unsafe { target.add(to) };
                match chunk.swap_unit_bytes {
                    // SAFETY: as above: `PickedRows::each` has checked the row.
                    None => unsafe { copy_nest(source, target, &nest) },
                    // SAFETY: as above.
                    Some(unit_bytes) => unsafe { copy_nest_swapped(source, target, &nest, unit_bytes) },
                }
                Ok(())
            }),
        }
    }

    /// [`Tile::fill_rows`] of picks.
    #[expect(unsafe_code, reason = "hands out the claimed bytes, some rows at a time")]
    #[inline(never)]
    pub(super) fn fill_picked_rows<E: From<Error>>(
        self,
        strides: &[usize],
        part: Part,
        copy: &mut impl FnMut(usize, usize, &mut [&mut [u8]]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rows = Rows::new(self.output);
        match self.picked_copy(strides, part)? {
            Copy::Nest(nest, first, target) => nest.each_rows(first, target, |from, to, row, run_bytes| {
                // SAFETY: the nest's rows are the tile's, which this claim alone may touch, and it has each of them once.
                unsafe { rows.hand_out((from, to), row, run_bytes, copy) }
            }),
            Copy::Rows(picked) => picked.each(|from, to, row| {
                // SAFETY: as above: each pick has a place of its own in the output.
                unsafe { rows.hand_out((from, to), row, picked.element_bytes, copy) }
            }),
        }
    }

    /// How to copy the tile out of a part of a chunk, whose elements are `strides` apart.
    fn picked_copy<'s>(&self, strides: &'s [usize], part: Part) -> Result<Copy<'s>, Error>
    where
        'a: 's,
    {
        if strides.len() != self.axes.len() {
            return Err(outside(part.1));
        }
        let picked = self.output.picked(self.result);
        if let [place] = picked
            && let Along::Chunk(shape) = &place.along
        {
            return self.point_copy(&place.picks, shape, strides, part).ok_or_else(|| outside(part.1));
        }
        self.axes_copy(strides, part).ok_or_else(|| outside(part.1))
    }

    /// How to copy a tile of picks from anywhere in a chunk; `None` where they lie outside the part of it.
    fn point_copy<'s>(
        &self,
        picks: &'a Picks,
        shape: &'a [u64],
        strides: &'s [usize],
        part: Part,
    ) -> Option<Copy<'s>>
    where
        'a: 's,
    {
        let (element_bytes, runs) = (self.output.element_bytes, picks.runs_of(self.number));
        let Some(stride) = common_stride(shape, strides) else {
            let target = self.target;
            return Some(Copy::Rows(PickedRows { runs, shape, strides, element_bytes, target, part }));
        };
        let (low, high) = picks.reach(self.number);
        let bytes = |element: u64| usize::try_from(element).ok()?.checked_mul(stride);
        let first = bytes(low)?.checked_sub(part.0)?;
        let end = bytes(high)?.checked_sub(part.0)?.checked_add(element_bytes)?;
        let mut nest = PickNest::new(element_bytes);
        let lowest = u32::try_from(low).ok()?;
        nest.push(Step::Picked(PickedLoop {
            runs,
            lowest,
            source_stride: stride,
            target_stride: element_bytes,
        }));
        (end <= part.1).then_some(Copy::Nest(nest, first, self.target))
    }

    /// How to copy a tile of picks along some axes; `None` where they lie outside the part of the chunk.
    fn axes_copy(&self, strides: &[usize], part: Part) -> Option<Copy<'a>> {
        let picked = self.output.picked(self.result);
        let mut nest = PickNest::new(self.output.element_bytes);
        let (mut first, mut low, mut high) = (0isize, 0isize, 0isize);
        let (mut target, mut rest) = (self.target, self.number);
        for (axis, stride) in strides.iter().enumerate().rev() {
            let (view, target_stride) = (view_of(picked, self.axes, axis), self.axes[axis].target_stride);
            let position;
            (rest, position) = divide(rest, view.tile_count());
            let (step, reach, start) = match view {
                CutView::Stepped(cut) => stepped(cut, position, *stride, target_stride)?,
                CutView::Picked(picks) => along(picks, position, *stride, target_stride)?,
            };
            first = first.checked_add(reach.first)?;
            low = low.checked_add(reach.low)?;
            high = high.checked_add(reach.high)?;
            target += start;
            nest.push(step);
        }
        let within = |place: isize| usize::try_from(place).ok()?.checked_sub(part.0);
        let end = within(high)?.checked_add(self.output.element_bytes)?;
        within(low)?;
        let first = within(first)?;
        (end <= part.1).then_some(Copy::Nest(nest, first, target))
    }
}

/// The loop of a tile along an axis, how far it reaches in the chunk, and where in the result it starts.
fn stepped<'a>(
    cut: &CutAxis,
    position: u64,
    stride: usize,
    target_stride: usize,
) -> Option<(Step<'a>, Reach, usize)> {
    let tile = cut.tile(position);
    let reach = Reach::new(stride, cut.step(), &tile)?;
    let rows = Loop { count: memory(tile.count), source_stride: reach.stride, target_stride };
    Some((Step::Strided(rows), reach, memory(tile.target_start) * target_stride))
}

/// The same of picks along an axis, whose places in the result are told with each.
fn along(
    picks: &Picks,
    position: u64,
    stride: usize,
    target_stride: usize,
) -> Option<(Step<'_>, Reach, usize)> {
    let (low, high) = picks.reach(position);
    let stride = isize::try_from(stride).ok()?;
    let bytes = |element: u64| isize::try_from(element).ok()?.checked_mul(stride);
    let (first, last) = (bytes(low)?, bytes(high)?);
    let picked = PickedLoop {
        runs: picks.runs_of(position),
        lowest: u32::try_from(low).ok()?,
        source_stride: stride.cast_unsigned(),
        target_stride,
    };
    Some((Step::Picked(picked), Reach { first, low: first, high: last, stride }, 0))
}

/// Bytes from each element of a chunk to the next one in C order, where they are the same all over the chunk.
fn common_stride(shape: &[u64], strides: &[usize]) -> Option<usize> {
    let (mut common, mut elements) = (None, 1usize);
    for (extent, stride) in shape.iter().zip(strides).rev().filter(|(extent, _)| 1 < **extent) {
        let common = *common.get_or_insert(*stride);
        if common.checked_mul(elements) != Some(*stride) {
            return None;
        }
        elements = elements.checked_mul(usize::try_from(*extent).ok()?)?;
    }
    Some(common.unwrap_or(0))
}

impl PickedRows<'_> {
    /// Calls `copy` with each row of picks: its first place in the part of the chunk and in the output, and its loop.
    fn each<E: From<Error>>(
        &self,
        mut copy: impl FnMut(usize, usize, Loop) -> Result<(), E>,
    ) -> Result<(), E> {
        let row_len = self.shape.last().copied().unwrap_or(1).max(1);
        let row_stride = self.strides.last().copied().unwrap_or(0);
        for run in self.runs {
            let (mut element, mut left) = (u64::from(run.source), u64::from(run.count));
            let mut target = self.target.wrapping_add((run.target as usize).wrapping_mul(self.element_bytes));
            while left != 0 {
                let count = memory(left.min(row_len - element % row_len));
                let found = self.place(element, count, row_stride);
                let from = found.ok_or_else(|| outside(self.part.1))?;
                let source_stride = row_stride.cast_signed();
                copy(from, target, Loop { count, source_stride, target_stride: self.element_bytes })?;
                (element, left) = (element + count as u64, left - count as u64);
                target = target.wrapping_add(count * self.element_bytes);
            }
        }
        Ok(())
    }

    /// Where an element starts in the part of the chunk; `None` where it, or one of as many in its row, lies outside.
    fn place(&self, element: u64, count: usize, row_stride: usize) -> Option<usize> {
        let (mut rest, mut at) = (element, 0usize);
        for (extent, stride) in self.shape.iter().zip(self.strides).rev() {
            let position;
            (rest, position) = divide(rest, *extent);
            at = at.checked_add(memory(position).checked_mul(*stride)?)?;
        }
        // What is left of it counts chunks: there are no such elements.
        let at = (rest == 0).then_some(at)?;
        let from = at.checked_sub(self.part.0)?;
        let last = from.checked_add((count - 1).checked_mul(row_stride)?)?;
        (last.checked_add(self.element_bytes)? <= self.part.1).then_some(from)
    }
}
