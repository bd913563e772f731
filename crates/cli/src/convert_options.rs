//! How a conversion lays out its result, as arguments have it.

use serde_json::Value;
use std::path::PathBuf;
use swath::convert::{Access, Extents, LayoutOptions, Piece, PlanOptions, compressors};

/// The arguments that say how values are chunked and encoded.
#[derive(clap::Args)]
pub(crate) struct LayoutArguments {
    /// How the values will be read: chunks and shards are made for that. Whole fields, each an object, if not given.
    #[arg(long = "for", value_name = "ACCESS", value_parser = parse_access)]
    access: Option<Access>,
    /// Elements of a chunk along dimensions by their names, such as time=24,latitude=128,longitude=128 or level=all; of others
    /// one, or all of the grid.
    #[arg(long, value_name = "NAME=EXTENT,...", value_parser = parse_extents, conflicts_with = "access")]
    chunks: Option<ByName>,
    /// Elements of a shard in the same way, whole chunks; of dimensions that are not named a chunk, or all of the grid. Or none.
    #[arg(long, value_name = "NAME=EXTENT,...|none", value_parser = parse_shards)]
    shards: Option<ByName>,
    /// The compressor: NAME or NAME:LEVEL of zstd, gzip, blosc (zstd with shuffle) or none; or `auto`, for what suits the packing of
    /// each variable.
    #[arg(long, value_name = "CODEC", default_value = "auto", value_parser = parse_codec)]
    codec: Codec,
    /// Bits of the mantissa to keep of each value, of 23: others are rounded off, and values compress better. The relative error
    /// is at most 2^-(BITS+1).
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u8).range(1..=23))]
    mantissa_bits: Option<u8>,
    /// A dimension that stays where there is one value of it, so that --append can add more; may be given again.
    #[arg(long, value_name = "NAME")]
    keep: Vec<String>,
}

/// The word for compressors that suit.
const AUTO: &str = "auto";

/// Extents by the names of dimensions.
#[derive(Clone, Debug)]
struct ByName(Extents);

/// Compressors as metadata lists them; `None` for those that suit.
#[derive(Clone, Debug)]
struct Codec(Option<Vec<Value>>);

impl LayoutArguments {
    pub(crate) fn options(&self) -> PlanOptions {
        let extents = |given: &Option<ByName>| given.clone().map(|ByName(extents)| extents);
        PlanOptions {
            layout: LayoutOptions {
                access: self.access.unwrap_or_default(),
                chunks: extents(&self.chunks),
                shards: extents(&self.shards),
            },
            compressors: self.codec.0.clone(),
            mantissa_bits: self.mantissa_bits,
            kept_dimensions: self.keep.clone(),
        }
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
    if text == AUTO {
        return Ok(Codec(None));
    }
    compressors(text).map(|found| Codec(Some(found))).map_err(|error| error.message().to_owned())
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
        assert_eq!(parse_codec("gzip:9").unwrap().0.unwrap()[0]["configuration"]["level"], 9);
        assert!(parse_codec("auto").unwrap().0.is_none());
        let beside = journal_folder(None, Some(&PathBuf::from("a.zarr")));
        assert_eq!(beside, Some(PathBuf::from("a.zarr.journal")));
    }
}
