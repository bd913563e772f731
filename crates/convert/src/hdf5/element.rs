//! Single elements, as Zarr v2's metadata writes fill values.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use half::f16;
use serde_json::{Value, json};

/// An element of a type: a number, a word for what JSON has no number for, or bytes in base64.
pub(super) fn of(name: &Value, element: &[u8]) -> Value {
    let Some(name) = name.as_str() else { return BASE64.encode(element).into() };
    let mut element = element.to_vec();
    if name.starts_with('>') {
        // Of complex numbers each half is turned by itself.
        let half = if name.contains('c') { element.len() / 2 } else { element.len() };
        element.chunks_mut(half.max(1)).for_each(<[u8]>::reverse);
    }
    match name.get(1..2) {
        Some("b") => json!(element != [0]),
        Some("i") => json!(signed(&element)),
        Some("u") => json!(unsigned(&element)),
        Some("f") => float(&element),
        Some("c") => {
            let (real, imaginary) = element.split_at(element.len() / 2);
            json!([float(real), float(imaginary)])
        }
        _ => BASE64.encode(&element).into(),
    }
}

fn unsigned(element: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(element).for_each(|(place, byte)| *place = *byte);
    u64::from_le_bytes(bytes)
}

fn signed(element: &[u8]) -> i64 {
    let is_negative = element.last().is_some_and(|last| 0x80 & last != 0);
    let mut bytes = if is_negative { [0xff; 8] } else { [0; 8] };
    bytes.iter_mut().zip(element).for_each(|(place, byte)| *place = *byte);
    i64::from_le_bytes(bytes)
}

/// A float, whose infinities and NaN are words.
fn float(element: &[u8]) -> Value {
    let Some(value) = number(element) else { return Value::Null };
    if value.is_nan() {
        return json!("NaN");
    }
    if value.is_infinite() {
        return json!(if value.is_sign_negative() { "-Infinity" } else { "Infinity" });
    }
    json!(value)
}

/// A little-endian float of two, four or eight bytes.
fn number(element: &[u8]) -> Option<f64> {
    Some(match *element {
        [a, b] => f16::from_le_bytes([a, b]).to_f64(),
        [a, b, c, d] => f32::from_le_bytes([a, b, c, d]).into(),
        _ => f64::from_le_bytes(element.try_into().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_written_as_zarr_has_them() {
        for (name, element, wanted) in [
            (">i2", &[0xff, 0xfe][..], json!(-2)),
            ("<u4", &[0, 1, 0, 0], json!(256)),
            ("<f4", &1e20f32.to_le_bytes(), json!(f64::from(1e20f32))),
            (">f8", &f64::NAN.to_be_bytes(), json!("NaN")),
            ("<f2", &[0x00, 0x3c], json!(1.0)),
            ("<f2", &[0x00, 0xfc], json!("-Infinity")),
            (">f2", &[0x80, 0x01], json!(-(2f64.powi(-24)))),
            ("|b1", &[1], json!(true)),
            ("|S2", b"ab", json!("YWI=")),
        ] {
            assert_eq!(of(&json!(name), element), wanted, "{name}");
        }
    }
}
