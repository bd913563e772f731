//! References to what lies in GRIB and HDF5 files, made and written.

use crate::errors::{raised_about, raised_by_conversion};
use crate::field_scan::FieldScan;
use crate::json;
use crate::logs::reported;
use crate::raw_ranges::{objects_of, targets_of};
use crate::remote::TextOptions;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::path::{Path, PathBuf};
use swath::convert::{
    Plan, PlanOptions, PlannedFile, References, has_hdf5_signature, hdf5_references, is_hdf5_name,
    names_below,
};
use swath::ioengine::Engine;
use swath::{Error, Objects};

/// References to the messages or chunks of files: see `swath.convert.references`.
#[pyclass(frozen, module = "swath._swath")]
pub(crate) struct ReferenceSet {
    references: References,
    /// The files, as the caller calls them.
    files: Vec<String>,
}

#[pymethods]
impl ReferenceSet {
    /// List the messages of a scan; what of its files cannot be listed is named.
    #[staticmethod]
    #[pyo3(signature = (scan, keep))]
    fn of_grib<'py>(
        py: Python<'py>,
        scan: &FieldScan,
        keep: Vec<String>,
    ) -> PyResult<(ReferenceSet, Bound<'py, PyList>)> {
        let options = PlanOptions { kept_dimensions: keep, ..PlanOptions::default() };
        let (files, sources, damages) = scan.fields(py)?;
        let listed = py.detach(|| -> Result<_, swath::convert::Error> {
            let planned = Plan::of(files, &sources, &options)?;
            let references = planned.plan.references(&sources)?;
            Ok((planned, references))
        });
        let (planned, references) = listed.map_err(|failed| raised_by_conversion(py, &failed))?;
        let damages = scan.damages(py, damages, &planned.unplanned, &sources)?;
        Ok((ReferenceSet { references, files: scan.names() }, damages))
    }

    /// List the chunks of an HDF5 file, or of several that are joined along a dimension.
    #[staticmethod]
    #[pyo3(signature = (files, concat, options, provider))]
    fn of_hdf5(
        py: Python<'_>,
        files: Vec<String>,
        concat: Option<String>,
        options: TextOptions,
        provider: Option<Py<PyAny>>,
    ) -> PyResult<ReferenceSet> {
        let targets = targets_of(py, options, provider)?;
        let objects = Objects::new(targets.clone());
        let listed = reported(py, || -> Result<References, Error> {
            let list = |file: &String| {
                let listed = objects
                    .open(file)
                    .and_then(|object| Ok(hdf5_references(&Engine::global(), &object, None)?));
                Ok((file.clone(), listed.map_err(|failed| failed.with_object(file))?))
            };
            let mut listed = files.iter().map(list).collect::<Result<Vec<_>, Error>>()?;
            match (concat, listed.pop()) {
                (None, Some((_, references))) => Ok(references),
                (concat, last) => {
                    listed.extend(last);
                    let dimension = concat.unwrap_or_default();
                    Ok(References::concatenated(&listed, &dimension, &targets)?)
                }
            }
        })?;
        let references =
            listed.map_err(|failed| raised_about(py, &failed, files.first().map_or("", String::as_str)))?;
        Ok(ReferenceSet { references, files })
    }

    /// Give the set in kerchunk's JSON, as a dict.
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let document = self.references.to_json(&self.absolute_names());
        json::to_python(py, &document.map_err(|failed| raised_by_conversion(py, &failed))?)
    }

    /// Write the set in JSON, or in Parquet to what ends in `.parq` or `.parquet`.
    #[pyo3(signature = (target, relative, record_size))]
    fn write(&self, py: Python<'_>, target: PathBuf, relative: bool, record_size: u64) -> PyResult<()> {
        let written = py.detach(|| {
            let names = if relative { names_below(&self.files, &target)? } else { self.absolute_names() };
            self.references.write(&names, &target, record_size)
        });
        written.map_err(|failed| raised_by_conversion(py, &failed))
    }

    /// How many arrays there are.
    #[getter]
    fn arrays(&self) -> usize {
        self.references.arrays()
    }

    /// How many chunks are byte ranges of files.
    #[getter]
    fn chunks(&self) -> usize {
        self.references.chunks()
    }

    /// Attributes of which joined files have other values than the first one: which, and where.
    #[getter]
    fn differing(&self) -> Vec<(&str, &str)> {
        self.references.differing.iter().map(|told| (told.path.as_str(), told.reason.as_str())).collect()
    }

    /// What references cannot say: where it is, and why.
    #[getter]
    fn left_out(&self) -> Vec<(&str, &str)> {
        self.references.left_out.iter().map(|left| (left.path.as_str(), left.reason.as_str())).collect()
    }
}

impl ReferenceSet {
    fn absolute_names(&self) -> Vec<String> {
        self.files.iter().map(|file| PlannedFile::name_of(file)).collect()
    }
}

/// Say whether HDF5 files are among these: by their names, or where there is one by its first bytes.
#[pyfunction]
#[pyo3(name = "_are_hdf5", signature = (files, options, provider))]
pub(crate) fn are_hdf5(
    py: Python<'_>,
    files: Vec<String>,
    options: TextOptions,
    provider: Option<Py<PyAny>>,
) -> PyResult<bool> {
    let objects = objects_of(py, options, provider)?;
    if files.iter().any(|file| is_hdf5_name(Path::new(file))) {
        return Ok(true);
    }
    let [file] = &files[..] else { return Ok(false) };
    let looked = reported(py, || -> Result<bool, Error> {
        Ok(has_hdf5_signature(&Engine::global(), &objects.open(file)?)?)
    })?;
    looked.map_err(|failed| raised_about(py, &failed, file))
}
