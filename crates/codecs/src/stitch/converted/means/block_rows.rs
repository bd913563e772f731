//! Means of 2 x 2 elements along the last two axes, many rows of blocks at a time.
//!
//! They are what images are made smaller by. A tile has few elements of one row of blocks, and all that is done around
//! their sums would take longer than these.

use super::super::super::copy::Loop;
use super::super::super::output::memory;
use super::super::fold::pair_means;
use super::super::nest::{Place, Step, Strided, TileAxis};
use super::super::seams::Share;
use super::super::stored::Spaced;
use super::{MeanAxis, Means, claimed_rows};
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
        let (floats, is_exact, size) = (self.floats, self.is_exact, self.target_bytes);
        let (head, whole) = (columns.head(), columns.whole());
        let first = place.target.wrapping_add(columns.first_whole().wrapping_mul(size));
        let lines = Loop { count: some, source_stride: 0, target_stride: rows.step.target };
        let mut sums = [[0.0; ROWS_MAX]; 2];
        let (means, targets) = (&mut self.means, &mut self.rows);
        if let Some(pairs) = floats.pairs() {
            if whole != 0 {
                claimed_rows(targets, (first, lines), whole * size, &mut |_, _, targets| {
                    floats.pair_means(pairs, (&stored, head), means, (targets, whole));
                    Ok(())
                })?;
            }
            for (sums, column) in sums.iter_mut().zip(columns.cut()) {
                column.inspect(|column| pairs.column_sums(&stored, *column, &mut sums[..some]));
            }
        } else {
            let channel = ChannelRow { first: place.channel, step: step.channel };
            self.blocks.rows(spaced.count, each.count, |values| {
                floats.values(&stored, channel, values);
                for (sums, column) in sums.iter_mut().zip(columns.cut()) {
                    column.inspect(|column| column_sums(values, *column, sums));
                }
                if whole == 0 {
                    return Ok(());
                }
                means.rows(some, whole, |means| {
                    pair_means(values, head, is_exact, means);
                    let mut means = means.iter_mut();
                    claimed_rows(targets, (first, lines), whole * size, &mut |_, _, targets| {
                        for (means, target) in means.by_ref().zip(targets) {
                            floats.finish(means, target);
                        }
                        Ok(())
                    })
                })
            })?;
        }
        self.keep_shares(rows, &columns, &sums.each_ref().map(|sums| &sums[..some]));
        Ok(some)
    }

    /// Keeps the sums of the first and the last column, where blocks are cut there.
    fn keep_shares(&self, rows: &BlockRows, columns: &Columns, sums: &[&[f64]; 2]) {
        let Some(seams) = self.seams else { return };
        let last = self.axes.len() - 1;
        for (column, sums) in columns.cut().into_iter().zip(sums) {
            let Some(column) = column else { continue };
            let mut at = self.cell.at;
            at[last - 1] = seams.axes[last - 1].place(rows.block).rank_of(rows.tile);
            at[last] = seams.axes[last].place((columns.low + column) / PAIR).rank_of(columns.tile);
            let mut number = seams.number(last, &at[..=last]);
            for sum in *sums {
                seams.put(number, Share { sum: *sum, count: 0.0 });
                number += seams.column_step();
            }
        }
    }
}

impl Columns {
    /// The first and the last column, where the rest of their blocks lies in other tiles.
    fn cut(&self) -> [Option<usize>; 2] {
        let tail = self.count.saturating_sub(self.head()) % PAIR;
        [(self.head() != 0).then_some(0), (tail != 0).then_some(self.count.saturating_sub(1))]
    }

    /// Columns before the first whole block.
    fn head(&self) -> usize {
        self.low % PAIR
    }

    fn whole(&self) -> usize {
        self.count.saturating_sub(self.head()) / PAIR
    }

    fn first_whole(&self) -> usize {
        self.low.div_ceil(PAIR)
    }
}

/// The sums of a column of each two rows.
fn column_sums<W: Working>(rows: &[&mut [W]], column: usize, sums: &mut [f64]) {
    let value = |row: &&mut [W]| row.get(column).map_or(0.0, |value| value.to_f64());
    for (sum, [upper, lower]) in sums.iter_mut().zip(rows.as_chunks::<PAIR>().0) {
        *sum = value(upper) + value(lower);
    }
}
