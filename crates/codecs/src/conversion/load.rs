//! From stored elements to values: masked and decoded.

use super::floats::Working;
use super::lanes::map_lanes;
use super::number::Number;
use super::rows::StoredRows;
use super::simd::{self, Loop, Vectors};
use super::source::{BFloat, Half, Plain, Source, Tiny, Value};
use crate::number::NumberType;

/// Loads stored elements as values in the working precision.
pub(super) trait Load<W>: Send + Sync {
    /// Masks and decodes `stored`, elements in native byte order, to as many `values`, row by row.
    fn load(&self, stored: &StoredRows<'_>, values: &mut [&mut [W]]);
}

/// Loads elements of one type, decoded in the precision `D`.
struct Loading<S: Source, D> {
    source: S,
    affine: Option<Affine<D>>,
    mask: Mask<S::Value>,
}

/// What decoding does. What is not asked for changes no bit: a scale of 1, an offset of -0.
#[derive(Clone, Copy)]
struct Affine<D> {
    scale: D,
    offset: D,
}

/// Which stored values stand for what is missing.
pub(super) struct Mask<V> {
    pub(super) equal: Vec<V>,
    /// Both ends are valid. `None` where all is.
    pub(super) valid: Option<(V, V)>,
}

impl<S: Source, D: Working, W: Working> Load<W> for Loading<S, D> {
    fn load(&self, stored: &StoredRows<'_>, values: &mut [&mut [W]]) {
        let (source, affine) = (&self.source, self.affine);
        // The first mask is looked at while elements are decoded: most arrays have no other.
        let others = match (affine, self.mask.equal.split_first()) {
            (None, None) => {
                simd::run(Widening { source, mask: Unmasked, stored, values: &mut *values });
                &[]
            }
            (None, Some((masked, others))) => {
                simd::run(Widening { source, mask: Equal(*masked), stored, values: &mut *values });
                others
            }
            (Some(affine), None) => {
                simd::run(Decoding { source, affine, mask: Unmasked, stored, values: &mut *values });
                &[]
            }
            (Some(affine), Some((masked, others))) => {
                simd::run(Decoding { source, affine, mask: Equal(*masked), stored, values: &mut *values });
                others
            }
        };
        for masked in others {
            simd::run(Masking { source, masked: *masked, stored, values: &mut *values });
        }
        if let Some(valid) = self.mask.valid {
            simd::run(Bounding { source, valid, stored, values });
        }
    }
}

/// Whether a stored value stands for what is missing.
pub(super) trait Hides<V>: Copy {
    fn hides(self, value: V) -> bool;
}

/// Nothing is missing.
#[derive(Clone, Copy)]
pub(super) struct Unmasked;

/// What equals one value is missing.
#[derive(Clone, Copy)]
pub(super) struct Equal<V>(pub(super) V);

impl<V: Value> Hides<V> for Unmasked {
    #[inline(always)]
    fn hides(self, _: V) -> bool {
        false
    }
}

impl<V: Value> Hides<V> for Equal<V> {
    #[inline(always)]
    fn hides(self, value: V) -> bool {
        value == self.0
    }
}

struct Widening<'a, 'v, S: Source, W, M> {
    source: &'a S,
    mask: M,
    stored: &'a StoredRows<'a>,
    values: &'a mut [&'v mut [W]],
}

impl<S: Source, W: Working, M: Hides<S::Value>> Loop for Widening<'_, '_, S, W, M> {
    #[inline(always)]
    fn run<V: Vectors>(self) {
        for (row, values) in self.values.iter_mut().enumerate() {
            map_lanes(S::elements(self.stored.row(row)), values, |stored| {
                let stored = self.source.value(stored);
                if self.mask.hides(stored) { W::NAN } else { W::of(stored) }
            });
        }
    }
}

struct Decoding<'a, 'v, S: Source, D, W, M> {
    source: &'a S,
    affine: Affine<D>,
    mask: M,
    stored: &'a StoredRows<'a>,
    values: &'a mut [&'v mut [W]],
}

impl<S: Source, D: Working, W: Working, M: Hides<S::Value>> Loop for Decoding<'_, '_, S, D, W, M> {
    #[inline(always)]
    fn run<V: Vectors>(self) {
        let Affine { scale, offset } = self.affine;
        for (row, values) in self.values.iter_mut().enumerate() {
            map_lanes(S::elements(self.stored.row(row)), values, |stored| {
                let stored = self.source.value(stored);
                let decoded = W::of(D::of(stored) * scale + offset);
                if self.mask.hides(stored) { W::NAN } else { decoded }
            });
        }
    }
}

struct Masking<'a, 'v, S: Source, W> {
    source: &'a S,
    masked: S::Value,
    stored: &'a StoredRows<'a>,
    values: &'a mut [&'v mut [W]],
}

impl<S: Source, W: Working> Loop for Masking<'_, '_, S, W> {
    #[inline(always)]
    fn run<V: Vectors>(self) {
        for (row, values) in self.values.iter_mut().enumerate() {
            for (value, stored) in values.iter_mut().zip(S::elements(self.stored.row(row))) {
                let is_masked = self.source.value(*stored) == self.masked;
                *value = if is_masked { W::NAN } else { *value };
            }
        }
    }
}

struct Bounding<'a, 'v, S: Source, W> {
    source: &'a S,
    valid: (S::Value, S::Value),
    stored: &'a StoredRows<'a>,
    values: &'a mut [&'v mut [W]],
}

impl<S: Source, W: Working> Loop for Bounding<'_, '_, S, W> {
    #[inline(always)]
    fn run<V: Vectors>(self) {
        let (min, max) = self.valid;
        for (row, values) in self.values.iter_mut().enumerate() {
            for (value, stored) in values.iter_mut().zip(S::elements(self.stored.row(row))) {
                let stored = self.source.value(*stored);
                let is_valid = (min <= stored) & (stored <= max);
                *value = if is_valid { *value } else { W::NAN };
            }
        }
    }
}

impl<V: Value> Mask<V> {
    /// What masks values that equal some number, and those that lie outside two.
    pub(super) fn new(masked: &[Number], valid: Option<(Number, Number)>) -> Mask<V> {
        let equal = masked.iter().filter_map(|number| V::equal_to(*number)).collect();
        // Where no value lies on the right side of an end, none is valid: then the ends cross.
        let valid = valid.map(|(min, max)| {
            let ends = V::at_least(min).zip(V::at_most(max));
            ends.unwrap_or((V::HIGHEST, V::LOWEST))
        });
        Mask { equal, valid }
    }
}

/// What is done to stored elements, before it is rounded to any type.
pub(super) struct Decode<'a> {
    pub(super) masked: &'a [Number],
    pub(super) valid: Option<(Number, Number)>,
    /// Scale and offset.
    pub(super) affine: Option<(f64, f64)>,
    pub(super) is_double: bool,
}

/// What loads elements of a type; `None` of one that has no values here.
pub(super) fn loading<W: Working>(source: NumberType, decode: &Decode<'_>) -> Option<Box<dyn Load<W>>> {
    use NumberType::{
        Bool, Int2, Int4, Int8, Int16, Int32, Int64, UInt2, UInt4, UInt8, UInt16, UInt32, UInt64,
    };
    Some(match source {
        Int2 | Int4 | Int8 => loading_of(Plain::<i8>::NEW, decode),
        Int16 => loading_of(Plain::<i16>::NEW, decode),
        Int32 => loading_of(Plain::<i32>::NEW, decode),
        Int64 => loading_of(Plain::<i64>::NEW, decode),
        Bool | UInt2 | UInt4 | UInt8 => loading_of(Plain::<u8>::NEW, decode),
        UInt16 => loading_of(Plain::<u16>::NEW, decode),
        UInt32 => loading_of(Plain::<u32>::NEW, decode),
        UInt64 => loading_of(Plain::<u64>::NEW, decode),
        NumberType::Float16 => loading_of(Half, decode),
        NumberType::BFloat16 => loading_of(BFloat, decode),
        NumberType::Float32 => loading_of(Plain::<f32>::NEW, decode),
        NumberType::Float64 => loading_of(Plain::<f64>::NEW, decode),
        tiny => loading_of(Tiny::of(tiny)?, decode),
    })
}

fn loading_of<S: Source, W: Working>(source: S, decode: &Decode<'_>) -> Box<dyn Load<W>> {
    let mask = Mask::new(decode.masked, decode.valid);
    match decode.is_double {
        false => Box::new(Loading { source, affine: affine::<f32>(decode), mask }),
        true => Box::new(Loading { source, affine: affine::<f64>(decode), mask }),
    }
}

fn affine<D: Working>(decode: &Decode<'_>) -> Option<Affine<D>> {
    decode.affine.map(|(scale, offset)| Affine { scale: D::of(scale), offset: D::of(offset) })
}
