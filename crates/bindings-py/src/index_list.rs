//! Python's lists and arrays as indexes.

use numpy::{PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyInt, PyList};
use std::sync::Arc;

/// A list or an array by which elements are selected.
pub(crate) enum IndexList {
    /// Integers, and the shape that they have.
    Integers(Vec<u64>, Arc<[i64]>),
    /// Booleans, and the shape that they have.
    Mask(Vec<u64>, Arc<[bool]>),
}

impl IndexList {
    /// Axes that the list has.
    pub(crate) fn rank(&self) -> usize {
        match self {
            IndexList::Integers(shape, _) | IndexList::Mask(shape, _) => shape.len(),
        }
    }

    /// What `object` is, if it is an array or a list of integers or of booleans.
    pub(crate) fn of(object: &Bound<'_, PyAny>, strictness: Strictness) -> PyResult<Option<IndexList>> {
        let py = object.py();
        let list = object.cast::<PyList>().ok();
        let is_array = object.cast::<PyUntypedArray>().is_ok();
        if let Some(list) = list
            && strictness == Strictness::Uniform
            && !is_uniform(list)
        {
            return Ok(None);
        }
        // Other arrays than NumPy's, such as swath's and zarr-python's own, are read; scalars are none.
        let is_other = list.is_none() && !is_array;
        if is_other && (is_scalar(object)? || !object.hasattr(intern!(py, "__array__"))?) {
            return Ok(None);
        }
        static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let array = match ASARRAY.import(py, "numpy", "asarray")?.call1((object,)) {
            Ok(array) => array.cast_into::<PyUntypedArray>()?,
            // Lists of different lengths, say.
            Err(_) if list.is_some() => return Ok(None),
            Err(failed) => return Err(failed),
        };
        of_array(&array)
    }
}

/// Which lists count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// Those whose items are all integers, or all booleans.
    Uniform,
    /// All that NumPy makes arrays of integers or booleans of.
    Any,
}

fn is_uniform(list: &Bound<'_, PyList>) -> bool {
    let is_bool = |item: &Bound<'_, PyAny>| {
        item.is_instance_of::<PyBool>() || item.get_type().name().is_ok_and(|name| name == "bool")
    };
    let is_integer = |item: &Bound<'_, PyAny>| {
        !is_bool(item) && (item.is_instance_of::<PyInt>() || is_numpy_integer(item).unwrap_or(false))
    };
    !list.is_empty() && (list.iter().all(|item| is_integer(&item)) || list.iter().all(|item| is_bool(&item)))
}

fn is_numpy_integer(item: &Bound<'_, PyAny>) -> PyResult<bool> {
    static INTEGER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    item.is_instance(INTEGER.import(item.py(), "numpy", "integer")?)
}

fn is_scalar(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    static GENERIC: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    object.is_instance(GENERIC.import(object.py(), "numpy", "generic")?)
}

/// The array's values in C order, as another type; itself where it has them.
fn as_type<'py>(array: &Bound<'py, PyAny>, dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    static IN_ORDER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    IN_ORDER.import(array.py(), "numpy", "ascontiguousarray")?.call1((array, dtype))
}

fn of_array(array: &Bound<'_, PyUntypedArray>) -> PyResult<Option<IndexList>> {
    let py = array.py();
    let shape: Vec<u64> =
        array.shape().iter().map(|extent| u64::try_from(*extent)).collect::<Result<_, _>>()?;
    match array.dtype().kind() {
        b'b' => {
            let array = as_type(array, "bool")?.cast_into::<PyArrayDyn<bool>>()?;
            Ok(Some(IndexList::Mask(shape, array.try_readonly()?.as_slice()?.into())))
        }
        kind @ (b'i' | b'u') => {
            // What 63 bits do not hold lies outside any axis, and shall not become a negative number.
            let array = if kind == b'u' && array.dtype().itemsize() == size_of::<u64>() {
                static MINIMUM: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
                MINIMUM.import(py, "numpy", "minimum")?.call1((array, i64::MAX))?
            } else {
                array.as_any().clone()
            };
            let array = as_type(&array, "int64")?.cast_into::<PyArrayDyn<i64>>()?;
            Ok(Some(IndexList::Integers(shape, array.try_readonly()?.as_slice()?.into())))
        }
        _ => Ok(None),
    }
}
