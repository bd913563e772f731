//! The `zlib` codec (RFC 1950), as numcodecs' `zlib`: one stream.

use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::deflate::{self, Compressor, Decompressor, Format};
use crate::error::{Error, Wanted};

const NAME: &str = "zlib";
/// The level that numcodecs takes when none is asked for.
const UNSTATED_LEVEL: i32 = 1;

/// Compresses by DEFLATE, with an Adler-32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZlibCodec {
    /// 0 (stored) to 9 (smallest).
    pub level: i32,
}

impl ZlibCodec {
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
        format!("zlib(level {})", self.level)
    }

    pub(crate) fn decode(
        source: &[u8],
        target: &mut [u8],
        wanted: Wanted,
        decompressor: &mut Option<Decompressor>,
    ) -> Result<usize, Error> {
        let progress = deflate::decode(NAME, Format::Zlib, source, target, wanted, decompressor)?;
        if progress.read != source.len() {
            return Err(Error::corrupt(
                NAME,
                format!(
                    "wanted one stream in {} stored bytes, found it to end after {}",
                    source.len(),
                    progress.read
                ),
            ));
        }
        wanted.check(NAME, progress.written)?;
        Ok(progress.written)
    }

    pub(crate) fn encode(
        self,
        source: &[u8],
        target: &mut Vec<u8>,
        compressor: &mut Option<Compressor>,
    ) -> Result<(), Error> {
        deflate::encode(NAME, Format::Zlib, self.level, source, target, compressor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn round_trips_and_refuses_other_lengths() {
        let source = b"abcabcabcabc".repeat(50);
        let (mut stored, mut context) = (Vec::new(), None);
        for level in 0..=9 {
            ZlibCodec { level }.encode(&source, &mut stored, &mut None).unwrap();
            let mut target = vec![0; source.len()];
            ZlibCodec::decode(&stored, &mut target, Wanted::Exactly(source.len()), &mut context).unwrap();
            assert_eq!(target, source);
        }
        for length in [source.len() - 1, source.len() + 1] {
            let error =
                ZlibCodec::decode(&stored, &mut vec![0; length], Wanted::Exactly(length), &mut context)
                    .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt);
        }
        stored.push(0);
        let mut target = vec![0; source.len()];
        assert!(
            ZlibCodec::decode(&stored, &mut target, Wanted::Exactly(source.len()), &mut context).is_err()
        );
    }
}
