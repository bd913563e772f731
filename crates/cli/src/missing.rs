//! Which elements are missing.

use serde_json::{Value, json};
use swath::{Array, DataType, FillValue, ZarrFormat};

/// What stands for a missing element, beside NaN and NaT: some elements, byte by byte.
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    data_type: DataType,
    patterns: Vec<Vec<u8>>,
    /// The rules in words, for people: `NaN`, `fill value 0`.
    pub(crate) rules: Vec<String>,
}

/// Whether elements that equal the array's fill value are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FillIs {
    Missing,
    Data,
}

impl Missing {
    /// NaN and NaT; the array's fill value, where it has one that is not data; the attributes `_FillValue` and
    /// `missing_value`.
    ///
    /// # Errors
    ///
    /// An attribute that is neither an element nor, of integers, a number.
    pub(crate) fn of(array: &Array, fill_is: FillIs) -> anyhow::Result<Missing> {
        let data_type = array.data_type().clone();
        let mut missing = Missing { rules: Vec::new(), patterns: Vec::new(), data_type };
        match missing.data_type {
            DataType::Float16 | DataType::Float32 | DataType::Float64 => missing.rules.push("NaN".to_owned()),
            DataType::Complex64 | DataType::Complex128 => missing.rules.push("NaN".to_owned()),
            DataType::DateTime64(_) | DataType::TimeDelta64(_) => {
                missing.add("NaT".to_owned(), &i64::MIN.to_ne_bytes());
            }
            _ => {}
        }
        // A v2 array whose fill value is null has none.
        let has_fill = !array.metadata().document().get("fill_value").is_some_and(Value::is_null);
        if fill_is == FillIs::Missing && has_fill && !missing.data_type.is_variable_length() {
            let fill = array.fill_value();
            missing.add(format!("fill value {fill}"), fill.bytes());
        }
        for name in ["_FillValue", "missing_value"] {
            let Some(value) = array.metadata().attributes().get(name) else { continue };
            let listed = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            for value in listed {
                let data_type = &missing.data_type;
                match element(value, data_type) {
                    Some(bytes) => missing.add(format!("{name} {value}"), &bytes),
                    // Written for the type that the values are decoded to: no stored element is it.
                    None if is_integer(data_type) && is_number(value) => {
                        missing.rules.push(format!("{name} {value}, which no {data_type} is"));
                    }
                    None => {
                        anyhow::bail!("{}: wanted a {data_type} as {name}, found {value}", array.name())
                    }
                }
            }
        }
        Ok(missing)
    }

    fn add(&mut self, rule: String, pattern: &[u8]) {
        if !self.patterns.iter().any(|known| known == pattern) {
            self.patterns.push(pattern.to_vec());
            self.rules.push(rule);
        }
    }

    /// Says of each element whether it is missing: 1, or 0.
    pub(crate) fn flags(&self, bytes: &[u8], flags: &mut Vec<u8>) {
        flags.clear();
        match self.data_type {
            DataType::Float16 => self.flag(bytes, flags, |two| half::f16::from_ne_bytes(two).is_nan()),
            DataType::Float32 => self.flag(bytes, flags, |four| f32::from_ne_bytes(four).is_nan()),
            DataType::Float64 => self.flag(bytes, flags, |eight| f64::from_ne_bytes(eight).is_nan()),
            DataType::Complex64 => self.flag(bytes, flags, |eight: [u8; 8]| {
                eight.as_chunks::<4>().0.iter().any(|part| f32::from_ne_bytes(*part).is_nan())
            }),
            DataType::Complex128 => self.flag(bytes, flags, |all: [u8; 16]| {
                all.as_chunks::<8>().0.iter().any(|part| f64::from_ne_bytes(*part).is_nan())
            }),
            _ => match self.data_type.size_bytes() {
                1 => self.flag(bytes, flags, |_: [u8; 1]| false),
                2 => self.flag(bytes, flags, |_: [u8; 2]| false),
                4 => self.flag(bytes, flags, |_: [u8; 4]| false),
                8 => self.flag(bytes, flags, |_: [u8; 8]| false),
                size => {
                    let is_missing = |element: &[u8]| self.patterns.iter().any(|pattern| pattern == element);
                    flags
                        .extend(bytes.chunks_exact(size.max(1)).map(|element| u8::from(is_missing(element))));
                }
            },
        }
    }

    /// Elements of a size that the compiler knows are compared as numbers, many at once.
    fn flag<const N: usize>(&self, bytes: &[u8], flags: &mut Vec<u8>, is_nan: impl Fn([u8; N]) -> bool) {
        let patterns: Vec<[u8; N]> =
            self.patterns.iter().filter_map(|pattern| pattern.as_slice().try_into().ok()).collect();
        let elements = bytes.as_chunks::<N>().0;
        match patterns.as_slice() {
            [] => flags.extend(elements.iter().map(|element| u8::from(is_nan(*element)))),
            [only] => {
                flags.extend(elements.iter().map(|element| u8::from(is_nan(*element) | (element == only))))
            }
            all => {
                let is_missing = |element: &[u8; N]| is_nan(*element) || all.contains(element);
                flags.extend(elements.iter().map(|element| u8::from(is_missing(element))));
            }
        }
    }
}

fn is_integer(data_type: &DataType) -> bool {
    use DataType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    matches!(data_type, Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64)
}

/// True for what spells a number of any type.
fn is_number(value: &Value) -> bool {
    element(value, &DataType::Float64).is_some()
}

/// The element that an attribute spells: as a fill value does, or, as xarray writes floats beside v3 arrays, as base64 of a
/// little-endian double.
fn element(value: &Value, data_type: &DataType) -> Option<Vec<u8>> {
    let spelled = |value: &Value, data_type: &DataType| {
        FillValue::from_json(value, data_type, ZarrFormat::V2).ok().map(|fill| fill.bytes().to_vec())
    };
    if value.is_null() {
        return None;
    }
    spelled(value, data_type).or_else(|| {
        let eight = std::num::NonZeroU32::new(8).map(DataType::RawBytes)?;
        let double = f64::from_le_bytes(spelled(value, &eight)?.try_into().ok()?);
        let value = if double.is_nan() { json!("NaN") } else { json!(double) };
        spelled(&value, data_type)
    })
}
