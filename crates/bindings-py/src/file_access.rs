//! How files are read where the caller does not say.

use crate::errors::{Class, error};
use pyo3::prelude::*;
use swath::ioengine::FileAccess;

/// Say how files are read from now on, for `swath.set_file_access`.
#[pyfunction]
#[pyo3(name = "_set_file_access", signature = (way))]
pub(crate) fn set_file_access(py: Python<'_>, way: Option<&str>) -> PyResult<()> {
    let access = way.map(str::parse::<FileAccess>).transpose();
    FileAccess::set_preferred(access.map_err(|found| error(py, Class::Invalid, found.message(), ""))?);
    Ok(())
}
