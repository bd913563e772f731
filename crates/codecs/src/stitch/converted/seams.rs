//! The blocks of a result that lie in several chunks: their shares, until all are there.

use super::super::cut_axis::CutAxis;
use super::super::output::Output;
use super::blocks::AxisBlocks;
use super::output::too_many_seams;
use crate::conversion::{CompiledConversion, Floats, NanMeans, Steps, Working};
use crate::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};

/// The shares of one result's blocks: sums, and how many elements these are of where NaN is left out.
///
/// They are in parts: the part of an axis has the blocks that are cut along it, and along none before it. Within a part they
/// are row-major: along the axes before by blocks, along the others by shares.
pub(super) struct Seams {
    pub(super) axes: Vec<AxisBlocks>,
    /// By axis: where its part starts.
    starts: Vec<usize>,
    sums: Vec<AtomicU64>,
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
        axes: &[CutAxis],
        conversion: &CompiledConversion,
        bytes_max: usize,
    ) -> Result<Option<Seams>, Error> {
        let factors = &conversion.factors;
        let axes: Vec<AxisBlocks> =
            axes.iter().zip(factors).map(|(cut, factor)| AxisBlocks::new(cut, *factor)).collect();
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
        Ok(Some(Seams { axes, starts, sums: zeros(len), counts, full }))
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

    /// Puts the means of all blocks in their places.
    pub(super) fn finish(&self, result: usize, conversion: &CompiledConversion, output: &mut Output<'_>) {
        match &conversion.steps {
            // Integers that are never floats have no means.
            Steps::Integers(_) => {}
            Steps::Single(floats) => self.finish_floats(result, floats, output),
            Steps::Double(floats) => self.finish_floats(result, floats, output),
        }
    }

    fn finish_floats<W: Working>(&self, result: usize, floats: &Floats<W>, output: &mut Output<'_>) {
        for part in (0..self.axes.len()).filter(|part| self.axes[*part].cut_shares != 0) {
            let rank = self.axes.len();
            let mut walk = Walk { seams: self, part, blocks: vec![0; rank], at: vec![0; rank] };
            walk.each_block(0, &mut |blocks, share| {
                let count = if self.counts.is_empty() { self.full } else { share.count };
                let position = output.position(result, blocks);
                floats.finish(&mut [W::of(share.sum / count)], output.element_mut(position));
            });
        }
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
struct Walk<'s> {
    seams: &'s Seams,
    part: usize,
    /// The block along each axis so far.
    blocks: Vec<usize>,
    /// A share's place along each axis.
    at: Vec<usize>,
}

impl Walk<'_> {
    fn each_block(&mut self, axis: usize, each: &mut impl FnMut(&[usize], Share)) {
        let Some(along) = self.seams.axes.get(axis) else {
            let share = self.add_up(0, Share::default());
            return each(&self.blocks, share);
        };
        for block in 0..along.count {
            let is_cut = along.place(block).is_cut();
            // Blocks that are cut along an axis before lie in that axis's part.
            let is_here = match axis.cmp(&self.part) {
                std::cmp::Ordering::Less => !is_cut,
                std::cmp::Ordering::Equal => is_cut,
                std::cmp::Ordering::Greater => true,
            };
            if is_here {
                self.blocks[axis] = block;
                self.each_block(axis + 1, each);
            }
        }
    }

    /// Adds up the shares of the block, in row-major order.
    fn add_up(&mut self, axis: usize, mut so_far: Share) -> Share {
        let Some(along) = self.seams.axes.get(axis) else {
            let share = self.seams.get(self.seams.number(self.part, &self.at));
            return Share { sum: so_far.sum + share.sum, count: so_far.count + share.count };
        };
        let place = along.place(self.blocks[axis]);
        let first = if self.part < axis { place.first_share } else { place.rank };
        for share in 0..place.shares {
            self.at[axis] = first + share;
            so_far = self.add_up(axis + 1, so_far);
        }
        so_far
    }
}
