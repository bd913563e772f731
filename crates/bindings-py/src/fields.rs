//! Selections of fields of structured elements.

use crate::errors::{Class, error, raised_about};
use crate::opened::Opened;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use swath::DataType;

/// What an index selects beside fields, and the array seen through those that it names; `None` of an index that names none.
pub(crate) fn split<'py>(
    opened: &Opened,
    index: &Bound<'py, PyAny>,
) -> PyResult<Option<(Opened, Bound<'py, PyAny>)>> {
    if !matches!(opened.array.data_type(), DataType::Struct(_)) {
        return Ok(None);
    }
    let py = index.py();
    if let Ok(name) = index.cast::<PyString>() {
        let names = [name.to_cow()?.into_owned()];
        return Ok(Some((seen(py, opened, &names)?, PyTuple::empty(py).into_any())));
    }
    let Ok(entries) = index.cast::<PyTuple>() else { return Ok(None) };
    let (mut names, mut others) = (Vec::new(), Vec::new());
    for entry in entries.iter() {
        match entry.cast::<PyString>() {
            Ok(name) => names.push(name.to_cow()?.into_owned()),
            Err(_) => others.push(entry),
        }
    }
    if names.is_empty() {
        return Ok(None);
    }
    let rest = match others.as_slice() {
        [only] => only.clone(),
        others => PyTuple::new(py, others)?.into_any(),
    };
    Ok(Some((seen(py, opened, &names)?, rest)))
}

/// The array seen through the fields that `fields=` names: a string, or several; `None` where it names none.
pub(crate) fn given(opened: &Opened, fields: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Opened>> {
    let Some(fields) = fields.filter(|fields| !fields.is_none()) else { return Ok(None) };
    let py = fields.py();
    let names = match fields.cast::<PyString>() {
        Ok(name) => vec![name.to_cow()?.into_owned()],
        Err(_) => fields.extract::<Vec<String>>()?,
    };
    if names.is_empty() { Ok(None) } else { seen(py, opened, &names).map(Some) }
}

/// One field is what it holds, several are structures of them.
fn seen(py: Python<'_>, opened: &Opened, names: &[String]) -> PyResult<Opened> {
    let array = match names {
        [name] => opened.array.with_field(name),
        names => opened.array.with_fields(&names.iter().map(String::as_str).collect::<Vec<_>>()),
    };
    match array {
        Ok(array) => Ok(opened.seen(array)),
        Err(failed) if failed.kind() == swath::ErrorKind::Invalid => {
            Err(error(py, Class::UnsupportedSelection, failed.message(), &opened.name))
        }
        Err(failed) => Err(raised_about(py, &failed, &opened.name)),
    }
}
