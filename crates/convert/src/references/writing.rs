//! Reference sets, written to files.

use super::References;
use crate::{Error, ErrorKind};
use std::path::Path;

/// Whether what is written there is a set in Parquet: its name ends in `.parq` or `.parquet`.
#[must_use]
pub fn is_parquet_name(target: &Path) -> bool {
    let is = |known: &str| target.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(known));
    is("parq") || is("parquet")
}

impl References {
    /// Writes the set: in Parquet to a folder where the target's name says so ([`is_parquet_name`]), with so many rows a file
    /// ([`RECORD_SIZE`](super::RECORD_SIZE) as a rule); else in JSON to a file, in place of one that is there. `urls` are as for
    /// [`to_json`](Self::to_json).
    ///
    /// A set in Parquet is there once it is whole. In memory are one file's rows and some 40 bytes for each chunk, beside the
    /// references themselves; a set in JSON is in memory as a whole.
    ///
    /// # Errors
    ///
    /// `Invalid` for a target that is no local path, a folder that is there already, no rows, and ranges of more files than have
    /// names; `Unsupported` for Parquet without the feature `parquet`, and for arrays whose names are no folders'; `Io` where it cannot
    /// be written.
    pub fn write<S: AsRef<str>>(&self, urls: &[S], target: &Path, record_size: u64) -> Result<(), Error> {
        let named = |error: Error| error.with_object(&target.display().to_string());
        if target.to_str().is_some_and(|target| target.contains("://")) {
            let message = "wanted a local path to write references to, found a URL";
            return Err(named(Error::new(ErrorKind::Invalid, message)));
        }
        if is_parquet_name(target) {
            return self.write_records(urls, target, record_size).map_err(named);
        }
        let document = self.to_json(urls)?.to_string();
        std::fs::write(target, document).map_err(|error| named(unwritten(&error)))
    }
}

/// Why references cannot be written.
pub(super) fn unwritten(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("the references cannot be written: {error}"))
}
