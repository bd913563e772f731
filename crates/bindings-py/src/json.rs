//! JSON documents as Python's dicts, lists and scalars.

use crate::errors::{Class, error};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::{Map, Value};
use swath::Error;

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

/// A JSON object as `swath.Attributes`, of a node that may be changed where one is given, else read-only.
pub(crate) fn attributes<'py>(
    py: Python<'py>,
    entries: &Map<String, Value>,
    node: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let change = node.map(|node| node.getattr("_change_attributes")).transpose()?;
    py.import("swath.attributes")?.getattr("Attributes")?.call1((object(py, entries)?, change))
}

/// A change of attributes: what a JSON object has is added, and what is named removed.
pub(crate) fn change(
    py: Python<'_>,
    added: &str,
    removed: Vec<String>,
    name: &str,
) -> PyResult<impl FnMut(&mut Map<String, Value>) -> Result<(), Error> + use<>> {
    let added = parse(py, added, name)?;
    Ok(move |attributes: &mut Map<String, Value>| {
        for name in &removed {
            attributes.remove(name);
        }
        attributes.extend(added.clone());
        Ok(())
    })
}

/// A JSON object that Python code made.
pub(crate) fn parse(py: Python<'_>, text: &str, name: &str) -> PyResult<Map<String, Value>> {
    serde_json::from_str(text).map_err(|failed| error(py, Class::Invalid, &failed.to_string(), name))
}
