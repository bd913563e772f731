//! Elements that have an order.

use std::fmt;

/// An element with an order.
pub(crate) trait Number: Copy + PartialOrd {
    /// As a number to sum up; the nearest where it has no exact one.
    fn to_f64(self) -> f64;
    /// Without loss.
    fn extreme(self) -> Extreme;
    /// As an integer, where the type has only those.
    fn to_integer(self) -> Option<i128> {
        None
    }
    /// Whether it is NaN.
    fn is_missing(self) -> bool {
        false
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl Number for $integer {
            fn to_f64(self) -> f64 {
                self as f64
            }
            fn extreme(self) -> Extreme {
                Extreme::Integer(i128::from(self))
            }
            fn to_integer(self) -> Option<i128> {
                Some(i128::from(self))
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Number for bool {
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }
    fn extreme(self) -> Extreme {
        Extreme::Bool(self)
    }
    fn to_integer(self) -> Option<i128> {
        Some(i128::from(self))
    }
}

impl Number for f32 {
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn extreme(self) -> Extreme {
        Extreme::Single(self)
    }
    fn is_missing(self) -> bool {
        self.is_nan()
    }
}

impl Number for f64 {
    fn to_f64(self) -> f64 {
        self
    }
    fn extreme(self) -> Extreme {
        Extreme::Double(self)
    }
    fn is_missing(self) -> bool {
        self.is_nan()
    }
}

/// The least or the greatest element, exact in its own type.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) enum Extreme {
    /// Of an integer type.
    Integer(i128),
    /// Of `float16` or `float32`.
    Single(f32),
    /// Of `float64`.
    Double(f64),
    /// Of `bool`.
    Bool(bool),
}

/// The shortest text that reads back to the same element.
impl fmt::Display for Extreme {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => write!(out, "{value}"),
            Self::Single(value) => write!(out, "{value:?}"),
            Self::Double(value) => write!(out, "{value:?}"),
            Self::Bool(value) => write!(out, "{value}"),
        }
    }
}
