//! Means of 2 x 2 elements along the last two axes, many rows of blocks at a time.
//!
//! They are what images are made smaller by. A tile has few elements of one row of blocks, and all that is done around
//! their sums would take longer than these.

use super::super::super::output::memory;
use super::super::fold::pair_means;
use super::super::nest::{Place, Step, Strided, TileAxis};
use super::super::seams::Share;
use super::super::stored::Spaced;
use super::{MeanAxis, Means, claimed};
use crate::conversion::{BLOCK, ChannelRow, ROWS_MAX, Working};
use crate::error::Error;

/// The elements of a block along either axis.
const PAIR: usize = 2;

/// Rows of blocks that lie in one tile, along the last axis but one.
pub(super) struct BlockRows {
    /// The first one's number.
    pub(super) block: usize,
    /// The first number behind them.
    pub(super) end: usize,
    pub(super) tile: usize,
    /// The elements along the axis.
    pub(super) step: Strided,
}

/// The columns of a row.
struct Columns {
    /// The first one's place along the axis of the result, and how many there are.
    low: usize,
    count: usize,
    tile: usize,
}

impl<W: Working> Means<'_, '_, W> {
    /// Fills some rows of blocks from the first one on, whose first element is at `place`; tells how many. None where blocks are
    /// others than 2 x 2, NaN is left out, or blocks of the rows lie in several tiles along any axis but the last.
    pub(super) fn block_rows(&mut self, place: Place, rows: &BlockRows) -> Result<usize, Error> {
        let [.., MeanAxis { factor: PAIR, .. }, MeanAxis { axis: last, factor: PAIR }] = &self.axes[..]
        else {
            return Ok(0);
        };
        let TileAxis { step: Step::Strided(step), low, tile, .. } = *last else { return Ok(0) };
        // Of another axis every block is one element, then.
        let is_pairs = self.full == (PAIR * PAIR) as f64 && self.counts.is_none();
        let is_simple = is_pairs && self.cell.cut.is_none() && rows.step.channel == 0;
        let columns = Columns { low, count: step.count, tile: memory(tile) };
        let at_once = (BLOCK / columns.count.max(1)).min(ROWS_MAX) / PAIR;
        let some = at_once.min(rows.end.saturating_sub(rows.block));
        if !is_simple || some == 0 {
            return Ok(0);
        }
        let each = Spaced { count: columns.count, stride: step.source };
        let spaced = Spaced { count: some * PAIR, stride: rows.step.source };
        let stored = self.stored.rows(place.source, spaced, each)?;
        let channel = ChannelRow { first: place.channel, step: step.channel };
        let (floats, is_exact) = (self.floats, self.is_exact);
        let mut shares = [(0.0, 0.0); ROWS_MAX];
        let head = columns.head();
        self.blocks.rows(spaced.count, each.count, |values| {
            floats.values(stored, channel, values);
            self.means.rows(some, columns.whole(), |means| pair_means(values, head, is_exact, means));
            for (share, rows) in shares.iter_mut().zip(values.chunks_exact(PAIR)) {
                *share = (sum_at(rows, 0), sum_at(rows, columns.count - 1));
            }
        });
        self.put_rows(place.target, rows, &columns, &shares[..some]);
        Ok(some)
    }

    /// Puts means in the output, and the sums of the first and last columns, of which each row has two, where blocks are cut
    /// there.
    fn put_rows(&mut self, target: usize, rows: &BlockRows, columns: &Columns, shares: &[(f64, f64)]) {
        let (whole, size) = (columns.whole(), self.target_bytes);
        let first = target.wrapping_add(columns.first_whole().wrapping_mul(size));
        let (floats, memory) = (self.floats, &mut self.memory);
        self.means.rows(shares.len(), whole, |means| {
            for (number, means) in means.iter_mut().enumerate().filter(|_| whole != 0) {
                let target = first.wrapping_add(rows.step.target.wrapping_mul(number));
                floats.finish(means, claimed(memory, target, whole * size));
            }
        });
        let Some(seams) = self.seams else { return };
        let last = self.axes.len() - 1;
        let put = |number: usize, column: usize, sum: f64| {
            let mut at = self.cell.at;
            at[last - 1] = seams.axes[last - 1].place(rows.block + number).rank_of(rows.tile);
            at[last] = seams.axes[last].place(column / PAIR).rank_of(columns.tile);
            seams.put(seams.number(last, &at[..=last]), Share { sum, count: 0.0 });
        };
        for (number, (head, tail)) in shares.iter().enumerate() {
            if columns.head() != 0 {
                put(number, columns.low, *head);
            }
            if columns.tail() != 0 {
                put(number, columns.low + columns.count, *tail);
            }
        }
    }
}

impl Columns {
    /// Columns before the first whole block.
    fn head(&self) -> usize {
        self.low % PAIR
    }

    /// Columns behind the last whole block.
    fn tail(&self) -> usize {
        self.count.saturating_sub(self.head()) % PAIR
    }

    fn whole(&self) -> usize {
        self.count.saturating_sub(self.head()) / PAIR
    }

    fn first_whole(&self) -> usize {
        self.low.div_ceil(PAIR)
    }
}

/// The sum of a column of two rows.
fn sum_at<W: Working>(rows: &[&mut [W]], column: usize) -> f64 {
    rows.iter().filter_map(|row| row.get(column)).fold(0.0, |sum, value| sum + value.to_f64())
}
