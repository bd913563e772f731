//! No Parquet.

use super::Rows;
use crate::Error;
use std::fs::File;

/// Says that there is none.
///
/// # Errors
///
/// `Unsupported`.
pub(in crate::references) fn is_there() -> Result<(), Error> {
    Err(Error::unsupported("references in Parquet without the feature `parquet`"))
}

/// Refuses rows.
///
/// # Errors
///
/// `Unsupported`.
pub(in crate::references) fn write(_: File, _: &Rows<'_>) -> Result<(), Error> {
    is_there()
}
