//! The data types of array elements.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;

use serde_json::Value;
use swath_codecs::{ByteOrder, Element, NumberType};

use crate::Error;
use crate::metadata::json;

/// The type of an array's elements, of those that swath reads.
///
/// Every variant has a fixed size and maps to one NumPy type. Names come from the Zarr v3 core specification, "Core
/// data types"; strings, dates, structures and the sub-byte or 8-bit float extensions are not supported yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DataType {
    /// One byte, 0 or 1.
    Bool,
    /// Signed, 1 byte.
    Int8,
    /// Signed, 2 bytes.
    Int16,
    /// Signed, 4 bytes.
    Int32,
    /// Signed, 8 bytes.
    Int64,
    /// Unsigned, 1 byte.
    UInt8,
    /// Unsigned, 2 bytes.
    UInt16,
    /// Unsigned, 4 bytes.
    UInt32,
    /// Unsigned, 8 bytes.
    UInt64,
    /// IEEE 754 binary16.
    Float16,
    /// IEEE 754 binary32.
    Float32,
    /// IEEE 754 binary64.
    Float64,
    /// Two `Float32`: real, imaginary.
    Complex64,
    /// Two `Float64`: real, imaginary.
    Complex128,
    /// Opaque bytes, this many an element, never byte-swapped.
    RawBytes(NonZeroU32),
}

/// Every type without a parameter.
const FIXED: [DataType; 14] = [
    DataType::Bool,
    DataType::Int8,
    DataType::Int16,
    DataType::Int32,
    DataType::Int64,
    DataType::UInt8,
    DataType::UInt16,
    DataType::UInt32,
    DataType::UInt64,
    DataType::Float16,
    DataType::Float32,
    DataType::Float64,
    DataType::Complex64,
    DataType::Complex128,
];

impl DataType {
    /// The data type that the `data_type` of a Zarr v3 document names.
    ///
    /// Takes the specification's names and `r<bits>`, zarr-python's `{"name": "raw_bytes", "configuration":
    /// {"length_bytes": n}}`, and the registered aliases `complex_float32` and `complex_float64`.
    ///
    /// # Errors
    ///
    /// `Unsupported`, naming the type, for one that swath does not read; `Invalid` for a value that names no type, and
    /// for raw bytes without a whole number of bytes. Raw bytes of more than 2^20 bytes are `Unsupported`.
    pub fn from_v3(value: &Value) -> Result<Self, Error> {
        let (name, configuration) = match value {
            Value::String(name) => (name.as_str(), None),
            Value::Object(object) => match object.get("name") {
                Some(Value::String(name)) => (name.as_str(), object.get("configuration")),
                _ => return Err(wanted_name(value)),
            },
            _ => return Err(wanted_name(value)),
        };
        let is_configured = match configuration {
            None => false,
            Some(Value::Object(configuration)) => !configuration.is_empty(),
            Some(_) => return Err(wanted_name(value)),
        };
        if name == "raw_bytes" {
            let length = configuration.and_then(|configuration| configuration.get("length_bytes"));
            return raw(length.and_then(Value::as_u64), &json::brief(value));
        }
        if is_configured {
            return Err(unsupported(&json::cut(name)));
        }
        if let Some(data_type) = FIXED.into_iter().find(|data_type| data_type.name() == name) {
            return Ok(data_type);
        }
        match name {
            "complex_float32" => return Ok(Self::Complex64),
            "complex_float64" => return Ok(Self::Complex128),
            _ => {}
        }
        match name.strip_prefix('r') {
            Some(bits) if is_decimal(bits) => {
                let bits = bits.parse::<u64>().ok().filter(|bits| bits.is_multiple_of(8));
                raw(bits.map(|bits| bits / 8), name)
            }
            _ => Err(unsupported(&json::cut(name))),
        }
    }

    /// The data type and byte order that a Zarr v2 `dtype` string names, such as `<i2`, `|b1` or `|V3`.
    ///
    /// The order of a type that has none (one byte, raw bytes) is given as little.
    ///
    /// # Errors
    ///
    /// `Unsupported`, naming the type, for one that swath does not read; `Invalid` for a string without NumPy's form,
    /// a missing byte order where one is needed, and raw bytes of no size. Raw bytes of more than 2^20 bytes are
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
        if let Some(data_type) = FIXED.into_iter().find(|data_type| data_type.numpy_kind() == rest) {
            return match order {
                None if 1 < data_type.swap_unit_bytes() => Err(malformed()),
                order => Ok((data_type, order.unwrap_or(ByteOrder::Little))),
            };
        }
        match rest.strip_prefix('V') {
            Some(length) if is_decimal(length) => {
                raw(length.parse().ok(), dtype).map(|data_type| (data_type, ByteOrder::Little))
            }
            _ if rest.starts_with(|kind: char| kind.is_ascii_alphabetic()) => {
                Err(unsupported(&json::cut(dtype)))
            }
            _ => Err(malformed()),
        }
    }

    /// The Zarr v3 name, such as `int16`, or `r24` for raw bytes of three bytes an element.
    #[must_use]
    pub fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Bool => "bool",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::UInt8 => "uint8",
            Self::UInt16 => "uint16",
            Self::UInt32 => "uint32",
            Self::UInt64 => "uint64",
            Self::Float16 => "float16",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Complex64 => "complex64",
            Self::Complex128 => "complex128",
            Self::RawBytes(length) => return Cow::Owned(format!("r{}", u64::from(length.get()) * 8)),
        })
    }

    /// The NumPy name of this type in this machine's byte order: `<i2`, or `|b1` and `|V3` where order means nothing.
    #[must_use]
    pub fn numpy(&self) -> String {
        let order = match self.swap_unit_bytes() {
            1 => '|',
            _ if ByteOrder::NATIVE == ByteOrder::Little => '<',
            _ => '>',
        };
        format!("{order}{}", self.numpy_kind())
    }

    /// The size of one element in bytes; never 0.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Bool | Self::Int8 | Self::UInt8 => 1,
            Self::Int16 | Self::UInt16 | Self::Float16 => 2,
            Self::Int32 | Self::UInt32 | Self::Float32 => 4,
            Self::Int64 | Self::UInt64 | Self::Float64 | Self::Complex64 => 8,
            Self::Complex128 => 16,
            // Parsing bounds the length far below this, on any machine.
            Self::RawBytes(length) => usize::try_from(length.get()).unwrap_or(usize::MAX),
        }
    }

    /// How codecs see an element: its size, the size of the pieces whose bytes an order applies to, and what they mean.
    #[must_use]
    pub fn element(&self) -> Element {
        match self {
            Self::RawBytes(_) => Element::opaque(self.size_bytes(), self.swap_unit_bytes()),
            Self::Complex64 => Element::complex(NumberType::Float32),
            Self::Complex128 => Element::complex(NumberType::Float64),
            Self::Bool => Element::number(NumberType::Bool),
            Self::Int8 => Element::number(NumberType::Int8),
            Self::Int16 => Element::number(NumberType::Int16),
            Self::Int32 => Element::number(NumberType::Int32),
            Self::Int64 => Element::number(NumberType::Int64),
            Self::UInt8 => Element::number(NumberType::UInt8),
            Self::UInt16 => Element::number(NumberType::UInt16),
            Self::UInt32 => Element::number(NumberType::UInt32),
            Self::UInt64 => Element::number(NumberType::UInt64),
            Self::Float16 => Element::number(NumberType::Float16),
            Self::Float32 => Element::number(NumberType::Float32),
            Self::Float64 => Element::number(NumberType::Float64),
        }
    }

    fn swap_unit_bytes(&self) -> usize {
        match self {
            Self::Complex64 | Self::Complex128 => self.size_bytes() / 2,
            Self::RawBytes(_) => 1,
            _ => self.size_bytes(),
        }
    }

    /// NumPy's name without a byte order.
    fn numpy_kind(&self) -> String {
        let kind = match self {
            Self::Bool => 'b',
            Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64 => 'i',
            Self::UInt8 | Self::UInt16 | Self::UInt32 | Self::UInt64 => 'u',
            Self::Float16 | Self::Float32 | Self::Float64 => 'f',
            Self::Complex64 | Self::Complex128 => 'c',
            Self::RawBytes(_) => 'V',
        };
        format!("{kind}{}", self.size_bytes())
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

fn is_decimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Raw elements are opaque and usually tens of bytes. The bound keeps a hostile document of a hundred bytes from
/// making its reader allocate gigabytes for one fill value.
const RAW_LENGTH_BYTES_MAX: u32 = 1 << 20;

fn raw(length_bytes: Option<u64>, found: &str) -> Result<DataType, Error> {
    let found = json::cut(found);
    let length = length_bytes
        .and_then(|length| NonZeroU32::new(u32::try_from(length).unwrap_or(u32::MAX)))
        .ok_or_else(|| {
        Error::invalid(format!("wanted raw bytes of at least one whole byte, found {found}"))
    })?;
    if RAW_LENGTH_BYTES_MAX < length.get() {
        return Err(Error::unsupported(format!("data type {found}: raw bytes of more than 2^20 bytes")));
    }
    Ok(DataType::RawBytes(length))
}

fn unsupported(name: &str) -> Error {
    Error::unsupported(format!("data type `{name}`"))
}

fn wanted_name(found: &Value) -> Error {
    Error::invalid(format!("wanted a data type, a name or an object with one, found {}", json::brief(found)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ErrorKind;

    fn raw_bytes(length: u32) -> DataType {
        DataType::RawBytes(NonZeroU32::new(length).unwrap())
    }

    #[test]
    fn every_name_leads_back_to_its_type() {
        for data_type in FIXED {
            let name = data_type.name();
            assert_eq!(DataType::from_v3(&json!(name)).unwrap(), data_type);
            assert_eq!(DataType::from_v3(&json!({"name": name})).unwrap(), data_type);
            let big = format!(">{}", data_type.numpy_kind());
            assert_eq!(DataType::from_v2(&big).unwrap(), (data_type, ByteOrder::Big));
            assert_eq!(DataType::from_v2(&data_type.numpy()).unwrap().0, data_type);
        }
        let described = |data_type: DataType| {
            let Element { size_bytes, swap_unit_bytes, .. } = data_type.element();
            (data_type.name().into_owned(), data_type.numpy_kind(), size_bytes, swap_unit_bytes)
        };
        assert_eq!(described(DataType::Bool), ("bool".into(), "b1".into(), 1, 1));
        assert_eq!(described(DataType::Int16), ("int16".into(), "i2".into(), 2, 2));
        assert_eq!(described(DataType::UInt64), ("uint64".into(), "u8".into(), 8, 8));
        assert_eq!(described(DataType::Float16), ("float16".into(), "f2".into(), 2, 2));
        assert_eq!(described(DataType::Complex64), ("complex64".into(), "c8".into(), 8, 4));
        assert_eq!(described(DataType::Complex128), ("complex128".into(), "c16".into(), 16, 8));
    }

    #[test]
    fn raw_bytes_have_three_spellings() {
        assert_eq!(DataType::from_v3(&json!("r24")).unwrap(), raw_bytes(3));
        let named = json!({"name": "raw_bytes", "configuration": {"length_bytes": 3}});
        assert_eq!(DataType::from_v3(&named).unwrap(), raw_bytes(3));
        assert_eq!(DataType::from_v2("|V3").unwrap().0, raw_bytes(3));
        assert_eq!((raw_bytes(3).name().as_ref(), raw_bytes(3).numpy().as_str()), ("r24", "|V3"));
        assert_eq!((raw_bytes(3).element().size_bytes, raw_bytes(3).element().swap_unit_bytes), (3, 1));
    }

    #[test]
    fn types_that_swath_does_not_read_are_named() {
        for value in [json!("string"), json!("bfloat16"), json!("int4"), json!("float8_e4m3"), json!("raw")] {
            let error = DataType::from_v3(&value).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{value}");
            assert!(error.message().contains(value.as_str().unwrap()), "{error}");
        }
        let dated = json!({"name": "numpy.datetime64", "configuration": {"unit": "ns", "scale_factor": 1}});
        assert!(DataType::from_v3(&dated).unwrap_err().message().contains("numpy.datetime64"));
        for dtype in ["<U7", "|S7", "<M8[ns]", "|O", "<f16", "<c32", "<i3"] {
            let error = DataType::from_v2(dtype).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{dtype}");
            assert!(error.message().contains(dtype));
        }
    }

    #[test]
    fn values_that_name_no_type_are_invalid() {
        let length = |length: Value| json!({"name": "raw_bytes", "configuration": {"length_bytes": length}});
        let values = [
            json!(null),
            json!(3),
            json!({}),
            json!({"name": 1}),
            json!({"name": "int8", "configuration": 3}),
            json!("r0"),
            json!("r12"),
            json!("r99999999999999999999"), // beyond 64 bits
            json!("raw_bytes"),
            length(json!(0)),
            length(json!(-1)),
        ];
        for value in values {
            assert_eq!(DataType::from_v3(&value).unwrap_err().kind(), ErrorKind::Invalid, "{value}");
        }
        for value in [length(json!(u64::MAX)), length(json!((1 << 20) + 1)), json!("r4294967296")] {
            assert_eq!(DataType::from_v3(&value).unwrap_err().kind(), ErrorKind::Unsupported, "{value}");
        }
        for dtype in ["", "<", "i2", "=i2", "|i2", "é2", "<2", "|V0", "<é"] {
            assert_eq!(DataType::from_v2(dtype).unwrap_err().kind(), ErrorKind::Invalid, "{dtype}");
        }
    }
}
