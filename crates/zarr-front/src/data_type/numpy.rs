//! Data types as NumPy names them, in Zarr v2 documents and in files of NumPy.

use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::Value;
use swath_codecs::ByteOrder;

use super::{DataType, StructType, TimeUnit, element_length, is_decimal, unsupported};
use crate::Error;
use crate::metadata::json;

/// The types that NumPy has without a parameter, by its name without a byte order.
const NAMED: [(&str, DataType); 14] = [
    ("b1", DataType::Bool),
    ("i1", DataType::Int8),
    ("i2", DataType::Int16),
    ("i4", DataType::Int32),
    ("i8", DataType::Int64),
    ("u1", DataType::UInt8),
    ("u2", DataType::UInt16),
    ("u4", DataType::UInt32),
    ("u8", DataType::UInt64),
    ("f2", DataType::Float16),
    ("f4", DataType::Float32),
    ("f8", DataType::Float64),
    ("c8", DataType::Complex64),
    ("c16", DataType::Complex128),
];

impl DataType {
    /// The data type and byte order that a Zarr v2 `dtype` string names, such as `<i2`, `|b1`, `<M8[ns]` or `|S7`.
    ///
    /// The order of a type that has none (one byte, bytes) is given as little.
    ///
    /// # Errors
    ///
    /// `Unsupported`, naming the type, for one that swath does not read; `Invalid` for a string without NumPy's form,
    /// a missing byte order where one is needed, and elements of no size. Elements of more than 2^20 bytes are
    /// `Unsupported`.
    ///
    /// Source: Zarr v2 specification, "Data type encoding".
    pub fn from_v2(dtype: &str) -> Result<(Self, ByteOrder), Error> {
        let malformed =
            || Error::invalid(format!("wanted a `dtype` such as \"<i2\", found {:?}", json::cut(dtype)));
        let (order, rest) = match dtype.chars().next() {
            Some('<') => (Some(ByteOrder::Little), &dtype[1..]),
            Some('>') => (Some(ByteOrder::Big), &dtype[1..]),
            Some('|') => (None, &dtype[1..]),
            _ => return Err(malformed()),
        };
        let found = match NAMED.into_iter().find(|(name, _)| *name == rest) {
            Some((_, data_type)) => Some(data_type),
            None => parametric(rest, dtype)?,
        };
        match found {
            Some(data_type) if order.is_none() && 1 < data_type.swap_unit_bytes() => Err(malformed()),
            Some(data_type) => Ok((data_type, order.unwrap_or(ByteOrder::Little))),
            None if rest.starts_with(|kind: char| kind.is_ascii_alphabetic()) => {
                Err(unsupported(&json::cut(dtype)))
            }
            None => Err(malformed()),
        }
    }

    /// As [`from_v2`](Self::from_v2), for a `dtype` that may be a list of fields. Fields name their byte orders
    /// themselves; that of a structure is given as little.
    ///
    /// # Errors
    ///
    /// As [`from_v2`](Self::from_v2) and [`StructType::new`].
    pub fn from_v2_json(dtype: &Value) -> Result<(Self, ByteOrder), Error> {
        match dtype {
            Value::String(dtype) => Self::from_v2(dtype),
            Value::Array(fields) => {
                Ok((Self::Struct(Arc::new(StructType::from_v2(fields)?)), ByteOrder::Little))
            }
            other => {
                let found = json::brief(other);
                Err(Error::invalid(format!(
                    "wanted a `dtype`, a string such as \"<i2\" or a list of fields, found {found}"
                )))
            }
        }
    }

    /// NumPy's type string for elements in this machine's byte order: `<i2`, or `|b1` and `|V3` where order means nothing.
    ///
    /// What NumPy itself has no type for is given as the type of its bytes: integers of 2 and 4 bits as `|i1` or `|u1`,
    /// small floats, structures and optional elements as `|V` and their size, variable lengths as `|O`.
    #[must_use]
    pub fn numpy(&self) -> String {
        let order = match self.swap_unit_bytes() {
            1 => '|',
            _ if ByteOrder::NATIVE == ByteOrder::Little => '<',
            _ => '>',
        };
        let size = self.size_bytes();
        match self {
            Self::Bool => format!("{order}b1"),
            Self::Int2 | Self::Int4 | Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64 => {
                format!("{order}i{size}")
            }
            Self::UInt2 | Self::UInt4 | Self::UInt8 | Self::UInt16 | Self::UInt32 | Self::UInt64 => {
                format!("{order}u{size}")
            }
            Self::Float16 | Self::Float32 | Self::Float64 => format!("{order}f{size}"),
            Self::Complex64 | Self::Complex128 => format!("{order}c{size}"),
            Self::FixedBytes(length) => format!("|S{length}"),
            Self::FixedString(length) => format!("{order}U{length}"),
            Self::DateTime64(unit) => format!("{order}M8{unit}"),
            Self::TimeDelta64(unit) => format!("{order}m8{unit}"),
            Self::String | Self::Bytes => "|O".to_owned(),
            Self::Optional(inner) if inner.is_variable_length() => "|O".to_owned(),
            Self::SmallFloat(_)
            | Self::ComplexSmallFloat(_)
            | Self::ComplexFloat16
            | Self::RawBytes(_)
            | Self::Struct(_)
            | Self::Optional(_) => format!("|V{size}"),
        }
    }

    /// The type as a `.npy` file describes it, a literal of Python: `'<i2'`, or a list of fields of a structure. Optional
    /// elements are structures of `is_present` and `value`.
    #[must_use]
    pub fn numpy_descr(&self) -> String {
        match self {
            Self::Struct(structure) => {
                let fields = structure.fields().iter().map(|field| {
                    let (name, descr) = (quoted(&field.name), field.data_type.numpy_descr());
                    if field.shape.is_empty() {
                        return format!("({name}, {descr})");
                    }
                    let extents = field.shape.iter().map(|extent| format!("{extent},"));
                    format!("({name}, {descr}, ({}))", extents.collect::<String>())
                });
                format!("[{}]", fields.collect::<Vec<_>>().join(", "))
            }
            Self::Optional(inner) => format!("[('is_present', '|b1'), ('value', {})]", inner.numpy_descr()),
            plain => format!("'{}'", plain.numpy()),
        }
    }
}

/// `text` as a literal of Python.
fn quoted(text: &str) -> String {
    let mut out = String::from("'");
    for character in text.chars() {
        match character {
            '\'' | '\\' => out.extend(['\\', character]),
            character if character.is_control() => out.push_str(&format!("\\U{:08x}", u32::from(character))),
            character => out.push(character),
        }
    }
    out.push('\'');
    out
}

/// A type whose name has a parameter, of the whole `dtype`; `None` for another name.
fn parametric(name: &str, dtype: &str) -> Result<Option<DataType>, Error> {
    let Some((kind, parameter)) = name.split_at_checked(1) else { return Ok(None) };
    let length = |unit_bytes: u64| -> Result<Option<NonZeroU32>, Error> {
        if !is_decimal(parameter) {
            return Ok(None);
        }
        let bytes = parameter.parse::<u64>().ok().map(|length| length.saturating_mul(unit_bytes));
        element_length(Some(bytes.unwrap_or(u64::MAX)), dtype)?;
        Ok(parameter.parse().ok())
    };
    let time = || name.get(2..).filter(|_| parameter.starts_with('8')).and_then(TimeUnit::from_numpy);
    Ok(match kind {
        "V" => length(1)?.map(DataType::RawBytes),
        "S" => length(1)?.map(DataType::FixedBytes),
        "U" => length(4)?.map(DataType::FixedString),
        "M" => time().map(DataType::DateTime64),
        "m" => time().map(DataType::TimeDelta64),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, SmallFloat};

    #[test]
    fn numpy_names_lead_back_to_their_types() {
        for (name, data_type) in NAMED {
            let big = format!(">{name}");
            assert_eq!(DataType::from_v2(&big).unwrap(), (data_type.clone(), ByteOrder::Big));
            assert_eq!(DataType::from_v2(&data_type.numpy()).unwrap().0, data_type);
        }
        for name in [">U7", "<U1", "|S3", "|V3", "<M8[ns]", ">m8[25us]", "<M8"] {
            let (data_type, order) = DataType::from_v2(name).unwrap();
            assert_eq!(data_type.numpy()[1..], name[1..]);
            assert_eq!(order == ByteOrder::Big, name.starts_with('>'));
        }
        assert_eq!(DataType::from_v2(">U7").unwrap().0.size_bytes(), 28);
    }

    #[test]
    fn what_numpy_has_not_is_given_as_its_bytes() {
        let names = [
            (DataType::Int4, "|i1"),
            (DataType::UInt2, "|u1"),
            (DataType::SmallFloat(SmallFloat::BFloat16), "|V2"),
            (DataType::ComplexFloat16, "|V4"),
            (DataType::String, "|O"),
        ];
        for (data_type, name) in names {
            assert_eq!(data_type.numpy().trim_start_matches(['<', '>', '|']), &name[1..]);
        }
        let (data_type, _) =
            DataType::from_v2_json(&serde_json::json!([["it's", "|u1"], ["b", "|V2", [2, 3]]])).unwrap();
        assert_eq!(data_type.numpy_descr(), "[('it\\'s', '|u1'), ('b', '|V2', (2,3,))]");
        let optional = DataType::Optional(Arc::new(DataType::UInt8));
        assert_eq!(optional.numpy_descr(), "[('is_present', '|b1'), ('value', '|u1')]");
    }

    #[test]
    fn other_types_are_named() {
        for dtype in ["|O", "<f16", "<c32", "<i3", "<M8[q]", "<M4", "|S", "|T16"] {
            let error = DataType::from_v2(dtype).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{dtype}");
            assert!(error.message().contains(dtype));
        }
        for dtype in ["", "<", "i2", "=i2", "|i2", "é2", "<2", "|V0", "|S0", "<U0", "|U3", "|M8[s]", "<é"] {
            assert_eq!(DataType::from_v2(dtype).unwrap_err().kind(), ErrorKind::Invalid, "{dtype}");
        }
        for dtype in ["|V1048577", "<U262145", "|S99999999999999999999"] {
            assert_eq!(DataType::from_v2(dtype).unwrap_err().kind(), ErrorKind::Unsupported, "{dtype}");
        }
    }
}
