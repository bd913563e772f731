//! Arrays whose metadata Python has.

use crate::array::Array;
use crate::errors::{raised, raised_about};
use crate::key_store::KeyStore;
use crate::logs::reported;
use crate::open::writable_location;
use pyo3::prelude::*;
use swath::{ArrayMetadata, Error};

/// Make the array that metadata in JSON describes, at a path of a store; nothing is read.
#[pyfunction]
#[pyo3(name = "_described", signature = (store, path, document))]
pub(crate) fn described(
    py: Python<'_>,
    store: &Bound<'_, PyAny>,
    path: &str,
    document: &str,
) -> PyResult<Array> {
    let location = match store.cast::<KeyStore>() {
        Ok(keys) => keys.get().node(path),
        Err(_) => writable_location(store, None)?.with_path(path),
    };
    let name = location.name();
    let described = || {
        let metadata = metadata(document, &name)?;
        swath::Array::described(&location.store()?, location.path(), metadata)
    };
    let array = reported(py, described)?.map_err(|error| raised(py, &error))?;
    Array::opened(py, location, array)
}

/// The checked metadata of a document, of either format.
pub(crate) fn metadata(document: &str, name: &str) -> Result<ArrayMetadata, Error> {
    let format = serde_json::from_str::<serde_json::Value>(document).ok();
    match format.as_ref().and_then(|document| document.get("zarr_format")?.as_u64()) {
        Some(2) => ArrayMetadata::parse_v2(document.as_bytes(), None, name),
        _ => ArrayMetadata::parse_v3(document.as_bytes(), name),
    }
}

/// The same, with Python's errors.
pub(crate) fn checked_metadata(py: Python<'_>, document: &str, name: &str) -> PyResult<ArrayMetadata> {
    metadata(document, name).map_err(|error| raised_about(py, &error, name))
}
