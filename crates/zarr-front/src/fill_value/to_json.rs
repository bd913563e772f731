//! From the bytes of one element to what a document spells.

use serde_json::{Map, Value};
use swath_codecs::ByteOrder;

use crate::data_type::swap_units;
use crate::metadata::floats::Float;
use crate::metadata::{ZarrFormat, base64};
use crate::{DataType, StructType};

/// The value of `bytes`, one element of `data_type`, in a document of `zarr_format`; `None` for another number of bytes
/// than an element has.
pub(super) fn value(bytes: &[u8], data_type: &DataType, zarr_format: ZarrFormat) -> Option<Value> {
    let complex = |float: Float| {
        let (real, imaginary) = bytes.split_at(bytes.len() / 2);
        Some(Value::Array(vec![float.to_json(real)?, float.to_json(imaginary)?]))
    };
    match data_type {
        DataType::Bool => Some(Value::Bool(bytes.first() != Some(&0))),
        DataType::SmallFloat(small) => Float::Small(*small).to_json(bytes),
        DataType::Float16 => Float::Half.to_json(bytes),
        DataType::Float32 => Float::Single.to_json(bytes),
        DataType::Float64 => Float::Double.to_json(bytes),
        DataType::ComplexSmallFloat(small) => complex(Float::Small(*small)),
        DataType::ComplexFloat16 => complex(Float::Half),
        DataType::Complex64 => complex(Float::Single),
        DataType::Complex128 => complex(Float::Double),
        DataType::RawBytes(_) if zarr_format == ZarrFormat::V3 => Some(Value::from(bytes.to_vec())),
        DataType::RawBytes(_) | DataType::Bytes => Some(base64::encode(bytes).into()),
        DataType::FixedBytes(_) => Some(base64::encode(without_end(bytes, 1)).into()),
        DataType::FixedString(_) => {
            let units = without_end(bytes, 4).as_chunks::<4>().0.iter().map(|unit| u32::from_ne_bytes(*unit));
            units.map(char::from_u32).collect::<Option<String>>().map(Value::from)
        }
        DataType::DateTime64(_) | DataType::TimeDelta64(_) => {
            match i64::from_ne_bytes(bytes.try_into().ok()?) {
                i64::MIN if zarr_format == ZarrFormat::V3 => Some("NaT".into()),
                number => Some(number.into()),
            }
        }
        DataType::Struct(structure) => match zarr_format {
            ZarrFormat::V3 => fields(bytes, structure),
            ZarrFormat::V2 => {
                let mut bytes = bytes.to_vec();
                let order = Some(ByteOrder::Little);
                swap_units(&mut bytes, structure.size_bytes(), &structure.foreign_units(order));
                Some(base64::encode(&bytes).into())
            }
        },
        DataType::Optional(inner) => match bytes.split_first()? {
            (0, _) => Some(Value::Null),
            (_, element) => Some(Value::Array(vec![value(element, inner, zarr_format)?])),
        },
        DataType::String => String::from_utf8(bytes.to_vec()).ok().map(Value::from),
        _ => integer(bytes, data_type),
    }
}

fn integer(bytes: &[u8], data_type: &DataType) -> Option<Value> {
    Some(match data_type {
        DataType::Int2 | DataType::Int4 | DataType::Int8 => i8::from_ne_bytes(bytes.try_into().ok()?).into(),
        DataType::Int16 => i16::from_ne_bytes(bytes.try_into().ok()?).into(),
        DataType::Int32 => i32::from_ne_bytes(bytes.try_into().ok()?).into(),
        DataType::Int64 => i64::from_ne_bytes(bytes.try_into().ok()?).into(),
        DataType::UInt2 | DataType::UInt4 | DataType::UInt8 => {
            u8::from_ne_bytes(bytes.try_into().ok()?).into()
        }
        DataType::UInt16 => u16::from_ne_bytes(bytes.try_into().ok()?).into(),
        DataType::UInt32 => u32::from_ne_bytes(bytes.try_into().ok()?).into(),
        DataType::UInt64 => u64::from_ne_bytes(bytes.try_into().ok()?).into(),
        _ => return None,
    })
}

/// `bytes` without the zero units at the end, which fill an element up.
fn without_end(bytes: &[u8], unit_bytes: usize) -> &[u8] {
    let units = bytes.chunks_exact(unit_bytes).rev().take_while(|unit| unit.iter().all(|byte| *byte == 0));
    &bytes[..bytes.len() - units.count() * unit_bytes]
}

/// An object of the fields' values. A field with a shape, of which v3 has none, is left out where it is all zeros.
fn fields(bytes: &[u8], structure: &StructType) -> Option<Value> {
    let mut rest = bytes;
    let mut values = Map::new();
    for field in structure.fields() {
        let (own, behind) = rest.split_at_checked(field.size_bytes())?;
        rest = behind;
        if field.shape.is_empty() {
            values.insert(field.name.clone(), value(own, &field.data_type, ZarrFormat::V3)?);
        } else if own.iter().any(|byte| *byte != 0) {
            return None;
        }
    }
    Some(Value::Object(values))
}
