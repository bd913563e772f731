//! How many elements each chunk holds, axis by axis.

use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use swath::Array;

/// The one shape of all chunks, inner ones where there are shards; an error where they differ.
pub(crate) fn shape<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyTuple>> {
    match array.common_chunk_shape() {
        Some(extents) => PyTuple::new(py, extents),
        None => {
            let message = "chunks of different lengths have no one shape: see read_chunk_sizes";
            Err(PyNotImplementedError::new_err(message))
        }
    }
}

/// The one shape of all shards, where there are any; an error where they differ.
pub(crate) fn of_shards<'py>(py: Python<'py>, array: &Array) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let Some(shape) = array.shard_shape() else { return Ok(None) };
    if array.metadata().has_regular_grid() {
        return PyTuple::new(py, shape).map(Some);
    }
    let message = "shards of different lengths have no one shape: see write_chunk_sizes";
    Err(PyNotImplementedError::new_err(message))
}

/// Of the chunks that are read: inner ones, where there are shards.
pub(crate) fn read<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyTuple>> {
    let Some(extents) = array.common_chunk_shape().filter(|_| array.shard_shape().is_some()) else {
        return stored(py, array);
    };
    let axes = array.shape().iter().zip(&extents);
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
