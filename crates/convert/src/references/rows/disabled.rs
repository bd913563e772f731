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

#[cfg(test)]
mod tests {
    use crate::ErrorKind;
    use crate::references::References;

    #[test]
    fn sets_in_parquet_are_refused_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("set.parq");
        let error = References::default().write::<&str>(&[], &target, 10_000).unwrap_err();
        assert_eq!((error.kind(), error.object()), (ErrorKind::Unsupported, target.to_str()));
        assert_eq!(error.message(), "references in Parquet without the feature `parquet`");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
