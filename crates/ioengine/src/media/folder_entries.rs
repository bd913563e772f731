//! What in a folder of files is an object, on every platform.

use crate::Error;
use crate::medium::Entry;
use std::path::Path;

/// What names of temporary files begin with, and those of locks. They are no keys: nothing of that name is listed or written.
pub(super) const TEMPORARY: &str = ".swath-part-";

/// True for the names of files that are being written, and of locks.
pub(super) fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY)
}

/// The objects and folders in the folder at `path`, by name: all but temporary files and names that no key can have.
///
/// # Errors
///
/// Those of the file system.
pub(super) fn folder_entries(path: &Path) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path).map_err(Error::from_io)? {
        let entry = entry.map_err(Error::from_io)?;
        // Names that are not UTF-8 cannot be keys.
        let Ok(name) = entry.file_name().into_string() else { continue };
        if is_temporary(&name) {
            continue;
        }
        let Ok(metadata) = std::fs::metadata(entry.path()) else { continue };
        entries.push(if metadata.is_dir() {
            Entry::Prefix { name }
        } else {
            Entry::Object { name, size: metadata.len() }
        });
    }
    entries.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(entries)
}
