//! Data types as NumPy's, and their scalars.

use crate::errors::{Class, error};
use crate::variable;
use numpy::PyArrayDescr;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use swath::{DataType, FillValue, SmallFloat};

/// The dtype of arrays of `data_type`, which errors say is that of the array called `name`.
///
/// It is zarr-python's where that has one. What NumPy has not is ml_dtypes', by the same names; pairs of floats of one byte,
/// which neither has, are structures of `real` and `imag`, and optional elements structures of `is_present` and `value`, which
/// is a Python object where it is a string or a byte string.
pub(crate) fn of<'py>(
    py: Python<'py>,
    data_type: &DataType,
    name: &str,
) -> PyResult<Bound<'py, PyArrayDescr>> {
    let ml_dtypes = |attribute: &str| {
        let found = py.import("ml_dtypes").and_then(|module| module.getattr(attribute));
        let dtype = found.and_then(|found| PyArrayDescr::new(py, found));
        dtype.map_err(|failed| missing(py, data_type, attribute, name, failed))
    };
    match data_type {
        DataType::Int2 | DataType::Int4 | DataType::UInt2 | DataType::UInt4 => ml_dtypes(&data_type.name()),
        DataType::SmallFloat(float) => ml_dtypes(float.name()),
        DataType::ComplexFloat16 => ml_dtypes("complex32"),
        DataType::ComplexSmallFloat(SmallFloat::BFloat16) => ml_dtypes("bcomplex32"),
        DataType::ComplexSmallFloat(float) => {
            let part = ml_dtypes(float.name())?;
            structure(py, [("real", part.clone(), None), ("imag", part, None)])
        }
        DataType::Optional(inner) => {
            // NumPy has no structures of its strings.
            let value = match **inner {
                DataType::String => PyArrayDescr::new(py, "O")?,
                _ => of(py, inner, name)?,
            };
            structure(py, [("is_present", of(py, &DataType::Bool, name)?, None), ("value", value, None)])
        }
        DataType::Struct(fields) => {
            let mut made = Vec::with_capacity(fields.fields().len());
            for field in fields.fields() {
                let shape = (!field.shape.is_empty()).then(|| PyTuple::new(py, &field.shape)).transpose()?;
                made.push((field.name.as_str(), of(py, &field.data_type, name)?, shape));
            }
            structure(py, made)
        }
        DataType::String => {
            let types = py.import("numpy")?.getattr("dtypes")?;
            match types.getattr_opt("StringDType")? {
                Some(made) => Ok(made.call0()?.cast_into()?),
                None => PyArrayDescr::new(py, "O"),
            }
        }
        plain => PyArrayDescr::new(py, plain.numpy()),
    }
}

/// The scalar of `fill` as NumPy has it; of elements with lengths of their own a `str` or `bytes`, or a structure where they
/// may be missing.
pub(crate) fn scalar<'py>(
    py: Python<'py>,
    fill: &FillValue,
    dtype: &Bound<'py, PyArrayDescr>,
) -> PyResult<Bound<'py, PyAny>> {
    let data_type = fill.data_type();
    if let DataType::Optional(_) = data_type
        && data_type.is_variable_length()
    {
        let times = variable::times(data_type);
        let present = fill.bytes().iter().take(times).take_while(|byte| **byte != 0).count();
        let value = fill.bytes().get(times..).filter(|_| present == times).unwrap_or_default();
        let element = variable::element(py, data_type, present, value)?;
        return py.import("numpy")?.call_method1(intern!(py, "array"), (element, dtype))?.get_item(());
    }
    let bytes = PyBytes::new(py, fill.bytes());
    match data_type {
        DataType::String | DataType::Bytes => variable::element(py, data_type, 0, fill.bytes()),
        _ => py.import("numpy")?.call_method1(intern!(py, "frombuffer"), (bytes, dtype))?.get_item(0),
    }
}

type Field<'a, 'py> = (&'a str, Bound<'py, PyArrayDescr>, Option<Bound<'py, PyTuple>>);

/// A structured dtype without gaps between its fields.
fn structure<'a, 'py: 'a>(
    py: Python<'py>,
    fields: impl IntoIterator<Item = Field<'a, 'py>>,
) -> PyResult<Bound<'py, PyArrayDescr>> {
    let list = PyList::empty(py);
    for (name, dtype, shape) in fields {
        match shape {
            None => list.append((name, dtype))?,
            Some(shape) => list.append((name, dtype, shape))?,
        }
    }
    PyArrayDescr::new(py, list)
}

/// The error for a dtype of ml_dtypes that is not there.
fn missing(py: Python<'_>, data_type: &DataType, attribute: &str, name: &str, failed: PyErr) -> PyErr {
    let message = format!(
        "not supported without ml_dtypes.{attribute}: data type `{data_type}`; install or upgrade the package ml_dtypes"
    );
    let raised = error(py, Class::Unsupported, &message, name);
    raised.set_cause(py, Some(failed));
    raised
}
