//! The `vlen-utf8`, `vlen-bytes` and `vlen-array` codecs: elements of any length.
//!
//! The registered Zarr v3 extensions `vlen-utf8` and `vlen-bytes`, and numcodecs' codecs of these names: the number of
//! elements, and then for each its length and its bytes; numbers in 32 bits, little-endian.

use std::ops::Range;

use serde_json::Value;

use crate::configuration::Configuration;
use crate::error::Error;

/// A codec for elements of any length. All three store alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableCodec {
    /// `vlen-utf8`.
    Utf8,
    /// `vlen-bytes`.
    Bytes,
    /// `vlen-array`, over bytes.
    Array,
}

/// What elements of any length are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableElements {
    /// UTF-8.
    Strings,
    /// Any bytes.
    Bytes,
}

impl VariableCodec {
    /// The codec of this name; zarrs writes `zarrs.vlen_v2` for the same bytes.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "vlen-utf8" => Some(Self::Utf8),
            "vlen-bytes" | "zarrs.vlen_v2" => Some(Self::Bytes),
            "vlen-array" => Some(Self::Array),
            _ => None,
        }
    }

    /// The codec, where its configuration is one that is read.
    pub(crate) fn checked(self, configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(self.name(), configuration, &["id", "dtype"])?;
        match fields.get("dtype") {
            None => Ok(self),
            Some(dtype) => {
                Err(Error::unsupported(self.name(), format!("wanted bytes, found arrays of {dtype}")))
            }
        }
    }

    /// The codec's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "vlen-utf8",
            Self::Bytes => "vlen-bytes",
            Self::Array => "vlen-array",
        }
    }
}

/// Where each of `count` elements lies in `content`.
pub(crate) fn places(
    content: &[u8],
    count: usize,
    elements: VariableElements,
) -> Result<Vec<Range<usize>>, Error> {
    const NAME: &str = "vlen";
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
        let Some((place, element)) = place.and_then(|place| Some((place.clone(), content.get(place)?)))
        else {
            return broken(format!("element {number} of {count} reaches past the {} bytes", content.len()));
        };
        if elements == VariableElements::Strings && std::str::from_utf8(element).is_err() {
            return broken(format!("wanted UTF-8, found other bytes in element {number} of {count}"));
        }
        at = place.end;
        places.push(place);
    }
    Ok(places)
}

const LENGTH_BYTES: usize = 4;

fn length_at(content: &[u8], at: usize) -> Option<usize> {
    let bytes = content.get(at..)?.first_chunk::<LENGTH_BYTES>()?;
    usize::try_from(u32::from_le_bytes(*bytes)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(content: &[u8], count: usize) -> Result<Vec<Range<usize>>, Error> {
        places(content, count, VariableElements::Strings)
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
        assert!(places(b"\x01\0\0\0\x01\0\0\0\xff", 1, VariableElements::Bytes).is_ok());
    }
}
