//! Floats in metadata: from JSON to the bytes of a float, and back.

use half::f16;
use serde_json::{Number, Value};

use super::ZarrFormat;
use crate::SmallFloat;

/// A float format.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Float {
    /// One of machine learning.
    Small(SmallFloat),
    /// IEEE 754 binary16.
    Half,
    /// IEEE 754 binary32.
    Single,
    /// IEEE 754 binary64.
    Double,
}

impl Float {
    fn size_bytes(self) -> usize {
        match self {
            Self::Small(float) => float.size_bytes(),
            Self::Half => 2,
            Self::Single => 4,
            Self::Double => 8,
        }
    }

    /// The bytes, in this machine's byte order, of the float that `value` spells.
    pub(crate) fn parse(self, value: &Value, zarr_format: ZarrFormat) -> Option<Vec<u8>> {
        match value {
            Value::Number(number) => self.finite_bytes(number.as_f64()?),
            Value::String(text) => match text.as_str() {
                "NaN" => self.rounded_bytes(f64::NAN),
                "Infinity" => self.rounded_bytes(f64::INFINITY),
                "-Infinity" => self.rounded_bytes(f64::NEG_INFINITY),
                text if text.starts_with("0x") => self.hexadecimal_bytes(&text[2..]),
                text if zarr_format == ZarrFormat::V2 => {
                    self.finite_bytes(text.parse().ok().filter(|float: &f64| float.is_finite())?)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// `float`, which is finite, in the nearest float of the format; `None` when that is infinite.
    fn finite_bytes(self, float: f64) -> Option<Vec<u8>> {
        let fits = match self {
            Self::Half => f16::from_f64(float).is_finite(),
            Self::Single => nearest_f32(float).is_finite(),
            Self::Small(_) | Self::Double => float.is_finite(),
        };
        if fits { self.rounded_bytes(float) } else { None }
    }

    fn rounded_bytes(self, float: f64) -> Option<Vec<u8>> {
        match self {
            Self::Small(small) => small.encode(float),
            Self::Half => {
                Some(if float.is_nan() { f16::NAN } else { f16::from_f64(float) }.to_ne_bytes().to_vec())
            }
            Self::Single => Some(nearest_f32(float).to_ne_bytes().to_vec()),
            Self::Double => Some(float.to_ne_bytes().to_vec()),
        }
    }

    /// The float whose bits `digits` are, most significant first, exactly two digits a byte.
    fn hexadecimal_bytes(self, digits: &str) -> Option<Vec<u8>> {
        let size_bytes = self.size_bytes();
        if digits.len() != 2 * size_bytes || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let bits = u64::from_str_radix(digits, 16).ok()?;
        let mut bytes = bits.to_le_bytes().get(..size_bytes)?.to_vec();
        if cfg!(target_endian = "big") {
            bytes.reverse();
        }
        Some(bytes)
    }

    /// The float of `bytes`, in this machine's byte order, as the shortest decimal that leads back to it, a name, or bits
    /// for an unusual NaN.
    pub(crate) fn to_json(self, bytes: &[u8]) -> Option<Value> {
        let (float, shortest) = match self {
            Self::Small(small) => {
                let float = small.decode(bytes)?;
                // A `bfloat16` is a `float32` exactly; all others are few digits by themselves.
                #[expect(clippy::cast_possible_truncation, reason = "exact: every small float is a float32")]
                let single = float as f32;
                (float, single.to_string())
            }
            Self::Half => {
                let float = f16::from_ne_bytes(bytes.try_into().ok()?);
                (float.to_f64(), float.to_f32().to_string())
            }
            Self::Single => {
                let float = f32::from_ne_bytes(bytes.try_into().ok()?);
                (f64::from(float), float.to_string())
            }
            Self::Double => {
                let float = f64::from_ne_bytes(bytes.try_into().ok()?);
                (float, float.to_string())
            }
        };
        Some(match float {
            float if float.is_nan() && self.rounded_bytes(f64::NAN).as_deref() == Some(bytes) => "NaN".into(),
            float if float.is_nan() => hexadecimal(bytes).into(),
            f64::INFINITY => "Infinity".into(),
            f64::NEG_INFINITY => "-Infinity".into(),
            _ => Value::Number(Number::from_f64(shortest.parse().ok()?)?),
        })
    }
}

/// The bits of `bytes`, which are in this machine's byte order, most significant first.
fn hexadecimal(bytes: &[u8]) -> String {
    let digits = |byte: &u8| format!("{byte:02x}");
    let digits: String = if cfg!(target_endian = "big") {
        bytes.iter().map(digits).collect()
    } else {
        bytes.iter().rev().map(digits).collect()
    };
    format!("0x{digits}")
}

fn nearest_f32(float: f64) -> f32 {
    if float.is_nan() {
        return f32::NAN;
    }
    #[expect(clippy::cast_possible_truncation, reason = "rounding to the nearest is what is wanted")]
    let nearest = float as f32;
    nearest
}
