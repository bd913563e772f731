//! Columns of a Parquet file, where the feature `parquet` is on.

use crate::Error;

#[cfg(not(feature = "parquet"))]
mod disabled;
#[cfg(feature = "parquet")]
mod enabled;
#[cfg(feature = "parquet")]
mod pages;

#[cfg(not(feature = "parquet"))]
pub(super) use disabled::{Text, rows};
#[cfg(feature = "parquet")]
pub(super) use enabled::{Text, rows};

/// The columns of a file; those that it does not have are empty.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) paths: Texts,
    pub(super) offsets: Vec<Option<i64>>,
    pub(super) lens: Vec<Option<i64>>,
    pub(super) raws: Texts,
}

/// A column of texts. Rows share a text that the file holds once: four million rows may have one of a megabyte.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) values: Vec<Text>,
    /// The number of the value of each row.
    pub(super) rows: Vec<Option<u32>>,
}

/// What of one file is taken at most.
#[derive(Clone, Copy)]
pub(super) struct RowsMax {
    pub(super) rows: u64,
    /// Bytes of pages of the columns, decompressed, and of tables of their texts.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "nothing is parsed then"))]
    pub(super) bytes: usize,
}

/// The function that both have.
const _: fn(&[u8], RowsMax) -> Result<Rows, Error> = rows;
