//! The `pcodec` codec, as numcodecs' `pcodec` and the zarrs project's: numbers compressed by Pco, in its standalone format.
//!
//! The library, `pco`, is the format's own.

use bytemuck::{Pod, Zeroable, cast_slice, cast_slice_mut, try_cast_slice_mut};
use half::f16;
use pco::data_types::Number;
use pco::standalone::{simple_compress, simple_decompress_into};
use pco::{ChunkConfig, DEFAULT_MAX_PAGE_N, DeltaSpec, ModeSpec, PagingSpec};
use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::error::{Error, Wanted};
use crate::layout::Element;
use crate::limits::encoded_bytes_max;
use crate::number::NumberType;

const NAME: &str = "pcodec";
/// The level that numcodecs takes when none is asked for.
const UNSTATED_LEVEL: usize = 8;
/// The largest order of differences of differences that the format has.
const DELTA_ORDER_MAX: i64 = 7;
/// What a page has besides its numbers, at most: the library promises less.
const PAGE_OVERHEAD_BYTES: u64 = 128;

/// Compresses numbers by Pco.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PcodecCodec {
    /// 0 to 12.
    pub level: usize,
    /// How numbers are taken apart before they are compressed.
    pub mode: PcodecMode,
    /// What is stored in the place of numbers.
    pub delta: PcodecDelta,
    /// Numbers in a page at most.
    pub page_numbers_max: usize,
}

/// How numbers are taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PcodecMode {
    /// As it suits them.
    Auto,
    /// Not at all.
    Classic,
}

/// What is stored in the place of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PcodecDelta {
    /// What suits them.
    Auto,
    /// Numbers as they are.
    NoOp,
    /// Differences of differences, so many times.
    Consecutive(usize),
    /// Differences from like numbers before.
    Lookback,
}

/// The codec for elements of a known type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PcodecStage {
    codec: PcodecCodec,
    number: NumberType,
}

impl PcodecCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let known = [
            "id",
            "level",
            "mode_spec",
            "delta_spec",
            "paging_spec",
            "delta_encoding_order",
            "equal_pages_up_to",
        ];
        let fields = Configuration::new(NAME, configuration, &known)?;
        let count = |field: &str, min: i64, max: i64| -> Result<Option<usize>, Error> {
            Ok(fields.integer(field, min, max)?.and_then(|number| usize::try_from(number).ok()))
        };
        let level = count("level", 0, 12)?.unwrap_or(UNSTATED_LEVEL);
        let page_numbers_max = count("equal_pages_up_to", 1, i64::MAX)?.unwrap_or(DEFAULT_MAX_PAGE_N);
        let order = count("delta_encoding_order", 0, DELTA_ORDER_MAX)?;
        let wanted = "\"auto\" or \"classic\"";
        let mode = match fields.text("mode_spec", wanted)? {
            None | Some("auto") => PcodecMode::Auto,
            Some("classic") => PcodecMode::Classic,
            Some(other) => return Err(Error::invalid_field(NAME, "mode_spec", wanted, other)),
        };
        let wanted = "\"equal_pages_up_to\"";
        if let Some(other) = fields.text("paging_spec", wanted)?.filter(|text| *text != "equal_pages_up_to") {
            return Err(Error::invalid_field(NAME, "paging_spec", wanted, other));
        }
        let wanted = "\"auto\", \"no_op\", \"try_consecutive\" or \"try_lookback\"";
        let delta = match (fields.text("delta_spec", wanted)?, order) {
            (None | Some("auto"), None) => PcodecDelta::Auto,
            (None | Some("auto" | "try_consecutive"), Some(order)) => PcodecDelta::Consecutive(order),
            (Some("no_op" | "none"), None) => PcodecDelta::NoOp,
            (Some("try_lookback"), None) => PcodecDelta::Lookback,
            (Some("try_consecutive"), None) => return Err(fields.missing("delta_encoding_order", "a number")),
            (Some(other), _) => return Err(Error::invalid_field(NAME, "delta_spec", wanted, other)),
        };
        Ok(Self { level, mode, delta, page_numbers_max })
    }

    pub(crate) fn to_json(self) -> Value {
        let (delta, order) = match self.delta {
            PcodecDelta::Auto => ("auto", None),
            PcodecDelta::NoOp => ("no_op", None),
            PcodecDelta::Consecutive(order) => ("try_consecutive", Some(order)),
            PcodecDelta::Lookback => ("try_lookback", None),
        };
        let mode = match self.mode {
            PcodecMode::Auto => "auto",
            PcodecMode::Classic => "classic",
        };
        json!({
            "level": self.level, "mode_spec": mode, "delta_spec": delta, "paging_spec": "equal_pages_up_to",
            "delta_encoding_order": order, "equal_pages_up_to": self.page_numbers_max,
        })
    }

    pub(crate) fn describe(self) -> String {
        format!("pcodec(level {})", self.level)
    }

    pub(crate) fn compile(self, element: Element) -> Result<PcodecStage, Error> {
        let number = element.components().map(|(number, _)| number);
        match number {
            Some(
                number @ (NumberType::Int8
                | NumberType::UInt8
                | NumberType::Int16
                | NumberType::UInt16
                | NumberType::Int32
                | NumberType::UInt32
                | NumberType::Int64
                | NumberType::UInt64
                | NumberType::Float16
                | NumberType::Float32
                | NumberType::Float64),
            ) => Ok(PcodecStage { codec: self, number }),
            _ => Err(Error::unsupported(
                NAME,
                format!("wanted whole numbers or floats of 16 to 64 bits, found {:?}", element.kind),
            )),
        }
    }

    fn chunk_config(self) -> ChunkConfig {
        let delta = match self.delta {
            PcodecDelta::Auto => DeltaSpec::Auto,
            PcodecDelta::NoOp => DeltaSpec::NoOp,
            PcodecDelta::Consecutive(order) => DeltaSpec::TryConsecutive(order),
            PcodecDelta::Lookback => DeltaSpec::TryLookback,
        };
        let mode = match self.mode {
            PcodecMode::Auto => ModeSpec::Auto,
            PcodecMode::Classic => ModeSpec::Classic,
        };
        ChunkConfig::default()
            .with_compression_level(self.level)
            .with_mode_spec(mode)
            .with_delta_spec(delta)
            .with_paging_spec(PagingSpec::EqualPagesUpTo(self.page_numbers_max))
            .with_enable_8_bit(true)
    }
}

impl PcodecStage {
    /// The most bytes that so many bytes of numbers are compressed to.
    pub(crate) fn encoded_bytes_max(self, decoded_bytes: usize) -> u64 {
        let pages = decoded_bytes / self.number.size_bytes() / self.codec.page_numbers_max + 1;
        encoded_bytes_max(decoded_bytes as u64)
            .saturating_add((pages as u64).saturating_mul(PAGE_OVERHEAD_BYTES))
    }

    pub(crate) fn decode(self, source: &[u8], target: &mut [u8], wanted: Wanted) -> Result<usize, Error> {
        match self.number {
            NumberType::Int8 => decode::<i8>(source, target, wanted),
            NumberType::UInt8 => decode::<u8>(source, target, wanted),
            NumberType::Int16 => decode::<i16>(source, target, wanted),
            NumberType::UInt16 => decode::<u16>(source, target, wanted),
            NumberType::Int32 => decode::<i32>(source, target, wanted),
            NumberType::UInt32 => decode::<u32>(source, target, wanted),
            NumberType::Int64 => decode::<i64>(source, target, wanted),
            NumberType::UInt64 => decode::<u64>(source, target, wanted),
            NumberType::Float16 => decode::<f16>(source, target, wanted),
            NumberType::Float32 => decode::<f32>(source, target, wanted),
            _ => decode::<f64>(source, target, wanted),
        }
    }

    pub(crate) fn encode(self, source: &[u8], target: &mut Vec<u8>) -> Result<(), Error> {
        let config = self.codec.chunk_config();
        let encoded = match self.number {
            NumberType::Int8 => simple_compress(&numbers::<i8>(source), &config),
            NumberType::UInt8 => simple_compress(source, &config),
            NumberType::Int16 => simple_compress(&numbers::<i16>(source), &config),
            NumberType::UInt16 => simple_compress(&numbers::<u16>(source), &config),
            NumberType::Int32 => simple_compress(&numbers::<i32>(source), &config),
            NumberType::UInt32 => simple_compress(&numbers::<u32>(source), &config),
            NumberType::Int64 => simple_compress(&numbers::<i64>(source), &config),
            NumberType::UInt64 => simple_compress(&numbers::<u64>(source), &config),
            NumberType::Float16 => simple_compress(&numbers::<f16>(source), &config),
            NumberType::Float32 => simple_compress(&numbers::<f32>(source), &config),
            _ => simple_compress(&numbers::<f64>(source), &config),
        };
        // The library refuses only settings that the elements' type has no use for.
        *target = encoded.map_err(|error| {
            Error::invalid(NAME, format!("wanted settings for {}: {error}", self.number.name()))
        })?;
        Ok(())
    }
}

/// Numbers from bytes at any address.
fn numbers<T: Pod + Zeroable>(source: &[u8]) -> Vec<T> {
    let mut numbers = vec![T::zeroed(); source.len() / size_of::<T>()];
    let bytes = cast_slice_mut::<T, u8>(&mut numbers);
    bytes.copy_from_slice(&source[..bytes.len()]);
    numbers
}

/// Decodes to the front of `target`, by way of another vector where that does not lie as numbers must.
fn decode<T: Number + Pod + Zeroable>(
    source: &[u8],
    target: &mut [u8],
    wanted: Wanted,
) -> Result<usize, Error> {
    let sound = |result: Result<pco::Progress, pco::errors::PcoError>| {
        let progress = result
            .map_err(|error| Error::corrupt(NAME, format!("wanted sound Pco bytes, found none: {error}")))?;
        if !progress.finished {
            return Err(Error::too_long(NAME, wanted));
        }
        let written = progress.n_processed * size_of::<T>();
        wanted.check(NAME, written)?;
        Ok(written)
    };
    if let Ok(numbers) = try_cast_slice_mut::<u8, T>(target) {
        return sound(simple_decompress_into(source, numbers));
    }
    let mut numbers = vec![T::zeroed(); target.len() / size_of::<T>()];
    let written = sound(simple_decompress_into(source, &mut numbers))?;
    target[..written].copy_from_slice(&cast_slice(&numbers)[..written]);
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn stage(number: NumberType, configuration: &Value) -> PcodecStage {
        PcodecCodec::from_json(configuration).unwrap().compile(Element::number(number)).unwrap()
    }

    #[test]
    fn every_type_and_setting_round_trips_at_any_address() {
        let bytes: Vec<u8> = (0..4096u32).map(|at| (at * at / 97).to_le_bytes()[0]).collect();
        for number in [
            NumberType::Int8,
            NumberType::UInt8,
            NumberType::Int16,
            NumberType::UInt16,
            NumberType::Int32,
            NumberType::UInt32,
            NumberType::Int64,
            NumberType::UInt64,
            NumberType::Float16,
            NumberType::Float32,
            NumberType::Float64,
        ] {
            for configuration in [
                json!({}),
                json!({"level": 0, "delta_spec": "no_op", "mode_spec": "classic"}),
                json!({"level": 3, "delta_encoding_order": 2, "equal_pages_up_to": 100}),
                json!({"level": 12, "delta_spec": "try_lookback", "equal_pages_up_to": 1}),
            ] {
                let stage = stage(number, &configuration);
                let mut stored = Vec::new();
                stage.encode(&bytes, &mut stored).unwrap();
                assert!(stored.len() as u64 <= stage.encoded_bytes_max(bytes.len()), "{configuration}");
                let mut target = vec![0; bytes.len() + 1];
                stage.decode(&stored, &mut target[1..], Wanted::Exactly(bytes.len())).unwrap();
                assert_eq!(target[1..], bytes, "{number:?} {configuration}");
                for length in [bytes.len() - 8, bytes.len() + 8] {
                    let mut target = vec![0; length];
                    let error = stage.decode(&stored, &mut target, Wanted::Exactly(length)).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Corrupt);
                }
            }
        }
    }

    #[test]
    fn configurations_are_checked() {
        for configuration in [
            json!({"level": 13}),
            json!({"mode_spec": "try_float"}),
            json!({"delta_spec": "try_consecutive"}),
            json!({"delta_spec": "no_op", "delta_encoding_order": 1}),
            json!({"paging_spec": "exact"}),
            json!({"equal_pages_up_to": 0}),
        ] {
            assert!(PcodecCodec::from_json(&configuration).is_err(), "{configuration}");
        }
        let codec = PcodecCodec::from_json(&json!({"delta_encoding_order": 3})).unwrap();
        assert_eq!(PcodecCodec::from_json(&codec.to_json()).unwrap(), codec);
        assert!(codec.compile(Element::number(NumberType::Bool)).is_err());
        assert!(codec.compile(Element::complex(NumberType::Float32)).is_ok());
    }
}
