//! Numbers that a caller names, before they are rounded to any type.

/// A number as its caller has it: integers keep all their digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A whole number.
    Integer(i128),
    /// Any number, infinities and NaN too.
    Float(f64),
}

impl Number {
    /// The nearest `f64`.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Integer(number) => number as f64,
            Number::Float(number) => number,
        }
    }

    /// The whole number that it is; `None` of any other.
    pub(crate) fn whole(self) -> Option<i128> {
        match self {
            Number::Integer(number) => Some(number),
            Number::Float(number) if number.fract() == 0.0 => Some(truncated(number)),
            Number::Float(_) => None,
        }
    }

    /// The least whole number that is no less; `None` of NaN.
    pub(crate) fn ceil(self) -> Option<i128> {
        match self {
            Number::Integer(number) => Some(number),
            Number::Float(number) => (!number.is_nan()).then(|| truncated(number.ceil())),
        }
    }

    /// The largest whole number that is no more; `None` of NaN.
    pub(crate) fn floor(self) -> Option<i128> {
        match self {
            Number::Integer(number) => Some(number),
            Number::Float(number) => (!number.is_nan()).then(|| truncated(number.floor())),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "whole or infinite, and saturating: bounds are no less apart then"
)]
fn truncated(number: f64) -> i128 {
    number as i128
}

macro_rules! integers {
    ($($type:ty),*) => {
        $(impl From<$type> for Number {
            fn from(number: $type) -> Number {
                Number::Integer(number.into())
            }
        })*
    };
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);

impl From<f32> for Number {
    fn from(number: f32) -> Number {
        Number::Float(number.into())
    }
}

impl From<f64> for Number {
    fn from(number: f64) -> Number {
        Number::Float(number)
    }
}
