//! The data types of array elements.

mod numpy;
mod small_float;
mod structure;
mod time_unit;
mod v3;

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;

pub use small_float::SmallFloat;
pub(crate) use structure::{ForeignUnits, swap_units};
pub use structure::{StructField, StructType};
use swath_codecs::{Element, NumberType, VariableElements};
pub use time_unit::TimeUnit;

use crate::Error;
use crate::metadata::json;

/// The type of an array's elements, of those that swath reads.
///
/// Names come from the Zarr v3 core specification, "Core data types", and from the Zarr extensions registry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DataType {
    /// One byte, 0 or 1.
    Bool,
    /// Signed, 2 bits, in one byte with the sign in all upper bits.
    Int2,
    /// Signed, 4 bits, in one byte with the sign in all upper bits.
    Int4,
    /// Signed, 1 byte.
    Int8,
    /// Signed, 2 bytes.
    Int16,
    /// Signed, 4 bytes.
    Int32,
    /// Signed, 8 bytes.
    Int64,
    /// Unsigned, 2 bits, in one byte.
    UInt2,
    /// Unsigned, 4 bits, in one byte.
    UInt4,
    /// Unsigned, 1 byte.
    UInt8,
    /// Unsigned, 2 bytes.
    UInt16,
    /// Unsigned, 4 bytes.
    UInt32,
    /// Unsigned, 8 bytes.
    UInt64,
    /// A float of machine learning, of one or two bytes.
    SmallFloat(SmallFloat),
    /// IEEE 754 binary16.
    Float16,
    /// IEEE 754 binary32.
    Float32,
    /// IEEE 754 binary64.
    Float64,
    /// Two small floats: real, imaginary.
    ComplexSmallFloat(SmallFloat),
    /// Two `Float16`: real, imaginary.
    ComplexFloat16,
    /// Two `Float32`: real, imaginary.
    Complex64,
    /// Two `Float64`: real, imaginary.
    Complex128,
    /// Opaque bytes, this many an element, never byte-swapped.
    RawBytes(NonZeroU32),
    /// A byte string of at most this many bytes, filled up with zeros.
    FixedBytes(NonZeroU32),
    /// A string of at most this many characters, four bytes each, filled up with zeros.
    FixedString(NonZeroU32),
    /// A moment: so many units since 1970, signed, 8 bytes; the least number is "not a time".
    DateTime64(TimeUnit),
    /// A duration: so many units, signed, 8 bytes; the least number is "not a time".
    TimeDelta64(TimeUnit),
    /// Fields, one behind the other.
    Struct(Arc<StructType>),
    /// An element that may be missing: one byte, 1 where it is there and 0 where it is missing, and the element behind it,
    /// all zeros where it is missing. Strings and byte strings have no such byte: what is read of them tells.
    Optional(Arc<DataType>),
    /// A string of any length, UTF-8.
    String,
    /// A byte string of any length.
    Bytes,
}

/// The types that are their name alone, but for the small floats.
const PLAIN: [DataType; 21] = [
    DataType::Bool,
    DataType::Int2,
    DataType::Int4,
    DataType::Int8,
    DataType::Int16,
    DataType::Int32,
    DataType::Int64,
    DataType::UInt2,
    DataType::UInt4,
    DataType::UInt8,
    DataType::UInt16,
    DataType::UInt32,
    DataType::UInt64,
    DataType::Float16,
    DataType::Float32,
    DataType::Float64,
    DataType::ComplexFloat16,
    DataType::Complex64,
    DataType::Complex128,
    DataType::String,
    DataType::Bytes,
];

/// Elements are usually tens of bytes. The bound keeps a hostile document of a hundred bytes from making its reader
/// allocate gigabytes for one fill value.
pub(crate) const ELEMENT_BYTES_MAX: usize = 1 << 20;

/// Bytes by which an element of variable length is placed within its data while it is read.
pub(crate) const PLACE_BYTES: usize = 16;

/// What elements are that have lengths of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VariableType {
    pub(crate) elements: VariableElements,
    /// How many times they may be missing: how many `Optional`s are around them.
    pub(crate) times: u8,
}

impl DataType {
    /// The Zarr v3 name, such as `int16`, or `r24` for raw bytes of three bytes an element. Types with a configuration
    /// beside it share a name: [`to_v3`](Self::to_v3) gives both.
    #[must_use]
    pub fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Bool => "bool",
            Self::Int2 => "int2",
            Self::Int4 => "int4",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::UInt2 => "uint2",
            Self::UInt4 => "uint4",
            Self::UInt8 => "uint8",
            Self::UInt16 => "uint16",
            Self::UInt32 => "uint32",
            Self::UInt64 => "uint64",
            Self::SmallFloat(float) => float.name(),
            Self::Float16 => "float16",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::ComplexSmallFloat(float) => float.complex_name(),
            Self::ComplexFloat16 => "complex_float16",
            Self::Complex64 => "complex64",
            Self::Complex128 => "complex128",
            Self::RawBytes(length) => return Cow::Owned(format!("r{}", u64::from(length.get()) * 8)),
            Self::FixedBytes(_) => "null_terminated_bytes",
            Self::FixedString(_) => "fixed_length_utf32",
            Self::DateTime64(_) => "numpy.datetime64",
            Self::TimeDelta64(_) => "numpy.timedelta64",
            Self::Struct(_) => "struct",
            Self::Optional(_) => "optional",
            Self::String => "string",
            Self::Bytes => "bytes",
        })
    }

    /// The size of one element in bytes; never 0. Elements of variable length count with the 16 bytes that place them.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Bool | Self::Int2 | Self::Int4 | Self::Int8 | Self::UInt2 | Self::UInt4 | Self::UInt8 => 1,
            Self::Int16 | Self::UInt16 | Self::Float16 => 2,
            Self::Int32 | Self::UInt32 | Self::Float32 | Self::ComplexFloat16 => 4,
            Self::Int64 | Self::UInt64 | Self::Float64 | Self::Complex64 => 8,
            Self::DateTime64(_) | Self::TimeDelta64(_) => 8,
            Self::Complex128 => 16,
            Self::SmallFloat(float) => float.size_bytes(),
            Self::ComplexSmallFloat(float) => 2 * float.size_bytes(),
            // Parsing bounds lengths far below this, on any machine.
            Self::RawBytes(length) | Self::FixedBytes(length) => memory(length.get()),
            Self::FixedString(length) => memory(length.get()).saturating_mul(4),
            Self::Struct(structure) => structure.size_bytes(),
            Self::Optional(inner) if inner.is_variable_length() => PLACE_BYTES,
            Self::Optional(inner) => 1 + inner.size_bytes(),
            Self::String | Self::Bytes => PLACE_BYTES,
        }
    }

    /// Whether elements have lengths of their own: such arrays are read by `read_variable`. Those are strings and byte
    /// strings, also where they may be missing.
    #[must_use]
    pub fn is_variable_length(&self) -> bool {
        self.variable().is_some()
    }

    /// What elements are that have lengths of their own; `None` of all other types.
    pub(crate) fn variable(&self) -> Option<VariableType> {
        let always = |elements| VariableType { elements, times: 0 };
        match self {
            Self::String => Some(always(VariableElements::Strings)),
            Self::Bytes => Some(always(VariableElements::Bytes)),
            Self::Optional(inner) => {
                inner.variable().map(|inner| VariableType { times: inner.times.saturating_add(1), ..inner })
            }
            _ => None,
        }
    }

    /// How codecs see an element: its size, the size of the pieces whose bytes an order applies to, and what they mean.
    #[must_use]
    pub fn element(&self) -> Element {
        if let Self::Optional(inner) = self
            && !inner.is_variable_length()
        {
            return Element::optional(inner.element());
        }
        let part = match self {
            Self::Complex64 => Some(NumberType::Float32),
            Self::Complex128 => Some(NumberType::Float64),
            Self::ComplexFloat16 => Some(NumberType::Float16),
            Self::ComplexSmallFloat(float) => float.number(),
            _ => None,
        };
        match (self.number(), part) {
            (Some(number), _) => Element::number(number),
            (None, Some(part)) => Element::complex(part),
            (None, None) => Element::opaque(self.size_bytes(), self.swap_unit_bytes()),
        }
    }

    /// The number that an element is, where it is one.
    fn number(&self) -> Option<NumberType> {
        Some(match self {
            Self::Bool => NumberType::Bool,
            Self::Int2 => NumberType::Int2,
            Self::Int4 => NumberType::Int4,
            Self::Int8 => NumberType::Int8,
            Self::Int16 => NumberType::Int16,
            Self::Int32 => NumberType::Int32,
            Self::Int64 | Self::DateTime64(_) | Self::TimeDelta64(_) => NumberType::Int64,
            Self::UInt2 => NumberType::UInt2,
            Self::UInt4 => NumberType::UInt4,
            Self::UInt8 => NumberType::UInt8,
            Self::UInt16 => NumberType::UInt16,
            Self::UInt32 => NumberType::UInt32,
            Self::UInt64 => NumberType::UInt64,
            Self::SmallFloat(float) => return float.number(),
            Self::Float16 => NumberType::Float16,
            Self::Float32 => NumberType::Float32,
            Self::Float64 => NumberType::Float64,
            _ => return None,
        })
    }

    /// The number that an element is, where it is one to calculate with: no date and no time span.
    pub(crate) fn quantity(&self) -> Option<NumberType> {
        match self {
            Self::DateTime64(_) | Self::TimeDelta64(_) => None,
            other => other.number(),
        }
    }

    /// The type of such numbers, of those that have one of their own.
    pub(crate) fn of_number(number: NumberType) -> Option<DataType> {
        if number == NumberType::BFloat16 {
            return Some(Self::SmallFloat(SmallFloat::BFloat16));
        }
        PLAIN.into_iter().find(|plain| plain.number() == Some(number))
    }

    /// Whether a `bytes` codec must name a byte order for it.
    pub(crate) fn needs_byte_order(&self) -> bool {
        match self {
            Self::Struct(structure) => structure.needs_byte_order(),
            other => 1 < other.swap_unit_bytes(),
        }
    }

    fn swap_unit_bytes(&self) -> usize {
        match self {
            Self::ComplexSmallFloat(_) | Self::ComplexFloat16 | Self::Complex64 | Self::Complex128 => {
                self.size_bytes() / 2
            }
            Self::FixedString(_) => 4,
            Self::RawBytes(_) | Self::FixedBytes(_) | Self::String | Self::Bytes => 1,
            // Units of several sizes: fields are swapped behind the codecs.
            Self::Struct(_) | Self::Optional(_) => 1,
            _ => self.size_bytes(),
        }
    }
}

/// For people: the name, with what it is configured by.
impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FixedBytes(length) | Self::FixedString(length) => write!(f, "{}({length})", self.name()),
            Self::DateTime64(unit) => write!(f, "datetime64{unit}"),
            Self::TimeDelta64(unit) => write!(f, "timedelta64{unit}"),
            Self::Optional(inner) => write!(f, "optional({inner})"),
            Self::Struct(structure) => {
                f.write_str("struct(")?;
                for (number, field) in structure.fields().iter().enumerate() {
                    let before = if number == 0 { "" } else { ", " };
                    write!(f, "{before}{}: {}", field.name, field.data_type)?;
                    if !field.shape.is_empty() {
                        write!(f, "{:?}", field.shape)?;
                    }
                }
                f.write_str(")")
            }
            plain => f.write_str(&plain.name()),
        }
    }
}

fn is_decimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The length of an element of bytes, which `found` names.
fn element_length(length_bytes: Option<u64>, found: &str) -> Result<NonZeroU32, Error> {
    let found = json::cut(found);
    let length = length_bytes
        .and_then(|length| NonZeroU32::new(u32::try_from(length).unwrap_or(u32::MAX)))
        .ok_or_else(|| {
        Error::invalid(format!("wanted elements of at least one whole byte, found {found}"))
    })?;
    if ELEMENT_BYTES_MAX < memory(length.get()) {
        return Err(Error::unsupported(format!("data type {found}: elements of more than 2^20 bytes")));
    }
    Ok(length)
}

fn memory(length: u32) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

fn unsupported(name: &str) -> Error {
    Error::unsupported(format!("data type `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_units_are_those_of_numpy() {
        let described = |data_type: DataType| {
            let Element { size_bytes, swap_unit_bytes, .. } = data_type.element();
            (data_type.to_string(), size_bytes, swap_unit_bytes)
        };
        assert_eq!(described(DataType::Bool), ("bool".into(), 1, 1));
        assert_eq!(described(DataType::Int16), ("int16".into(), 2, 2));
        assert_eq!(described(DataType::UInt4), ("uint4".into(), 1, 1));
        assert_eq!(described(DataType::Complex64), ("complex64".into(), 8, 4));
        assert_eq!(described(DataType::ComplexFloat16), ("complex_float16".into(), 4, 2));
        let bfloat16 = DataType::ComplexSmallFloat(SmallFloat::BFloat16);
        assert_eq!(described(bfloat16), ("complex_bfloat16".into(), 4, 2));
        let three = NonZeroU32::new(3).unwrap();
        assert_eq!(described(DataType::FixedString(three)), ("fixed_length_utf32(3)".into(), 12, 4));
        assert_eq!(described(DataType::RawBytes(three)), ("r24".into(), 3, 1));
        let unit = TimeUnit::new("ns", 1).unwrap();
        assert_eq!(described(DataType::DateTime64(unit)), ("datetime64[ns]".into(), 8, 8));
    }
}
