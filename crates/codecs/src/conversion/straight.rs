//! All steps of a conversion in one loop over the elements, for the pairs of types that models are mostly fed by.
//!
//! Other pairs, and elements with more than one mask, go through a loop for each step: the pairs and the steps multiply.

use super::floats::Working;
use super::lanes::map_eights;
use super::load::Decode;
use super::rows::StoredRows;
use super::simd::{self, Eight, Loop, Vectors};
use super::source::{Plain, Source, Value};
use super::store::{Half, Target};
use crate::number::NumberType;
use std::marker::PhantomData;

/// Does every step but the mean.
pub(super) trait Straight<W>: Send + Sync {
    /// Converts `stored`, elements in native byte order, to as many of the target, row by row. All are normalised by a mean and a
    /// deviation, or none is.
    fn convert(&self, stored: &StoredRows<'_>, normal: Option<(W, W)>, targets: &mut [&mut [u8]]);
}

/// A type whose elements are loaded eight at a time.
trait Loaded: Source<Value: Value> {
    /// The values of eight elements.
    fn eight<E: Eight>(elements: [Self::Bytes; 8]) -> E;
}

macro_rules! loaded {
    ($($type:ty => $of:ident),*) => {
        $(impl Loaded for Plain<$type> {
            #[inline(always)]
            fn eight<E: Eight>(elements: [Self::Bytes; 8]) -> E {
                E::$of(bytemuck::cast(elements))
            }
        })*
    };
}

loaded!(u8 => of_u8, i16 => of_i16, u16 => of_u16, f32 => of_f32);

/// A type whose elements are stored eight at a time.
trait Stored: Target {
    /// The elements that eight values are cast to.
    fn eight<E: Eight>(values: E) -> [Self::Bytes; 8];
}

impl Stored for f32 {
    #[inline(always)]
    fn eight<E: Eight>(values: E) -> [[u8; 4]; 8] {
        bytemuck::cast(values.singles())
    }
}

impl Stored for Half {
    #[inline(always)]
    fn eight<E: Eight>(values: E) -> [[u8; 2]; 8] {
        bytemuck::cast(values.halves())
    }
}

/// The steps from one type to another, in `float32`, which holds every value that is stored.
struct Line<S, T> {
    /// NaN, which equals nothing, where nothing is masked.
    masked: f32,
    affine: Option<(f32, f32)>,
    fill: Option<f32>,
    types: PhantomData<(S, T)>,
}

/// A step that takes two numbers, or none.
trait Step: Copy {
    /// The values once it is done.
    fn done<E: Eight>(self, values: E) -> E;
}

/// There is none.
#[derive(Clone, Copy)]
struct Nothing;

/// Scale and offset.
#[derive(Clone, Copy)]
struct Decoding(f32, f32);

/// Mean and deviation.
#[derive(Clone, Copy)]
struct Normalising(f32, f32);

impl Step for Nothing {
    #[inline(always)]
    fn done<E: Eight>(self, values: E) -> E {
        values
    }
}

impl Step for Decoding {
    #[inline(always)]
    fn done<E: Eight>(self, values: E) -> E {
        values.times(E::splat(self.0)).plus(E::splat(self.1))
    }
}

impl Step for Normalising {
    #[inline(always)]
    fn done<E: Eight>(self, values: E) -> E {
        values.minus(E::splat(self.0)).over(E::splat(self.1))
    }
}

impl<S: Loaded, T: Stored> Straight<f32> for Line<S, T> {
    fn convert(&self, stored: &StoredRows<'_>, normal: Option<(f32, f32)>, targets: &mut [&mut [u8]]) {
        let affine = self.affine.map(|(scale, offset)| Decoding(scale, offset));
        let normal = normal.map(|(mean, deviation)| Normalising(mean, deviation));
        let line = self;
        match (affine, normal) {
            (None, None) => simd::run(Walking { line, stored, targets, decode: Nothing, normal: Nothing }),
            (None, Some(normal)) => simd::run(Walking { line, stored, targets, decode: Nothing, normal }),
            (Some(decode), None) => simd::run(Walking { line, stored, targets, decode, normal: Nothing }),
            (Some(decode), Some(normal)) => simd::run(Walking { line, stored, targets, decode, normal }),
        }
    }
}

struct Walking<'a, 't, S, T, D, N> {
    line: &'a Line<S, T>,
    stored: &'a StoredRows<'a>,
    targets: &'a mut [&'t mut [u8]],
    decode: D,
    normal: N,
}

impl<S: Loaded, T: Stored, D: Step, N: Step> Loop for Walking<'_, '_, S, T, D, N> {
    #[inline(always)]
    fn run<V: Vectors>(self) {
        let Line { masked, fill, .. } = *self.line;
        let (masked, nan) = (V::Eight::splat(masked), V::Eight::splat(f32::NAN));
        let (is_filled, fill) = (fill.is_some(), V::Eight::splat(fill.unwrap_or(0.0)));
        let of_eight = |elements: [S::Bytes; 8]| {
            let stored: V::Eight = S::eight(elements);
            let decoded = stored.where_equal(masked, nan, self.decode.done(stored));
            let normal = self.normal.done(decoded);
            T::eight(if is_filled { normal.where_nan(fill) } else { normal })
        };
        for (row, target) in self.targets.iter_mut().enumerate() {
            let stored = S::elements(self.stored.row(row));
            map_eights(stored, T::elements(target), of_eight, |element| of_eight([element; 8])[0]);
        }
    }
}

/// The steps in one loop; `None` where there is none for the pair of types, for what is masked, or for the precision.
pub(super) fn straight(
    source: NumberType,
    target: NumberType,
    decode: &Decode<'_>,
    fill: Option<f32>,
) -> Option<Box<dyn Straight<f32>>> {
    match source {
        NumberType::UInt8 => from::<Plain<u8>>(target, decode, fill),
        NumberType::Int16 => from::<Plain<i16>>(target, decode, fill),
        NumberType::UInt16 => from::<Plain<u16>>(target, decode, fill),
        NumberType::Float32 => from::<Plain<f32>>(target, decode, fill),
        _ => None,
    }
}

fn from<S: Loaded>(
    target: NumberType,
    decode: &Decode<'_>,
    fill: Option<f32>,
) -> Option<Box<dyn Straight<f32>>> {
    match target {
        NumberType::Float16 => line::<S, Half>(decode, fill),
        NumberType::Float32 => line::<S, f32>(decode, fill),
        _ => None,
    }
}

fn line<S: Loaded, T: Stored>(decode: &Decode<'_>, fill: Option<f32>) -> Option<Box<dyn Straight<f32>>> {
    let masked = match decode.masked {
        [] => f32::NAN,
        // What the type cannot hold masks nothing.
        [one] => S::Value::equal_to(*one).map_or(f32::NAN, f32::of),
        _ => return None,
    };
    if decode.is_double || decode.valid.is_some() {
        return None;
    }
    let affine = decode.affine.map(|(scale, offset)| (f32::of(scale), f32::of(offset)));
    Some(Box::new(Line::<S, T> { masked, affine, fill, types: PhantomData }))
}
