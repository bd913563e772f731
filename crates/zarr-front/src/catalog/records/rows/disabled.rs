//! No Parquet.

use super::{Rows, RowsMax};
use crate::Error;

/// The value of a text: there is none.
pub(in crate::catalog::records) type Text = Vec<u8>;

/// Refuses the file.
///
/// # Errors
///
/// `Unsupported`.
pub(in crate::catalog::records) fn rows(_: &[u8], _: RowsMax) -> Result<Rows, Error> {
    Err(Error::unsupported("references in Parquet without the feature `parquet`"))
}
