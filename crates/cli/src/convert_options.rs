//! How a conversion lays out its result, as arguments have it.

use anyhow::bail;
use serde_json::Value;
use std::path::PathBuf;
use swath::convert::nat::{PixelLayout, Quantity};
use swath::convert::{Access, Extents, LayoutOptions, Piece, PlanOptions, compressors};

/// Arguments of what is planned, which a conversion that goes on or is appended to has already.
pub(crate) const PLANNED: [&str; 9] =
    ["access", "chunks", "shards", "codec", "mantissa_bits", "keep", "calibrate", "coefficients", "channels"];

/// The arguments that say how values are chunked and encoded.
#[derive(clap::Args)]
pub(crate) struct LayoutArguments {
    /// Of GRIB files: how the values will be read; chunks and shards are made for that. Whole fields, each an object, if not given.
    #[arg(long = "for", value_name = "ACCESS", value_parser = parse_access)]
    access: Option<Access>,
    /// Elements of a chunk along dimensions by their names, such as time=24,latitude=128,longitude=128 or level=all; of others
    /// one, or all of the grid. Of .nat files channel=all,y=128,x=128; of others one, or 232 rows and columns.
    #[arg(long, value_name = "NAME=EXTENT,...", value_parser = parse_extents, conflicts_with = "access")]
    chunks: Option<ByName>,
    /// Elements of a shard in the same way, whole chunks; of dimensions that are not named a chunk, or all of the grid. Or none.
    /// Of .nat files bands of 232 rows if not given.
    #[arg(long, value_name = "NAME=EXTENT,...|none", value_parser = parse_shards)]
    shards: Option<ByName>,
    /// The compressor: NAME or NAME:LEVEL of zstd, gzip, blosc (zstd with shuffle) or none. What suits the packing of each variable if
    /// not given; of .nat files blosc's lz4 of bits side by side (zstd where they are calibrated), or packbits for their ten bits one behind the other.
    #[arg(long, value_name = "CODEC", value_parser = parse_codec)]
    codec: Option<Codec>,
    /// Of GRIB files: bits of the mantissa to keep of each value, of 23: others are rounded off, and values compress better. The relative error
    /// is at most 2^-(BITS+1).
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u8).range(1..=23))]
    mantissa_bits: Option<u8>,
    /// Of GRIB files: a dimension that stays where there is one value of it, so that --append can add more; may be given again.
    #[arg(long, value_name = "NAME")]
    keep: Vec<String>,
}

/// Extents by the names of dimensions.
#[derive(Clone, Debug)]
struct ByName(Extents);

/// A codec in words, and the compressor that it is of 32-bit floats; that of counts is none of these.
#[derive(Clone, Debug)]
struct Codec(String, Option<Vec<Value>>);

/// The codec of counts.
const PACK_BITS: &str = "packbits";

impl LayoutArguments {
    /// # Errors
    ///
    /// Where there is something that fields have not.
    pub(crate) fn options(&self) -> anyhow::Result<PlanOptions> {
        if self.codec.as_ref().is_some_and(|Codec(_, compressors)| compressors.is_none()) {
            bail!("--codec packbits is of counts of .nat files: wanted zstd, gzip, blosc or none");
        }
        let extents = |given: &Option<ByName>| given.clone().map(|ByName(extents)| extents);
        Ok(PlanOptions {
            layout: LayoutOptions {
                access: self.access.unwrap_or_default(),
                chunks: extents(&self.chunks),
                shards: extents(&self.shards),
            },
            compressors: self.codec.clone().and_then(|Codec(_, compressors)| compressors),
            mantissa_bits: self.mantissa_bits,
            kept_dimensions: self.keep.clone(),
        })
    }

    /// The same of images.
    ///
    /// # Errors
    ///
    /// Where there is something that images have not.
    pub(crate) fn of_images(&self, quantity: Quantity) -> anyhow::Result<PixelLayout> {
        let refused = [
            ("--for", self.access.is_some(), "--chunks and --shards"),
            (
                "--mantissa-bits",
                self.mantissa_bits.is_some(),
                "--codec, as pixels of ten bits have nothing to round",
            ),
            ("--keep", !self.keep.is_empty(), "nothing in its place, as time is always kept"),
        ];
        if let Some((name, _, wanted)) = refused.into_iter().find(|(_, is_given, _)| *is_given) {
            bail!("{name} is of GRIB files: wanted of .nat files {wanted}");
        }
        let extents = |given: &Option<ByName>| given.clone().map(|ByName(extents)| extents);
        let layout = PixelLayout {
            chunks: extents(&self.chunks),
            shards: extents(&self.shards),
            ..PixelLayout::default()
        };
        let codec = self.codec.as_ref().map_or("auto", |Codec(words, _)| words);
        Ok(layout.with_codec(codec, quantity)?)
    }
}

fn parse_access(text: &str) -> Result<Access, String> {
    match text {
        "fields" => Ok(Access::Fields),
        "training-fields" => Ok(Access::TrainingFields),
        "crops" => Ok(Access::Crops),
        "timeseries" => Ok(Access::TimeSeries),
        _ => Err("wanted fields, training-fields, crops or timeseries".to_owned()),
    }
}

fn parse_extents(text: &str) -> Result<ByName, String> {
    let extent = |part: &str| {
        let (name, extent) =
            part.split_once('=').ok_or_else(|| format!("wanted NAME=EXTENT, found {part:?}"))?;
        let extent = match extent.trim() {
            "all" | "-1" => 0,
            extent => match extent.parse::<u64>() {
                Ok(extent) if extent != 0 => extent,
                _ => return Err(format!("wanted an extent of at least 1, or `all`, found {extent:?}")),
            },
        };
        Ok((name.trim().to_owned(), extent))
    };
    text.split(',').map(extent).collect::<Result<_, _>>().map(ByName)
}

fn parse_shards(text: &str) -> Result<ByName, String> {
    if text == "none" { Ok(ByName(Extents::new())) } else { parse_extents(text) }
}

fn parse_codec(text: &str) -> Result<Codec, String> {
    if text == PACK_BITS {
        return Ok(Codec(text.to_owned(), None));
    }
    let compressors = compressors(text, size_of::<f32>()).map_err(|error| error.message().to_owned())?;
    Ok(Codec(text.to_owned(), Some(compressors)))
}

/// `3/8`: the third of eight pieces.
pub(crate) fn parse_piece(text: &str) -> Result<Piece, String> {
    let wanted = || format!("wanted I/N with I from 1 to N, found {text:?}");
    let (number, count) = text.split_once('/').ok_or_else(wanted)?;
    let (number, count) = (number.trim().parse::<usize>(), count.trim().parse::<usize>());
    let (Ok(number), Ok(count)) = (number, count) else { return Err(wanted()) };
    let before = number.checked_sub(1).ok_or_else(wanted)?;
    Piece::new(before, count).map_err(|_| wanted())
}

/// The journal of a target: beside it, unless another place is given. A target behind a URL has none of its own.
pub(crate) fn journal_folder(given: Option<&PathBuf>, directory: Option<&PathBuf>) -> Option<PathBuf> {
    let beside = |path: &PathBuf| {
        let mut name = path.clone().into_os_string();
        name.push(".journal");
        PathBuf::from(name)
    };
    given.cloned().or_else(|| directory.map(beside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_understood_or_refused() {
        assert_eq!(parse_piece("3/8"), Ok(Piece::new(2, 8).unwrap()));
        for text in ["0/8", "9/8", "3", "a/b"] {
            assert!(parse_piece(text).is_err(), "{text}");
        }
        let ByName(extents) = parse_extents("time=24,level=all").unwrap();
        assert_eq!(extents, [("time".to_owned(), 24), ("level".to_owned(), 0)]);
        assert!(parse_extents("24").is_err() && parse_extents("time=0").is_err());
        assert!(parse_codec("zstd:fast").is_err() && parse_codec("lzma").is_err());
        assert_eq!(parse_codec("gzip:9").unwrap().1.unwrap()[0]["configuration"]["level"], 9);
        assert!(parse_codec("packbits").unwrap().1.is_none());
        let beside = journal_folder(None, Some(&PathBuf::from("a.zarr")));
        assert_eq!(beside, Some(PathBuf::from("a.zarr.journal")));
    }
}
