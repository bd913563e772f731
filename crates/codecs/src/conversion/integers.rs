//! Conversions of integers that are never floats on the way.

use super::lanes::map_lanes;
use super::load::{Equal, Hides, Mask, Unmasked};
use super::number::Number;
use super::rows::StoredRows;
use super::simd::{self, Loop, Vectors};
use super::source::{Plain, Source, Value};
use crate::number::NumberType;
use std::marker::PhantomData;

/// Casts integers to integers.
pub(crate) trait Integers: Send + Sync {
    /// Converts elements in native byte order to as many of the target, row by row.
    fn convert(&self, stored: &StoredRows<'_>, targets: &mut [&mut [u8]]);
}

/// An integer that others are cast to.
trait Whole: Value {
    type Bytes: Copy;

    fn elements(bytes: &mut [u8]) -> &mut [Self::Bytes];

    fn bytes(self) -> Self::Bytes;
}

/// An integer that is cast to another type, which takes its nearest value where it has no equal one.
trait Saturating<T>: Copy {
    fn saturated(self) -> T;
}

/// Casts of one type to another.
struct Cast<S: Value, T> {
    mask: Mask<S>,
    fill: T,
}

impl<S: Value + Saturating<T>, T: Whole> Integers for Cast<S, T>
where
    Plain<S>: Source<Value = S>,
{
    fn convert(&self, stored: &StoredRows<'_>, targets: &mut [&mut [u8]]) {
        let fill = self.fill;
        // The first mask is looked at while elements are cast: most arrays have no other.
        let others = match self.mask.equal.split_first() {
            None => {
                simd::run(Casting::<S, T, _> {
                    mask: Unmasked,
                    fill,
                    stored,
                    targets: &mut *targets,
                    source: PhantomData,
                });
                &[]
            }
            Some((masked, others)) => {
                simd::run(Casting::<S, T, _> {
                    mask: Equal(*masked),
                    fill,
                    stored,
                    targets: &mut *targets,
                    source: PhantomData,
                });
                others
            }
        };
        for masked in others {
            simd::run(Masking { masked: *masked, fill, stored, targets: &mut *targets });
        }
        if let Some(valid) = self.mask.valid {
            simd::run(Bounding { valid, fill, stored, targets });
        }
    }
}

/// Casts, and fills what is missing.
struct Casting<'a, 't, S, T, M> {
    mask: M,
    fill: T,
    stored: &'a StoredRows<'a>,
    targets: &'a mut [&'t mut [u8]],
    source: PhantomData<S>,
}

impl<S: Saturating<T> + Value, T: Whole, M: Hides<S>> Loop for Casting<'_, '_, S, T, M>
where
    Plain<S>: Source<Value = S>,
{
    #[inline(always)]
    fn run<V: Vectors>(self) {
        for (row, target) in self.targets.iter_mut().enumerate() {
            let stored = Plain::<S>::elements(self.stored.row(row));
            map_lanes(stored, T::elements(target), |stored| {
                let stored = Plain::<S>::NEW.value(stored);
                let cast = if self.mask.hides(stored) { self.fill } else { stored.saturated() };
                cast.bytes()
            });
        }
    }
}

struct Masking<'a, 't, S, T> {
    masked: S,
    fill: T,
    stored: &'a StoredRows<'a>,
    targets: &'a mut [&'t mut [u8]],
}

impl<S: Value, T: Whole> Loop for Masking<'_, '_, S, T>
where
    Plain<S>: Source<Value = S>,
{
    #[inline(always)]
    fn run<V: Vectors>(self) {
        let fill = self.fill.bytes();
        for (row, target) in self.targets.iter_mut().enumerate() {
            let stored = Plain::<S>::elements(self.stored.row(row));
            for (element, stored) in T::elements(target).iter_mut().zip(stored) {
                let is_masked = Plain::<S>::NEW.value(*stored) == self.masked;
                *element = if is_masked { fill } else { *element };
            }
        }
    }
}

struct Bounding<'a, 't, S, T> {
    valid: (S, S),
    fill: T,
    stored: &'a StoredRows<'a>,
    targets: &'a mut [&'t mut [u8]],
}

impl<S: Value, T: Whole> Loop for Bounding<'_, '_, S, T>
where
    Plain<S>: Source<Value = S>,
{
    #[inline(always)]
    fn run<V: Vectors>(self) {
        let (fill, (min, max)) = (self.fill.bytes(), self.valid);
        for (row, target) in self.targets.iter_mut().enumerate() {
            let stored = Plain::<S>::elements(self.stored.row(row));
            for (element, stored) in T::elements(target).iter_mut().zip(stored) {
                let stored = Plain::<S>::NEW.value(*stored);
                let is_valid = (min <= stored) & (stored <= max);
                *element = if is_valid { *element } else { fill };
            }
        }
    }
}

macro_rules! whole {
    ($($type:ty),*) => {
        $(impl Whole for $type {
            type Bytes = [u8; size_of::<$type>()];

            #[inline(always)]
            fn elements(bytes: &mut [u8]) -> &mut [Self::Bytes] {
                bytes.as_chunks_mut().0
            }

            #[inline(always)]
            fn bytes(self) -> Self::Bytes {
                self.to_ne_bytes()
            }
        })*
        $(whole!(@from $type; i8, i16, i32, i64, u8, u16, u32, u64);)*
    };
    (@from $source:ty; $($target:ty),*) => {
        $(impl Saturating<$target> for $source {
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "bounds that either type has; some pairs lose nothing")]
            fn saturated(self) -> $target {
                const WIDE: (i128, i128) = (<$target>::MIN as i128, <$target>::MAX as i128);
                const LOW: $source =
                    if (<$source>::MIN as i128) < WIDE.0 { <$target>::MIN as $source } else { <$source>::MIN };
                const HIGH: $source =
                    if WIDE.1 < (<$source>::MAX as i128) { <$target>::MAX as $source } else { <$source>::MAX };
                self.max(LOW).min(HIGH) as $target
            }
        })*
    };
}

whole!(i8, i16, i32, i64, u8, u16, u32, u64);

/// What masks integers and what fills them.
pub(super) struct WholeSteps<'a> {
    pub(super) masked: &'a [Number],
    pub(super) valid: Option<(Number, Number)>,
    pub(super) fill: Option<Number>,
}

/// The cast of one type of integers to another; `None` where one of them is none, or the target does not have the value to
/// fill with.
pub(super) fn integers(
    source: NumberType,
    target: NumberType,
    steps: &WholeSteps<'_>,
) -> Option<Box<dyn Integers>> {
    use NumberType::{
        Bool, Int2, Int4, Int8, Int16, Int32, Int64, UInt2, UInt4, UInt8, UInt16, UInt32, UInt64,
    };
    match source {
        Int2 | Int4 | Int8 => from::<i8>(target, steps),
        Int16 => from::<i16>(target, steps),
        Int32 => from::<i32>(target, steps),
        Int64 => from::<i64>(target, steps),
        Bool | UInt2 | UInt4 | UInt8 => from::<u8>(target, steps),
        UInt16 => from::<u16>(target, steps),
        UInt32 => from::<u32>(target, steps),
        UInt64 => from::<u64>(target, steps),
        _ => None,
    }
}

/// An integer that every type of integers can be cast to from.
trait ToAll:
    Value
    + Saturating<i8>
    + Saturating<i16>
    + Saturating<i32>
    + Saturating<i64>
    + Saturating<u8>
    + Saturating<u16>
    + Saturating<u32>
    + Saturating<u64>
{
}

impl<S> ToAll for S where
    S: Value
        + Saturating<i8>
        + Saturating<i16>
        + Saturating<i32>
        + Saturating<i64>
        + Saturating<u8>
        + Saturating<u16>
        + Saturating<u32>
        + Saturating<u64>
{
}

fn from<S: ToAll>(target: NumberType, steps: &WholeSteps<'_>) -> Option<Box<dyn Integers>>
where
    Plain<S>: Source<Value = S>,
{
    match target {
        NumberType::Int8 => cast::<S, i8>(steps),
        NumberType::Int16 => cast::<S, i16>(steps),
        NumberType::Int32 => cast::<S, i32>(steps),
        NumberType::Int64 => cast::<S, i64>(steps),
        NumberType::UInt8 => cast::<S, u8>(steps),
        NumberType::UInt16 => cast::<S, u16>(steps),
        NumberType::UInt32 => cast::<S, u32>(steps),
        NumberType::UInt64 => cast::<S, u64>(steps),
        _ => None,
    }
}

fn cast<S: Value + Saturating<T>, T: Whole>(steps: &WholeSteps<'_>) -> Option<Box<dyn Integers>>
where
    Plain<S>: Source<Value = S>,
{
    let fill = T::equal_to(steps.fill.unwrap_or(Number::Integer(0)))?;
    Some(Box::new(Cast::<S, T> { mask: Mask::new(steps.masked, steps.valid), fill }))
}
