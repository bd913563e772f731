//! Compressors by the words that people have for them, and those that suit what was packed.

use crate::{Error, ErrorKind, Packing};
use serde_json::{Value, json};

/// Bytes of a block of blosc that holds whole groups of eight values: larger ones take less time and room.
const BLOCK: u64 = 256 << 10;

/// Bytes of a block where the last values of a chunk make no group of eight: blosc leaves the last block's bits where they are then.
const SMALL_BLOCK: u64 = 64 << 10;

/// Bits of packed numbers of which there are few.
const FEW_BITS: u8 = 9;

/// Bytes of a value.
const ELEMENT: u64 = 4;

/// Compressors of chunks of so many 32-bit floats, by how those were packed; what was measured is in
/// docs/decisions/0025-codecs-of-conversions.md.
///
/// Packed numbers times a power of two are floats whose last bits are zeros: bits of one significance side by side (blosc's bitshuffle)
/// compress to less, in a fifth of the time, than zstd finds in the bytes. Times a power of ten they are floats with bits like noise, but
/// few different ones, which zstd finds as they are; so it does where they have few bits. Fields of a variable may differ: what most
/// of them are, counts, and those of one value do not.
pub(super) fn suited<'a>(
    packings: impl Iterator<Item = &'a Packing>,
    chunk_elements: u64,
    mantissa_bits: Option<u8>,
) -> Vec<Value> {
    let (mut binary, mut others) = (0usize, 0usize);
    for packing in packings.filter(|packing| packing.bits != 0) {
        let is_binary = packing.decimal_scale == 0 && FEW_BITS < packing.bits;
        *(if is_binary { &mut binary } else { &mut others }) += 1;
    }
    if mantissa_bits.is_none() && binary <= others {
        return vec![zstd(None)];
    }
    let block = if chunk_elements.is_multiple_of(8) { BLOCK } else { SMALL_BLOCK };
    let block = block.min(chunk_elements.saturating_mul(ELEMENT));
    vec![json!({
        "name": "blosc",
        "configuration": {
            "cname": "zstd", "clevel": 1, "shuffle": "bitshuffle", "typesize": ELEMENT, "blocksize": block,
        },
    })]
}

fn zstd(level: Option<i32>) -> Value {
    json!({ "name": "zstd", "configuration": { "level": level.unwrap_or(3), "checksum": false } })
}

/// Compressors of elements of so many bytes as Zarr v3's metadata lists them, from `NAME` or `NAME:LEVEL`: `zstd`, `gzip`, `blosc` (zstd behind a shuffle),
/// or `none`, which is an empty list.
///
/// # Errors
///
/// `Invalid` for other words, and for a level that is no number.
pub fn compressors(text: &str, element_bytes: usize) -> Result<Vec<Value>, Error> {
    let (name, level) = text.split_once(':').map_or((text, None), |(name, level)| (name, Some(level)));
    let invalid = |message: String| Error::new(ErrorKind::Invalid, message);
    let level = level.map(|level| {
        level.parse::<i32>().map_err(|_| invalid(format!("wanted a level of a codec, found {level:?}")))
    });
    let level = level.transpose()?;
    let configuration = match name {
        "none" => return Ok(Vec::new()),
        "zstd" => return Ok(vec![zstd(level)]),
        "gzip" => json!({ "level": level.unwrap_or(6) }),
        "blosc" => json!({
            "cname": "zstd",
            "clevel": level.unwrap_or(5),
            "shuffle": "shuffle",
            "typesize": element_bytes.max(1),
            "blocksize": 0,
        }),
        _ => return Err(invalid(format!("wanted a codec zstd, gzip, blosc or none, found {name:?}"))),
    };
    Ok(vec![json!({ "name": name, "configuration": configuration })])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packing(decimal_scale: i32, bits: u8) -> Packing {
        let kind = crate::PackingKind::Simple;
        Packing { kind, reference: 0.0, binary_scale: -6, decimal_scale, bits, values: None }
    }

    #[test]
    fn most_fields_say_what_suits() {
        let of = |fields: &[(i32, u8)], elements, kept| {
            let packings: Vec<Packing> = fields.iter().map(|(scale, bits)| packing(*scale, *bits)).collect();
            suited(packings.iter(), elements, kept)
        };
        let block = |found: &[Value]| found[0]["configuration"]["blocksize"].as_u64();
        assert_eq!(block(&of(&[(0, 16), (0, 12), (2, 16)], 721 * 1440, None)), Some(256 << 10));
        assert_eq!(block(&of(&[(0, 10), (2, 0)], 721 * 1439, None)), Some(64 << 10));
        assert_eq!(block(&of(&[(0, 24)], 100, None)), Some(400));
        assert_eq!(block(&of(&[(1, 8)], 721 * 1440, Some(10))), Some(256 << 10));
        let zstd = compressors("zstd:3", 4).unwrap();
        for fields in [vec![], vec![(0, 0)], vec![(0, 9)], vec![(1, 16), (2, 16), (0, 16)]] {
            assert_eq!(of(&fields, 721 * 1440, None), zstd, "{fields:?}");
        }
    }

    #[test]
    fn compressors_are_named_or_refused() {
        assert_eq!(compressors("gzip:9", 4).unwrap()[0]["configuration"]["level"], 9);
        assert_eq!(compressors("zstd", 4).unwrap()[0]["configuration"]["level"], 3);
        assert_eq!(compressors("blosc", 2).unwrap()[0]["configuration"]["typesize"], 2);
        assert!(compressors("none", 4).unwrap().is_empty());
        for text in ["zstd:fast", "lzma", ""] {
            assert_eq!(compressors(text, 4).unwrap_err().kind(), ErrorKind::Invalid, "{text}");
        }
    }
}
