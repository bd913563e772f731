//! From stored elements to values: masked and decoded.

use super::floats::Working;
use super::number::Number;
use super::simd::{self, Loop};
use super::source::{BFloat, Half, Plain, Source, Tiny, Value};
use crate::number::NumberType;

/// Loads stored elements as values in the working precision.
pub(super) trait Load<W>: Send + Sync {
    /// Masks and decodes `stored`, elements in native byte order, to as many `values`.
    fn load(&self, stored: &[u8], values: &mut [W]);
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
    fn load(&self, stored: &[u8], values: &mut [W]) {
        let (source, stored) = (&self.source, S::elements(stored));
        match self.affine {
            None => simd::run(Widening { source, stored, values: &mut *values }),
            Some(affine) => simd::run(Decoding { source, affine, stored, values: &mut *values }),
        }
        for masked in &self.mask.equal {
            simd::run(Masking { source, masked: *masked, stored, values: &mut *values });
        }
        if let Some(valid) = self.mask.valid {
            simd::run(Bounding { source, valid, stored, values });
        }
    }
}

struct Widening<'a, S: Source, W> {
    source: &'a S,
    stored: &'a [S::Bytes],
    values: &'a mut [W],
}

impl<S: Source, W: Working> Loop for Widening<'_, S, W> {
    #[inline(always)]
    fn run(self) {
        for (value, stored) in self.values.iter_mut().zip(self.stored) {
            *value = W::of(self.source.value(*stored));
        }
    }
}

struct Decoding<'a, S: Source, D, W> {
    source: &'a S,
    affine: Affine<D>,
    stored: &'a [S::Bytes],
    values: &'a mut [W],
}

impl<S: Source, D: Working, W: Working> Loop for Decoding<'_, S, D, W> {
    #[inline(always)]
    fn run(self) {
        let Affine { scale, offset } = self.affine;
        for (value, stored) in self.values.iter_mut().zip(self.stored) {
            *value = W::of(D::of(self.source.value(*stored)) * scale + offset);
        }
    }
}

struct Masking<'a, S: Source, W> {
    source: &'a S,
    masked: S::Value,
    stored: &'a [S::Bytes],
    values: &'a mut [W],
}

impl<S: Source, W: Working> Loop for Masking<'_, S, W> {
    #[inline(always)]
    fn run(self) {
        for (value, stored) in self.values.iter_mut().zip(self.stored) {
            let is_masked = self.source.value(*stored) == self.masked;
            *value = if is_masked { W::NAN } else { *value };
        }
    }
}

struct Bounding<'a, S: Source, W> {
    source: &'a S,
    valid: (S::Value, S::Value),
    stored: &'a [S::Bytes],
    values: &'a mut [W],
}

impl<S: Source, W: Working> Loop for Bounding<'_, S, W> {
    #[inline(always)]
    fn run(self) {
        let (min, max) = self.valid;
        for (value, stored) in self.values.iter_mut().zip(self.stored) {
            let stored = self.source.value(*stored);
            let is_valid = (min <= stored) & (stored <= max);
            *value = if is_valid { *value } else { W::NAN };
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
