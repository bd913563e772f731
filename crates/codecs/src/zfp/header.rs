//! The header of a zfp stream.

use super::bits::Bits;
use super::block::{EXPONENT_MIN, Parameters, Scalar};
use super::{BLOCK_BITS_MAX, PLANES_MAX};

/// What a stream says of itself.
pub(super) struct Header {
    pub(super) scalar: Scalar,
    /// In C order: the axis that varies fastest is the last.
    pub(super) shape: Vec<u64>,
    pub(super) parameters: Parameters,
}

/// `zfp`, and the version of the format.
const MAGIC: u64 = u32::from_le_bytes(*b"zfp\x05") as u64;

/// Reads the header; `None` where there is none.
pub(super) fn read(bits: &mut Bits<'_>) -> Option<Header> {
    if bits.take(32) != MAGIC {
        return None;
    }
    let scalar = match bits.take(2) {
        0 => Scalar::Int32,
        1 => Scalar::Int64,
        2 => Scalar::Float,
        _ => Scalar::Double,
    };
    let axes = bits.take(2) + 1;
    // 48 bits for all lengths together.
    let length_bits = 48 / u32::try_from(axes).ok()?;
    let mut shape: Vec<u64> = (0..axes).map(|_| bits.take(length_bits) + 1).collect();
    shape.reverse();
    let mode = bits.take(12);
    let parameters = if mode == 0xfff { long(bits)? } else { short(mode)? };
    let is_sound = parameters.bits_min <= parameters.bits_max && parameters.planes_max <= PLANES_MAX;
    (is_sound && !bits.is_past_end()).then_some(Header { scalar, shape, parameters })
}

/// One of four modes, in 12 bits.
fn short(mode: u64) -> Option<Parameters> {
    let mode = u32::try_from(mode).ok()?;
    let usual = Parameters {
        bits_min: 1,
        bits_max: BLOCK_BITS_MAX,
        planes_max: PLANES_MAX,
        exponent_min: EXPONENT_MIN,
    };
    Some(match mode {
        0..2048 => Parameters { bits_min: mode + 1, bits_max: mode + 1, ..usual },
        2048..2176 => Parameters { planes_max: mode + 1 - 2048, ..usual },
        2176 => Parameters { exponent_min: EXPONENT_MIN - 1, ..usual },
        _ => Parameters { exponent_min: i32::try_from(mode - 2177).ok()? + EXPONENT_MIN, ..usual },
    })
}

/// All parameters, in 52 more bits.
fn long(bits: &mut Bits<'_>) -> Option<Parameters> {
    let mut take = |count| u32::try_from(bits.take(count)).ok();
    let (bits_min, bits_max, planes_max) = (take(15)? + 1, take(15)? + 1, take(7)? + 1);
    let exponent_min = i32::try_from(take(15)?).ok()? - 16_495;
    Some(Parameters { bits_min, bits_max, planes_max, exponent_min })
}
