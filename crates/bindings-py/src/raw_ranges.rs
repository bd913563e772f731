//! Ranges of bytes of any object.

use crate::configuration;
use crate::credentials::PythonCredentials;
use crate::errors::{Class, error, raised};
use crate::output::{Target, allocate, checked};
use crate::read::detached;
use crate::remote::{TextOptions, options_of};
use numpy::{PyArray1, PyArrayMethods, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;
use swath::ioengine::{ByteRange, Merging, ObjectRef, RangeRead, RunOptions};
use swath::{Error, Objects, ReferenceTargets};

/// What reads ranges of objects: see `swath.io.get_ranges`.
#[pyclass(frozen, module = "swath._swath")]
pub(crate) struct RangeReader {
    objects: Objects,
}

#[pymethods]
impl RangeReader {
    #[new]
    #[pyo3(signature = (options, provider = None))]
    fn new(py: Python<'_>, options: TextOptions, provider: Option<Py<PyAny>>) -> PyResult<RangeReader> {
        Ok(RangeReader { objects: objects_of(py, options, provider)? })
    }

    /// Read ranges into one array of bytes: of each its URL, its first byte, and how many.
    #[pyo3(signature = (urls, which, starts, lengths, out = None, coalesce = None))]
    #[expect(clippy::too_many_arguments, reason = "one for each of Python's")]
    fn read<'py>(
        &self,
        py: Python<'py>,
        urls: Vec<String>,
        which: &Bound<'py, PyArray1<u64>>,
        starts: &Bound<'py, PyArray1<u64>>,
        lengths: &Bound<'py, PyArray1<u64>>,
        out: Option<&Bound<'py, PyAny>>,
        coalesce: Option<u64>,
    ) -> PyResult<Bound<'py, PyUntypedArray>> {
        let reads = reads(which, starts, lengths)?;
        let total = reads.iter().try_fold(0u64, |sum, read| sum.checked_add(read.range.len_max()));
        let total = total.filter(|total| isize::try_from(*total).is_ok());
        let total = total.and_then(|total| usize::try_from(total).ok()).ok_or_else(|| {
            error(py, Class::Invalid, "the ranges are larger than this machine can address", "get_ranges")
        })?;
        let uint8 = numpy::dtype::<u8>(py);
        let array = match out {
            Some(out) => checked(out, &[total], &uint8, "get_ranges")?,
            None => allocate(py, &PyTuple::new(py, [total])?, &uint8)?,
        };
        let mut target = Target::of(&array, "get_ranges")?;
        let target = target.bytes()?;
        let merging = match coalesce {
            None => Merging::ByCost,
            Some(0) => Merging::Never,
            Some(bytes) => Merging::Across(bytes),
        };
        detached(py, |options| {
            let objects = urls.iter().map(|url| self.object(url)).collect::<Result<Vec<_>, Error>>()?;
            let run = RunOptions { interrupt: options.interrupt, ..RunOptions::default() };
            self.objects.read_ranges_into(&objects, &reads, target, merging, &run)
        })?;
        Ok(array)
    }
}

/// Objects by their paths and URLs, which are reached with these options.
///
/// # Errors
///
/// `UnsupportedError` for an option that is not known.
pub(crate) fn objects_of(
    py: Python<'_>,
    options: TextOptions,
    provider: Option<Py<PyAny>>,
) -> PyResult<Objects> {
    Ok(Objects::new(targets_of(py, options, provider)?))
}

/// How what references lead to is reached, with these options.
///
/// # Errors
///
/// `UnsupportedError` for an option that is not known.
pub(crate) fn targets_of(
    py: Python<'_>,
    options: TextOptions,
    provider: Option<Py<PyAny>>,
) -> PyResult<ReferenceTargets> {
    drop(configuration::opening(py)?);
    let mut options = options_of(options).map_err(|error| raised(py, &error))?;
    if let Some(provider) = provider {
        options = options.with_credentials(Arc::new(PythonCredentials::new(provider, "")));
    }
    Ok(ReferenceTargets::new().with_options(options))
}

impl RangeReader {
    fn object(&self, url: &str) -> Result<ObjectRef, Error> {
        self.objects.open(url)
    }
}

fn reads(
    which: &Bound<'_, PyArray1<u64>>,
    starts: &Bound<'_, PyArray1<u64>>,
    lengths: &Bound<'_, PyArray1<u64>>,
) -> PyResult<Vec<RangeRead>> {
    let (which, starts, lengths) = (which.try_readonly()?, starts.try_readonly()?, lengths.try_readonly()?);
    let ranges = starts.as_slice()?.iter().zip(lengths.as_slice()?);
    let reads = which.as_slice()?.iter().zip(ranges).map(|(object, (offset, len))| RangeRead {
        object: usize::try_from(*object).unwrap_or(usize::MAX),
        range: ByteRange::Bounded { offset: *offset, len: *len },
    });
    Ok(reads.collect())
}
