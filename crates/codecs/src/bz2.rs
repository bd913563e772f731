//! The `bz2` codec, as numcodecs' `bz2`: one bzip2 stream, or several one behind the other.

use bzip2::{Action, Compress, Compression, Decompress, Status};
use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::error::{Error, Wanted};

const NAME: &str = "bz2";
/// The level that numcodecs takes when none is asked for.
const UNSTATED_LEVEL: u32 = 1;
/// What bzip2 itself takes when its work factor is not stated (manual, "BZ2_bzCompressInit").
const WORK_FACTOR: u32 = 30;

/// Compresses by bzip2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bz2Codec {
    /// Hundreds of kilobytes a block, 1 to 9.
    pub level: u32,
}

impl Bz2Codec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(NAME, configuration, &["id", "level"])?;
        let level = fields.integer("level", 1, 9)?.and_then(|level| u32::try_from(level).ok());
        Ok(Self { level: level.unwrap_or(UNSTATED_LEVEL) })
    }

    pub(crate) fn to_json(self) -> Value {
        json!({"level": self.level})
    }

    pub(crate) fn describe(self) -> String {
        format!("bz2(level {})", self.level)
    }

    /// Decodes all streams in `source` to the front of `target`. The library has no context that can be used again.
    pub(crate) fn decode(source: &[u8], target: &mut [u8], wanted: Wanted) -> Result<usize, Error> {
        let (mut rest, mut written) = (source, 0);
        loop {
            let (read, wrote) = decode_stream(rest, &mut target[written..], wanted)?;
            rest = &rest[read..];
            written += wrote;
            if rest.is_empty() {
                wanted.check(NAME, written)?;
                return Ok(written);
            }
        }
    }

    pub(crate) fn encode(self, source: &[u8], target: &mut Vec<u8>) -> Result<(), Error> {
        let mut context = Compress::new(Compression::new(self.level), WORK_FACTOR);
        // The manual's bound: one per cent and 600 bytes more than the content.
        target.clear();
        target.resize(source.len() + source.len() / 100 + 600, 0);
        match context.compress(source, target, Action::Finish) {
            Ok(Status::StreamEnd) => {
                // What was written fits the slice that it was written to.
                target.truncate(usize::try_from(context.total_out()).unwrap_or(usize::MAX));
                Ok(())
            }
            status => Err(Error::internal(NAME, format!("wanted the end of a stream, found {status:?}"))),
        }
    }
}

/// Decodes one stream: how many bytes it read and wrote.
fn decode_stream(source: &[u8], target: &mut [u8], wanted: Wanted) -> Result<(usize, usize), Error> {
    let mut context = Decompress::new(false);
    let counts = |context: &Decompress| {
        // Both count bytes of slices in memory.
        let count = |total: u64| usize::try_from(total).unwrap_or(usize::MAX);
        (count(context.total_in()), count(context.total_out()))
    };
    loop {
        let before = counts(&context);
        let status = context.decompress(&source[before.0..], &mut target[before.1..]);
        let after = counts(&context);
        match status {
            Ok(Status::StreamEnd) => return Ok(after),
            Ok(_) if after != before => {}
            Ok(_) if after.1 == target.len() => return Err(Error::too_long(NAME, wanted)),
            Ok(_) => return Err(Error::corrupt(NAME, "wanted a whole bzip2 stream, found its end missing")),
            Err(error) => {
                return Err(Error::corrupt(
                    NAME,
                    format!("wanted a sound bzip2 stream, found none: {error}"),
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn round_trips_and_refuses_other_lengths() {
        let source = b"abcabcabcabc".repeat(500);
        let mut stored = Vec::new();
        for level in 1..=9 {
            Bz2Codec { level }.encode(&source, &mut stored).unwrap();
            let mut target = vec![0; source.len()];
            Bz2Codec::decode(&stored, &mut target, Wanted::Exactly(source.len())).unwrap();
            assert_eq!(target, source);
        }
        for length in [0, source.len() - 1, source.len() + 1] {
            let error = Bz2Codec::decode(&stored, &mut vec![0; length], Wanted::Exactly(length)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{length}");
        }
    }

    #[test]
    fn streams_concatenate_and_truncated_ones_do_not_count() {
        let (mut one, mut both) = (Vec::new(), Vec::new());
        for part in [&b"first"[..], b"", b"second"] {
            Bz2Codec { level: 1 }.encode(part, &mut one).unwrap();
            both.extend_from_slice(&one);
        }
        let mut target = [0; 11];
        Bz2Codec::decode(&both, &mut target, Wanted::Exactly(11)).unwrap();
        assert_eq!(&target, b"firstsecond");
        for len in 0..both.len() {
            let found = Bz2Codec::decode(&both[..len], &mut target, Wanted::Exactly(11));
            assert!(found.is_err(), "{len}");
        }
    }
}
