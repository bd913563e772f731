//! Strings and byte strings of any length into NumPy arrays.

use crate::opened::Opened;
use crate::output::{allocate, checked};
use crate::read::detached;
use numpy::PyUntypedArray;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyEllipsis, PyList, PyString, PyTuple};
use swath::{DataType, ReadPlan};

/// Reads a plan's results, one behind the other, into a new array of `shape`, or into `out`.
pub(crate) fn into_array<'py>(
    py: Python<'py>,
    opened: &Opened,
    plan: &ReadPlan<'_>,
    shape: &[usize],
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let dtype = opened.dtype(py)?;
    let out = out.map(|out| checked(out, shape, dtype, &opened.name)).transpose()?;
    let read = detached(py, |options| plan.read_variable(options))?;
    let elements = PyList::empty(py);
    for bytes in read.iter().flat_map(|results| results.iter()) {
        match opened.array.data_type() {
            // They were checked to be UTF-8 when they were decoded.
            DataType::String => elements.append(PyString::new(py, &String::from_utf8_lossy(bytes)))?,
            _ => elements.append(PyBytes::new(py, bytes))?,
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
