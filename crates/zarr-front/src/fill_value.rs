//! The value of elements that no stored chunk holds.

use std::fmt;

use serde_json::Value;

use crate::metadata::{ZarrFormat, base64, floats, json};
use crate::{DataType, Error};

/// The value of an array's elements where no chunk is stored: one element's bytes, in this machine's byte order.
///
/// `Display` prints it as a metadata document spells it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FillValue {
    data_type: DataType,
    bytes: Box<[u8]>,
}

impl FillValue {
    /// The value of which every byte is 0, for any data type.
    #[must_use]
    pub fn zero(data_type: DataType) -> Self {
        Self { data_type, bytes: vec![0; data_type.size_bytes()].into_boxed_slice() }
    }

    /// The value that the `fill_value` of a metadata document spells for elements of `data_type`.
    ///
    /// Integers are exact; floats are the nearest of their type. `null` in Zarr v2 means "not defined" and gives
    /// zeros. Zarr v2 also takes a number in a string, which some writers made.
    ///
    /// # Errors
    ///
    /// `Invalid` for a value of another type, and for one that the data type cannot hold (a finite number that would
    /// become infinite included).
    ///
    /// Source: Zarr v3 core specification, "Fill value"; Zarr v2 specification, "Fill value encoding".
    pub fn from_json(value: &Value, data_type: DataType, zarr_format: ZarrFormat) -> Result<Self, Error> {
        if value.is_null() && zarr_format == ZarrFormat::V2 {
            return Ok(Self::zero(data_type));
        }
        let bytes = element_bytes(value, data_type, zarr_format).ok_or_else(|| {
            let found = json::brief(value);
            Error::invalid(format!(
                "wanted a `fill_value` that data type `{data_type}` can hold, found {found}"
            ))
        })?;
        Ok(Self { data_type, bytes })
    }

    /// The bytes of one element, in this machine's byte order; as many as the data type's size.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The data type whose element this is.
    #[must_use]
    pub fn data_type(&self) -> DataType {
        self.data_type
    }

    /// The byte that all bytes of the value are, if they are all equal: memory can then be set instead of copied.
    #[must_use]
    pub fn uniform_byte(&self) -> Option<u8> {
        let first = *self.bytes.first()?;
        self.bytes.iter().all(|byte| *byte == first).then_some(first)
    }

    /// The value in the form of a Zarr v3 document; [`from_json`](Self::from_json) gives back the same bytes.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.scalar_to_json().unwrap_or_else(|| Value::from(self.bytes.to_vec()))
    }

    fn scalar_to_json(&self) -> Option<Value> {
        let bytes = &*self.bytes;
        Some(match self.data_type {
            DataType::Bool => Value::Bool(bytes.first() != Some(&0)),
            DataType::Int8 => i8::from_ne_bytes(bytes.try_into().ok()?).into(),
            DataType::Int16 => i16::from_ne_bytes(bytes.try_into().ok()?).into(),
            DataType::Int32 => i32::from_ne_bytes(bytes.try_into().ok()?).into(),
            DataType::Int64 => i64::from_ne_bytes(bytes.try_into().ok()?).into(),
            DataType::UInt8 => u8::from_ne_bytes(bytes.try_into().ok()?).into(),
            DataType::UInt16 => u16::from_ne_bytes(bytes.try_into().ok()?).into(),
            DataType::UInt32 => u32::from_ne_bytes(bytes.try_into().ok()?).into(),
            DataType::UInt64 => u64::from_ne_bytes(bytes.try_into().ok()?).into(),
            DataType::Float16 | DataType::Float32 | DataType::Float64 => floats::to_json(bytes)?,
            DataType::Complex64 | DataType::Complex128 => {
                let (real, imaginary) = bytes.split_at(bytes.len() / 2);
                Value::Array(vec![floats::to_json(real)?, floats::to_json(imaginary)?])
            }
            DataType::RawBytes(_) => return None,
        })
    }
}

impl fmt::Display for FillValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_json() {
            Value::String(text) => f.write_str(&text),
            other => write!(f, "{other}"),
        }
    }
}

fn element_bytes(value: &Value, data_type: DataType, zarr_format: ZarrFormat) -> Option<Box<[u8]>> {
    let integer = || integer(value, zarr_format);
    let float = |size_bytes| floats::from_json(value, size_bytes, zarr_format);
    let complex = |size_bytes| match value.as_array()?.as_slice() {
        [real, imaginary] => {
            let mut bytes = floats::from_json(real, size_bytes, zarr_format)?;
            bytes.extend(floats::from_json(imaginary, size_bytes, zarr_format)?);
            Some(bytes)
        }
        _ => None,
    };
    let bytes = match data_type {
        DataType::Bool => vec![u8::from(boolean(value, zarr_format)?)],
        DataType::Int8 => i8::try_from(integer()?).ok()?.to_ne_bytes().to_vec(),
        DataType::Int16 => i16::try_from(integer()?).ok()?.to_ne_bytes().to_vec(),
        DataType::Int32 => i32::try_from(integer()?).ok()?.to_ne_bytes().to_vec(),
        DataType::Int64 => i64::try_from(integer()?).ok()?.to_ne_bytes().to_vec(),
        DataType::UInt8 => u8::try_from(integer()?).ok()?.to_ne_bytes().to_vec(),
        DataType::UInt16 => u16::try_from(integer()?).ok()?.to_ne_bytes().to_vec(),
        DataType::UInt32 => u32::try_from(integer()?).ok()?.to_ne_bytes().to_vec(),
        DataType::UInt64 => u64::try_from(integer()?).ok()?.to_ne_bytes().to_vec(),
        DataType::Float16 => float(2)?,
        DataType::Float32 => float(4)?,
        DataType::Float64 => float(8)?,
        DataType::Complex64 => complex(4)?,
        DataType::Complex128 => complex(8)?,
        DataType::RawBytes(_) => raw_bytes(value)?,
    };
    (bytes.len() == data_type.size_bytes()).then(|| bytes.into_boxed_slice())
}

/// `true` or `false`; 0 and 1 as well in Zarr v2, where zarr-python 2 wrote them.
fn boolean(value: &Value, zarr_format: ZarrFormat) -> Option<bool> {
    match (value, zarr_format) {
        (Value::Bool(value), _) => Some(*value),
        (Value::Number(number), ZarrFormat::V2) => match number.as_f64()? {
            0.0 => Some(false),
            1.0 => Some(true),
            _ => None,
        },
        _ => None,
    }
}

/// An integer, or a float that is one exactly (`0.0`), which Python writers make.
fn integer(value: &Value, zarr_format: ZarrFormat) -> Option<i128> {
    // Above 2^53 a double may stand for a neighbour of the integer that was written.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => {
            let exact = number.as_u64().map(i128::from).or_else(|| number.as_i64().map(i128::from));
            exact.or_else(|| {
                let float =
                    number.as_f64().filter(|float| float.abs() <= EXACT_MAX && float.fract() == 0.0)?;
                #[expect(clippy::cast_possible_truncation, reason = "an integer of at most 2^53")]
                Some(float as i128)
            })
        }
        Value::String(text) if zarr_format == ZarrFormat::V2 => text.parse().ok(),
        _ => None,
    }
}

/// Zarr v3's array of integers from 0 to 255, or the base64 of Zarr v2 and zarr-python.
fn raw_bytes(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Array(bytes) => bytes.iter().map(|byte| u8::try_from(byte.as_u64()?).ok()).collect(),
        Value::String(text) => base64::decode(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use half::f16;
    use serde_json::json;

    use super::*;
    use crate::ErrorKind;

    fn v3(value: Value, data_type: DataType) -> Vec<u8> {
        let fill = FillValue::from_json(&value, data_type, ZarrFormat::V3).unwrap();
        let again = FillValue::from_json(&fill.to_json(), data_type, ZarrFormat::V3).unwrap();
        assert_eq!(again, fill, "{value} through to_json");
        fill.bytes().to_vec()
    }

    fn v2(value: Value, data_type: DataType) -> Vec<u8> {
        FillValue::from_json(&value, data_type, ZarrFormat::V2).unwrap().bytes().to_vec()
    }

    #[test]
    fn integers_are_exact() {
        assert_eq!(v3(json!(u64::MAX), DataType::UInt64), u64::MAX.to_ne_bytes());
        assert_eq!(v3(json!(i64::MIN), DataType::Int64), i64::MIN.to_ne_bytes());
        assert_eq!(
            v3(json!(9_007_199_254_740_993_i64), DataType::Int64),
            9_007_199_254_740_993_i64.to_ne_bytes()
        );
        assert_eq!(v3(json!(-1), DataType::Int8), [0xff]);
        assert_eq!(v3(json!(7.0), DataType::UInt16), 7_u16.to_ne_bytes());
        assert_eq!(v2(json!("-12"), DataType::Int16), (-12_i16).to_ne_bytes());
    }

    #[test]
    fn floats_take_every_form() {
        assert_eq!(v3(json!(0.1), DataType::Float32), 0.1_f32.to_ne_bytes());
        assert_eq!(v3(json!(1), DataType::Float64), 1_f64.to_ne_bytes());
        assert_eq!(v3(json!(-0.0), DataType::Float64), (-0.0_f64).to_ne_bytes());
        assert_eq!(v3(json!(65504), DataType::Float16), f16::MAX.to_ne_bytes());
        assert_eq!(v3(json!("NaN"), DataType::Float32), 0x7fc0_0000_u32.to_ne_bytes());
        assert_eq!(v3(json!("NaN"), DataType::Float16), 0x7e00_u16.to_ne_bytes());
        assert_eq!(v3(json!("-Infinity"), DataType::Float64), f64::NEG_INFINITY.to_ne_bytes());
        assert_eq!(v3(json!("0x7fa00000"), DataType::Float32), 0x7fa0_0000_u32.to_ne_bytes());
        assert_eq!(v3(json!("0x7d00"), DataType::Float16), 0x7d00_u16.to_ne_bytes());
        assert_eq!(
            v3(json!("0x7FF4000000000000"), DataType::Float64),
            0x7ff4_0000_0000_0000_u64.to_ne_bytes()
        );
        assert_eq!(v2(json!("1e20"), DataType::Float32), 1e20_f32.to_ne_bytes());
    }

    #[test]
    fn the_other_types_take_their_forms() {
        let complex = [1.5_f32.to_ne_bytes(), f32::NEG_INFINITY.to_ne_bytes()].concat();
        assert_eq!(v3(json!([1.5, "-Infinity"]), DataType::Complex64), complex);
        assert_eq!(v3(json!(["0x0000000000000000", 0]), DataType::Complex128), [0; 16]);
        assert_eq!(v3(json!(true), DataType::Bool), [1]);
        assert_eq!(v2(json!(1), DataType::Bool), [1]);
        let raw = DataType::RawBytes(NonZeroU32::new(3).unwrap());
        assert_eq!(v3(json!([1, 2, 255]), raw), [1, 2, 255]);
        assert_eq!(v3(json!("AQID"), raw), [1, 2, 3]);
        assert_eq!(v2(json!(null), raw), [0, 0, 0]);
        assert_eq!(v2(json!(null), DataType::Float64), [0; 8]);
    }

    #[test]
    fn values_that_do_not_fit_are_invalid() {
        let raw = DataType::RawBytes(NonZeroU32::new(2).unwrap());
        let cases = [
            (json!(256), DataType::UInt8),
            (json!(-1), DataType::UInt64),
            (json!(1e300), DataType::Int64),
            (json!(-9_223_372_036_854_775_809_f64), DataType::Int64),
            (json!(0.5), DataType::Int32),
            (json!("0"), DataType::Int32),
            (json!(1e39), DataType::Float32),
            (json!(65520), DataType::Float16),
            (json!("nan"), DataType::Float32),
            (json!("0x7fc0000"), DataType::Float32),
            (json!("0x7fc000000"), DataType::Float32),
            (json!("0x+fc00000"), DataType::Float32),
            (json!(true), DataType::Float32),
            (json!(null), DataType::Float32),
            (json!(0), DataType::Complex64),
            (json!([0]), DataType::Complex64),
            (json!([0, 0, 0]), DataType::Complex128),
            (json!(0), DataType::Bool),
            (json!("true"), DataType::Bool),
            (json!([1, 256]), raw),
            (json!([1]), raw),
            (json!("AQID"), raw),
            (json!({}), raw),
        ];
        for (value, data_type) in cases {
            let error = FillValue::from_json(&value, data_type, ZarrFormat::V3).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.message().contains(&value.to_string()), "{error}");
        }
        for text in ["inf", "nan", "1e999", ""] {
            assert!(FillValue::from_json(&json!(text), DataType::Float64, ZarrFormat::V2).is_err(), "{text}");
        }
    }

    #[test]
    fn display_and_uniform_byte() {
        let fill = |value, data_type| FillValue::from_json(&value, data_type, ZarrFormat::V3).unwrap();
        assert_eq!(fill(json!(0.1), DataType::Float32).to_string(), "0.1");
        assert_eq!(fill(json!("NaN"), DataType::Float32).to_string(), "NaN");
        assert_eq!(fill(json!(["NaN", 1.0]), DataType::Complex64).to_string(), "[\"NaN\",1.0]");
        assert_eq!(fill(json!(-1), DataType::Int64).uniform_byte(), Some(0xff));
        assert_eq!(fill(json!(1), DataType::Int64).uniform_byte(), None);
    }
}
