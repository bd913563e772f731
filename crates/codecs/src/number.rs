//! The types of numbers that elements are made of.

use crate::layout::ByteOrder;

/// How a number is stored in memory: its sort and its width.
///
/// Numbers of less than a byte take a whole one: integers sign-extended or zero-extended to 8 bits, floats in the low
/// bits. Names and widths are those of the Zarr v3 core specification and of the registered data type extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NumberType {
    /// One byte, 0 or 1.
    Bool,
    /// Signed, 2 bits.
    Int2,
    /// Signed, 4 bits.
    Int4,
    /// Signed, 8 bits.
    Int8,
    /// Signed, 16 bits.
    Int16,
    /// Signed, 32 bits.
    Int32,
    /// Signed, 64 bits; dates and time spans too.
    Int64,
    /// Unsigned, 2 bits.
    UInt2,
    /// Unsigned, 4 bits.
    UInt4,
    /// Unsigned, 8 bits.
    UInt8,
    /// Unsigned, 16 bits.
    UInt16,
    /// Unsigned, 32 bits.
    UInt32,
    /// Unsigned, 64 bits.
    UInt64,
    /// 2 bits of exponent, 1 of mantissa, finite values only.
    Float4E2M1Fn,
    /// 2 bits of exponent, 3 of mantissa, finite values only.
    Float6E2M3Fn,
    /// 3 bits of exponent, 2 of mantissa, finite values only.
    Float6E3M2Fn,
    /// 3 bits of exponent, 4 of mantissa.
    Float8E3M4,
    /// 4 bits of exponent, 3 of mantissa.
    Float8E4M3,
    /// 4 bits of exponent with a bias of 11, 3 of mantissa, no infinities, no negative zero.
    Float8E4M3B11Fnuz,
    /// 4 bits of exponent, 3 of mantissa, no infinities, no negative zero.
    Float8E4M3Fnuz,
    /// 5 bits of exponent, 2 of mantissa.
    Float8E5M2,
    /// 5 bits of exponent, 2 of mantissa, no infinities, no negative zero.
    Float8E5M2Fnuz,
    /// 8 bits of exponent and nothing else: powers of two.
    Float8E8M0Fnu,
    /// The high half of a `Float32`.
    BFloat16,
    /// IEEE 754 binary16.
    Float16,
    /// IEEE 754 binary32.
    Float32,
    /// IEEE 754 binary64.
    Float64,
}

/// What sort of number a type holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NumberClass {
    /// True or false.
    Bool,
    /// Whole, with a sign.
    Signed,
    /// Whole, without a sign.
    Unsigned,
    /// Binary floating point.
    Float,
}

/// Every type.
const ALL: [NumberType; 27] = [
    NumberType::Bool,
    NumberType::Int2,
    NumberType::Int4,
    NumberType::Int8,
    NumberType::Int16,
    NumberType::Int32,
    NumberType::Int64,
    NumberType::UInt2,
    NumberType::UInt4,
    NumberType::UInt8,
    NumberType::UInt16,
    NumberType::UInt32,
    NumberType::UInt64,
    NumberType::Float4E2M1Fn,
    NumberType::Float6E2M3Fn,
    NumberType::Float6E3M2Fn,
    NumberType::Float8E3M4,
    NumberType::Float8E4M3,
    NumberType::Float8E4M3B11Fnuz,
    NumberType::Float8E4M3Fnuz,
    NumberType::Float8E5M2,
    NumberType::Float8E5M2Fnuz,
    NumberType::Float8E8M0Fnu,
    NumberType::BFloat16,
    NumberType::Float16,
    NumberType::Float32,
    NumberType::Float64,
];

impl NumberType {
    /// The Zarr v3 name: `int16`, `float8_e4m3`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
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
            Self::Float4E2M1Fn => "float4_e2m1fn",
            Self::Float6E2M3Fn => "float6_e2m3fn",
            Self::Float6E3M2Fn => "float6_e3m2fn",
            Self::Float8E3M4 => "float8_e3m4",
            Self::Float8E4M3 => "float8_e4m3",
            Self::Float8E4M3B11Fnuz => "float8_e4m3b11fnuz",
            Self::Float8E4M3Fnuz => "float8_e4m3fnuz",
            Self::Float8E5M2 => "float8_e5m2",
            Self::Float8E5M2Fnuz => "float8_e5m2fnuz",
            Self::Float8E8M0Fnu => "float8_e8m0fnu",
            Self::BFloat16 => "bfloat16",
            Self::Float16 => "float16",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
        }
    }

    /// The type that a Zarr v3 name names, if it is one of numbers.
    #[must_use]
    pub fn from_v3_name(name: &str) -> Option<Self> {
        ALL.into_iter().find(|number| number.name() == name)
    }

    /// The type and byte order that a NumPy type string names: `<i2`, `|b1`, `float32`; the order is this machine's
    /// where the string states none. Dates and time spans, `<M8[ns]`, are `Int64`.
    #[must_use]
    pub fn from_numpy(dtype: &str) -> Option<(Self, ByteOrder)> {
        let (order, kind) = match dtype.as_bytes().first()? {
            b'<' => (ByteOrder::Little, &dtype[1..]),
            b'>' => (ByteOrder::Big, &dtype[1..]),
            b'|' | b'=' => (ByteOrder::NATIVE, &dtype[1..]),
            _ => (ByteOrder::NATIVE, dtype),
        };
        let number = match kind {
            "b1" | "?" => Self::Bool,
            "i1" => Self::Int8,
            "i2" => Self::Int16,
            "i4" => Self::Int32,
            "i8" => Self::Int64,
            "u1" => Self::UInt8,
            "u2" => Self::UInt16,
            "u4" => Self::UInt32,
            "u8" => Self::UInt64,
            "f2" => Self::Float16,
            "f4" => Self::Float32,
            "f8" => Self::Float64,
            _ if kind.starts_with("M8") || kind.starts_with("m8") => Self::Int64,
            _ => return Self::from_v3_name(kind).map(|number| (number, order)),
        };
        Some((number, order))
    }

    /// NumPy's type string in this machine's byte order: `<i2`, or `|b1` where order means nothing. `None` for what
    /// NumPy itself does not have.
    #[must_use]
    pub fn numpy(self) -> Option<String> {
        let kind = match self {
            Self::Bool => 'b',
            Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64 => 'i',
            Self::UInt8 | Self::UInt16 | Self::UInt32 | Self::UInt64 => 'u',
            Self::Float16 | Self::Float32 | Self::Float64 => 'f',
            _ => return None,
        };
        let order = match (self.size_bytes(), ByteOrder::NATIVE) {
            (1, _) => '|',
            (_, ByteOrder::Little) => '<',
            (_, ByteOrder::Big) => '>',
        };
        Some(format!("{order}{kind}{}", self.size_bytes()))
    }

    /// Bits that carry the value.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::Int2 | Self::UInt2 => 2,
            Self::Int4 | Self::UInt4 | Self::Float4E2M1Fn => 4,
            Self::Float6E2M3Fn | Self::Float6E3M2Fn => 6,
            Self::Int16 | Self::UInt16 | Self::BFloat16 | Self::Float16 => 16,
            Self::Int32 | Self::UInt32 | Self::Float32 => 32,
            Self::Int64 | Self::UInt64 | Self::Float64 => 64,
            _ => 8,
        }
    }

    /// Bytes in memory: 1, 2, 4 or 8.
    #[must_use]
    pub fn size_bytes(self) -> usize {
        match self.bits() {
            16 => 2,
            32 => 4,
            64 => 8,
            _ => 1,
        }
    }

    /// What sort of number it is.
    #[must_use]
    pub fn class(self) -> NumberClass {
        match self {
            Self::Bool => NumberClass::Bool,
            Self::Int2 | Self::Int4 | Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64 => {
                NumberClass::Signed
            }
            Self::UInt2 | Self::UInt4 | Self::UInt8 | Self::UInt16 | Self::UInt32 | Self::UInt64 => {
                NumberClass::Unsigned
            }
            _ => NumberClass::Float,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_types() {
        for number in ALL {
            assert_eq!(NumberType::from_v3_name(number.name()), Some(number));
            assert!(number.bits() as usize <= number.size_bytes() * 8);
            if let Some(dtype) = number.numpy() {
                assert_eq!(NumberType::from_numpy(&dtype), Some((number, ByteOrder::NATIVE)));
            }
        }
    }

    #[test]
    fn numpy_type_strings_are_read() {
        assert_eq!(NumberType::from_numpy(">f4"), Some((NumberType::Float32, ByteOrder::Big)));
        assert_eq!(NumberType::from_numpy("<M8[ns]"), Some((NumberType::Int64, ByteOrder::Little)));
        assert_eq!(NumberType::from_numpy("uint8"), Some((NumberType::UInt8, ByteOrder::NATIVE)));
        for dtype in ["", "<", "<i3", "|S4", "<é", "O"] {
            assert_eq!(NumberType::from_numpy(dtype), None, "{dtype}");
        }
    }
}
