//! The `gzip` codec (RFC 1952).
//!
//! Zarr v3 codec specification "gzip" 1.0 and numcodecs' `gzip`. Both write one member; several in a row decode to
//! their concatenation, as the RFC says, and zero bytes after the last are padding, as in Python's gzip.

use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::deflate::{self, Compressor, Decompressor, Format};
use crate::error::{Error, Wanted};

const NAME: &str = "gzip";
/// The level that zarr-python writes when none is asked for.
const UNSTATED_LEVEL: i32 = 5;

/// Compresses by DEFLATE, with a CRC-32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GzipCodec {
    /// 0 (stored) to 9 (smallest).
    pub level: i32,
}

impl GzipCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(NAME, configuration, &["id", "level"])?;
        let level = match fields.integer("level", -1, 9)? {
            None => UNSTATED_LEVEL,
            Some(level) => {
                i32::try_from(level).ok().filter(|level| 0 <= *level).unwrap_or(deflate::DEFAULT_LEVEL)
            }
        };
        Ok(Self { level })
    }

    pub(crate) fn to_json(self) -> Value {
        json!({"level": self.level})
    }

    pub(crate) fn describe(self) -> String {
        format!("gzip(level {})", self.level)
    }

    pub(crate) fn decode(
        source: &[u8],
        target: &mut [u8],
        wanted: Wanted,
        decompressor: &mut Option<Decompressor>,
    ) -> Result<usize, Error> {
        let mut read = 0;
        let mut written = 0;
        // A member is 18 bytes at least, so this ends.
        while read == 0 || source[read..].iter().any(|&byte| byte != 0) {
            let member = deflate::decode(
                NAME,
                Format::Gzip,
                &source[read..],
                &mut target[written..],
                wanted,
                decompressor,
            )?;
            read += member.read;
            written += member.written;
        }
        wanted.check(NAME, written)?;
        Ok(written)
    }

    pub(crate) fn encode(
        self,
        source: &[u8],
        target: &mut Vec<u8>,
        compressor: &mut Option<Compressor>,
    ) -> Result<(), Error> {
        deflate::encode(NAME, Format::Gzip, self.level, source, target, compressor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn encoded(source: &[u8], level: i32) -> Vec<u8> {
        let mut target = Vec::new();
        GzipCodec { level }.encode(source, &mut target, &mut None).unwrap();
        target
    }

    fn decoded(source: &[u8], wanted: Wanted) -> Result<Vec<u8>, Error> {
        let mut target = vec![0; wanted.bytes()];
        let written = GzipCodec::decode(source, &mut target, wanted, &mut None)?;
        target.truncate(written);
        Ok(target)
    }

    #[test]
    fn round_trips_at_every_level() {
        for level in 0..=9 {
            let source = b"abcabcabcabc".repeat(50);
            assert_eq!(decoded(&encoded(&source, level), Wanted::Exactly(source.len())).unwrap(), source);
        }
    }

    #[test]
    fn members_concatenate_and_zeros_pad() {
        let mut stored = encoded(b"one", 5);
        stored.extend(encoded(b"", 5));
        stored.extend(encoded(b"two", 9));
        assert_eq!(decoded(&stored, Wanted::Exactly(6)).unwrap(), b"onetwo");
        assert_eq!(decoded(&stored, Wanted::AtMost(10)).unwrap(), b"onetwo");
        stored.extend([0; 30]);
        assert_eq!(decoded(&stored, Wanted::Exactly(6)).unwrap(), b"onetwo");
        stored.push(1);
        assert_eq!(decoded(&stored, Wanted::Exactly(6)).unwrap_err().kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn wrong_lengths_name_both_numbers() {
        let stored = encoded(b"four", 5);
        let error = decoded(&stored, Wanted::Exactly(5)).unwrap_err();
        assert_eq!(error.to_string(), "codec gzip: corrupt bytes: wanted 5 decoded bytes, found 4");
        assert_eq!(decoded(&stored, Wanted::Exactly(3)).unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(decoded(&[], Wanted::Exactly(0)).unwrap_err().kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn configuration_is_checked() {
        assert_eq!(GzipCodec::from_json(&json!({"level": -1})).unwrap().level, 6);
        assert_eq!(GzipCodec::from_json(&json!({"id": "gzip", "level": 0})).unwrap().level, 0);
        assert!(GzipCodec::from_json(&json!({"level": 10})).is_err());
        assert!(GzipCodec::from_json(&json!({"level": "1"})).is_err());
    }
}
