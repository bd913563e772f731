//! The blocks of a result that lie in several chunks: their shares, until all are there.

use super::super::cut_axis::CutAxis;
use super::blocks::AxisBlocks;
use super::output::too_many_seams;
use crate::conversion::{CompiledConversion, NanMeans};
use crate::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};

/// The shares of one result's blocks: sums, and how many elements these are of where NaN is left out.
///
/// They are in parts: the part of an axis has the blocks that are cut along it, and along none before it. Within a part they
/// are row-major: along the axes before by blocks, along the others by shares.
///
/// Whoever fills the last tile of the result makes the means of these blocks.
pub(super) struct Seams {
    pub(super) axes: Vec<AxisBlocks>,
    /// By axis: where its part starts.
    starts: Vec<usize>,
    sums: Vec<AtomicU64>,
    /// Tiles whose shares are all kept.
    tiles_done: AtomicU64,
    /// Empty where every element counts.
    counts: Vec<AtomicU64>,
    /// Elements of a block.
    full: f64,
}

/// The elements of a block that are summed up, and how many they are.
#[derive(Clone, Copy, Default)]
pub(super) struct Share {
    pub(super) sum: f64,
    pub(super) count: f64,
}

impl Seams {
    /// What a result with such axes needs; `None` where no block lies in several chunks.
    pub(super) fn new(
        cuts: &[CutAxis],
        conversion: &CompiledConversion,
        bytes_max: usize,
    ) -> Result<Option<Seams>, Error> {
        let factors = &conversion.factors;
        let axes: Vec<AxisBlocks> =
            cuts.iter().zip(factors).map(|(cut, factor)| AxisBlocks::new(cut, *factor)).collect();
        if axes.iter().all(|axis| axis.cut_shares == 0) {
            return Ok(None);
        }
        let (mut starts, mut len) = (Vec::with_capacity(axes.len()), Some(0usize));
        for part in 0..axes.len() {
            starts.push(len.unwrap_or(0));
            let part =
                (0..axes.len()).map(|axis| extent(&axes, part, axis)).try_fold(1usize, usize::checked_mul);
            len = len.zip(part).and_then(|(len, part)| len.checked_add(part));
        }
        let is_counted = conversion.nan_means == NanMeans::Skip;
        let tables: usize = axes.iter().map(AxisBlocks::bytes).sum();
        let of_one = size_of::<AtomicU64>() * if is_counted { 2 } else { 1 };
        let bytes = len.and_then(|len| len.checked_mul(of_one)?.checked_add(tables));
        let Some(len) = len.filter(|_| bytes.is_some_and(|bytes| bytes <= bytes_max)) else {
            return Err(too_many_seams(bytes_max));
        };
        let zeros = |len: usize| std::iter::repeat_with(AtomicU64::default).take(len).collect();
        let counts = zeros(if is_counted { len } else { 0 });
        let full = factors.iter().map(|factor| *factor as f64).product();
        Ok(Some(Seams { axes, starts, sums: zeros(len), tiles_done: AtomicU64::default(), counts, full }))
    }

    /// Bytes of memory that it holds.
    pub(super) fn bytes(&self) -> Option<usize> {
        let tables: usize = self.axes.iter().map(AxisBlocks::bytes).sum();
        (self.sums.len() + self.counts.len()).checked_mul(size_of::<AtomicU64>())?.checked_add(tables)
    }

    /// The number of a share: in the part of an axis, at these places along each.
    pub(super) fn number(&self, part: usize, at: &[usize]) -> usize {
        let axes = at.iter().enumerate();
        self.starts[part] + axes.fold(0, |number, (axis, at)| number * extent(&self.axes, part, axis) + at)
    }

    /// How far apart the numbers are of shares of neighbouring blocks along the last axis but one, in the part of the last.
    pub(super) fn column_step(&self) -> usize {
        self.axes.last().map_or(0, |last| last.cut_shares)
    }

    /// Keeps a share.
    #[inline]
    pub(super) fn put(&self, number: usize, share: Share) {
        if let Some(sum) = self.sums.get(number) {
            sum.store(share.sum.to_bits(), Ordering::Relaxed);
        }
        if let Some(count) = self.counts.get(number) {
            count.store(share.count.to_bits(), Ordering::Relaxed);
        }
    }

    fn get(&self, number: usize) -> Share {
        let value = |values: &[AtomicU64], other: f64| {
            values.get(number).map_or(other, |value| f64::from_bits(value.load(Ordering::Relaxed)))
        };
        Share { sum: value(&self.sums, 0.0), count: value(&self.counts, 0.0) }
    }

    /// Tells that all shares of one more of so many tiles are kept: true where those of every tile are now.
    pub(super) fn end_tile(&self, tile_count: u64) -> bool {
        // Whoever is last sees what the others kept.
        self.tiles_done.fetch_add(1, Ordering::AcqRel) + 1 == tile_count
    }

    /// Calls `each` with the place in the output of every block, in bytes, and with the sum of its shares. The output's first
    /// byte is `target`, and along each axis blocks are so many bytes apart as `strides` says.
    pub(super) fn each_block(&self, target: usize, strides: &[usize], each: impl FnMut(usize, Share)) {
        let mut walk = Walk { seams: self, strides, part: 0, shares: Vec::new(), each };
        for part in (0..self.axes.len()).filter(|part| self.axes[*part].cut_shares != 0) {
            walk.part = part;
            walk.shares = vec![0];
            walk.along(0, 0, target);
        }
    }

    /// The elements of a block whose share counts so many.
    pub(super) fn count(&self, share: Share) -> f64 {
        if self.counts.is_empty() { self.full } else { share.count }
    }
}

/// How far a part reaches along an axis.
fn extent(axes: &[AxisBlocks], part: usize, axis: usize) -> usize {
    match axis.cmp(&part) {
        std::cmp::Ordering::Less => axes[axis].whole,
        std::cmp::Ordering::Equal => axes[axis].cut_shares,
        std::cmp::Ordering::Greater => axes[axis].shares(),
    }
}

/// A walk over the blocks of a part.
struct Walk<'s, F> {
    seams: &'s Seams,
    strides: &'s [usize],
    part: usize,
    /// Of the blocks along the axes so far the shares' numbers among those along these axes, in row-major order; behind those
    /// of the axes before.
    shares: Vec<usize>,
    each: F,
}

impl<F: FnMut(usize, Share)> Walk<'_, F> {
    /// Goes along one more axis: shares from number `from` on are those of the axes before, whose blocks lie at `position`.
    fn along(&mut self, axis: usize, from: usize, position: usize) {
        let (seams, part) = (self.seams, self.part);
        let along = &seams.axes[axis];
        if axis == part {
            return along.cut.iter().for_each(|block| self.block(axis, *block, from, position));
        }
        for block in 0..along.count {
            // Blocks that are cut along an axis before lie in that axis's part.
            if part < axis || !along.place(block).is_cut() {
                self.block(axis, block, from, position);
            }
        }
    }

    /// Goes to a block along an axis, and on along the next one.
    #[inline]
    fn block(&mut self, axis: usize, block: usize, from: usize, position: usize) {
        let place = self.seams.axes[axis].place(block);
        let position = position.wrapping_add(block.wrapping_mul(self.strides[axis]));
        let first = if self.part < axis { place.first_share } else { place.rank };
        let (to, extent) = (self.shares.len(), extent(&self.seams.axes, self.part, axis));
        if axis + 1 == self.seams.axes.len() {
            let start = self.seams.starts[self.part] + first;
            let mut sum = Share::default();
            for outer in &self.shares[from..to] {
                for number in 0..place.shares {
                    let share = self.seams.get(start + outer * extent + number);
                    sum = Share { sum: sum.sum + share.sum, count: sum.count + share.count };
                }
            }
            return (self.each)(position, sum);
        }
        for outer in from..to {
            let start = self.shares[outer] * extent + first;
            self.shares.extend(start..start + place.shares);
        }
        self.along(axis + 1, to, position);
        self.shares.truncate(to);
    }
}
