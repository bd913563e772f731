//! Chunks and shards by how the values will be read.

use crate::{Error, ErrorKind};

/// How values will be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Access {
    /// By whole fields: a chunk each, an object each.
    #[default]
    Fields,
    /// By whole fields of many times, to train on: a chunk each, many to a shard.
    TrainingFields,
    /// By small parts of single fields: square chunks, a field or several to a shard.
    Crops,
    /// By single places over long times: chunks that are long along time and small on the grid.
    TimeSeries,
}

/// Elements along dimensions, by their names: 0 for all of them.
pub type Extents = Vec<(String, u64)>;

/// Chunks and shards of all variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayoutOptions {
    /// What is taken where nothing else is said.
    pub access: Access,
    /// Elements of a chunk along the dimensions that are named; of others one, or all of a grid's.
    pub chunks: Option<Extents>,
    /// Elements of a shard, in whole chunks; of dimensions that are not named a chunk, or all of a grid's. None where it is empty.
    pub shards: Option<Extents>,
}

/// Bytes of an element.
const ELEMENT: u64 = 4;

/// Bytes of a shard that are aimed at, before they are compressed: large enough for object stores, small enough to be held by several
/// threads at once.
const SHARD_BYTES: u64 = 128 << 20;

/// Rows and columns of a crop's chunk: 64 KiB.
const CROP: u64 = 128;

/// Elements of a chunk of a time series: 256 KiB.
const SERIES_ELEMENTS: u64 = 1 << 16;

/// Bytes of the fields of a time series that are in memory at once, as each is unpacked whole.
const SERIES_BYTES: u64 = 256 << 20;

/// The dimension of a grid without rows.
const POINTS: &str = "values";

impl LayoutOptions {
    /// Chunks and shards of a variable: the first `header` dimensions are those before the grid's.
    ///
    /// # Errors
    ///
    /// `Invalid` for shards that are no whole chunks, and for a name that is given twice.
    pub(super) fn of(
        &self,
        names: &[String],
        shape: &[u64],
        header: usize,
    ) -> Result<(Vec<u64>, Option<Vec<u64>>), Error> {
        let bare: Vec<u64> = shape.iter().map(|len| (*len).max(1)).collect();
        let (chunks, shards) = match &self.chunks {
            Some(extents) => (given(extents, names, &bare, &whole_fields(&bare, header)), None),
            None => self.access.of(names, &bare, header),
        };
        let shards = match &self.shards {
            Some(extents) if extents.is_empty() => None,
            Some(extents) => {
                let unnamed: Vec<u64> =
                    (0..bare.len()).map(|at| if at < header { chunks[at] } else { bare[at] }).collect();
                Some(given(extents, names, &bare, &unnamed))
            }
            None => shards,
        };
        let shards =
            shards.map(|shards| whole_chunks(&chunks, &shards, self.shards.as_ref(), names)).transpose()?;
        let shards = shards.filter(|shards| *shards != chunks);
        Ok((chunks, shards))
    }
}

/// One of each dimension before the grid's, and all of the grid.
fn whole_fields(shape: &[u64], header: usize) -> Vec<u64> {
    shape.iter().enumerate().map(|(at, len)| if at < header { 1 } else { *len }).collect()
}

/// Dimensions that are not of levels.
const OTHERS: [&str; 8] = ["number", "time", "step", "latitude", "longitude", "y", "x", POINTS];

/// Whether a dimension is what is wanted: `level` is one of any type of level.
pub(super) fn is_called(name: &str, wanted: &str) -> bool {
    name == wanted || wanted == "level" && !OTHERS.contains(&name)
}

/// The extents that are given by name, and those of `unnamed` for others.
fn given(extents: &Extents, names: &[String], shape: &[u64], unnamed: &[u64]) -> Vec<u64> {
    let of = |(at, name): (usize, &String)| match extents.iter().find(|(wanted, _)| is_called(name, wanted)) {
        Some((_, 0)) => shape[at],
        Some((_, extent)) => (*extent).min(shape[at]),
        None => unnamed[at],
    };
    names.iter().enumerate().map(of).collect()
}

/// Shards as whole chunks: those of the grid are rounded up, others must be as they are.
fn whole_chunks(
    chunks: &[u64],
    shards: &[u64],
    extents: Option<&Extents>,
    names: &[String],
) -> Result<Vec<u64>, Error> {
    let of = |((chunk, shard), name): ((&u64, &u64), &String)| {
        let wanted = extents.and_then(|extents| extents.iter().find(|(wanted, _)| is_called(name, wanted)));
        match wanted {
            Some((_, extent)) if extent == shard && extent % chunk != 0 => {
                let message =
                    format!("shards of {extent} along {name}, and chunks of {chunk}: wanted whole chunks");
                Err(Error::new(ErrorKind::Invalid, message))
            }
            _ => Ok(shard.div_ceil(*chunk) * chunk),
        }
    };
    chunks.iter().zip(shards).zip(names).map(of).collect()
}

impl Access {
    fn of(self, names: &[String], shape: &[u64], header: usize) -> (Vec<u64>, Option<Vec<u64>>) {
        let fields = whole_fields(shape, header);
        match self {
            Access::Fields => (fields, None),
            Access::TrainingFields => {
                let shards = grown(&fields, shape, header);
                (fields, Some(shards))
            }
            Access::Crops => {
                let mut chunks = fields.clone();
                for (at, chunk) in chunks.iter_mut().enumerate().skip(header) {
                    let side = if names[at] == POINTS { CROP * CROP } else { CROP };
                    *chunk = (*chunk).min(side);
                }
                let shards = grown(&fields, shape, header);
                (chunks, Some(shards))
            }
            Access::TimeSeries => series(names, shape, header),
        }
    }
}

/// As many fields as make a shard: along the innermost dimension first.
fn grown(fields: &[u64], shape: &[u64], header: usize) -> Vec<u64> {
    let mut shards = fields.to_vec();
    let mut bytes = fields.iter().fold(ELEMENT, |bytes, len| bytes.saturating_mul(*len));
    for at in (0..header).rev() {
        let most = (SHARD_BYTES / bytes.max(1)).max(1);
        shards[at] = shape[at].min(most);
        bytes = bytes.saturating_mul(shards[at]);
        if shards[at] < shape[at] {
            break;
        }
    }
    shards
}

/// Chunks along the longer one of time and step, or of the longest dimension where there is neither.
fn series(names: &[String], shape: &[u64], header: usize) -> (Vec<u64>, Option<Vec<u64>>) {
    let fields = whole_fields(shape, header);
    let is_time = |at: &usize| matches!(names[*at].as_str(), "time" | "step");
    let longest =
        |only_times: bool| (0..header).filter(|at| !only_times || is_time(at)).max_by_key(|at| shape[*at]);
    let Some(along) = longest(true).or_else(|| longest(false)) else { return (fields, None) };
    let field_bytes = fields.iter().fold(ELEMENT, |bytes, len| bytes.saturating_mul(*len));
    let len = shape[along].min((SERIES_BYTES / field_bytes.max(1)).max(1));
    let places = (SERIES_ELEMENTS / len).max(1);
    let (mut chunks, mut shards) = (fields.clone(), fields);
    (chunks[along], shards[along]) = (len, len);
    let grid = shape.len() - header;
    let side = if grid == 2 { places.isqrt().max(1) } else { places };
    for chunk in chunks.iter_mut().skip(header) {
        *chunk = (*chunk).min(side);
    }
    (chunks, Some(shards))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid_out(options: &LayoutOptions, shape: &[u64]) -> Result<(Vec<u64>, Option<Vec<u64>>), Error> {
        let names = ["time", "level", "latitude", "longitude"].map(str::to_owned);
        options.of(&names[4 - shape.len()..], shape, shape.len() - 2)
    }

    #[test]
    fn every_access_has_its_chunks() -> Result<(), Error> {
        let of = |access| LayoutOptions { access, ..LayoutOptions::default() };
        let shape = [1000, 13, 721, 1440];
        assert_eq!(laid_out(&of(Access::Fields), &shape)?, (vec![1, 1, 721, 1440], None));
        let fields = laid_out(&of(Access::TrainingFields), &shape)?;
        assert_eq!(fields, (vec![1, 1, 721, 1440], Some(vec![2, 13, 721, 1440])));
        let crops = laid_out(&of(Access::Crops), &shape)?;
        assert_eq!(crops, (vec![1, 1, 128, 128], Some(vec![2, 13, 768, 1536])));
        let series = laid_out(&of(Access::TimeSeries), &shape)?;
        assert_eq!(series, (vec![64, 1, 32, 32], Some(vec![64, 1, 736, 1440])));
        assert_eq!(laid_out(&of(Access::TimeSeries), &[721, 1440])?, (vec![721, 1440], None));
        Ok(())
    }

    #[test]
    fn extents_are_given_by_name() -> Result<(), Error> {
        let extents = |given: &[(&str, u64)]| {
            Some(given.iter().map(|(name, len)| ((*name).to_owned(), *len)).collect::<Extents>())
        };
        let chunks = extents(&[("time", 24), ("latitude", 100), ("values", 7)]);
        let options = LayoutOptions { chunks: chunks.clone(), ..LayoutOptions::default() };
        assert_eq!(laid_out(&options, &[1000, 13, 721, 1440])?, (vec![24, 1, 100, 1440], None));
        let shards = extents(&[("time", 96), ("level", 0)]);
        let options = LayoutOptions { shards, ..options };
        let wanted = (vec![24, 1, 100, 1440], Some(vec![96, 13, 800, 1440]));
        assert_eq!(laid_out(&options, &[1000, 13, 721, 1440])?, wanted);
        let options = LayoutOptions { shards: extents(&[("time", 25)]), ..options };
        let error = laid_out(&options, &[1000, 13, 721, 1440]).unwrap_err();
        assert_eq!(error.message(), "shards of 25 along time, and chunks of 24: wanted whole chunks");
        Ok(())
    }
}
