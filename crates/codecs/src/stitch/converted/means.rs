//! Tiles whose elements become means of blocks.

use super::super::copy::{Loop, RANK_MAX};
use super::super::output::memory;
use super::super::picks::Run;
use super::super::rows::{Rows, TileMemory};
use super::super::tile::{Tile, outside};
use super::fold::{average, fold};
use super::nest::{Place, Step, Strided, TileAxis};
use super::seams::{Seams, Share};
use super::stored::{Spaced, Stored};
use crate::chain::DecodedChunk;
use crate::conversion::{BLOCK, Blocks, ChannelRow, CompiledConversion, Floats, NanMeans, ROWS_MAX, Working};
use crate::error::Error;
use std::ops::Range;

mod block_rows;
mod cut_blocks;
use block_rows::BlockRows;

/// Blocks along the last axis that are worked on at a time.
const ROW: usize = 128;

/// A tile on its way to means.
struct Means<'t, 'c, W> {
    floats: &'t Floats<W>,
    axes: Vec<MeanAxis<'t>>,
    seams: Option<&'t Seams>,
    stored: Stored<'c>,
    memory: TileMemory<'t>,
    rows: Rows<'t>,
    target_bytes: usize,
    /// Elements of a block.
    full: f64,
    /// Whether sums of a block's values are exact in `W`.
    is_exact: bool,
    blocks: Blocks<W>,
    /// The means of some rows of blocks.
    means: Blocks<W>,
    sums: [f64; ROW],
    /// `None` where every element counts.
    counts: Option<[f64; ROW]>,
    /// The blocks along the outer axes that rows lie in.
    cell: Cell,
}

/// One axis of the tile.
struct MeanAxis<'t> {
    axis: TileAxis<'t>,
    factor: usize,
}

/// Elements along the last axis.
struct Row {
    /// The first one's place along the axis of the result.
    low: usize,
    tile: usize,
    factor: usize,
    step: Strided,
}

/// Some elements of a row.
struct Piece<'r> {
    row: &'r Row,
    /// Elements of the first one's block that lie before it.
    before: usize,
    count: usize,
}

/// The blocks along the outer axes that a row lies in.
struct Cell {
    /// The first axis along which the block lies in several chunks.
    cut: Option<usize>,
    /// The places of its share, see [`Seams`].
    at: [usize; RANK_MAX],
    /// Which elements of the tile along each axis the block has: their loop, and from where on.
    loops: [Strided; RANK_MAX],
}

impl Tile<'_> {
    /// Fills the tile's blocks with their means, and keeps its share of those that lie in other chunks as well. The last tile
    /// of a result makes the means of these.
    pub(super) fn write_means<W: Working>(
        self,
        chunk: &DecodedChunk<'_>,
        conversion: &CompiledConversion,
        floats: &Floats<W>,
    ) -> Result<(), Error> {
        if chunk.strides.len() != self.axes.len() {
            return Err(outside(chunk.bytes.len()));
        }
        let (factors, target) = (&conversion.factors, self.target);
        let (mut axes, mut first) = (Vec::with_capacity(factors.len()), Place { target, ..Place::default() });
        let laid = self.converted_axes(chunk.strides, conversion.channels.as_ref(), |number, axis| {
            first = first.plus(axis.first);
            axes.push(MeanAxis { axis, factor: factors.get(number).copied().unwrap_or(1) });
        });
        laid.ok_or_else(|| outside(chunk.bytes.len()))?;
        axes.reverse();
        let is_counted = conversion.nan_means == NanMeans::Skip;
        let mut means = Means {
            floats,
            axes,
            seams: self.output.seams(self.result),
            stored: Stored::new(chunk, conversion.source.size_bytes()),
            memory: TileMemory::new(self.output),
            rows: Rows::new(self.output),
            target_bytes: self.output.element_bytes,
            full: factors.iter().map(|factor| *factor as f64).product(),
            is_exact: conversion.has_exact_sums(),
            blocks: Blocks::default(),
            means: Blocks::default(),
            sums: [0.0; ROW],
            counts: is_counted.then_some([0.0; ROW]),
            cell: Cell { cut: None, at: [0; RANK_MAX], loops: [Strided::default(); RANK_MAX] },
        };
        means.outer(0, first)?;
        let tile_count = self.output.tile_count(self.result);
        if let Some(seams) = means.seams.filter(|seams| seams.end_tile(tile_count)) {
            let strides: Vec<usize> = self.axes.iter().map(|axis| axis.target_stride).collect();
            means.finish_cut_blocks(seams, target, &strides);
        }
        Ok(())
    }
}

impl<W: Working> Means<'_, '_, W> {
    /// Walks the blocks along an axis, and those that follow.
    fn outer(&mut self, axis: usize, place: Place) -> Result<(), Error> {
        if axis + 1 == self.axes.len() {
            return self.last(place);
        }
        let MeanAxis { axis: TileAxis { step, low, tile, .. }, factor } = &self.axes[axis];
        let (step, low, tile, factor) = (*step, *low, memory(*tile), *factor);
        let cut = self.cell.cut;
        match step {
            Step::Picked(runs, steps) => runs.iter().try_for_each(|run| {
                let (first, elements) = steps.run(place, run);
                (0..elements.count).try_for_each(|number| {
                    let block = (run.target as usize).saturating_add(number);
                    self.enter(cut, axis, (block, 0), Strided { count: 1, ..steps });
                    self.outer(axis + 1, first.after(number, &elements))
                })
            }),
            Step::Strided(steps) => {
                let end = low + steps.count;
                let mut block = low / factor;
                while block < end.div_ceil(factor) {
                    let (from, to) = ((block * factor).max(low), ((block + 1) * factor).min(end));
                    self.enter(cut, axis, (block, tile), Strided { count: to - from, ..steps });
                    let Place { source, channel, .. } = place.after(from - low, &steps);
                    let target = place.target.wrapping_add(block.wrapping_mul(steps.target));
                    let place = Place { source, target, channel };
                    let rows = BlockRows { block, end: end / factor, tile, step: steps };
                    let done = if axis + 2 == self.axes.len() { self.block_rows(place, &rows)? } else { 0 };
                    if done == 0 {
                        self.outer(axis + 1, place)?;
                    }
                    block += done.max(1);
                }
                Ok(())
            }
        }
    }

    /// Goes to a block along one more axis, `cut` being where the blocks along those before are: the tile's elements of it are
    /// a loop.
    fn enter(&mut self, cut: Option<usize>, axis: usize, (block, tile): (usize, usize), elements: Strided) {
        let cell = &mut self.cell;
        cell.loops[axis] = elements;
        let Some(seams) = self.seams else { return };
        let place = seams.axes[axis].place(block);
        cell.at[axis] = if cut.is_some() { place.share_of(tile) } else { place.rank_of(tile) };
        cell.cut = cut.or_else(|| place.is_cut().then_some(axis));
    }

    /// The blocks along the last axis.
    fn last(&mut self, place: Place) -> Result<(), Error> {
        let Some(MeanAxis { axis: TileAxis { step, low, tile, .. }, factor }) = self.axes.last() else {
            return Ok(());
        };
        let (step, low, tile, factor) = (*step, *low, memory(*tile), *factor);
        match step {
            Step::Picked(runs, steps) => runs.iter().try_for_each(|run: &Run| {
                let (first, elements) = steps.run(place, run);
                let row = Row { low: run.target as usize, tile: 0, factor: 1, step: elements };
                self.row(Place { target: place.target, ..first }, &row)
            }),
            Step::Strided(step) => self.row(place, &Row { low, tile, factor, step }),
        }
    }

    /// Some blocks of the last axis at a time: their sums, and where these go.
    fn row(&mut self, place: Place, row: &Row) -> Result<(), Error> {
        let (end, factor) = (row.low + row.step.count, row.factor);
        let blocks_end = end.div_ceil(factor);
        let mut block = row.low / factor;
        while block < blocks_end {
            let next = (block + ROW).min(blocks_end);
            let (from, to) = ((block * factor).max(row.low), (next * factor).min(end));
            self.sums[..next - block].fill(0.0);
            if let Some(counts) = &mut self.counts {
                counts[..next - block].fill(0.0);
            }
            let first = place.after(from - row.low, &row.step);
            self.sum(0, first, &Piece { row, before: from - block * factor, count: to - from })?;
            self.put(place.target, (block, next), row, (from, to));
            block = next;
        }
        Ok(())
    }

    /// Adds up a piece of a row over all elements of its blocks along the outer axes.
    fn sum(&mut self, axis: usize, place: Place, piece: &Piece<'_>) -> Result<(), Error> {
        let outer = self.axes.len().saturating_sub(1);
        if axis == outer {
            return self.add(place, Strided { count: 1, ..Strided::default() }, piece);
        }
        let steps = self.cell.loops[axis];
        if axis + 1 == outer && steps.channel == 0 {
            return self.add(place, steps, piece);
        }
        (0..steps.count).try_for_each(|number| self.sum(axis + 1, place.after(number, &steps), piece))
    }

    /// Adds up a piece of some rows that are normalised by the same.
    fn add(&mut self, place: Place, rows: Strided, piece: &Piece<'_>) -> Result<(), Error> {
        let (step, factor) = (piece.row.step, piece.row.factor);
        let at_once = (BLOCK / piece.count.max(1)).clamp(1, ROWS_MAX);
        let mut row = 0;
        while row < rows.count {
            let some = at_once.min(rows.count - row);
            let first = place.after(row, &rows);
            let mut done = 0;
            while done < piece.count {
                let count = BLOCK.min(piece.count - done);
                let at = first.after(done, &step);
                let each = Spaced { count, stride: step.source };
                let stored =
                    self.stored.rows(at.source, Spaced { count: some, stride: rows.source }, each)?;
                let channel = ChannelRow { first: at.channel, step: step.channel };
                let (floats, sums) = (self.floats, &mut self.sums);
                let counts = self.counts.as_mut().map(|counts| &mut counts[..]);
                self.blocks.rows(some, count, |values| {
                    floats.values(&stored, channel, values);
                    fold(values, piece.before + done, factor, sums, counts);
                });
                done += count;
            }
            row += some;
        }
        Ok(())
    }

    /// Puts the sums of some blocks where they belong: as means in the output, or as shares where blocks lie in several
    /// chunks. The row's elements `from..to` are in them.
    fn put(&mut self, target: usize, (block, next): (usize, usize), row: &Row, (from, to): (usize, usize)) {
        let cell = &self.cell;
        let (last, count) = (self.axes.len() - 1, next - block);
        if let (Some(seams), Some(part)) = (self.seams, cell.cut) {
            let mut at = cell.at;
            at[last] = seams.axes[last].place(block).share_of(row.tile);
            let number = seams.number(part, &at[..=last]);
            return (0..count).for_each(|index| seams.put(number + index, self.share(index)));
        }
        // The first and the last may lie in other chunks as well.
        let head = usize::from(!from.is_multiple_of(row.factor));
        let tail = usize::from(!to.is_multiple_of(row.factor) && head < count);
        if let Some(seams) = self.seams {
            for index in (0..head).chain(count - tail..count) {
                let mut at = cell.at;
                at[last] = seams.axes[last].place(block + index).rank_of(row.tile);
                seams.put(seams.number(last, &at[..=last]), self.share(index));
            }
        }
        self.finish(target.wrapping_add((block + head).wrapping_mul(self.target_bytes)), head..count - tail);
    }

    fn share(&self, index: usize) -> Share {
        Share { sum: self.sums[index], count: self.counts.map_or(0.0, |counts| counts[index]) }
    }

    /// Puts the means of some sums in the output, from a place on.
    fn finish(&mut self, target: usize, whole: Range<usize>) {
        if whole.is_empty() {
            return;
        }
        let len = whole.len() * self.target_bytes;
        let target = claimed(&mut self.memory, target, len);
        let counts = self.counts.as_ref().map(|counts| &counts[whole.clone()]);
        let (floats, sums, full) = (self.floats, &self.sums[whole.clone()], self.full);
        self.blocks.rows(1, whole.len(), |values| {
            let [values] = values else { return };
            average(sums, counts, full, values);
            floats.finish(values, target);
        });
    }
}

/// The memory of some blocks whose elements all lie in the tile; or, once every tile has kept its shares, of a block that lies in
/// several.
#[expect(unsafe_code, reason = "writes to the claimed bytes")]
#[inline]
fn claimed<'m>(memory: &'m mut TileMemory<'_>, target: usize, len: usize) -> &'m mut [u8] {
    // SAFETY: blocks of one tile are the tile's, which its claim alone may touch. The others are no tile's: the one that
    // was the last to keep its shares alone touches them.
    unsafe { memory.bytes(target, len) }
}

/// Rows of such blocks, each of `len` bytes, handed to `work` at most [`ROWS_MAX`] at a time.
#[expect(unsafe_code, reason = "writes to the claimed bytes")]
#[inline]
fn claimed_rows(
    rows: &mut Rows<'_>,
    (target, lines): (usize, Loop),
    len: usize,
    work: &mut impl FnMut(usize, usize, &mut [&mut [u8]]) -> Result<(), Error>,
) -> Result<(), Error> {
    // SAFETY: as above, and each row is handed out once.
    unsafe { rows.hand_out((0, target), lines, len, work) }
}
