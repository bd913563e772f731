//! Floats in metadata: from JSON to the bytes of a 2, 4 or 8 byte float, and back.

use half::f16;
use serde_json::{Number, Value};

use super::ZarrFormat;

/// The bytes of the float of `size_bytes` (2, 4, 8) that `value` spells.
pub(crate) fn from_json(value: &Value, size_bytes: usize, zarr_format: ZarrFormat) -> Option<Vec<u8>> {
    match value {
        Value::Number(number) => finite_bytes(number.as_f64()?, size_bytes),
        Value::String(text) => match text.as_str() {
            "NaN" => rounded_bytes(f64::NAN, size_bytes),
            "Infinity" => rounded_bytes(f64::INFINITY, size_bytes),
            "-Infinity" => rounded_bytes(f64::NEG_INFINITY, size_bytes),
            text if text.starts_with("0x") => hexadecimal_bytes(&text[2..], size_bytes),
            text if zarr_format == ZarrFormat::V2 => {
                finite_bytes(text.parse().ok().filter(|float: &f64| float.is_finite())?, size_bytes)
            }
            _ => None,
        },
        _ => None,
    }
}

/// `float`, which is finite, in the nearest float of `size_bytes`; `None` when that is infinite.
fn finite_bytes(float: f64, size_bytes: usize) -> Option<Vec<u8>> {
    let fits = match size_bytes {
        2 => f16::from_f64(float).is_finite(),
        4 => nearest_f32(float).is_finite(),
        _ => float.is_finite(),
    };
    if fits { rounded_bytes(float, size_bytes) } else { None }
}

fn rounded_bytes(float: f64, size_bytes: usize) -> Option<Vec<u8>> {
    match size_bytes {
        2 => Some(if float.is_nan() { f16::NAN } else { f16::from_f64(float) }.to_ne_bytes().to_vec()),
        4 => Some(nearest_f32(float).to_ne_bytes().to_vec()),
        8 => Some(float.to_ne_bytes().to_vec()),
        _ => None,
    }
}

fn nearest_f32(float: f64) -> f32 {
    if float.is_nan() {
        return f32::NAN;
    }
    #[expect(clippy::cast_possible_truncation, reason = "rounding to the nearest is what is wanted")]
    let nearest = float as f32;
    nearest
}

/// The float whose bits `digits` are, most significant first, exactly two digits a byte.
fn hexadecimal_bytes(digits: &str, size_bytes: usize) -> Option<Vec<u8>> {
    if digits.len() != 2 * size_bytes || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let bits = u64::from_str_radix(digits, 16).ok()?;
    match size_bytes {
        2 => Some(u16::try_from(bits).ok()?.to_ne_bytes().to_vec()),
        4 => Some(u32::try_from(bits).ok()?.to_ne_bytes().to_vec()),
        8 => Some(bits.to_ne_bytes().to_vec()),
        _ => None,
    }
}

/// A float of 2, 4 or 8 bytes as the shortest decimal that leads back to it, a name, or bits for an unusual NaN.
pub(crate) fn to_json(bytes: &[u8]) -> Option<Value> {
    let (float, shortest, bits, usual_nan_bits) = match bytes.len() {
        2 => {
            let float = f16::from_ne_bytes(bytes.try_into().ok()?);
            let bits = format!("0x{:04x}", float.to_bits());
            (float.to_f64(), float.to_f32().to_string(), bits, format!("0x{:04x}", f16::NAN.to_bits()))
        }
        4 => {
            let float = f32::from_ne_bytes(bytes.try_into().ok()?);
            let bits = format!("0x{:08x}", float.to_bits());
            (f64::from(float), float.to_string(), bits, format!("0x{:08x}", f32::NAN.to_bits()))
        }
        _ => {
            let float = f64::from_ne_bytes(bytes.try_into().ok()?);
            let bits = format!("0x{:016x}", float.to_bits());
            (float, float.to_string(), bits, format!("0x{:016x}", f64::NAN.to_bits()))
        }
    };
    Some(match float {
        float if float.is_nan() && bits == usual_nan_bits => "NaN".into(),
        float if float.is_nan() => bits.into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        _ => Value::Number(Number::from_f64(shortest.parse().ok()?)?),
    })
}
