//! Memory that reads write to, which NumPy owns.

use crate::errors::{Class, error};
use numpy::{
    BorrowError, PyArray1, PyArrayDescr, PyArrayDescrMethods, PyArrayMethods, PyReadwriteArray1,
    PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};

/// A new array of `shape`, not initialised. NumPy allocates it, so that large ones get its huge pages.
pub(crate) fn allocate<'py>(
    py: Python<'py>,
    shape: &Bound<'py, PyTuple>,
    dtype: &Bound<'py, PyArrayDescr>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let empty = EMPTY.import(py, "numpy", "empty")?;
    Ok(empty.call1((shape, dtype))?.cast_into::<PyUntypedArray>()?)
}

/// The caller's array, if results of `shape` and `dtype` can be written to it.
pub(crate) fn checked<'py>(
    out: &Bound<'py, PyAny>,
    shape: &[usize],
    dtype: &Bound<'py, PyArrayDescr>,
    name: &str,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = out.py();
    let refused = |message: String| error(py, Class::Invalid, &message, name);
    let Ok(out) = out.cast::<PyUntypedArray>() else {
        let found = out.get_type();
        return Err(refused(format!("wanted a NumPy array as `out`, found {found}")));
    };
    if out.shape() != shape {
        let (wanted, found) = (PyTuple::new(py, shape)?, PyTuple::new(py, out.shape())?);
        return Err(refused(format!("wanted `out` of shape {wanted}, found {found}")));
    }
    if !out.dtype().is_equiv_to(dtype) {
        let found = out.dtype();
        return Err(refused(format!("wanted `out` of dtype {dtype}, found {found}")));
    }
    if !out.is_c_contiguous() {
        let strides = PyTuple::new(py, out.strides())?;
        return Err(refused(format!("wanted `out` contiguous in C order, found strides {strides}")));
    }
    Ok(out.clone())
}

/// The bytes of a contiguous array for as long as they are written to. Meanwhile no other read is given them.
pub(crate) struct Target<'py>(Option<PyReadwriteArray1<'py, u8>>);

impl<'py> Target<'py> {
    /// Borrows the bytes of `array`, which must be contiguous in C order.
    pub(crate) fn of(array: &Bound<'py, PyUntypedArray>, name: &str) -> PyResult<Target<'py>> {
        if array.is_empty() {
            return Ok(Target(None));
        }
        let py = array.py();
        static UINT8: PyOnceLock<Py<PyArrayDescr>> = PyOnceLock::new();
        let uint8 = UINT8.get_or_init(py, || numpy::dtype::<u8>(py).unbind());
        // Subclasses may reshape and view in ways of their own.
        let plain = if array.is_exact_instance_of::<PyUntypedArray>() {
            array.as_any().clone()
        } else {
            static NDARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            let ndarray = NDARRAY.import(py, "numpy", "ndarray")?;
            ndarray.call_method1(intern!(py, "view"), (array, ndarray))?
        };
        let flat = plain.call_method1(intern!(py, "reshape"), (-1,))?;
        let bytes = flat.call_method1(intern!(py, "view"), (uint8,))?.cast_into::<PyArray1<u8>>()?;
        let bytes = bytes.try_readwrite().map_err(|failed| {
            let message = match failed {
                BorrowError::NotWriteable => "wanted a writable `out`, found a read-only array",
                _ => "wanted an `out` that no other read is writing to, found one that is in use",
            };
            error(py, Class::Invalid, message, name)
        })?;
        Ok(Target(Some(bytes)))
    }

    /// The bytes.
    pub(crate) fn bytes(&mut self) -> PyResult<&mut [u8]> {
        match &mut self.0 {
            Some(bytes) => Ok(bytes.as_slice_mut()?),
            None => Ok(&mut []),
        }
    }
}
