//! The `lzma` codec, as numcodecs' `lzma`, which is Python's: `.xz` streams, `.lzma` files, or raw filter chains.
//!
//! The .xz file format 1.2.1; Python's `lzma` module for formats, checks and filters.

use liblzma::stream::{Action, Check, Error as LzmaError, LzmaOptions, Status, Stream};
use serde_json::{Map, Value, json};

use crate::configuration::Configuration;
use crate::error::{Error, Wanted};

mod filters;

use filters::FilterChain;

const NAME: &str = "lzma";
/// What xz and Python take when no preset is asked for.
const UNSTATED_PRESET: u32 = 6;
/// Memory that a decoder may use: the largest preset takes 65 MiB; streams may ask for dictionaries of 4 GiB.
const DECODER_BYTES_MAX: u64 = 256 << 20;
/// `LZMA_CONCATENATED`: several streams one behind the other are one.
const CONCATENATED: u32 = 0x08;

/// How the stream is wrapped: Python's `FORMAT_*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LzmaFormat {
    /// `.xz`.
    Xz,
    /// `.lzma`, the format of old.
    Alone,
    /// No header: the filters are in the metadata.
    Raw,
}

/// Compresses by LZMA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LzmaCodec {
    /// How the stream is wrapped.
    pub format: LzmaFormat,
    /// Python's `CHECK_*` number; -1 for the format's own.
    pub check: i64,
    /// 0 to 9, by 2^31 more for `PRESET_EXTREME`.
    pub preset: Option<u32>,
    /// The filters, where metadata list them.
    filters: Option<FilterChain>,
}

impl LzmaCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields =
            Configuration::new(NAME, configuration, &["id", "format", "check", "preset", "filters"])?;
        let format = match fields.integer("format", 1, 3)? {
            None | Some(1) => LzmaFormat::Xz,
            Some(2) => LzmaFormat::Alone,
            Some(_) => LzmaFormat::Raw,
        };
        let check = fields.integer("check", -1, 10)?.unwrap_or(-1);
        let preset =
            fields.integer("preset", 0, u32::MAX.into())?.and_then(|preset| u32::try_from(preset).ok());
        let filters = fields.get("filters").map(FilterChain::from_json).transpose()?;
        match (format, &filters, preset) {
            (LzmaFormat::Raw, None, _) => Err(fields.missing("filters", "the filters of a raw stream")),
            (_, Some(_), Some(_)) => Err(Error::invalid(NAME, "wanted `preset` or `filters`, found both")),
            _ => Ok(Self { format, check, preset, filters }),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let format = match self.format {
            LzmaFormat::Xz => 1,
            LzmaFormat::Alone => 2,
            LzmaFormat::Raw => 3,
        };
        let mut fields = Map::new();
        fields.insert("format".to_owned(), json!(format));
        fields.insert("check".to_owned(), json!(self.check));
        fields.insert("preset".to_owned(), json!(self.preset));
        fields.insert("filters".to_owned(), self.filters.as_ref().map_or(Value::Null, FilterChain::to_json));
        Value::Object(fields)
    }

    pub(crate) fn describe(&self) -> String {
        match (self.format, self.preset) {
            (LzmaFormat::Raw, _) => "lzma(raw)".to_owned(),
            (LzmaFormat::Alone, _) => "lzma(alone)".to_owned(),
            (LzmaFormat::Xz, None) => "lzma".to_owned(),
            (LzmaFormat::Xz, Some(preset)) => format!("lzma(preset {preset})"),
        }
    }

    /// Decodes the stream, or streams, in `source` to the front of `target`.
    pub(crate) fn decode(&self, source: &[u8], target: &mut [u8], wanted: Wanted) -> Result<usize, Error> {
        let mut stream = self.decoder()?;
        let (mut read, mut written) = (0, 0);
        loop {
            let before = (read, written);
            let is_last = read == source.len();
            let action = if is_last { Action::Finish } else { Action::Run };
            let status = stream.process(&source[read..], &mut target[written..], action);
            // Both count bytes of slices in memory.
            read = usize::try_from(stream.total_in()).unwrap_or(usize::MAX);
            written = usize::try_from(stream.total_out()).unwrap_or(usize::MAX);
            match status {
                Ok(Status::StreamEnd) => break,
                Ok(Status::Ok | Status::GetCheck) if before != (read, written) => {}
                // No progress: there is nothing more to read, or no room to write to.
                Ok(_) if written == target.len() && !is_last => return Err(Error::too_long(NAME, wanted)),
                // LZMA1 without an end marker ends with its bytes.
                Ok(_) if is_last && self.format == LzmaFormat::Raw => break,
                Ok(_) => return Err(Error::corrupt(NAME, "wanted a whole stream, found its end missing")),
                Err(LzmaError::Mem | LzmaError::MemLimit) => return Err(too_much_memory()),
                Err(error) => {
                    return Err(Error::corrupt(NAME, format!("wanted a sound stream, found none: {error}")));
                }
            }
        }
        if read != source.len() {
            let found =
                format!("wanted one stream in {} stored bytes, found it to end after {read}", source.len());
            return Err(Error::corrupt(NAME, found));
        }
        wanted.check(NAME, written)?;
        Ok(written)
    }

    pub(crate) fn encode(&self, source: &[u8], target: &mut Vec<u8>) -> Result<(), Error> {
        let mut stream = self.encoder()?;
        target.clear();
        loop {
            target.reserve((source.len() / 4).max(4096));
            // `process_vec` takes the rest of the source each time.
            let read = usize::try_from(stream.total_in()).unwrap_or(usize::MAX);
            match stream.process_vec(&source[read..], target, Action::Finish) {
                Ok(Status::StreamEnd) => return Ok(()),
                Ok(_) => {}
                Err(error) => {
                    return Err(Error::internal(NAME, format!("wanted to compress, found: {error}")));
                }
            }
        }
    }

    fn decoder(&self) -> Result<Stream, Error> {
        let stream = match (self.format, &self.filters) {
            (LzmaFormat::Xz, _) => Stream::new_stream_decoder(DECODER_BYTES_MAX, CONCATENATED),
            (LzmaFormat::Alone, _) => Stream::new_lzma_decoder(DECODER_BYTES_MAX),
            (LzmaFormat::Raw, Some(filters)) => {
                filters.check_memory(DECODER_BYTES_MAX).map_err(|_| too_much_memory())?;
                Stream::new_raw_decoder(&filters.build()?)
            }
            (LzmaFormat::Raw, None) => return Err(Error::internal(NAME, "a raw stream without filters")),
        };
        stream.map_err(|error| Error::internal(NAME, format!("wanted a decoder, found: {error}")))
    }

    fn encoder(&self) -> Result<Stream, Error> {
        let preset = self.preset.unwrap_or(UNSTATED_PRESET);
        let options = || LzmaOptions::new_preset(preset).map_err(|error| unusable(&error));
        let stream = match (self.format, &self.filters) {
            (LzmaFormat::Xz, None) => Stream::new_easy_encoder(preset, self.checked()?),
            (LzmaFormat::Xz, Some(filters)) => Stream::new_stream_encoder(&filters.build()?, self.checked()?),
            (LzmaFormat::Alone, Some(filters)) => Stream::new_lzma_encoder(&filters.options()?),
            (LzmaFormat::Alone, None) => Stream::new_lzma_encoder(&options()?),
            (LzmaFormat::Raw, Some(filters)) => Stream::new_raw_encoder(&filters.build()?),
            (LzmaFormat::Raw, None) => return Err(Error::internal(NAME, "a raw stream without filters")),
        };
        stream.map_err(|error| unusable(&error))
    }

    fn checked(&self) -> Result<Check, Error> {
        match self.check {
            -1 | 4 => Ok(Check::Crc64),
            0 => Ok(Check::None),
            1 => Ok(Check::Crc32),
            10 => Ok(Check::Sha256),
            other => Err(Error::invalid_field(NAME, "check", "-1, 0, 1, 4 or 10", other)),
        }
    }
}

#[cold]
fn too_much_memory() -> Error {
    Error::corrupt(
        NAME,
        format!("wanted a stream that decodes in {DECODER_BYTES_MAX} bytes of memory, found more"),
    )
}

fn unusable(error: &LzmaError) -> Error {
    Error::invalid(NAME, format!("wanted settings that liblzma takes, found: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn codec(configuration: &Value) -> LzmaCodec {
        LzmaCodec::from_json(configuration).unwrap()
    }

    #[test]
    fn every_format_round_trips_and_refuses_other_lengths() {
        let source = b"abcabcabcabd".repeat(500);
        for configuration in [
            json!({}),
            json!({"format": 1, "check": 0, "preset": 0}),
            json!({"format": 1, "check": 10, "filters": [{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]}),
            json!({"format": 2, "preset": 3}),
            json!({"format": 2, "filters": [{"id": 0x4000_0000_0000_0001_u64, "dict_size": 65536}]}),
            json!({"format": 3, "filters": [{"id": 3, "dist": 2}, {"id": 33, "preset": 6, "lc": 2}]}),
        ] {
            let codec = codec(&configuration);
            let (mut stored, mut target) = (Vec::new(), vec![0; source.len()]);
            codec.encode(&source, &mut stored).unwrap();
            codec.decode(&stored, &mut target, Wanted::Exactly(source.len())).unwrap();
            assert_eq!(target, source, "{configuration}");
            for length in [source.len() - 1, source.len() + 1] {
                let error = codec.decode(&stored, &mut vec![0; length], Wanted::Exactly(length)).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{configuration} {length}");
            }
            let cut = stored.len() / 2;
            assert!(codec.decode(&stored[..cut], &mut target, Wanted::Exactly(source.len())).is_err());
        }
    }

    #[test]
    fn configurations_are_checked() {
        for wrong in [
            json!({"format": 3}),
            json!({"format": 7}),
            json!({"preset": 1, "filters": [{"id": 33}]}),
            json!({"filters": []}),
            json!({"filters": [{"id": 99}]}),
            json!({"filters": [{"id": 33, "colour": 1}]}),
        ] {
            assert_eq!(LzmaCodec::from_json(&wrong).unwrap_err().kind(), ErrorKind::Invalid, "{wrong}");
        }
        let codec = codec(&json!({"preset": 3}));
        assert_eq!(LzmaCodec::from_json(&codec.to_json()).unwrap(), codec);
    }

    #[test]
    fn dictionaries_beyond_the_bound_are_refused() {
        let codec = codec(&json!({"format": 3, "filters": [{"id": 33, "dict_size": 1_500_000_000}]}));
        let error = codec.decode(&[0; 100], &mut [0; 10], Wanted::Exactly(10)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }
}
