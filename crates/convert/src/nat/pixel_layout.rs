//! How pixels are cut into chunks and shards, and compressed.

use super::calibration::Quantity;
use crate::{Error, ErrorKind, Extents, compressors};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Chunks, shards and codec of the arrays of pixels; those of what describes lines are as they are.
///
/// Of a dimension that is not named a chunk has one time, one channel, 232 rows and 232 columns, or what there is of them. A shard
/// has a chunk's times and channels, as many rows of whole chunks as make 232, or a chunk's, and all columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PixelLayout {
    /// Elements of a chunk along the dimensions that are named, `channel` being whichever one of channels a variable has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<Extents>,
    /// Elements of a shard, in whole chunks. No shards where it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<Extents>,
    /// Compressors as Zarr v3's metadata lists them, the codec `packbits` before them where counts are packed: bits of one
    /// significance side by side behind lz4 (of calibrated values zstd), where it is `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codecs: Option<Vec<Value>>,
}

/// Rows and columns of a chunk, and rows of a shard, where nothing else is said. A sixteenth of the disc's rows: with all channels
/// 17 MB of a file.
const SIDE: u64 = 232;

/// What a variable's array is cut into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) chunks: Vec<u64>,
    /// `None` where objects are chunks.
    pub(super) shards: Option<Vec<u64>>,
}

impl Cut {
    /// Elements of an object along each dimension.
    pub(super) fn objects(&self) -> &[u64] {
        self.shards.as_deref().unwrap_or(&self.chunks)
    }
}

impl PixelLayout {
    /// The same with a codec in words: a compressor as [`compressors`] takes them, `auto`, or `packbits` for the ten bits of counts
    /// one behind the other, without a compressor.
    ///
    /// # Errors
    ///
    /// `Invalid` for other words.
    pub fn with_codec(self, codec: &str, quantity: Quantity) -> Result<PixelLayout, Error> {
        if codec == "auto" {
            return Ok(PixelLayout { codecs: None, ..self });
        }
        if codec == PACK_BITS {
            return Ok(PixelLayout { codecs: Some(vec![ten_bits()]), ..self });
        }
        Ok(PixelLayout { codecs: Some(compressors(codec, quantity.element_bytes())?), ..self })
    }

    /// Whether nothing is said.
    pub(super) fn is_default(&self) -> bool {
        *self == PixelLayout::default()
    }

    /// What makes bytes of elements, where it is said, and the compressors.
    pub(super) fn codecs(&self, quantity: Quantity) -> (Option<Value>, Vec<Value>) {
        let bytes = quantity.element_bytes();
        let mut codecs = self.codecs.clone().unwrap_or_else(|| vec![bits_apart(bytes)]);
        let is_packed = codecs.first().is_some_and(is_pack_bits);
        (is_packed.then(|| codecs.remove(0)), codecs)
    }

    /// Checks that pixels lose nothing.
    ///
    /// # Errors
    ///
    /// `Invalid` where bits are packed of what has more of them.
    pub(super) fn check_codecs(&self, quantity: Quantity) -> Result<(), Error> {
        let Some(packed) = self.codecs.iter().flatten().find(|codec| is_pack_bits(codec)) else {
            return Ok(());
        };
        if quantity != Quantity::Counts {
            let what = "packbits keeps the ten bits of counts: wanted counts, found calibrated values";
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        let bit = |name: &str| packed.pointer(&format!("/configuration/{name}")).and_then(Value::as_u64);
        let (first, last) = (bit("first_bit").unwrap_or(0), bit("last_bit").unwrap_or(u64::MAX));
        if first != 0 || last < COUNT_BITS - 1 {
            let last = if last == u64::MAX { "the last one".to_owned() } else { last.to_string() };
            let what = format!("packbits: wanted bits 0 to 9 of counts at least, found {first} to {last}");
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        Ok(())
    }

    /// What an array of some dimensions is cut into; the last two are rows and columns.
    ///
    /// # Errors
    ///
    /// `Invalid` for several times, as images are written one by one, and for shards that are no whole chunks.
    pub(super) fn cut(&self, names: &[String], shape: &[u64]) -> Result<Cut, Error> {
        let bare: Vec<u64> = shape.iter().map(|len| (*len).max(1)).collect();
        let leading = bare.len().saturating_sub(2);
        let unnamed: Vec<u64> =
            bare.iter().enumerate().map(|(at, len)| if at < leading { 1 } else { SIDE.min(*len) }).collect();
        let chunks = named("chunks", self.chunks.as_ref(), names, &bare, &unnamed)?;
        let shards = match &self.shards {
            Some(extents) if extents.is_empty() => None,
            extents => Some(shards(extents.as_ref(), names, &bare, &chunks)?),
        };
        Ok(Cut { shards: shards.filter(|shards| *shards != chunks), chunks })
    }

    /// Checks that all names are those of dimensions.
    ///
    /// # Errors
    ///
    /// `Invalid` for the first one that is not.
    pub(super) fn check_names(&self, mut dimensions: Vec<String>) -> Result<(), Error> {
        let given = [&self.chunks, &self.shards].into_iter().flatten().flatten();
        for (wanted, _) in given {
            if !dimensions.iter().any(|name| is_called(name, wanted)) {
                dimensions.sort_unstable();
                dimensions.dedup();
                let what =
                    format!("extents along {wanted}, and the dimensions are {}", dimensions.join(", "));
                return Err(Error::new(ErrorKind::Invalid, what));
            }
        }
        Ok(())
    }
}

/// Whether a dimension is what is wanted: `channel` is also that of the solar or the thermal ones.
fn is_called(name: &str, wanted: &str) -> bool {
    name == wanted || wanted == "channel" && name.starts_with("channel_")
}

/// The extents that are given by name, and those of `unnamed` for others; 0 is all.
fn named(
    what: &str,
    extents: Option<&Extents>,
    names: &[String],
    shape: &[u64],
    unnamed: &[u64],
) -> Result<Vec<u64>, Error> {
    let mut found = unnamed.to_vec();
    for ((extent, name), len) in found.iter_mut().zip(names).zip(shape) {
        let given = extents.and_then(|extents| extents.iter().find(|(wanted, _)| is_called(name, wanted)));
        let Some((_, given)) = given else { continue };
        if name == "time" && *given != 1 {
            let given = if *given == 0 { "all".to_owned() } else { given.to_string() };
            let why = "images are written, and told as done, one by one";
            let message = format!("{what} of {given} along time: wanted 1, as {why}");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        *extent = if *given == 0 { *len } else { (*given).min(*len) };
    }
    Ok(found)
}

/// Shards as whole chunks: what is all of a dimension is rounded up, other extents must be as they are.
fn shards(
    extents: Option<&Extents>,
    names: &[String],
    shape: &[u64],
    chunks: &[u64],
) -> Result<Vec<u64>, Error> {
    let mut unnamed = chunks.to_vec();
    if let ([.., rows, columns], [.., all_columns]) = (unnamed.as_mut_slice(), shape) {
        *rows *= (SIDE / *rows).max(1);
        *columns = *all_columns;
    }
    let wanted = named("shards", extents, names, shape, &unnamed)?;
    let mut shards = Vec::with_capacity(wanted.len());
    for (((wanted, chunk), len), name) in wanted.iter().zip(chunks).zip(shape).zip(names) {
        if wanted % chunk != 0 && wanted < len {
            let message =
                format!("shards of {wanted} along {name}, and chunks of {chunk}: wanted whole chunks");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        shards.push((*wanted).min(len.next_multiple_of(*chunk)).next_multiple_of(*chunk));
    }
    Ok(shards)
}

/// The codec that keeps some bits of each number, of the registry of Zarr's extensions.
const PACK_BITS: &str = "packbits";

/// Bits of a count.
const COUNT_BITS: u64 = 10;

fn ten_bits() -> Value {
    json!({ "name": PACK_BITS, "configuration": { "first_bit": 0, "last_bit": COUNT_BITS - 1 } })
}

fn is_pack_bits(codec: &Value) -> bool {
    let name = codec.get("name").unwrap_or(codec);
    name.as_str() == Some(PACK_BITS)
}

/// Bytes of a count.
const COUNT_BYTES: usize = 2;

/// Bits of one significance side by side: the upper ones of counts are zeros, and neighbours differ in few of the others. Counts are
/// left to lz4, which is four times as fast as zstd at crops, for a tenth more room (docs/decisions/0025-codecs-of-conversions.md); in blocks so
/// small that little is left as it is where the last one is no multiple of eight counts.
pub(super) fn bits_apart(element_bytes: usize) -> Value {
    let (name, level, block_bytes) =
        if element_bytes == COUNT_BYTES { ("lz4", 5, 32 << 10) } else { ("zstd", 1, 0) };
    json!({
        "name": "blosc",
        "configuration": {
            "cname": name,
            "clevel": level,
            "shuffle": "bitshuffle",
            "typesize": element_bytes.max(1),
            "blocksize": block_bytes,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: [u64; 4] = [9, 11, 3712, 3712];

    fn extents(given: &[(&str, u64)]) -> Option<Extents> {
        Some(given.iter().map(|(name, len)| ((*name).to_owned(), *len)).collect())
    }

    fn cut(layout: &PixelLayout, shape: &[u64]) -> Result<(Vec<u64>, Option<Vec<u64>>), Error> {
        let names = ["time", "channel_solar", "y", "x"].map(str::to_owned);
        layout.cut(&names[4 - shape.len()..], shape).map(|Cut { chunks, shards }| (chunks, shards))
    }

    #[test]
    fn shards_are_bands_of_square_chunks() -> Result<(), Error> {
        let layout = PixelLayout::default();
        let whole = (vec![1, 1, 232, 232], Some(vec![1, 1, 232, 3712]));
        assert_eq!(cut(&layout, &WHOLE)?, whole);
        assert_eq!(cut(&layout, &[1, 3, 300, 400])?, (vec![1, 1, 232, 232], Some(vec![1, 1, 232, 464])));
        assert_eq!(cut(&layout, &[1, 3, 300, 200])?, (vec![1, 1, 232, 200], None));
        assert_eq!(cut(&layout, &[1, 3, 8, 20])?, (vec![1, 1, 8, 20], None));
        Ok(())
    }

    #[test]
    fn extents_are_given_by_name() -> Result<(), Error> {
        let layout = PixelLayout {
            chunks: extents(&[("channel", 0), ("y", 100), ("x", 128)]),
            ..PixelLayout::default()
        };
        let chunks = vec![1, 11, 100, 128];
        assert_eq!(cut(&layout, &WHOLE)?, (chunks.clone(), Some(vec![1, 11, 200, 3712])));
        let of = |shards| PixelLayout { shards: extents(shards), ..layout.clone() };
        assert_eq!(cut(&of(&[]), &WHOLE)?, (chunks.clone(), None));
        let whole = cut(&of(&[("y", 0), ("x", 256)]), &WHOLE)?;
        assert_eq!(whole, (chunks, Some(vec![1, 11, 3800, 256])));
        let tall = PixelLayout { chunks: extents(&[("y", 500)]), ..PixelLayout::default() };
        assert_eq!(cut(&tall, &WHOLE)?, (vec![1, 1, 500, 232], Some(vec![1, 1, 500, 3712])));
        Ok(())
    }

    #[test]
    fn ten_bits_are_packed_and_no_fewer() {
        let layout = PixelLayout::default().with_codec("packbits", Quantity::Counts).unwrap();
        let (serializer, compressors) = layout.codecs(Quantity::Counts);
        assert_eq!(serializer.unwrap()["configuration"]["last_bit"], 9);
        assert!(compressors.is_empty() && layout.check_codecs(Quantity::Counts).is_ok());
        let error = layout.check_codecs(Quantity::Radiance).unwrap_err();
        assert!(error.message().ends_with("found calibrated values"), "{error}");
        let given = |codecs: Value| {
            let codecs = codecs.as_array().cloned();
            PixelLayout { codecs, ..PixelLayout::default() }
        };
        let sound = [
            json!(["packbits"]),
            json!([{ "name": "packbits", "configuration": { "last_bit": 11 } }, "zstd"]),
        ];
        for codecs in sound {
            let layout = given(codecs);
            assert!(layout.check_codecs(Quantity::Counts).is_ok(), "{layout:?}");
            assert!(layout.codecs(Quantity::Counts).0.is_some());
        }
        for configuration in [json!({ "last_bit": 8 }), json!({ "first_bit": 1 })] {
            let layout = given(json!([{ "name": "packbits", "configuration": configuration }]));
            let error = layout.check_codecs(Quantity::Counts).unwrap_err();
            assert!(error.message().starts_with("packbits: wanted bits 0 to 9"), "{error}");
        }
        let (serializer, compressors) = PixelLayout::default().codecs(Quantity::Radiance);
        assert!(serializer.is_none() && compressors[0]["configuration"]["typesize"] == 4);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let refused = |layout: PixelLayout| cut(&layout, &WHOLE).unwrap_err().message().to_owned();
        let layout = PixelLayout { shards: extents(&[("x", 250)]), ..PixelLayout::default() };
        assert_eq!(refused(layout), "shards of 250 along x, and chunks of 232: wanted whole chunks");
        let layout = PixelLayout { chunks: extents(&[("time", 0)]), ..PixelLayout::default() };
        assert!(refused(layout).starts_with("chunks of all along time: wanted 1, as images are written"));
        let layout = PixelLayout { chunks: extents(&[("level", 1)]), ..PixelLayout::default() };
        let error = layout.check_names(vec!["x".to_owned(), "time".to_owned()]).unwrap_err();
        assert_eq!(error.message(), "extents along level, and the dimensions are time, x");
        let error = PixelLayout::default().with_codec("lzma", Quantity::Counts).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
}
