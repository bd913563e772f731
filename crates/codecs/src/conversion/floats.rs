//! Conversions whose steps are done in floats.

use super::load::Load;
use super::pairs::PairMeans;
use super::rows::{Blocks, StoredRows, values_of_bytes};
use super::simd::{self, Loop, Vectors};
use super::source::Value;
use super::store::Store;
use super::straight::Straight;
use std::ops::{Add, Div, Mul, Sub};

/// A float to calculate in.
pub(crate) trait Working:
    Value + bytemuck::Pod + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    const NAN: Self;
    const ZERO: Self;

    /// A value of another type, rounded to the nearest.
    fn of<V: Value>(value: V) -> Self;

    fn is_nan(self) -> bool;
}

impl Working for f32 {
    const NAN: f32 = f32::NAN;
    const ZERO: f32 = 0.0;

    #[inline(always)]
    fn of<V: Value>(value: V) -> f32 {
        value.to_f32()
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        f32::is_nan(self)
    }
}

impl Working for f64 {
    const NAN: f64 = f64::NAN;
    const ZERO: f64 = 0.0;

    #[inline(always)]
    fn of<V: Value>(value: V) -> f64 {
        value.to_f64()
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        f64::is_nan(self)
    }
}

/// The steps of a conversion, done in `W`.
pub(crate) struct Floats<W> {
    pub(super) load: Box<dyn Load<W>>,
    /// What does all the steps in one loop; `None` where they are done in a loop each.
    pub(super) straight: Option<Box<dyn Straight<W>>>,
    /// What makes means of 2 x 2 elements; `None` where something is done to them before, or sums may not be exact.
    pub(super) pairs: Option<Box<dyn PairMeans<W>>>,
    pub(super) normal: Option<Normals<W>>,
    pub(super) fill: Option<W>,
    /// `None` where the target is `W` itself.
    pub(super) store: Option<Box<dyn Store<W>>>,
}

/// What to normalise by, by index along an axis, or one pair for all.
pub(super) struct Normals<W> {
    pub(super) means: Vec<W>,
    pub(super) deviations: Vec<W>,
}

/// Which of the pairs the elements of a row are normalised by: the first one's, and by how much it grows from element to
/// element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChannelRow {
    pub(crate) first: i64,
    pub(crate) step: i64,
}

impl<W: Working> Floats<W> {
    /// Converts rows of `count` elements each, in native byte order, to as many of the target: at most [`BLOCK`](super::BLOCK)
    /// in all, and [`ROWS_MAX`](super::ROWS_MAX) rows. All rows are normalised by the same.
    pub(crate) fn convert(
        &self,
        stored: &StoredRows<'_>,
        channel: ChannelRow,
        blocks: &mut Blocks<W>,
        targets: &mut [&mut [u8]],
        count: usize,
    ) {
        if let (Some(straight), Some(normal)) = (&self.straight, self.normal_of_rows(channel)) {
            return straight.convert(stored, normal, targets);
        }
        let Some(store) = &self.store else {
            let is_done =
                values_of_bytes(targets, |values| self.calculate(stored, channel, values, self.fill));
            if is_done.is_none() {
                blocks.rows(targets.len(), count, |values| {
                    self.calculate(stored, channel, values, self.fill);
                    for (target, values) in targets.iter_mut().zip(values) {
                        target.copy_from_slice(bytemuck::cast_slice(values));
                    }
                });
            }
            return;
        };
        blocks.rows(targets.len(), count, |values| {
            self.calculate(stored, channel, values, self.fill);
            store.store(values, targets);
        });
    }

    /// The mean and the deviation that all elements of rows are normalised by, `Some(None)` where there are none; `None` where
    /// elements are normalised by different ones.
    fn normal_of_rows(&self, channel: ChannelRow) -> Option<Option<(W, W)>> {
        let Some(Normals { means, deviations }) = &self.normal else { return Some(None) };
        let number = usize::try_from(channel.first).ok().filter(|_| channel.step == 0)?;
        means.get(number).copied().zip(deviations.get(number).copied()).map(Some)
    }

    /// The steps before the mean, for rows that are normalised by the same.
    pub(crate) fn values(&self, stored: &StoredRows<'_>, channel: ChannelRow, values: &mut [&mut [W]]) {
        self.calculate(stored, channel, values, None);
    }

    /// What makes means of 2 x 2 elements straight from how they are stored, where that can be.
    pub(crate) fn pairs(&self) -> Option<&dyn PairMeans<W>> {
        self.pairs.as_deref()
    }

    /// Means of blocks of 2 x 2 elements, each two rows one of `count` blocks, from element number `first` of every row on:
    /// as many rows as `targets`. They go through `blocks` where the target is another type than they are.
    pub(crate) fn pair_means(
        &self,
        pairs: &dyn PairMeans<W>,
        (stored, first): (&StoredRows<'_>, usize),
        blocks: &mut Blocks<W>,
        (targets, count): (&mut [&mut [u8]], usize),
    ) {
        // Integers are never NaN: nothing is to be filled.
        if self.store.is_none()
            && values_of_bytes(targets, |means| pairs.means(stored, first, means)).is_some()
        {
            return;
        }
        blocks.rows(targets.len(), count, |means| {
            pairs.means(stored, first, means);
            for (means, target) in means.iter_mut().zip(targets) {
                self.finish(means, target);
            }
        });
    }

    /// The steps behind the mean; `values` are changed on the way.
    pub(crate) fn finish(&self, values: &mut [W], target: &mut [u8]) {
        let values = &mut [values];
        if let Some(fill) = self.fill {
            simd::run(Filling { fill: Filled(fill), values });
        }
        match &self.store {
            Some(store) => store.store(values, &mut [target]),
            None => target.copy_from_slice(bytemuck::cast_slice(values[0])),
        }
    }

    fn calculate(
        &self,
        stored: &StoredRows<'_>,
        channel: ChannelRow,
        values: &mut [&mut [W]],
        fill: Option<W>,
    ) {
        self.load.load(stored, values);
        match (&self.normal, fill) {
            (None, None) => {}
            (None, Some(fill)) => simd::run(Filling { fill: Filled(fill), values }),
            (Some(normals), None) => normals.apply(channel, Unfilled, values),
            (Some(normals), Some(fill)) => normals.apply(channel, Filled(fill), values),
        }
    }
}

impl<W: Working> Normals<W> {
    fn apply(&self, channel: ChannelRow, fill: impl Fills<W>, values: &mut [&mut [W]]) {
        let at = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
        let first = at(channel.first);
        let pair = |number: usize| self.means.get(number).zip(self.deviations.get(number));
        match channel.step {
            0 => {
                let Some((mean, deviation)) = pair(first) else { return };
                simd::run(Normalising { mean: *mean, deviation: *deviation, fill, values });
            }
            1 => {
                let (means, deviations) = (self.means.get(first..), self.deviations.get(first..));
                let Some((means, deviations)) = means.zip(deviations) else { return };
                simd::run(NormalisingEach { means, deviations, fill, values });
            }
            step => {
                for values in values.iter_mut() {
                    let numbers = (0..).map(|element: i64| at(channel.first + element * step));
                    for (value, number) in values.iter_mut().zip(numbers) {
                        if let Some((mean, deviation)) = pair(number) {
                            *value = fill.filled((*value - *mean) / *deviation);
                        }
                    }
                }
            }
        }
    }
}

/// What NaN becomes.
trait Fills<W>: Copy {
    fn filled(self, value: W) -> W;
}

/// It stays.
#[derive(Clone, Copy)]
struct Unfilled;

/// It becomes a value.
#[derive(Clone, Copy)]
struct Filled<W>(W);

impl<W: Working> Fills<W> for Unfilled {
    #[inline(always)]
    fn filled(self, value: W) -> W {
        value
    }
}

impl<W: Working> Fills<W> for Filled<W> {
    #[inline(always)]
    fn filled(self, value: W) -> W {
        if value.is_nan() { self.0 } else { value }
    }
}

struct Normalising<'a, 'v, W, F> {
    mean: W,
    deviation: W,
    fill: F,
    values: &'a mut [&'v mut [W]],
}

impl<W: Working, F: Fills<W>> Loop for Normalising<'_, '_, W, F> {
    #[inline(always)]
    fn run<V: Vectors>(self) {
        for values in self.values {
            for value in values.iter_mut() {
                *value = self.fill.filled((*value - self.mean) / self.deviation);
            }
        }
    }
}

struct NormalisingEach<'a, 'v, W, F> {
    means: &'a [W],
    deviations: &'a [W],
    fill: F,
    values: &'a mut [&'v mut [W]],
}

impl<W: Working, F: Fills<W>> Loop for NormalisingEach<'_, '_, W, F> {
    #[inline(always)]
    fn run<V: Vectors>(self) {
        for values in self.values {
            for ((value, mean), deviation) in values.iter_mut().zip(self.means).zip(self.deviations) {
                *value = self.fill.filled((*value - *mean) / *deviation);
            }
        }
    }
}

struct Filling<'a, 'v, W, F> {
    fill: F,
    values: &'a mut [&'v mut [W]],
}

impl<W: Working, F: Fills<W>> Loop for Filling<'_, '_, W, F> {
    #[inline(always)]
    fn run<V: Vectors>(self) {
        for values in self.values {
            for value in values.iter_mut() {
                *value = self.fill.filled(*value);
            }
        }
    }
}
