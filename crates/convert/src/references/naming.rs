//! What references call files.

use crate::{Error, ErrorKind, PlannedFile};
use std::path::{Path, PathBuf};

/// What references call local files so that the folder of their set can be moved with them: their paths below that folder. swath looks
/// for them from there; fsspec, and with it zarr-python, from the working directory.
///
/// # Errors
///
/// `Invalid` for a file, or a URL, that is not below the folder of `set`.
pub fn names_below<S: AsRef<str>>(files: &[S], set: &Path) -> Result<Vec<String>, Error> {
    let invalid = |message: String| Error::new(ErrorKind::Invalid, message);
    let set = std::path::absolute(set).map_err(|error| invalid(format!("{}: {error}", set.display())))?;
    let folder = set.parent().ok_or_else(|| invalid("wanted a target in a folder".to_owned()))?;
    let below = |file: &S| {
        let path = PathBuf::from(PlannedFile::name_of(file.as_ref()));
        let name = path.strip_prefix(folder).ok().and_then(Path::to_str).map(str::to_owned);
        let wanted = || format!("wanted files below {}, found {}", folder.display(), file.as_ref());
        name.ok_or_else(|| invalid(wanted()))
    };
    files.iter().map(below).collect()
}
