//! Codecs for elements of any length: `vlen-utf8`, `vlen-bytes` and `vlen-array`, `zarrs.vlen`, and `json2`.
//!
//! The registered Zarr v3 extensions `vlen-utf8` and `vlen-bytes`, and numcodecs' codecs of these names: the number of
//! elements, and then for each its length and its bytes; numbers in 32 bits, little-endian. What `zarrs.vlen` stores is said
//! at [`IndexedCodec`], and what `json2` does in `json.rs`.

mod indexed;
mod json;

use std::ops::Range;

use serde_json::Value;

use crate::configuration::Configuration;
use crate::error::Error;
pub use indexed::{IndexedCodec, OffsetsLocation};
pub(crate) use json::{elements_as_json, elements_of_json};

/// A codec for elements of any length. `Utf8`, `Bytes` and `Array` store alike.
#[derive(Debug, Clone, PartialEq)]
pub enum VariableCodec {
    /// `vlen-utf8`.
    Utf8,
    /// `vlen-bytes`.
    Bytes,
    /// `vlen-array`, over bytes.
    Array,
    /// `json2`, over strings.
    Json,
    /// `zarrs.vlen`.
    Indexed(Box<IndexedCodec>),
}

/// What elements of any length are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableElements {
    /// UTF-8.
    Strings,
    /// Any bytes.
    Bytes,
}

/// Fields of `json2` that say how it was written, and nothing to a reader.
const JSON_FIELDS: [&str; 10] = [
    "id",
    "encoding",
    "skipkeys",
    "ensure_ascii",
    "check_circular",
    "allow_nan",
    "sort_keys",
    "indent",
    "separators",
    "strict",
];

impl VariableCodec {
    /// Reads a configuration of the codec called `name`; `None` where no such codec is called that. zarrs writes
    /// `zarrs.vlen_v2` for what `vlen-bytes` stores.
    pub(crate) fn from_json(name: &str, configuration: &Value) -> Option<Result<Self, Error>> {
        let plain = match name {
            "vlen-utf8" => Self::Utf8,
            "vlen-bytes" | "zarrs.vlen_v2" => Self::Bytes,
            "vlen-array" => Self::Array,
            "json2" => return Some(Self::json(configuration)),
            "vlen" | "zarrs.vlen" => {
                return Some(
                    IndexedCodec::from_json(configuration).map(|codec| Self::Indexed(Box::new(codec))),
                );
            }
            _ => return None,
        };
        Some(plain.checked(configuration))
    }

    fn json(configuration: &Value) -> Result<Self, Error> {
        let name = Self::Json.name();
        let fields = Configuration::new(name, configuration, &JSON_FIELDS)?;
        match fields.text("encoding", "\"utf-8\"")? {
            None | Some("utf-8" | "utf8" | "ascii") => Ok(Self::Json),
            Some(other) => {
                Err(Error::unsupported(name, format!("wanted text in \"utf-8\", found {other:?}")))
            }
        }
    }

    /// The codec, where its configuration is one that is read.
    fn checked(self, configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(self.name(), configuration, &["id", "dtype"])?;
        match fields.get("dtype") {
            None => Ok(self),
            Some(dtype) => {
                Err(Error::unsupported(self.name(), format!("wanted bytes, found arrays of {dtype}")))
            }
        }
    }

    /// The codec's short name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Utf8 => "vlen-utf8",
            Self::Bytes => "vlen-bytes",
            Self::Array => "vlen-array",
            Self::Json => "json2",
            Self::Indexed(_) => "vlen",
        }
    }

    /// The codec's name in Zarr v3.
    pub(crate) fn v3_name(&self) -> &'static str {
        match self {
            Self::Json => "numcodecs.json2",
            Self::Indexed(_) => "zarrs.vlen",
            other => other.name(),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Indexed(codec) => codec.to_json(),
            _ => Value::Null,
        }
    }
}

/// Where each of `count` elements lies in `content`.
pub(crate) fn places(content: &[u8], count: usize) -> Result<Vec<Range<usize>>, Error> {
    let broken = |message: String| Err(Error::corrupt(NAME, message));
    let Some(found) = length_at(content, 0) else {
        return broken(format!("wanted a count of {LENGTH_BYTES} bytes, found {}", content.len()));
    };
    if found != count {
        return broken(format!("wanted {count} elements, found {found}"));
    }
    if content.len() / LENGTH_BYTES <= count {
        return broken(format!("wanted {count} elements, found {} bytes", content.len()));
    }
    let mut places = Vec::with_capacity(count);
    let mut at = LENGTH_BYTES;
    for number in 0..count {
        let place = length_at(content, at).and_then(|length| {
            let start = at + LENGTH_BYTES;
            Some(start..start.checked_add(length)?)
        });
        let Some(place) = place.filter(|place| place.end <= content.len()) else {
            return broken(format!("element {number} of {count} reaches past the {} bytes", content.len()));
        };
        at = place.end;
        places.push(place);
    }
    Ok(places)
}

/// Elements behind their number, each behind its length.
pub(crate) fn interleaved(elements: &[&[u8]]) -> Result<Vec<u8>, Error> {
    let length = |length: usize| {
        let found = u32::try_from(length).map_err(|_| {
            Error::invalid(NAME, format!("wanted elements and numbers of them of 32 bits, found {length}"))
        });
        found.map(u32::to_le_bytes)
    };
    let bytes: usize = elements.iter().map(|element| element.len().saturating_add(LENGTH_BYTES)).sum();
    let mut content = Vec::with_capacity(bytes.saturating_add(LENGTH_BYTES));
    content.extend(length(elements.len())?);
    for element in elements {
        content.extend(length(element.len())?);
        content.extend_from_slice(element);
    }
    Ok(content)
}

/// Checks that elements are UTF-8.
pub(crate) fn check_strings(content: &[u8], places: &[Range<usize>]) -> Result<(), Error> {
    let is_string = |place: &Range<usize>| {
        content.get(place.clone()).is_some_and(|element| std::str::from_utf8(element).is_ok())
    };
    match places.iter().position(|place| !is_string(place)) {
        None => Ok(()),
        Some(number) => Err(Error::corrupt(
            NAME,
            format!("wanted UTF-8, found other bytes in element {number} of {}", places.len()),
        )),
    }
}

const NAME: &str = "vlen";
const LENGTH_BYTES: usize = 4;

fn length_at(content: &[u8], at: usize) -> Option<usize> {
    let bytes = content.get(at..)?.first_chunk::<LENGTH_BYTES>()?;
    usize::try_from(u32::from_le_bytes(*bytes)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(content: &[u8], count: usize) -> Result<Vec<Range<usize>>, Error> {
        let places = places(content, count)?;
        check_strings(content, &places)?;
        Ok(places)
    }

    #[test]
    fn elements_are_found() {
        assert_eq!(found(b"\x02\0\0\0\0\0\0\0\x03\0\0\0abc", 2).unwrap(), [8..8, 12..15]);
        assert_eq!(found(b"\0\0\0\0", 0).unwrap(), []);
    }

    #[test]
    fn broken_chunks_are_corrupt() {
        for (content, count) in [
            (&b""[..], 0),
            (b"\x01\0\0", 1),
            (b"\x01\0\0\0", 1),
            (b"\x01\0\0\0\0\0\0\0", 2),
            (b"\x01\0\0\0\x02\0\0\0a", 1),
            (b"\x01\0\0\0\xff\xff\xff\xffa", 1),
            (b"\x01\0\0\0\x01\0\0\0\xff", 1),
            (b"\xff\xff\xff\xff\0\0\0\0", 0xffff_ffff),
        ] {
            assert!(found(content, count).is_err(), "{content:?}");
        }
        assert!(places(b"\x01\0\0\0\x01\0\0\0\xff", 1).is_ok());
    }
}
