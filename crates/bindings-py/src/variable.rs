//! Strings and byte strings of any length into NumPy arrays.

use crate::opened::Opened;
use crate::output::{allocate, checked};
use crate::progress::Watch;
use crate::read::watched;
use numpy::PyUntypedArray;
use pyo3::IntoPyObjectExt;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyEllipsis, PyList, PyString, PyTuple};
use swath::ioengine::storage_len;
use swath::{DataType, ReadPlan};

/// Reads a plan's results, one behind the other, into a new array of `shape`, or into `out`.
pub(crate) fn into_array<'py>(
    py: Python<'py>,
    opened: &Opened,
    plan: &ReadPlan<'_>,
    shape: &[usize],
    out: Option<&Bound<'py, PyAny>>,
    watch: Option<&Watch>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let dtype = opened.dtype(py)?;
    let out = out.map(|out| checked(out, shape, dtype, &opened.name)).transpose()?;
    let total = shape.iter().map(|length| storage_len(*length)).product();
    let read = watched(py, watch, total, |options| plan.read_variable(options))?;
    let (elements, data_type) = (PyList::empty(py), opened.array.data_type());
    for results in read {
        for (number, bytes) in results.iter().enumerate() {
            let present = results.presence().get(number).copied().unwrap_or(0);
            elements.append(element(py, data_type, present.into(), bytes)?)?;
        }
    }
    let flat = allocate(py, &PyTuple::new(py, [elements.len()])?, dtype)?;
    flat.set_item(PyEllipsis::get(py), elements)?;
    let array = flat.call_method1(intern!(py, "reshape"), (PyTuple::new(py, shape)?,))?;
    match out {
        None => Ok(array.cast_into()?),
        Some(out) => {
            out.set_item(PyEllipsis::get(py), array)?;
            Ok(out)
        }
    }
}

/// An element as NumPy is given it: a `str`, a `bytes`, or, where it may be missing, a tuple of whether it is there and what
/// it is, empty where it is not. Of the times that it may be missing it is there so many.
pub(crate) fn element<'py>(
    py: Python<'py>,
    data_type: &DataType,
    present: usize,
    bytes: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    match data_type {
        DataType::Optional(inner) => {
            let value = element(py, inner, present.saturating_sub(1), bytes)?;
            (present != 0, value).into_bound_py_any(py)
        }
        // They were checked to be UTF-8 when they were decoded.
        DataType::String => Ok(PyString::new(py, &String::from_utf8_lossy(bytes)).into_any()),
        _ => Ok(PyBytes::new(py, bytes).into_any()),
    }
}

/// How many times elements may be missing.
pub(crate) fn times(data_type: &DataType) -> usize {
    match data_type {
        DataType::Optional(inner) => 1 + times(inner),
        _ => 0,
    }
}
