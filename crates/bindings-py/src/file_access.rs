//! How files are read where the caller does not say, and what their device was measured to do.

use crate::errors::{Class, error};
use pyo3::prelude::*;
use std::path::PathBuf;
use swath::ioengine::{Calibration, FileAccess};

/// Say what a folder's device was measured to do; None where that is not stored.
///
/// These are reads and bytes a second, seconds a read, and how many reads to keep in flight.
#[pyfunction]
#[pyo3(name = "_calibration")]
pub(crate) fn calibration(folder: PathBuf) -> Option<(f64, f64, f64, usize)> {
    let found = Calibration::of(&folder)?;
    Some((found.reads_per_s()?, found.bytes_per_s()?, found.latency_s()?, found.depth()? * found.lanes))
}

/// Say how files are read from now on, for `swath.set_file_access`.
#[pyfunction]
#[pyo3(name = "_set_file_access", signature = (way))]
pub(crate) fn set_file_access(py: Python<'_>, way: Option<&str>) -> PyResult<()> {
    let access = way.map(str::parse::<FileAccess>).transpose();
    FileAccess::set_preferred(access.map_err(|found| error(py, Class::Invalid, found.message(), ""))?);
    Ok(())
}
