//! How many elements each chunk holds, axis by axis.

use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use swath::Array;

/// The one shape of all chunks; an error where they differ.
pub(crate) fn shape<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyTuple>> {
    if array.metadata().has_regular_grid() {
        return PyTuple::new(py, array.chunk_shape());
    }
    let message = "chunks of different lengths have no one shape: see read_chunk_sizes";
    Err(PyNotImplementedError::new_err(message))
}

/// Of the chunks that are read: inner ones, where there are shards.
pub(crate) fn read<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyTuple>> {
    if array.shard_shape().is_none() {
        return stored(py, array);
    }
    let axes = array.shape().iter().zip(array.chunk_shape());
    let axis = |(length, extent): (&u64, &u64)| {
        let starts = (0..length.div_ceil((*extent).max(1))).map(|chunk| chunk * extent);
        PyTuple::new(py, starts.map(|start| (length - start).min(*extent)).collect::<Vec<_>>())
    };
    PyTuple::new(py, axes.map(axis).collect::<PyResult<Vec<_>>>()?)
}

/// Of the objects that are stored: chunks, or shards.
pub(crate) fn stored<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyTuple>> {
    let axis = |axis| PyTuple::new(py, array.metadata().chunk_extents(axis).collect::<Vec<_>>());
    PyTuple::new(py, (0..array.shape().len()).map(axis).collect::<PyResult<Vec<_>>>()?)
}
