//! JSON documents as Python's dicts, lists and scalars.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::{Map, Value};

/// A JSON value as `json.loads` gives it. Nesting is bounded by the parser that made the value.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(value) => value.into_bound_py_any(py),
        Value::String(text) => text.into_bound_py_any(py),
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(value), _, _) => value.into_bound_py_any(py),
            (None, Some(value), _) => value.into_bound_py_any(py),
            (None, None, value) => value.unwrap_or(f64::NAN).into_bound_py_any(py),
        },
        Value::Array(values) => {
            let list = PyList::empty(py);
            for value in values {
                list.append(to_python(py, value)?)?;
            }
            list.into_bound_py_any(py)
        }
        Value::Object(entries) => object(py, entries)?.into_bound_py_any(py),
    }
}

/// A JSON object as a dict, in its own order.
pub(crate) fn object<'py>(py: Python<'py>, entries: &Map<String, Value>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in entries {
        dict.set_item(key, to_python(py, value)?)?;
    }
    Ok(dict)
}

/// A JSON object as `swath.Attributes`, which is read-only.
pub(crate) fn attributes<'py>(py: Python<'py>, entries: &Map<String, Value>) -> PyResult<Bound<'py, PyAny>> {
    py.import("swath.attributes")?.getattr("Attributes")?.call1((object(py, entries)?,))
}
