//! The shared test data, where this machine has it.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The folder of shared test data, or `None`, having said so, where it is absent.
///
/// `SWATH_TEST_DATA` names it; otherwise it is `shared/data` beside the repository.
pub(crate) fn root() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let root = std::env::var_os("SWATH_TEST_DATA").map_or_else(beside, PathBuf::from);
    if root.is_dir() {
        return Some(root);
    }
    eprintln!("SKIPPED: no shared test data at {}; set SWATH_TEST_DATA", root.display());
    None
}

/// Every file below `folder`, in a stable order.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let mut found = Vec::new();
    for path in entries {
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

/// The JSON document in the file at `path`.
pub(crate) fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}
