//! No Parquet.

use super::Rows;
use crate::Error;

/// Refuses the file.
///
/// # Errors
///
/// `Unsupported`.
pub(in crate::catalog::records) fn rows(_: &[u8], _: u64) -> Result<Rows, Error> {
    Err(Error::unsupported("references in Parquet without the feature `parquet`"))
}
