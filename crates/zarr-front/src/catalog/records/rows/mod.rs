//! Columns of a Parquet file, where the feature `parquet` is on.

use crate::Error;

#[cfg(not(feature = "parquet"))]
mod disabled;
#[cfg(feature = "parquet")]
mod enabled;

#[cfg(not(feature = "parquet"))]
pub(super) use disabled::rows;
#[cfg(feature = "parquet")]
pub(super) use enabled::rows;

/// The columns of a file; those that it does not have are empty.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) paths: Vec<Option<Box<[u8]>>>,
    pub(super) offsets: Vec<Option<i64>>,
    pub(super) lens: Vec<Option<i64>>,
    pub(super) raws: Vec<Option<Box<[u8]>>>,
}

/// The function that both have.
const _: fn(&[u8], u64) -> Result<Rows, Error> = rows;
