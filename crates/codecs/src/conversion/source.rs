//! The types that elements are stored in, and what their values are.

use super::half_float::{from_bfloat, from_half};
use super::number::Number;
use crate::float_format::FloatFormat;
use crate::number::NumberType;

/// A type of stored elements, in native byte order.
pub(super) trait Source: Send + Sync + 'static {
    /// One stored element.
    type Bytes: Copy;
    /// Its value.
    type Value: Value;

    /// The whole elements of some bytes.
    fn elements(bytes: &[u8]) -> &[Self::Bytes];

    /// The value of one.
    fn value(&self, bytes: Self::Bytes) -> Self::Value;
}

/// A value that can be compared, and become a float.
pub(crate) trait Value: Copy + PartialOrd + Send + Sync + 'static {
    /// What no value lies below.
    const LOWEST: Self;

    /// What no value lies above.
    const HIGHEST: Self;

    /// The value that a number is in this type; `None` where the type has none that is equal, or rounded to it of floats.
    fn equal_to(number: Number) -> Option<Self>;

    /// The least value of this type that is no less than a number; `None` where every value is less.
    fn at_least(number: Number) -> Option<Self>;

    /// The largest value of this type that is no more than a number; `None` where every value is more.
    fn at_most(number: Number) -> Option<Self>;

    /// Rounded to the nearest, ties to even.
    fn to_f32(self) -> f32;

    /// Rounded to the nearest, ties to even.
    fn to_f64(self) -> f64;
}

/// A type that is its own value.
pub(super) struct Plain<T>(pub(super) std::marker::PhantomData<T>);

impl<T> Plain<T> {
    pub(super) const NEW: Self = Plain(std::marker::PhantomData);
}

macro_rules! plain {
    ($($type:ty),*) => {
        $(impl Source for Plain<$type> {
            type Bytes = [u8; size_of::<$type>()];
            type Value = $type;

            #[inline(always)]
            fn elements(bytes: &[u8]) -> &[Self::Bytes] {
                bytes.as_chunks().0
            }

            #[inline(always)]
            fn value(&self, bytes: Self::Bytes) -> $type {
                <$type>::from_ne_bytes(bytes)
            }
        })*
    };
}

plain!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

macro_rules! whole_values {
    ($($type:ty),*) => {
        $(impl Value for $type {
            const LOWEST: Self = <$type>::MIN;
            const HIGHEST: Self = <$type>::MAX;

            fn equal_to(number: Number) -> Option<Self> {
                <$type>::try_from(number.whole()?).ok()
            }

            fn at_least(number: Number) -> Option<Self> {
                // NaN bounds nothing.
                let Some(bound) = number.ceil() else { return Some(<$type>::MIN) };
                <$type>::try_from(bound.max(<$type>::MIN.into())).ok()
            }

            fn at_most(number: Number) -> Option<Self> {
                let Some(bound) = number.floor() else { return Some(<$type>::MAX) };
                <$type>::try_from(bound.min(<$type>::MAX.into())).ok()
            }

            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
        })*
    };
}

whole_values!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Value for f32 {
    const LOWEST: Self = f32::NEG_INFINITY;
    const HIGHEST: Self = f32::INFINITY;

    #[expect(clippy::cast_possible_truncation, reason = "values are rounded to the type, as NumPy does")]
    fn equal_to(number: Number) -> Option<Self> {
        let value = number.to_f64() as f32;
        (!value.is_nan()).then_some(value)
    }

    fn at_least(number: Number) -> Option<Self> {
        Some(Self::equal_to(number).unwrap_or(f32::NEG_INFINITY))
    }

    fn at_most(number: Number) -> Option<Self> {
        Some(Self::equal_to(number).unwrap_or(f32::INFINITY))
    }

    #[inline(always)]
    fn to_f32(self) -> f32 {
        self
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self.into()
    }
}

impl Value for f64 {
    const LOWEST: Self = f64::NEG_INFINITY;
    const HIGHEST: Self = f64::INFINITY;

    fn equal_to(number: Number) -> Option<Self> {
        let value = number.to_f64();
        (!value.is_nan()).then_some(value)
    }

    fn at_least(number: Number) -> Option<Self> {
        Some(Self::equal_to(number).unwrap_or(f64::NEG_INFINITY))
    }

    fn at_most(number: Number) -> Option<Self> {
        Some(Self::equal_to(number).unwrap_or(f64::INFINITY))
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "rounds to the nearest")]
    fn to_f32(self) -> f32 {
        self as f32
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
}

/// IEEE 754 binary16.
pub(super) struct Half;

/// The upper half of a `float32`.
pub(super) struct BFloat;

macro_rules! halves {
    ($($type:ty, $value:ident);*) => {
        $(impl Source for $type {
            type Bytes = [u8; 2];
            type Value = f32;

            #[inline(always)]
            fn elements(bytes: &[u8]) -> &[[u8; 2]] {
                bytes.as_chunks().0
            }

            #[inline(always)]
            fn value(&self, bytes: [u8; 2]) -> f32 {
                $value(u16::from_ne_bytes(bytes))
            }
        })*
    };
}

halves!(Half, from_half; BFloat, from_bfloat);

/// Floats of a byte: their values by their bits.
pub(super) struct Tiny(Box<[f32; 256]>);

impl Tiny {
    /// The values of a type; `None` of one that is no float of a byte.
    pub(super) fn of(number: NumberType) -> Option<Tiny> {
        let format = FloatFormat::of(number).filter(|_| number.size_bytes() == 1)?;
        let mut values = Box::new([0.0; 256]);
        for (bits, value) in (0u64..).zip(values.iter_mut()) {
            // Bits above the type's own are not looked at.
            *value = format.value(bits & ((1 << number.bits()) - 1)).to_f32();
        }
        Some(Tiny(values))
    }
}

impl Source for Tiny {
    type Bytes = u8;
    type Value = f32;

    fn elements(bytes: &[u8]) -> &[u8] {
        bytes
    }

    #[inline(always)]
    fn value(&self, bits: u8) -> f32 {
        self.0[usize::from(bits)]
    }
}
