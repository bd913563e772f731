//! What a conversion of GRIB files writes.

use crate::conversion_run::{Job, What};
use crate::errors::{Class, error, raised_by_conversion};
use crate::field_scan::FieldScan;
use crate::image_conversion;
use crate::open::writable_location;
use crate::raw_ranges::objects_of;
use crate::remote::TextOptions;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use serde_json::Value;
use std::path::PathBuf;
use swath::convert::{Access, Extents, LayoutOptions, Piece, Plan, PlanOptions, compressors};

/// What a conversion of GRIB files writes: see `swath.convert.Plan`.
#[pyclass(frozen, module = "swath._swath")]
pub(crate) struct ConversionPlan {
    plan: Plan,
}

/// How the files of a conversion are reached: options, and a credential provider.
pub(crate) type SourceOptions = (TextOptions, Option<Py<PyAny>>);

/// What a run has done: fields, variables, and what of them is damaged.
pub(crate) type Report<'py> = (usize, usize, Bound<'py, PyList>);

#[pymethods]
impl ConversionPlan {
    /// Put the fields of a scan together; what of them cannot be written is named.
    #[staticmethod]
    #[pyo3(signature = (scan, access, chunks, shards, codec, mantissa_bits, keep))]
    #[expect(clippy::too_many_arguments, reason = "one for each of Python's")]
    fn of<'py>(
        py: Python<'py>,
        scan: &FieldScan,
        access: &str,
        chunks: Option<Extents>,
        shards: Option<Extents>,
        codec: &str,
        mantissa_bits: Option<u8>,
        keep: Vec<String>,
    ) -> PyResult<(ConversionPlan, Bound<'py, PyList>)> {
        let layout = LayoutOptions { access: access_of(py, access)?, chunks, shards };
        let compressors = codec_of(py, codec)?;
        let options = PlanOptions { layout, compressors, mantissa_bits, kept_dimensions: keep };
        let (files, sources, damages) = scan.fields(py)?;
        let planned = py.detach(|| Plan::of(files, &sources, &options));
        let planned = planned.map_err(|failed| raised_by_conversion(py, &failed))?;
        let damages = scan.damages(py, damages, &planned.unplanned, &sources)?;
        Ok((ConversionPlan { plan: planned.plan }, damages))
    }

    /// Make the plan that JSON says.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<ConversionPlan> {
        ConversionPlan::of_document(py, document(py, text)?)
    }

    /// Give the plan as JSON.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        let value = self.plan.to_json().map_err(|failed| raised_by_conversion(py, &failed))?;
        Ok(value.to_string())
    }

    /// Say the plan in lines to read.
    fn text(&self) -> String {
        self.plan.to_string()
    }

    /// The paths and URLs of its files.
    #[getter]
    fn files(&self) -> Vec<&str> {
        self.plan.files.iter().map(|file| file.name.as_str()).collect()
    }

    /// The names of its variables, behind those of their groups.
    #[getter]
    fn variables(&self) -> Vec<String> {
        let of = |group: &swath::convert::Hypercube| {
            let path = |name: &str| match group.path.as_str() {
                "" => name.to_owned(),
                path => format!("{path}/{name}"),
            };
            group.variables.iter().map(|variable| path(&variable.name)).collect::<Vec<_>>()
        };
        self.plan.groups.iter().flat_map(of).collect()
    }

    /// How many fields it writes.
    #[getter]
    fn fields(&self) -> usize {
        self.plan.fields()
    }

    /// How many fields a piece writes, by its number of so many.
    #[pyo3(signature = (number, count))]
    fn fields_of(&self, py: Python<'_>, number: usize, count: usize) -> PyResult<usize> {
        Ok(self.plan.fields_of(piece_of(py, number, count)?))
    }

    /// Write all of it to a new store, or one piece.
    #[pyo3(signature = (target, storage_options, sources, piece, journal, journal_beside, strict, progress))]
    #[expect(clippy::too_many_arguments, reason = "one for each of Python's")]
    fn write<'py>(
        &self,
        py: Python<'py>,
        target: &Bound<'_, PyAny>,
        storage_options: Option<&Bound<'_, PyAny>>,
        sources: SourceOptions,
        piece: Option<(usize, usize)>,
        journal: Option<PathBuf>,
        journal_beside: bool,
        strict: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Report<'py>> {
        let what = match piece {
            None => What::New(&self.plan),
            Some((number, count)) => What::Piece(&self.plan, piece_of(py, number, count)?),
        };
        let job = job(py, target, storage_options, sources, (journal, journal_beside), strict)?;
        job.run(py, what, progress)
    }
}

impl ConversionPlan {
    /// The plan that JSON says.
    pub(crate) fn of_document(py: Python<'_>, document: Value) -> PyResult<ConversionPlan> {
        let plan = Plan::from_json(document).map_err(|failed| raised_by_conversion(py, &failed))?;
        Ok(ConversionPlan { plan })
    }
}

/// A plan's JSON, of whichever kind.
pub(crate) fn document(py: Python<'_>, text: &str) -> PyResult<Value> {
    serde_json::from_str(text)
        .map_err(|failed| error(py, Class::Invalid, &format!("a plan is JSON: {failed}"), ""))
}

/// Go on with a conversion that was interrupted.
#[pyfunction]
#[pyo3(name = "_resume_conversion", signature = (target, storage_options, sources, journal, strict, progress))]
pub(crate) fn resume_conversion<'py>(
    py: Python<'py>,
    target: &Bound<'_, PyAny>,
    storage_options: Option<&Bound<'_, PyAny>>,
    sources: SourceOptions,
    journal: Option<PathBuf>,
    strict: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Report<'py>> {
    let job = job(py, target, storage_options, sources, (journal, true), strict)?;
    if py.detach(|| image_conversion::is_journal_of_images(&job)) {
        return image_conversion::resume(py, &job, progress);
    }
    job.run(py, What::Resume, progress)
}

/// Add the fields of a scan to a store.
#[pyfunction]
#[pyo3(name = "_append_conversion", signature = (scan, target, storage_options, sources, journal, strict, progress))]
#[expect(clippy::too_many_arguments, reason = "one for each of Python's")]
pub(crate) fn append_conversion<'py>(
    py: Python<'py>,
    scan: &FieldScan,
    target: &Bound<'_, PyAny>,
    storage_options: Option<&Bound<'_, PyAny>>,
    sources: SourceOptions,
    journal: Option<PathBuf>,
    strict: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Report<'py>> {
    let (files, fields, _) = scan.fields(py)?;
    let job = job(py, target, storage_options, sources, (journal, true), strict)?;
    job.run(py, What::Append(files, &fields), progress)
}

/// Where a plan is carried out, and how: with a journal of its own, or, if so, beside the target.
pub(crate) fn job(
    py: Python<'_>,
    target: &Bound<'_, PyAny>,
    storage_options: Option<&Bound<'_, PyAny>>,
    (options, provider): SourceOptions,
    journal: (Option<PathBuf>, bool),
    is_strict: bool,
) -> PyResult<Job> {
    let objects = objects_of(py, options, provider)?;
    Ok(Job::new(writable_location(target, storage_options)?, objects, journal, is_strict))
}

/// What is wrong with some bytes of a file, as a scan's records say it.
pub(crate) fn damage<'py>(
    py: Python<'py>,
    file: &str,
    (offset, length): (u64, u64),
    kind: &str,
    message: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let damage = PyDict::new(py);
    damage.set_item("file", file)?;
    damage.set_item("offset", offset)?;
    damage.set_item("length", length)?;
    damage.set_item("damage", PyString::intern(py, kind))?;
    damage.set_item("message", message)?;
    Ok(damage)
}

fn access_of(py: Python<'_>, name: &str) -> PyResult<Access> {
    match name {
        "fields" => Ok(Access::Fields),
        "training-fields" => Ok(Access::TrainingFields),
        "crops" => Ok(Access::Crops),
        "timeseries" => Ok(Access::TimeSeries),
        _ => {
            let message = format!(
                "wanted access \"fields\", \"training-fields\", \"crops\" or \"timeseries\", found {name:?}"
            );
            Err(error(py, Class::Invalid, &message, ""))
        }
    }
}

/// Compressors by their words, or as metadata lists them; none for `auto`.
fn codec_of(py: Python<'_>, text: &str) -> PyResult<Option<Vec<Value>>> {
    match serde_json::from_str(text) {
        Ok(Value::Array(compressors)) => Ok(Some(compressors)),
        _ if text == "auto" => Ok(None),
        _ => {
            compressors(text, size_of::<f32>()).map(Some).map_err(|failed| raised_by_conversion(py, &failed))
        }
    }
}

/// A piece by its number, from 0, of so many.
pub(crate) fn piece_of(py: Python<'_>, number: usize, count: usize) -> PyResult<Piece> {
    Piece::new(number, count).map_err(|failed| raised_by_conversion(py, &failed))
}
