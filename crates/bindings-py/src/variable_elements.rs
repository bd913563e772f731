//! Strings and byte strings of any length that Python gives, to be written.

use crate::errors::{Class, error, raised_about};
use crate::opened::Opened;
use crate::variable::times;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use swath::{DataType, VariableArrayData};

/// A value as elements of an array: strings, bytes, or structures of `is_present` and `value` where they may be missing.
pub(crate) fn given(
    py: Python<'_>,
    opened: &Opened,
    value: &Bound<'_, PyAny>,
) -> PyResult<VariableArrayData> {
    let data_type = opened.array.data_type();
    let array = as_array(py, opened, value)?;
    let shape: Vec<u64> = array.getattr(intern!(py, "shape"))?.extract()?;
    let flat = array.call_method1(intern!(py, "reshape"), (-1,))?;
    let mut found = Found { data_type, presence: Vec::new(), texts: Vec::new(), bytes: Vec::new() };
    let elements = flat.call_method0(intern!(py, "tolist"))?.cast_into::<PyList>()?;
    for element in elements.iter() {
        found.push(&element, data_type, 0).map_err(|found| {
            let message = format!("wanted elements of data type `{data_type}`, found {found}");
            error(py, Class::Invalid, &message, &opened.name)
        })?;
    }
    found.into_data(&shape).map_err(|failed| raised_about(py, &failed, &opened.name))
}

/// The value as an array of the dtype that reads give, cast as NumPy casts in an assignment; but objects are not made
/// strings, which would make `"None"` of None.
fn as_array<'py>(py: Python<'py>, opened: &Opened, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import("numpy")?;
    let asarray = |value: &Bound<'py, PyAny>, dtype: &Bound<'py, PyAny>| {
        let options = PyDict::new(py);
        options.set_item(intern!(py, "dtype"), dtype)?;
        numpy.call_method(intern!(py, "asarray"), (value,), Some(&options))
    };
    if opened.array.data_type() != &DataType::String {
        return asarray(value, opened.dtype(py)?.as_any());
    }
    let mut value = value.clone();
    if let Some(dtype) = value.getattr_opt(intern!(py, "dtype"))? {
        // Strings that may be missing: what is missing is none.
        if dtype.hasattr(intern!(py, "na_object"))? {
            value = value.call_method1(intern!(py, "astype"), ("O",))?;
        } else if dtype.getattr(intern!(py, "kind"))?.extract::<String>()? != "O" {
            return asarray(&value, opened.dtype(py)?.as_any());
        }
    }
    let options = PyDict::new(py);
    options.set_item(intern!(py, "coerce"), false)?;
    let strict = numpy.getattr("dtypes")?.call_method("StringDType", (), Some(&options))?;
    asarray(&value, &strict)
}

/// The elements so far.
struct Found<'a> {
    data_type: &'a DataType,
    presence: Vec<u8>,
    texts: Vec<String>,
    bytes: Vec<Vec<u8>>,
}

impl Found<'_> {
    /// Adds an element of `data_type`, which is there so many times already; the type of one that does not fit is the error.
    fn push(&mut self, element: &Bound<'_, PyAny>, data_type: &DataType, present: u8) -> Result<(), String> {
        let odd = || element.get_type().to_string();
        match data_type {
            DataType::Optional(inner) => {
                let pair = element.cast::<PyTuple>().map_err(|_| odd())?;
                let field = |number: usize| pair.get_item(number).map_err(|_| odd());
                if field(0)?.is_truthy().map_err(|_| odd())? {
                    return self.push(&field(1)?, inner, present.saturating_add(1));
                }
                self.presence.push(present);
                self.texts.push(String::new());
                self.bytes.push(Vec::new());
            }
            DataType::String => {
                let text = element.cast::<PyString>().map_err(|_| odd())?;
                self.texts.push(text.to_str().map_err(|_| odd())?.to_owned());
                self.presence.push(present);
            }
            _ => {
                self.bytes.push(element.cast::<PyBytes>().map_err(|_| odd())?.as_bytes().to_vec());
                self.presence.push(present);
            }
        }
        Ok(())
    }

    fn into_data(self, shape: &[u64]) -> Result<VariableArrayData, swath::Error> {
        let mut innermost = self.data_type;
        while let DataType::Optional(inner) = innermost {
            innermost = inner;
        }
        let data = match innermost {
            DataType::String => VariableArrayData::of_strings(shape, self.texts)?,
            _ => VariableArrayData::of_bytes(shape, self.bytes)?,
        };
        match times(self.data_type) {
            0 => Ok(data),
            _ => data.with_presence(self.data_type.clone(), self.presence),
        }
    }
}
