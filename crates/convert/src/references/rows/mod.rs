//! Rows of references as a Parquet file, where the feature `parquet` is on.

use crate::Error;
use std::fs::File;

#[cfg(not(feature = "parquet"))]
mod disabled;
#[cfg(feature = "parquet")]
mod enabled;

#[cfg(not(feature = "parquet"))]
pub(super) use disabled::{is_there, write};
#[cfg(feature = "parquet")]
pub(super) use enabled::{is_there, write};

/// The columns of a file, a row for each chunk: a file's name, an offset and a length in bytes, or the bytes themselves; neither in the
/// row of a gap.
pub(super) struct Rows<'a> {
    pub(super) paths: Vec<Option<&'a str>>,
    pub(super) offsets: Vec<i64>,
    pub(super) lens: Vec<i64>,
    pub(super) raws: Vec<Option<&'a [u8]>>,
}

/// The functions that both have.
const _: fn() -> Result<(), Error> = is_there;
const _: fn(File, &Rows<'_>) -> Result<(), Error> = write;
