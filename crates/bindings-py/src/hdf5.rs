//! HDF5 and NetCDF-4 files, as the Zarr that lies in them.

use std::path::Path;
use swath::convert::{PlannedFile, References, hdf5_file_in, hdf5_references};
use swath::ioengine::Engine;
use swath::{CloudOptions, Error, Objects, ReferenceTargets, Store};

/// Stands before the path or URL of such a file.
pub(crate) const PREFIX: &str = "hdf5";

/// The file that a path or a URL leads into, and the place within it; `None` where it leads into none.
pub(crate) fn file_of(text: &str) -> Option<(&str, &str)> {
    if text.contains("::") || text.contains(['?', '#']) {
        return None;
    }
    hdf5_file_in(text, |file| text.contains("://") || Path::new(file).is_file())
}

/// What of a file cannot be read: where it is, and why.
pub(crate) type LeftOut = Vec<(String, String)>;

/// The store that lies in a file, and what of it cannot be read: where, and why.
///
/// # Errors
///
/// Those of opening and listing it.
pub(crate) fn store(file: &str, options: &CloudOptions) -> Result<(Store, LeftOut), Error> {
    let targets = || ReferenceTargets::new().with_options(options.clone());
    let references = hdf5_references(&Engine::global(), &Objects::new(targets()).open(file)?, None)?;
    let document = references.to_json(&[PlannedFile::name_of(file)])?.to_string();
    Ok((Store::references(document.as_bytes(), targets(), file)?, left_out(&references)))
}

fn left_out(references: &References) -> LeftOut {
    references.left_out.iter().map(|left| (left.path.clone(), left.reason.clone())).collect()
}
