//! Data types in Zarr v3 documents.

use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{DataType, ELEMENT_BYTES_MAX, PLAIN, SmallFloat, StructType, TimeUnit, unsupported};
use crate::Error;
use crate::metadata::json as text;

impl DataType {
    /// The data type that the `data_type` of a Zarr v3 document names.
    ///
    /// Takes the names of the specification and of its extensions registry, their aliases, and those that zarr-python and
    /// zarrs write: `r<bits>` and `raw_bytes`, `struct` and `structured`, `bytes` and `variable_length_bytes`, `optional`
    /// and `zarrs.optional`.
    ///
    /// # Errors
    ///
    /// `Unsupported`, naming the type, for one that swath does not read, and for elements of more than 2^20 bytes;
    /// `Invalid` for a value that names no type, or whose configuration does not fit the name.
    pub fn from_v3(value: &Value) -> Result<Self, Error> {
        let (name, configuration) = match value {
            Value::String(name) => (name.as_str(), None),
            Value::Object(object) => match object.get("name") {
                Some(Value::String(name)) => (name.as_str(), object.get("configuration")),
                _ => return Err(wanted_name(value)),
            },
            _ => return Err(wanted_name(value)),
        };
        if !configuration.is_none_or(Value::is_object) {
            return Err(wanted_name(value));
        }
        let length = || length_bytes(configuration, value);
        match name {
            "raw_bytes" => return length().map(Self::RawBytes),
            "null_terminated_bytes" => return length().map(Self::FixedBytes),
            "fixed_length_utf32" => return fixed_string(length()?, value),
            "numpy.datetime64" => return TimeUnit::from_v3(configuration, value).map(Self::DateTime64),
            "numpy.timedelta64" => return TimeUnit::from_v3(configuration, value).map(Self::TimeDelta64),
            "struct" | "structured" => {
                return StructType::from_v3(configuration, value)
                    .map(|fields| Self::Struct(Arc::new(fields)));
            }
            "optional" | "zarrs.optional" => {
                let inner = Self::from_v3(configuration.ok_or_else(|| wanted_name(value))?)?;
                return optional(inner);
            }
            _ => {}
        }
        let is_configured =
            configuration.and_then(Value::as_object).is_some_and(|configuration| !configuration.is_empty());
        match plain(name).filter(|_| !is_configured) {
            Some(data_type) => Ok(data_type),
            None => raw_by_bits(name)
                .filter(|_| !is_configured)
                .unwrap_or_else(|| Err(unsupported(&text::cut(name)))),
        }
    }

    /// The `data_type` of a Zarr v3 document; [`from_v3`](Self::from_v3) gives back the same type.
    #[must_use]
    pub fn to_v3(&self) -> Value {
        let with_length =
            |length_bytes: u64| json!({"name": self.name(), "configuration": {"length_bytes": length_bytes}});
        match self {
            Self::FixedBytes(length) => with_length(length.get().into()),
            Self::FixedString(length) => with_length(u64::from(length.get()) * 4),
            Self::DateTime64(unit) | Self::TimeDelta64(unit) => {
                let configuration = json!({"unit": unit.unit(), "scale_factor": unit.scale_factor()});
                json!({"name": self.name(), "configuration": configuration})
            }
            Self::Struct(fields) => fields.to_v3(),
            Self::Optional(inner) => {
                let configuration = match inner.to_v3() {
                    Value::String(name) => json!({"name": name, "configuration": {}}),
                    named => named,
                };
                json!({"name": self.name(), "configuration": configuration})
            }
            // The name of the specification's registry is `bytes`, which fewer readers take.
            Self::Bytes => Value::from("variable_length_bytes"),
            plain => Value::from(plain.name().as_ref()),
        }
    }
}

/// A type that is its name alone.
fn plain(name: &str) -> Option<DataType> {
    let found = PLAIN.into_iter().find(|data_type| data_type.name() == name);
    let small = || {
        let real = SmallFloat::ALL.into_iter().find(|float| float.name() == name).map(DataType::SmallFloat);
        let complex = || SmallFloat::ALL.into_iter().find(|float| float.complex_name() == name);
        real.or_else(|| complex().map(DataType::ComplexSmallFloat))
    };
    found.or_else(small).or(match name {
        "complex_float32" => Some(DataType::Complex64),
        "complex_float64" => Some(DataType::Complex128),
        "variable_length_bytes" => Some(DataType::Bytes),
        _ => None,
    })
}

/// `r24`; `None` for any other name.
fn raw_by_bits(name: &str) -> Option<Result<DataType, Error>> {
    let bits = name.strip_prefix('r').filter(|bits| super::is_decimal(bits))?;
    let bits = bits.parse::<u64>().ok().filter(|bits| bits.is_multiple_of(8));
    Some(super::element_length(bits.map(|bits| bits / 8), name).map(DataType::RawBytes))
}

fn length_bytes(configuration: Option<&Value>, found: &Value) -> Result<NonZeroU32, Error> {
    let length = configuration.and_then(|configuration| configuration.get("length_bytes"));
    super::element_length(length.and_then(Value::as_u64), &text::brief(found))
}

fn fixed_string(length_bytes: NonZeroU32, found: &Value) -> Result<DataType, Error> {
    let characters = NonZeroU32::new(length_bytes.get() / 4).filter(|_| length_bytes.get().is_multiple_of(4));
    characters.map(DataType::FixedString).ok_or_else(|| {
        let found = text::brief(found);
        Error::invalid(format!("wanted a string of four bytes a character, found {found}"))
    })
}

fn optional(inner: DataType) -> Result<DataType, Error> {
    // Fields are swapped behind the codecs, which alone know where elements are missing.
    if matches!(inner, DataType::Struct(_)) {
        return Err(Error::unsupported(format!("data type `optional` of `{inner}`")));
    }
    if ELEMENT_BYTES_MAX <= inner.size_bytes() {
        return Err(Error::unsupported(format!("data type `optional` of `{inner}`: more than 2^20 bytes")));
    }
    Ok(DataType::Optional(Arc::new(inner)))
}

fn wanted_name(found: &Value) -> Error {
    Error::invalid(format!("wanted a data type, a name or an object with one, found {}", text::brief(found)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn every_name_leads_back_to_its_type() {
        let small = SmallFloat::ALL.into_iter();
        let small = small.flat_map(|float| [DataType::SmallFloat(float), DataType::ComplexSmallFloat(float)]);
        for data_type in PLAIN.into_iter().chain(small) {
            let name = data_type.name();
            assert_eq!(DataType::from_v3(&json!(name)).unwrap(), data_type);
            assert_eq!(DataType::from_v3(&json!({"name": name})).unwrap(), data_type);
            let written = if data_type == DataType::Bytes { "variable_length_bytes" } else { &name };
            assert_eq!(data_type.to_v3(), json!(written));
        }
        for (alias, name) in [
            ("complex_float32", "complex64"),
            ("complex_float64", "complex128"),
            ("variable_length_bytes", "bytes"),
        ] {
            assert_eq!(DataType::from_v3(&json!(alias)).unwrap().name(), name);
        }
    }

    #[test]
    fn configured_types_lead_back_to_themselves() {
        let length =
            |name: &str, length: u64| json!({"name": name, "configuration": {"length_bytes": length}});
        let time = json!({"name": "numpy.timedelta64", "configuration": {"unit": "ms", "scale_factor": 10}});
        let inner = json!({"name": "optional", "configuration": {"name": "uint8", "configuration": {}}});
        let strings = json!({"name": "string", "configuration": {}});
        let sizes = [
            (length("null_terminated_bytes", 3), 3, "null_terminated_bytes(3)"),
            (length("fixed_length_utf32", 8), 8, "fixed_length_utf32(2)"),
            (time, 8, "timedelta64[10ms]"),
            (json!({"name": "optional", "configuration": inner}), 3, "optional(optional(uint8))"),
            (json!({"name": "optional", "configuration": strings}), 16, "optional(string)"),
        ];
        for (value, size, shown) in sizes {
            let data_type = DataType::from_v3(&value).unwrap();
            assert_eq!((data_type.to_v3(), data_type.size_bytes()), (value, size));
            assert_eq!(data_type.to_string(), shown);
        }
        let raw = DataType::RawBytes(NonZeroU32::new(3).unwrap());
        assert_eq!(DataType::from_v3(&length("raw_bytes", 3)).unwrap(), raw);
        assert_eq!((DataType::from_v3(&json!("r24")).unwrap(), raw.to_v3()), (raw, json!("r24")));
    }

    #[test]
    fn types_that_swath_does_not_read_are_named() {
        for value in [
            json!("int3"),
            json!("float128"),
            json!("raw"),
            json!({"name": "categorical", "configuration": {"a": 1}}),
        ] {
            let error = DataType::from_v3(&value).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{value}");
            let name = value.as_str().unwrap_or("categorical");
            assert!(error.message().contains(name), "{error}");
        }
        let fields = json!({"fields": [{"name": "x", "data_type": "int16"}]});
        let structures =
            json!({"name": "optional", "configuration": {"name": "struct", "configuration": fields}});
        assert!(DataType::from_v3(&structures).unwrap_err().message().contains("`optional` of `struct"));
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
            json!("numpy.datetime64"),
            json!({"name": "numpy.datetime64", "configuration": {"unit": "q", "scale_factor": 1}}),
            json!({"name": "fixed_length_utf32", "configuration": {"length_bytes": 6}}),
            json!("optional"),
            length(json!(0)),
            length(json!(-1)),
        ];
        for value in values {
            assert_eq!(DataType::from_v3(&value).unwrap_err().kind(), ErrorKind::Invalid, "{value}");
        }
        for value in [length(json!(u64::MAX)), length(json!((1 << 20) + 1)), json!("r4294967296")] {
            assert_eq!(DataType::from_v3(&value).unwrap_err().kind(), ErrorKind::Unsupported, "{value}");
        }
    }
}
