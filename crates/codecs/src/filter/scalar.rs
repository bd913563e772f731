//! Single numbers in codecs' configurations, as Zarr v3 writes fill values.

use serde_json::Value;

use super::block::Wide;
use super::rounding::{OutOfRange, RoundingMode};
use crate::float_format::FloatFormat;
use crate::number::{NumberClass, NumberType};

/// The bits of a number of this type, widened; `None` where the value is no number of it.
///
/// Floats are rounded to the type, and may be `"NaN"`, `"Infinity"`, `"-Infinity"` or their bits in hexadecimal (Zarr v3
/// core, "Fill value list").
pub(super) fn scalar_bits(number: NumberType, value: &Value) -> Option<u64> {
    let whole = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    let whole = whole.or_else(|| {
        let float = value
            .as_f64()
            .filter(|float| float.fract() == 0.0 && float.abs() < 18_446_744_073_709_551_616.0)?;
        #[expect(clippy::cast_possible_truncation, reason = "told to be a whole number below 2^64")]
        Some(float as i128)
    });
    match number.class() {
        NumberClass::Bool => None,
        NumberClass::Signed => {
            let (min, max) = whole_range(number);
            let whole = whole.filter(|whole| min <= *whole && *whole <= max)?;
            i64::try_from(whole).ok().map(i64::cast_unsigned)
        }
        NumberClass::Unsigned => {
            let (min, max) = whole_range(number);
            let whole = whole.filter(|whole| min <= *whole && *whole <= max)?;
            u64::try_from(whole).ok()
        }
        NumberClass::Float => {
            let format = FloatFormat::of(number)?;
            let float = match value {
                Value::String(text) => match text.as_str() {
                    "NaN" => f64::NAN,
                    "Infinity" | "+Infinity" => f64::INFINITY,
                    "-Infinity" => f64::NEG_INFINITY,
                    text => {
                        let bits = u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()?;
                        format.value(bits)
                    }
                },
                value => value.as_f64()?,
            };
            let rounded = format.rounded(float.into(), RoundingMode::NearestEven, OutOfRange::Refuse);
            rounded.map(f64::to_bits)
        }
    }
}

/// The least and the largest number of a type of whole numbers.
pub(super) fn whole_range(number: NumberType) -> (i128, i128) {
    let bits = number.bits();
    match Wide::of(number) {
        Wide::Signed => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        Wide::Unsigned | Wide::Float => (0, (1 << bits) - 1),
    }
}
