//! The `zfp` codec of Zarr v3 and the `zfpy` of numcodecs: numbers of an array of 1 to 4 axes, by blocks of four along each.
//!
//! What zfpy stores has zfp's header before the blocks, which says how they are coded; for `zfp` the metadata do. Streams are
//! decoded here: the library reads on behind bytes that end early, and is built by tools that few have. They are encoded only
//! where the program has registered a codec that does.

mod bits;
mod block;
mod header;
mod order;

use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::error::{Error, Wanted};
use crate::layout::{ChunkLayout, Element};
use crate::number::NumberType;
use crate::registered::RegisteredCodec;
use bits::Bits;
use block::{Blocks, EXPONENT_MIN, Parameters, Scalar, VALUES_MAX};

const NAME: &str = "zfp";
/// Bits of a block at most, whatever it holds.
const BLOCK_BITS_MAX: u32 = 16_658;
const PLANES_MAX: u32 = 64;
/// Bits of the longest header, and of what may be filled up at the end.
const OVERHEAD_BITS: u64 = 148 + 64;

/// Compresses numbers by zfp.
#[derive(Debug, Clone, PartialEq)]
pub struct ZfpCodec {
    /// How much is kept; as `zfpy` has it, what the stream says counts.
    pub mode: ZfpMode,
    /// The metadata of `zfpy`, where it is that: its streams have a header.
    zfpy: Option<Value>,
    /// What encodes, where the program has registered such.
    encoder: Option<RegisteredCodec>,
}

/// What zfp keeps of numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ZfpMode {
    /// So many bits a number.
    FixedRate(f64),
    /// So many bit planes.
    FixedPrecision(u32),
    /// What is greater than a tolerance.
    FixedAccuracy(f64),
    /// Everything.
    Reversible,
    /// Bits of a block at least and at most, bit planes at most, and the exponent of the lowest one at least.
    Expert([u32; 3], i32),
}

impl ZfpCodec {
    /// Reads the configuration of `zfp`.
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let known = ["mode", "rate", "precision", "tolerance", "minbits", "maxbits", "maxprec", "minexp"];
        let fields = Configuration::new(NAME, configuration, &known)?;
        let float = |field: &str| match fields.get(field) {
            Some(value) => value.as_f64().ok_or_else(|| fields.wrong(field, "a number", value)),
            None => Err(fields.missing(field, "a number")),
        };
        let count = |field: &str, max: u32| {
            let found = fields.integer(field, 0, max.into())?.and_then(|number| u32::try_from(number).ok());
            found.ok_or_else(|| fields.missing(field, "a whole number"))
        };
        let wanted = "\"fixed_rate\", \"fixed_precision\", \"fixed_accuracy\", \"reversible\" or \"expert\"";
        let mode = match fields.text("mode", wanted)? {
            Some("fixed_rate") => ZfpMode::FixedRate(float("rate")?),
            Some("fixed_precision") => ZfpMode::FixedPrecision(count("precision", u32::MAX)?),
            Some("fixed_accuracy") => ZfpMode::FixedAccuracy(float("tolerance")?),
            Some("reversible") => ZfpMode::Reversible,
            Some("expert") => {
                let bits = [count("minbits", BLOCK_BITS_MAX)?, count("maxbits", BLOCK_BITS_MAX)?];
                let lowest = fields.integer("minexp", i32::MIN.into(), i32::MAX.into())?;
                let lowest = lowest.and_then(|number| i32::try_from(number).ok());
                let lowest = lowest.ok_or_else(|| fields.missing("minexp", "a whole number"))?;
                ZfpMode::Expert([bits[0], bits[1], count("maxprec", PLANES_MAX)?], lowest)
            }
            Some(other) => return Err(Error::invalid_field(NAME, "mode", wanted, other)),
            None => return Err(fields.missing("mode", wanted)),
        };
        Ok(Self { mode, zfpy: None, encoder: None })
    }

    /// Reads the configuration of `zfpy`, whose numbers count only where it encodes.
    pub(crate) fn from_zfpy_json(
        configuration: &Value,
        encoder: Option<RegisteredCodec>,
    ) -> Result<Self, Error> {
        let known = ["id", "mode", "compression_kwargs", "tolerance", "rate", "precision"];
        let fields = Configuration::new("zfpy", configuration, &known)?;
        let number = |field: &str| fields.get(field).and_then(Value::as_f64);
        let mode = match fields.integer("mode", 0, 5)? {
            Some(2) => ZfpMode::FixedRate(number("rate").unwrap_or(-1.0)),
            Some(3) => {
                let precision = fields.integer("precision", -1, u32::MAX.into())?;
                ZfpMode::FixedPrecision(precision.and_then(|bits| u32::try_from(bits).ok()).unwrap_or(0))
            }
            Some(4) => ZfpMode::FixedAccuracy(number("tolerance").unwrap_or(-1.0)),
            _ => ZfpMode::Reversible,
        };
        let mut kept = configuration.clone();
        if let Value::Object(fields) = &mut kept {
            fields.shift_remove("id");
        }
        Ok(Self { mode, zfpy: Some(kept), encoder })
    }

    pub(crate) fn name(&self) -> &'static str {
        if self.zfpy.is_some() { "zfpy" } else { NAME }
    }

    pub(crate) fn v3_name(&self) -> &'static str {
        if self.zfpy.is_some() { "numcodecs.zfpy" } else { NAME }
    }

    pub(crate) fn to_json(&self) -> Value {
        if let Some(configuration) = &self.zfpy {
            return configuration.clone();
        }
        match self.mode {
            ZfpMode::FixedRate(rate) => json!({"mode": "fixed_rate", "rate": rate}),
            ZfpMode::FixedPrecision(bits) => json!({"mode": "fixed_precision", "precision": bits}),
            ZfpMode::FixedAccuracy(tolerance) => json!({"mode": "fixed_accuracy", "tolerance": tolerance}),
            ZfpMode::Reversible => json!({"mode": "reversible"}),
            ZfpMode::Expert([min, max, planes], lowest) => json!({
                "mode": "expert", "minbits": min, "maxbits": max, "maxprec": planes, "minexp": lowest,
            }),
        }
    }

    pub(crate) fn describe(&self) -> String {
        let name = self.name();
        match self.mode {
            ZfpMode::FixedRate(rate) => format!("{name}(rate {rate})"),
            ZfpMode::FixedPrecision(bits) => format!("{name}(precision {bits})"),
            ZfpMode::FixedAccuracy(tolerance) => format!("{name}(tolerance {tolerance})"),
            ZfpMode::Reversible => format!("{name}(reversible)"),
            ZfpMode::Expert(..) => format!("{name}(expert)"),
        }
    }

    /// The codec for chunks of a known layout.
    pub(crate) fn compile(&self, layout: &ChunkLayout) -> Result<ZfpStage, Error> {
        let number = match layout.element.components() {
            Some((number, 1)) => number,
            _ => return Err(unfit(layout.element)),
        };
        let scalar = scalar_of(number).ok_or_else(|| unfit(layout.element))?;
        let shape = layout.shape.clone();
        if shape.is_empty() || 4 < shape.len() {
            return Err(Error::unsupported(NAME, format!("wanted chunks of 1 to 4 axes, found {shape:?}")));
        }
        let count = layout.decoded_len()? / layout.element.size_bytes;
        Ok(ZfpStage { codec: self.clone(), layout: layout.clone(), number, scalar, shape, count })
    }

    /// How blocks of so many axes are coded, where no header says it.
    fn parameters(&self, scalar: Scalar, axes: u32) -> Parameters {
        let usual = Parameters {
            bits_min: 1,
            bits_max: BLOCK_BITS_MAX,
            planes_max: PLANES_MAX,
            exponent_min: EXPONENT_MIN,
        };
        match self.mode {
            ZfpMode::FixedRate(rate) => {
                let least = if scalar.is_float() { 1 + scalar.exponent_bits() } else { 0 };
                let values = f64::from(1u32 << (2 * axes));
                let bits = (values * rate + 0.5).floor().clamp(0.0, BLOCK_BITS_MAX.into());
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within bounds")]
                let bits = (bits as u32).max(least);
                Parameters { bits_min: bits, bits_max: bits, ..usual }
            }
            ZfpMode::FixedPrecision(0) | ZfpMode::FixedAccuracy(..=0.0) => usual,
            ZfpMode::FixedPrecision(planes) => Parameters { planes_max: planes.min(PLANES_MAX), ..usual },
            ZfpMode::FixedAccuracy(tolerance) => Parameters { exponent_min: exponent_of(tolerance), ..usual },
            ZfpMode::Reversible => Parameters { exponent_min: EXPONENT_MIN - 1, ..usual },
            ZfpMode::Expert([bits_min, bits_max, planes_max], exponent_min) => {
                Parameters { bits_min, bits_max, planes_max, exponent_min }
            }
        }
    }
}

/// The exponent of the greatest power of two that is no greater.
fn exponent_of(tolerance: f64) -> i32 {
    let above = (tolerance.to_bits() >> 52) & 0x7ff;
    match i32::try_from(above) {
        Ok(0) | Err(_) => {
            EXPONENT_MIN + 63 - i32::try_from(tolerance.to_bits().leading_zeros()).unwrap_or(63)
        }
        Ok(above) => above - 1023,
    }
}

fn unfit(element: Element) -> Error {
    Error::unsupported(
        NAME,
        format!("wanted whole numbers or floats of 32 or 64 bits, found {:?}", element.kind),
    )
}

/// What numbers are in a stream: those of 8 and 16 bits take 32.
fn scalar_of(number: NumberType) -> Option<Scalar> {
    Some(match number {
        NumberType::Int8
        | NumberType::UInt8
        | NumberType::Int16
        | NumberType::UInt16
        | NumberType::Int32
        | NumberType::UInt32 => Scalar::Int32,
        NumberType::Int64 | NumberType::UInt64 => Scalar::Int64,
        NumberType::Float32 => Scalar::Float,
        NumberType::Float64 => Scalar::Double,
        _ => return None,
    })
}

/// The codec for chunks of a known layout.
#[derive(Debug, Clone)]
pub(crate) struct ZfpStage {
    codec: ZfpCodec,
    layout: ChunkLayout,
    number: NumberType,
    scalar: Scalar,
    shape: Vec<u64>,
    count: usize,
}

impl ZfpStage {
    /// The most stored bytes of a chunk.
    pub(crate) fn stored_bytes_max(&self) -> u64 {
        let values = 1u64 << (2 * self.shape.len());
        let blocks =
            self.shape.iter().fold(1, |blocks: u64, length| blocks.saturating_mul(length.div_ceil(4)));
        // A flag, an exponent, the number of planes, and for each value and each plane a bit, besides those that tell runs.
        let bits = 32 + values + values * u64::from(self.scalar.bits());
        // zarrs counts a block's bits by those of three axes, whatever it has.
        let stated = [u32::try_from(self.shape.len()).unwrap_or(4), 3];
        let stated = stated.map(|axes| u64::from(self.codec.parameters(self.scalar, axes).bits_min));
        let bits = bits.max(stated[0]).max(stated[1]);
        blocks.saturating_mul(bits).saturating_add(OVERHEAD_BITS).div_ceil(8).saturating_add(8)
    }

    /// Decodes to all of `target`.
    pub(crate) fn decode(&self, source: &[u8], target: &mut [u8], wanted: Wanted) -> Result<usize, Error> {
        wanted.check(NAME, target.len())?;
        let mut bits = Bits::new(source);
        let (shape, parameters) = match self.codec.zfpy {
            None => (self.shape.clone(), self.stated_parameters(source.len())),
            Some(_) => {
                let header = header::read(&mut bits).ok_or_else(|| {
                    Error::corrupt(NAME, format!("wanted zfp's header, found other {} bytes", source.len()))
                })?;
                let count = header.shape.iter().product::<u64>();
                if header.scalar != self.scalar || usize::try_from(count) != Ok(self.count) {
                    let message = format!(
                        "wanted {} numbers of type {}, found {:?} of {:?}",
                        self.count,
                        self.number.name(),
                        header.shape,
                        header.scalar
                    );
                    return Err(Error::corrupt(NAME, message));
                }
                (header.shape, header.parameters)
            }
        };
        let blocks = Blocks { bits, parameters, scalar: self.scalar, axes: shape.len() };
        self.scatter(blocks, &shape, target)?;
        Ok(target.len())
    }

    /// How blocks are coded as the metadata have it. At a fixed rate the length of the stream tells by how many axes its
    /// writer counted.
    fn stated_parameters(&self, stored: usize) -> Parameters {
        let axes = u32::try_from(self.shape.len()).unwrap_or(4);
        let own = self.codec.parameters(self.scalar, axes);
        if let ZfpMode::FixedRate(_) = self.codec.mode {
            let blocks: u64 = self.shape.iter().map(|length| length.div_ceil(4)).product();
            let other = self.codec.parameters(self.scalar, 3);
            let words = blocks.saturating_mul(other.bits_max.into()).div_ceil(64);
            if words.saturating_mul(8) == stored as u64 {
                return other;
            }
        }
        own
    }

    /// Decodes block after block, and puts the values of each where they belong; what reaches past the chunk is left out.
    fn scatter(&self, mut blocks: Blocks<'_>, shape: &[u64], target: &mut [u8]) -> Result<(), Error> {
        let (axes, element_bytes) = (shape.len(), self.number.size_bytes());
        // Along zfp's axes, the last one of the chunk first.
        let extents: Vec<usize> =
            shape.iter().rev().map(|length| usize::try_from(*length).unwrap_or(usize::MAX)).collect();
        let mut values = [0u64; VALUES_MAX];
        let values = &mut values[..1 << (2 * axes)];
        let mut start = vec![0usize; axes];
        if self.count == 0 {
            return Ok(());
        }
        loop {
            blocks.next(values);
            if blocks.bits.is_past_end() {
                return Err(Error::corrupt(
                    NAME,
                    "wanted all blocks of a chunk, found the end of the stream",
                ));
            }
            for (number, value) in values.iter().enumerate() {
                let (mut at, mut stride, mut is_inside) = (0, 1, true);
                for (axis, (start, extent)) in start.iter().zip(&extents).enumerate() {
                    let place = start + (number >> (2 * axis) & 3);
                    is_inside &= place < *extent;
                    at += place * stride;
                    stride *= extent;
                }
                if is_inside {
                    let bytes = self.element(*value);
                    target[at * element_bytes..][..element_bytes].copy_from_slice(&bytes[..element_bytes]);
                }
            }
            // The next block, the first axis fastest.
            let mut axis = 0;
            loop {
                start[axis] += 4;
                if start[axis] < extents[axis] {
                    break;
                }
                start[axis] = 0;
                axis += 1;
                if axis == axes {
                    return Ok(());
                }
            }
        }
    }

    /// The native bytes of an element, in the first of these; those of less than 32 bits are the upper ones of a number, less a
    /// bit.
    fn element(&self, value: u64) -> [u8; 8] {
        let mut bytes = [0; 8];
        let signed = u32::try_from(value & u64::from(u32::MAX)).unwrap_or(0).cast_signed();
        let mut put = |element: &[u8]| bytes[..element.len()].copy_from_slice(element);
        let limited = |number: i32, low: i32, high: i32| number.clamp(low, high).to_le_bytes();
        match self.number {
            NumberType::Int8 => put(&limited(signed >> 23, -0x80, 0x7f)[..1]),
            NumberType::UInt8 => put(&limited((signed >> 23) + 0x80, 0, 0xff)[..1]),
            NumberType::Int16 => {
                let [low, high, ..] = limited(signed >> 15, -0x8000, 0x7fff);
                put(&u16::from_le_bytes([low, high]).to_ne_bytes());
            }
            NumberType::UInt16 => {
                let [low, high, ..] = limited((signed >> 15) + 0x8000, 0, 0xffff);
                put(&u16::from_le_bytes([low, high]).to_ne_bytes());
            }
            NumberType::UInt32 => put(&signed.max(0).to_ne_bytes()),
            NumberType::UInt64 => put(&value.cast_signed().max(0).to_ne_bytes()),
            NumberType::Int64 | NumberType::Float64 => put(&value.to_ne_bytes()),
            _ => put(&signed.to_ne_bytes()),
        }
        bytes
    }

    pub(crate) fn encode(&self, source: &[u8], target: &mut Vec<u8>) -> Result<(), Error> {
        match &self.codec.encoder {
            Some(encoder) => encoder.encode(source, Some(&self.layout), target),
            None => {
                let name = self.codec.name();
                Err(Error::unsupported(
                    name,
                    format!("wanted another codec to write with: {name} is only read"),
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn exponents_are_those_of_powers_below() {
        for (tolerance, exponent) in [(1.0, 0), (0.75, -1), (2.5, 1), (0.01, -7), (f64::from_bits(1), -1074)]
        {
            assert_eq!(exponent_of(tolerance), exponent, "{tolerance}");
        }
        assert_eq!(exponent_of(f64::from_bits(1 << 51)), -1023);
    }

    #[test]
    fn configurations_are_checked() {
        for configuration in [
            json!({"mode": "fixed_rate", "rate": 10.5}),
            json!({"mode": "fixed_precision", "precision": 19}),
            json!({"mode": "fixed_accuracy", "tolerance": 0.05}),
            json!({"mode": "reversible"}),
            json!({"mode": "expert", "minbits": 1, "maxbits": 13, "maxprec": 19, "minexp": -2}),
        ] {
            assert_eq!(ZfpCodec::from_json(&configuration).unwrap().to_json(), configuration);
        }
        for configuration in [
            json!({}),
            json!({"mode": "fixed_rate"}),
            json!({"mode": "fast"}),
            json!({"mode": "expert", "minbits": 1, "maxbits": 99999, "maxprec": 19, "minexp": -2}),
        ] {
            assert!(ZfpCodec::from_json(&configuration).is_err(), "{configuration}");
        }
    }

    #[test]
    fn streams_that_end_early_are_corrupt_whatever_they_say() {
        for (shape, number) in [
            (vec![9], NumberType::Float32),
            (vec![5, 6], NumberType::Int64),
            (vec![3, 4, 5], NumberType::UInt8),
            (vec![2, 3, 4, 9], NumberType::Float64),
        ] {
            for mode in [json!({"mode": "reversible"}), json!({"mode": "fixed_accuracy", "tolerance": 0.1})] {
                let layout = ChunkLayout { shape: shape.clone(), element: Element::number(number) };
                let stage = ZfpCodec::from_json(&mode).unwrap().compile(&layout).unwrap();
                let mut target = vec![0; layout.decoded_len().unwrap()];
                let wanted = Wanted::Exactly(target.len());
                for byte in [0x55, 0xff] {
                    let error = stage.decode(&[byte; 3], &mut target, wanted).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Corrupt);
                }
                let longest = usize::try_from(stage.stored_bytes_max()).unwrap();
                stage.decode(&vec![0xff; longest], &mut target, wanted).unwrap();
            }
        }
    }
}
