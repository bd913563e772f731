//! HDF5 and NetCDF-4 files, which commands read as the Zarr that lies in them.

use crate::place::Place;
use std::io::Write;
use std::path::Path;
use swath::convert::{
    PlannedFile, References, has_hdf5_signature, hdf5_file_in, hdf5_references, is_hdf5_name,
};
use swath::ioengine::Engine;
use swath::{Objects, ReferenceTargets, Store};

/// Whether a file is one by its name or by its first bytes.
///
/// # Errors
///
/// Those of opening and reading it.
pub(crate) fn is_one(path: &Path, place: &Place) -> anyhow::Result<bool> {
    if is_hdf5_name(path) {
        return Ok(true);
    }
    let object = Objects::new(targets(place)).open(&path.display().to_string())?;
    Ok(has_hdf5_signature(&Engine::global(), &object)?)
}

/// The file that a place lies in, as a path or a URL, and the place within it; `None` where it lies in none.
pub(crate) fn file_of(place: &Place) -> Option<(String, String)> {
    let text = match place {
        Place::Directory(path) => path.to_str()?,
        Place::Url(url, ..) if url.contains(['?', '#']) => return None,
        Place::Url(url, ..) => url,
    };
    let is_there = |file: &str| matches!(place, Place::Url(..)) || Path::new(file).is_file();
    let (file, within) = hdf5_file_in(text, is_there)?;
    Some((file.to_owned(), within.to_owned()))
}

/// What a file holds.
///
/// # Errors
///
/// Those of opening and listing it.
pub(crate) fn references(file: &str, place: &Place) -> anyhow::Result<References> {
    let object = Objects::new(targets(place)).open(file)?;
    Ok(hdf5_references(&Engine::global(), &object, None)?)
}

/// The store that lies in a file. What of it cannot be read is said on standard error.
///
/// # Errors
///
/// As [`references`].
pub(crate) fn store(file: &str, place: &Place) -> anyhow::Result<Store> {
    let references = references(file, place)?;
    for left in &references.left_out {
        // What is told beside a result must not end the command.
        drop(writeln!(std::io::stderr(), "{file}: left out: {}: {}", left.path, left.reason));
    }
    let document = references.to_json(&[PlannedFile::name_of(file)])?.to_string();
    Ok(Store::references(document.as_bytes(), targets(place), file)?)
}

/// How what lies at a place is reached.
fn targets(place: &Place) -> ReferenceTargets {
    match place {
        Place::Directory(_) => ReferenceTargets::new(),
        Place::Url(_, options, _) => ReferenceTargets::new().with_options(options.clone()),
    }
}
