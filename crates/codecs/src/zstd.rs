//! The `zstd` codec (RFC 8878), by libzstd.
//!
//! Zarr v3 codec specification "zstd" and numcodecs' `zstd`. Several frames in a row decode to their concatenation;
//! skippable frames are skipped. Formats older than zstd 0.8 are refused: the library may have decoders for them,
//! which are not written for untrusted bytes.

use serde_json::{Value, json};
use std::io::Cursor;
use zstd_safe::{CCtx, CParameter, DCtx};

use crate::configuration::Configuration;
use crate::error::{Error, Wanted};

const NAME: &str = "zstd";
/// RFC 8878, 3.1.1: "Magic_Number".
const FRAME_MAGIC: u32 = 0xFD2F_B528;
/// RFC 8878, 3.1.2: "Skippable Frames", the low four bits are free.
const SKIPPABLE_MAGIC: u32 = 0x184D_2A50;
/// zstd_errors.h: ZSTD_error_checksum_wrong, one of the codes that are promised not to change.
const CHECKSUM_WRONG: usize = 22;
/// zstd_errors.h: ZSTD_error_dstSize_tooSmall, one of the codes that are promised not to change.
const TARGET_TOO_SMALL: usize = 70;

/// Compresses by Zstandard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZstdCodec {
    /// -131072 (fastest) to 22 (smallest); 0 is the library's default, 3. Other numbers are cut to that.
    pub level: i32,
    /// Whether a frame ends with a checksum of its content; decoding checks it where it is there.
    pub checksum: bool,
}

impl ZstdCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(NAME, configuration, &["id", "level", "checksum"])?;
        let (min, max) = (zstd_safe::min_c_level(), zstd_safe::max_c_level());
        Ok(Self {
            level: fields.integer_clamped("level", min, max)?.unwrap_or(0),
            checksum: fields.flag("checksum")?.unwrap_or(false),
        })
    }

    pub(crate) fn to_json(self) -> Value {
        json!({"level": self.level, "checksum": self.checksum})
    }

    pub(crate) fn describe(self) -> String {
        format!("zstd(level {}{})", self.level, if self.checksum { ", checksum" } else { "" })
    }

    pub(crate) fn decode(
        source: &[u8],
        target: &mut [u8],
        wanted: Wanted,
        context: &mut Option<DCtx<'static>>,
    ) -> Result<usize, Error> {
        let mut rest = source;
        let mut written = 0;
        loop {
            check_magic(rest)?;
            let frame_len =
                zstd_safe::find_frame_compressed_size(rest).map_err(|code| error_from(code, wanted))?;
            // The library has checked that the frame lies within `rest`; a split that fails is corrupt all the same.
            let Some((frame, after)) = rest.split_at_checked(frame_len) else {
                return Err(Error::corrupt(
                    NAME,
                    format!("wanted a frame of {frame_len} bytes, found {}", rest.len()),
                ));
            };
            written += decode_frame(frame, &mut target[written..], wanted, context)?;
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        wanted.check(NAME, written)?;
        Ok(written)
    }

    pub(crate) fn encode(
        self,
        source: &[u8],
        target: &mut Vec<u8>,
        context: &mut Option<CCtx<'static>>,
    ) -> Result<(), Error> {
        target.clear();
        self.encode_behind(source, target, context)
    }

    /// Puts a frame behind what `target` holds.
    pub(crate) fn encode_behind(
        self,
        source: &[u8],
        target: &mut Vec<u8>,
        context: &mut Option<CCtx<'static>>,
    ) -> Result<(), Error> {
        let context = match context {
            Some(context) => context,
            None => context.insert(CCtx::try_create().ok_or_else(no_memory)?),
        };
        let settings = [CParameter::CompressionLevel(self.level), CParameter::ChecksumFlag(self.checksum)];
        for setting in settings {
            context.set_parameter(setting).map_err(internal)?;
        }
        // The library writes to memory that nothing was written to before: of what a frame may take most stays free, and to
        // fill that with zeros would cost a large chunk as much as a copy of it.
        target.try_reserve(zstd_safe::compress_bound(source.len())).map_err(|_| no_memory())?;
        let mut behind = Cursor::new(&mut *target);
        behind.set_position(behind.get_ref().len() as u64);
        context.compress2(&mut behind, source).map_err(internal)?;
        Ok(())
    }
}

/// Decodes one frame, or a block of blosc that is one, to the front of `target`.
pub(crate) fn decode_frame(
    frame: &[u8],
    target: &mut [u8],
    wanted: Wanted,
    context: &mut Option<DCtx<'static>>,
) -> Result<usize, Error> {
    let context = match context {
        Some(context) => context,
        None => context.insert(DCtx::try_create().ok_or_else(no_memory)?),
    };
    context.decompress(target, frame).map_err(|code| error_from(code, wanted))
}

/// Refuses what does not start as a frame of today's format.
pub(crate) fn check_magic(source: &[u8]) -> Result<(), Error> {
    let Some(magic) = source.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes)) else {
        return Err(Error::corrupt(NAME, format!("wanted a frame, found {} bytes", source.len())));
    };
    if magic == FRAME_MAGIC || magic & !0xF == SKIPPABLE_MAGIC {
        Ok(())
    } else {
        Err(Error::corrupt(NAME, format!("wanted the magic number {FRAME_MAGIC:#x}, found {magic:#x}")))
    }
}

/// The library's error codes are negated in a `size_t`.
fn error_from(code: usize, wanted: Wanted) -> Error {
    let name = zstd_safe::get_error_name(code);
    match code.wrapping_neg() {
        CHECKSUM_WRONG => Error::checksum(NAME, name),
        TARGET_TOO_SMALL => Error::too_long(NAME, wanted),
        _ => Error::corrupt(NAME, format!("wanted a sound frame, found: {name}")),
    }
}

fn internal(code: usize) -> Error {
    Error::internal(NAME, format!("wanted to compress, found: {}", zstd_safe::get_error_name(code)))
}

fn no_memory() -> Error {
    Error::internal(NAME, "wanted memory to compress in, found none")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn encoded(source: &[u8], codec: ZstdCodec) -> Vec<u8> {
        let mut target = Vec::new();
        codec.encode(source, &mut target, &mut None).unwrap();
        target
    }

    fn decoded(source: &[u8], wanted: Wanted) -> Result<Vec<u8>, Error> {
        let mut target = vec![0; wanted.bytes()];
        let written = ZstdCodec::decode(source, &mut target, wanted, &mut None)?;
        target.truncate(written);
        Ok(target)
    }

    #[test]
    fn round_trips_at_many_levels() {
        let source = b"abcdefg".repeat(99);
        for level in [-131_072, -1, 0, 1, 3, 22] {
            for checksum in [false, true] {
                let stored = encoded(&source, ZstdCodec { level, checksum });
                assert_eq!(decoded(&stored, Wanted::Exactly(source.len())).unwrap(), source);
            }
        }
    }

    #[test]
    fn frames_are_put_behind_what_is_there() {
        let (codec, mut target) = (ZstdCodec { level: 1, checksum: false }, b"before".to_vec());
        codec.encode_behind(b"content", &mut target, &mut None).unwrap();
        assert_eq!(target[..6], *b"before");
        assert_eq!(target[6..], encoded(b"content", codec));
    }

    #[test]
    fn frames_concatenate() {
        let codec = ZstdCodec { level: 1, checksum: true };
        let mut stored = encoded(b"one", codec);
        stored.extend([0x53, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 7, 7]);
        stored.extend(encoded(b"two", codec));
        assert_eq!(decoded(&stored, Wanted::Exactly(6)).unwrap(), b"onetwo");
        stored.push(0);
        assert_eq!(decoded(&stored, Wanted::Exactly(6)).unwrap_err().kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn frames_without_a_content_size_decode() {
        let mut context = CCtx::create();
        context.set_parameter(CParameter::ContentSizeFlag(false)).unwrap();
        let mut stored = vec![0; 1000];
        let source = b"no size".repeat(30);
        let written = context.compress2(&mut stored[..], &source).unwrap();
        stored.truncate(written);
        assert_eq!(decoded(&stored, Wanted::Exactly(source.len())).unwrap(), source);
    }

    #[test]
    fn lengths_and_checksums_are_checked() {
        let mut stored = encoded(b"content", ZstdCodec { level: 1, checksum: true });
        assert_eq!(decoded(&stored, Wanted::Exactly(8)).unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(decoded(&stored, Wanted::Exactly(6)).unwrap_err().kind(), ErrorKind::Corrupt);
        *stored.last_mut().unwrap() ^= 1;
        assert_eq!(decoded(&stored, Wanted::Exactly(7)).unwrap_err().kind(), ErrorKind::Checksum);
        assert_eq!(decoded(&[], Wanted::Exactly(0)).unwrap_err().kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn formats_of_old_are_refused() {
        let error = decoded(&[0x27, 0xB5, 0x2F, 0xFD, 0, 0, 0, 0], Wanted::AtMost(100)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }
}
