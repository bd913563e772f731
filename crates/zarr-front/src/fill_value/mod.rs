//! The value of elements that no stored chunk holds.

mod from_json;
mod to_json;

use std::fmt;

use serde_json::Value;

use crate::data_type::ELEMENT_BYTES_MAX;
use crate::metadata::{ZarrFormat, json};
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
    /// The value of which every byte is 0, for any data type; the empty one where elements have lengths of their own, and the
    /// missing one where those may be missing.
    #[must_use]
    pub fn zero(data_type: &DataType) -> Self {
        let size_bytes = match data_type.variable() {
            Some(variable) => usize::from(variable.times.min(1)),
            None => data_type.size_bytes(),
        };
        Self { data_type: data_type.clone(), bytes: vec![0; size_bytes].into_boxed_slice() }
    }

    /// The value that the `fill_value` of a metadata document spells for elements of `data_type`.
    ///
    /// Integers are exact; floats are the nearest of their type. `null` in Zarr v2 means "not defined" and gives
    /// zeros. Zarr v2 also takes a number in a string, which some writers made, and 0 for bytes, strings and structures.
    /// Dates and durations are integers or `"NaT"`; byte strings are base64 or arrays of integers; structures are objects
    /// by field, or base64; an optional element is `null` or an array of one.
    ///
    /// # Errors
    ///
    /// `Invalid` for a value of another type, and for one that the data type cannot hold (a finite number that would
    /// become infinite, and a string that is too long, included). `Unsupported` for a value of more than 2^20 bytes: every
    /// element that is not stored reads as it.
    ///
    /// Source: Zarr v3 core specification, "Fill value"; Zarr v2 specification, "Fill value encoding"; the Zarr extensions
    /// registry, for each data type.
    pub fn from_json(value: &Value, data_type: &DataType, zarr_format: ZarrFormat) -> Result<Self, Error> {
        if value.is_null() && zarr_format == ZarrFormat::V2 {
            return Ok(Self::zero(data_type));
        }
        let bytes = from_json::element_bytes(value, data_type, zarr_format);
        let fits = |bytes: &Vec<u8>| data_type.is_variable_length() || bytes.len() == data_type.size_bytes();
        let bytes = bytes.filter(fits).ok_or_else(|| {
            let found = json::brief(value);
            Error::invalid(format!(
                "wanted a `fill_value` that data type `{data_type}` can hold, found {found}"
            ))
        })?;
        if ELEMENT_BYTES_MAX < bytes.len() {
            let found = bytes.len();
            return Err(Error::unsupported(format!("a `fill_value` of {found} bytes, more than 2^20")));
        }
        Ok(Self { data_type: data_type.clone(), bytes: bytes.into_boxed_slice() })
    }

    /// The value of these bytes, as many as an element has.
    pub(crate) fn of_bytes(bytes: Vec<u8>, data_type: DataType) -> Self {
        Self { data_type, bytes: bytes.into_boxed_slice() }
    }

    /// The bytes of one element, in this machine's byte order; as many as the data type's size, or as the value has where
    /// elements have lengths of their own. Of those that may be missing, a byte for each time comes first, 0 for the one that
    /// they are missing at, and nothing behind it.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The data type whose element this is.
    #[must_use]
    pub fn data_type(&self) -> &DataType {
        &self.data_type
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
        self.to_json_of(ZarrFormat::V3)
    }

    /// The value in the form of a document of `zarr_format`; [`from_json`](Self::from_json) gives back the same bytes.
    #[must_use]
    pub fn to_json_of(&self, zarr_format: ZarrFormat) -> Value {
        let value = to_json::value(&self.bytes, &self.data_type, zarr_format);
        value.unwrap_or_else(|| Value::from(self.bytes.to_vec()))
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

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use half::f16;
    use serde_json::json;

    use super::*;
    use crate::{ErrorKind, SmallFloat, TimeUnit};

    fn read(value: &Value, data_type: &DataType, zarr_format: ZarrFormat) -> Vec<u8> {
        let fill = FillValue::from_json(value, data_type, zarr_format).unwrap();
        let again = FillValue::from_json(&fill.to_json_of(zarr_format), data_type, zarr_format).unwrap();
        assert_eq!(again, fill, "{value} through to_json");
        fill.bytes().to_vec()
    }

    fn v3(value: Value, data_type: DataType) -> Vec<u8> {
        read(&value, &data_type, ZarrFormat::V3)
    }

    fn v2(value: Value, data_type: DataType) -> Vec<u8> {
        read(&value, &data_type, ZarrFormat::V2)
    }

    fn parsed(value: Value) -> DataType {
        DataType::from_v3(&value).unwrap()
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
        assert_eq!(v3(json!([1, 2, 255]), raw.clone()), [1, 2, 255]);
        assert_eq!(v3(json!("AQID"), raw.clone()), [1, 2, 3]);
        assert_eq!(v2(json!(null), raw), [0, 0, 0]);
        assert_eq!(v2(json!(null), DataType::Float64), [0; 8]);
    }

    #[test]
    fn small_numbers_take_their_forms() {
        assert_eq!(v3(json!(-8), DataType::Int4), [0xf8]);
        assert_eq!(v3(json!(3), DataType::UInt2), [3]);
        let e4m3 = DataType::SmallFloat(SmallFloat::Float8E4M3);
        assert_eq!(v3(json!(1.5), e4m3.clone()), [0x3c]);
        assert_eq!(v3(json!("NaN"), e4m3.clone()), [0x7c]);
        assert_eq!(v3(json!("0xfd"), e4m3), [0xfd]);
        let bfloat16 = DataType::SmallFloat(SmallFloat::BFloat16);
        assert_eq!(v3(json!(-0.5), bfloat16.clone()), 0xbf00_u16.to_ne_bytes());
        assert_eq!(v3(json!("0x7fc1"), bfloat16), 0x7fc1_u16.to_ne_bytes());
        let complex = [0x3c00_u16.to_ne_bytes(), 0x7c00_u16.to_ne_bytes()].concat();
        assert_eq!(v3(json!([1, "Infinity"]), DataType::ComplexFloat16), complex);
    }

    #[test]
    fn strings_dates_and_optional_elements_take_their_forms() {
        let length = |name: &str, length: u64| {
            parsed(json!({"name": name, "configuration": {"length_bytes": length}}))
        };
        let text = length("fixed_length_utf32", 12);
        let units = [u32::from('é').to_ne_bytes(), u32::from('b').to_ne_bytes(), [0; 4]].concat();
        assert_eq!(v3(json!("éb"), text.clone()), units);
        assert_eq!(v2(json!(0), text), [0; 12]);
        assert_eq!(v3(json!("AQI="), length("null_terminated_bytes", 4)), [1, 2, 0, 0]);
        let time = DataType::DateTime64(TimeUnit::new("ns", 1).unwrap());
        assert_eq!(v3(json!("NaT"), time.clone()), i64::MIN.to_ne_bytes());
        assert_eq!(v3(json!(i64::MIN), time.clone()), i64::MIN.to_ne_bytes());
        assert_eq!(v2(json!(12_345), time), 12_345_i64.to_ne_bytes());
        assert_eq!(v3(json!("héllo"), DataType::String), "héllo".as_bytes());
        assert_eq!(v2(json!(0), DataType::String), b"0");
        assert_eq!(v2(json!(null), DataType::String), b"");
        assert_eq!(v3(json!([1, 2]), DataType::Bytes), [1, 2]);
        assert_eq!(v2(json!("AQI="), DataType::Bytes), [1, 2]);
        let optional = DataType::Optional(DataType::UInt8.into());
        assert_eq!(v3(json!(null), optional.clone()), [0, 0]);
        assert_eq!(v3(json!([7]), optional.clone()), [1, 7]);
        assert_eq!(v3(json!([null]), DataType::Optional(optional.into())), [1, 0, 0]);
        let text = DataType::Optional(DataType::String.into());
        assert_eq!(v3(json!(null), text.clone()), [0]);
        assert_eq!(v3(json!(["ab"]), text.clone()), b"\x01ab");
        assert_eq!(FillValue::zero(&text).to_json(), json!(null));
        assert_eq!(v3(json!([null]), DataType::Optional(text.into())), [1, 0]);
    }

    #[test]
    fn structures_are_objects_or_base64() {
        let fields = json!([{"name": "x", "data_type": "int16"}, {"name": "y", "data_type": "uint8"}]);
        let structure = parsed(json!({"name": "struct", "configuration": {"fields": fields}}));
        let bytes = [&258_i16.to_ne_bytes()[..], &[7]].concat();
        assert_eq!(v3(json!({"x": 258, "y": 7}), structure.clone()), bytes);
        assert_eq!(v3(json!({"y": 7}), structure.clone()), [0, 0, 7]);
        assert_eq!(v3(json!("AgEH"), structure), bytes, "little-endian");
        let (big, _) = DataType::from_v2_json(&json!([["x", ">i2"], ["y", "|u1"]])).unwrap();
        assert_eq!(v2(json!("AQIH"), big.clone()), bytes);
        assert_eq!(v2(json!(0), big), [0; 3]);
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
            (json!([1, 256]), raw.clone()),
            (json!([1]), raw.clone()),
            (json!("AQID"), raw.clone()),
            (json!({}), raw),
            (json!(8), DataType::Int4),
            (json!(-1), DataType::UInt2),
            (json!("NaN"), DataType::SmallFloat(SmallFloat::Float4E2M1Fn)),
            (json!(1e9), DataType::SmallFloat(SmallFloat::Float8E5M2)),
            (json!("toolong"), DataType::FixedString(NonZeroU32::new(6).unwrap())),
            (json!("AQID"), DataType::FixedBytes(NonZeroU32::new(2).unwrap())),
            (json!("2001-01-01"), DataType::DateTime64(TimeUnit::new("D", 1).unwrap())),
            (json!(0), DataType::String),
            (json!([1, 2]), DataType::Optional(DataType::UInt8.into())),
        ];
        for (value, data_type) in cases {
            let error = FillValue::from_json(&value, &data_type, ZarrFormat::V3).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.message().contains(&value.to_string()), "{error}");
        }
        for text in ["inf", "nan", "1e999", ""] {
            assert!(
                FillValue::from_json(&json!(text), &DataType::Float64, ZarrFormat::V2).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn display_and_uniform_byte() {
        let fill = |value, data_type| FillValue::from_json(&value, &data_type, ZarrFormat::V3).unwrap();
        assert_eq!(fill(json!(0.1), DataType::Float32).to_string(), "0.1");
        assert_eq!(fill(json!("NaN"), DataType::Float32).to_string(), "NaN");
        assert_eq!(fill(json!(["NaN", 1.0]), DataType::Complex64).to_string(), "[\"NaN\",1.0]");
        assert_eq!(fill(json!(-1), DataType::Int64).uniform_byte(), Some(0xff));
        assert_eq!(fill(json!(1), DataType::Int64).uniform_byte(), None);
    }
}
