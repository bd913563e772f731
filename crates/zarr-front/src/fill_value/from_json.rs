//! From the `fill_value` of a document to the bytes of one element.

use serde_json::Value;
use swath_codecs::ByteOrder;

use crate::data_type::swap_units;
use crate::metadata::floats::Float;
use crate::metadata::{ZarrFormat, base64};
use crate::{DataType, StructType};

/// The bytes of the element of `data_type` that `value` spells; `None` where it spells none.
pub(super) fn element_bytes(value: &Value, data_type: &DataType, zarr_format: ZarrFormat) -> Option<Vec<u8>> {
    let size_bytes = data_type.size_bytes();
    let float = |float: Float| float.parse(value, zarr_format);
    let complex = |float: Float| match value.as_array()?.as_slice() {
        [real, imaginary] => {
            let parts = [float.parse(real, zarr_format)?, float.parse(imaginary, zarr_format)?];
            Some(parts.concat())
        }
        _ => None,
    };
    match data_type {
        DataType::Bool => Some(vec![u8::from(boolean(value, zarr_format)?)]),
        DataType::SmallFloat(small) => float(Float::Small(*small)),
        DataType::Float16 => float(Float::Half),
        DataType::Float32 => float(Float::Single),
        DataType::Float64 => float(Float::Double),
        DataType::ComplexSmallFloat(small) => complex(Float::Small(*small)),
        DataType::ComplexFloat16 => complex(Float::Half),
        DataType::Complex64 => complex(Float::Single),
        DataType::Complex128 => complex(Float::Double),
        DataType::RawBytes(_) => {
            fixed_bytes(value, zarr_format, size_bytes).filter(|bytes| bytes.len() == size_bytes)
        }
        DataType::FixedBytes(_) => filled_up(fixed_bytes(value, zarr_format, size_bytes)?, size_bytes),
        DataType::FixedString(_) => match value {
            Value::String(text) => {
                let units = text.chars().flat_map(|character| u32::from(character).to_ne_bytes());
                filled_up(units.collect(), size_bytes)
            }
            other => zeros_of_v2(other, zarr_format, size_bytes),
        },
        DataType::DateTime64(_) | DataType::TimeDelta64(_) => match value {
            Value::String(text) if text == "NaT" => Some(i64::MIN.to_ne_bytes().to_vec()),
            other => Some(i64::try_from(integer(other, zarr_format)?).ok()?.to_ne_bytes().to_vec()),
        },
        DataType::Struct(structure) => struct_bytes(value, structure, zarr_format),
        DataType::Optional(inner) => match value {
            Value::Null if data_type.is_variable_length() => Some(vec![0]),
            Value::Null => Some(vec![0; size_bytes]),
            Value::Array(present) => match present.as_slice() {
                [value] => Some([vec![1], element_bytes(value, inner, zarr_format)?].concat()),
                _ => None,
            },
            _ => None,
        },
        DataType::String => match value {
            Value::String(text) => Some(text.clone().into_bytes()),
            // zarr-python 2 wrote numbers, and zarr-python 3 reads them as their digits.
            Value::Number(number) if zarr_format == ZarrFormat::V2 => Some(number.to_string().into_bytes()),
            _ => None,
        },
        DataType::Bytes => match value {
            Value::Number(_) if zarr_format == ZarrFormat::V2 => Some(Vec::new()),
            other => any_bytes(other),
        },
        _ => integer_bytes(integer(value, zarr_format)?, data_type),
    }
}

/// `number` as an element of an integer type; `None` where the type cannot hold it.
fn integer_bytes(number: i128, data_type: &DataType) -> Option<Vec<u8>> {
    let within = |low: i8, high: i8| (i128::from(low)..=i128::from(high)).contains(&number);
    Some(match data_type {
        DataType::Int2 => i8::try_from(number).ok().filter(|_| within(-2, 1))?.to_ne_bytes().to_vec(),
        DataType::Int4 => i8::try_from(number).ok().filter(|_| within(-8, 7))?.to_ne_bytes().to_vec(),
        DataType::UInt2 => u8::try_from(number).ok().filter(|_| within(0, 3))?.to_ne_bytes().to_vec(),
        DataType::UInt4 => u8::try_from(number).ok().filter(|_| within(0, 15))?.to_ne_bytes().to_vec(),
        DataType::Int8 => i8::try_from(number).ok()?.to_ne_bytes().to_vec(),
        DataType::Int16 => i16::try_from(number).ok()?.to_ne_bytes().to_vec(),
        DataType::Int32 => i32::try_from(number).ok()?.to_ne_bytes().to_vec(),
        DataType::Int64 => i64::try_from(number).ok()?.to_ne_bytes().to_vec(),
        DataType::UInt8 => u8::try_from(number).ok()?.to_ne_bytes().to_vec(),
        DataType::UInt16 => u16::try_from(number).ok()?.to_ne_bytes().to_vec(),
        DataType::UInt32 => u32::try_from(number).ok()?.to_ne_bytes().to_vec(),
        DataType::UInt64 => u64::try_from(number).ok()?.to_ne_bytes().to_vec(),
        _ => return None,
    })
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
fn any_bytes(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Array(bytes) => bytes.iter().map(|byte| u8::try_from(byte.as_u64()?).ok()).collect(),
        Value::String(text) => base64::decode(text),
        _ => None,
    }
}

/// The same for an element of `size_bytes`, for which zarr-python 2 also wrote 0.
fn fixed_bytes(value: &Value, zarr_format: ZarrFormat, size_bytes: usize) -> Option<Vec<u8>> {
    any_bytes(value).or_else(|| zeros_of_v2(value, zarr_format, size_bytes))
}

/// An element of zeros for the 0 that zarr-python 2 wrote for any data type.
fn zeros_of_v2(value: &Value, zarr_format: ZarrFormat, size_bytes: usize) -> Option<Vec<u8>> {
    let is_zero = zarr_format == ZarrFormat::V2 && value.as_f64() == Some(0.0);
    is_zero.then(|| vec![0; size_bytes])
}

/// `bytes` with zeros behind them; `None` where there are too many.
fn filled_up(mut bytes: Vec<u8>, size_bytes: usize) -> Option<Vec<u8>> {
    if size_bytes < bytes.len() {
        return None;
    }
    bytes.resize(size_bytes, 0);
    Some(bytes)
}

/// An object of the fields' values, in which those left out are zeros; or base64, in little-endian order but where fields
/// name another.
fn struct_bytes(value: &Value, structure: &StructType, zarr_format: ZarrFormat) -> Option<Vec<u8>> {
    let size_bytes = structure.size_bytes();
    let Value::Object(values) = value else {
        let mut bytes =
            fixed_bytes(value, zarr_format, size_bytes).filter(|bytes| bytes.len() == size_bytes)?;
        swap_units(&mut bytes, size_bytes, &structure.foreign_units(Some(ByteOrder::Little)));
        return Some(bytes);
    };
    let mut bytes = Vec::with_capacity(size_bytes);
    for field in structure.fields() {
        match values.get(&field.name) {
            None => bytes.resize(bytes.len() + field.size_bytes(), 0),
            Some(value) if field.shape.is_empty() => {
                bytes.extend(element_bytes(value, &field.data_type, zarr_format)?);
            }
            Some(_) => return None,
        }
    }
    Some(bytes)
}
