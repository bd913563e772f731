//! HDF5 and NetCDF-4 files, as the Zarr that lies in them.

use crate::errors::raised_about;
use crate::json;
use crate::logs::reported;
use crate::raw_ranges::objects_of;
use crate::remote::TextOptions;
use pyo3::prelude::*;
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

/// List the references of an HDF5 file, and what is not in them: where it is, and why.
#[pyfunction]
#[pyo3(name = "_hdf5_references", signature = (file, options, provider))]
pub(crate) fn references<'py>(
    py: Python<'py>,
    file: &str,
    options: TextOptions,
    provider: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, LeftOut)> {
    let objects = objects_of(py, options, provider)?;
    let listed = reported(py, || -> Result<_, Error> {
        let references = hdf5_references(&Engine::global(), &objects.open(file)?, None)?;
        Ok((references.to_json(&[PlannedFile::name_of(file)])?, left_out(&references)))
    })?;
    let (document, left_out) = listed.map_err(|failed| raised_about(py, &failed, file))?;
    Ok((json::to_python(py, &document)?, left_out))
}
