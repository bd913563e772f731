//! Conversions whose steps are done in floats.

use super::BLOCK;
use super::load::Load;
use super::simd::{self, Loop};
use super::source::Value;
use super::store::Store;
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

/// Memory for one block of elements between steps.
#[derive(Default)]
pub(crate) struct Blocks<W>(Vec<W>);

impl<W: Working> Blocks<W> {
    /// Room for so many values, at most [`BLOCK`]; what they are is not defined.
    fn values(&mut self, count: usize) -> &mut [W] {
        let Blocks(values) = self;
        if values.len() < count.min(BLOCK) {
            values.resize(count.min(BLOCK), W::ZERO);
        }
        &mut values[..count.min(BLOCK)]
    }
}

impl<W: Working> Floats<W> {
    /// Converts at most [`BLOCK`] elements, in native byte order, to as many of the target.
    pub(crate) fn convert(
        &self,
        stored: &[u8],
        channel: ChannelRow,
        blocks: &mut Blocks<W>,
        target: &mut [u8],
        count: usize,
    ) {
        if self.store.is_none()
            && let Ok(values) = bytemuck::try_cast_slice_mut::<u8, W>(target)
        {
            self.values(stored, channel, values);
            return self.fill(values);
        }
        let values = blocks.values(count);
        self.values(stored, channel, values);
        self.finish(values, target);
    }

    /// The steps before the mean.
    pub(crate) fn values(&self, stored: &[u8], channel: ChannelRow, values: &mut [W]) {
        self.load.load(stored, values);
        if let Some(normals) = &self.normal {
            normals.apply(channel, values);
        }
    }

    /// The steps behind the mean; `values` are changed on the way.
    pub(crate) fn finish(&self, values: &mut [W], target: &mut [u8]) {
        self.fill(values);
        match &self.store {
            Some(store) => store.store(values, target),
            None => target.copy_from_slice(bytemuck::cast_slice(values)),
        }
    }

    fn fill(&self, values: &mut [W]) {
        if let Some(fill) = self.fill {
            simd::run(Filling { fill, values });
        }
    }
}

impl<W: Working> Normals<W> {
    fn apply(&self, channel: ChannelRow, values: &mut [W]) {
        let at = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
        let first = at(channel.first);
        let pair = |number: usize| self.means.get(number).zip(self.deviations.get(number));
        match channel.step {
            0 => {
                let Some((mean, deviation)) = pair(first) else { return };
                simd::run(Normalising { mean: *mean, deviation: *deviation, values });
            }
            1 => {
                let (means, deviations) = (self.means.get(first..), self.deviations.get(first..));
                let Some((means, deviations)) = means.zip(deviations) else { return };
                simd::run(NormalisingEach { means, deviations, values });
            }
            step => {
                let numbers = (0..).map(|element: i64| at(channel.first + element * step));
                for (value, number) in values.iter_mut().zip(numbers) {
                    if let Some((mean, deviation)) = pair(number) {
                        *value = (*value - *mean) / *deviation;
                    }
                }
            }
        }
    }
}

struct Normalising<'a, W> {
    mean: W,
    deviation: W,
    values: &'a mut [W],
}

impl<W: Working> Loop for Normalising<'_, W> {
    #[inline(always)]
    fn run(self) {
        for value in self.values {
            *value = (*value - self.mean) / self.deviation;
        }
    }
}

struct NormalisingEach<'a, W> {
    means: &'a [W],
    deviations: &'a [W],
    values: &'a mut [W],
}

impl<W: Working> Loop for NormalisingEach<'_, W> {
    #[inline(always)]
    fn run(self) {
        for ((value, mean), deviation) in self.values.iter_mut().zip(self.means).zip(self.deviations) {
            *value = (*value - *mean) / *deviation;
        }
    }
}

struct Filling<'a, W> {
    fill: W,
    values: &'a mut [W],
}

impl<W: Working> Loop for Filling<'_, W> {
    #[inline(always)]
    fn run(self) {
        for value in self.values {
            *value = if value.is_nan() { self.fill } else { *value };
        }
    }
}
