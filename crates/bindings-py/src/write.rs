//! Writing what Python gives.

use crate::errors::{Class, error, raised, raised_about};
use crate::interpreter::{Waited, check_running, interrupted, waited};
use crate::location::{Access, Location};
use crate::logs::pass_on;
use crate::opened::Opened;
use crate::progress::Watch;
use crate::variable_elements;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use swath::{Elements, EmptyChunks, Error, Selection, WriteOptions};

/// The error of writing to what was opened for reading.
pub(crate) fn require_writable(py: Python<'_>, location: &Location) -> PyResult<()> {
    if location.access().is_writable {
        return Ok(());
    }
    let message = "opened for reading only: wanted mode \"r+\", \"a\", \"w\" or \"w-\" to write, found \"r\"";
    Err(error(py, Class::Invalid, message, &location.name()))
}

/// `array[index] = value`.
pub(crate) fn assign(
    py: Python<'_>,
    opened: &Opened,
    selection: &Selection,
    value: &Bound<'_, PyAny>,
    access: Access,
) -> PyResult<()> {
    if opened.array.data_type().is_variable_length() {
        let data = variable_elements::given(py, opened, value)?;
        return run(py, opened, access, |options| opened.array.write_variable(selection, &data, options))
            .map_err(|failed| failed.into_exception(py, opened));
    }
    let value = Value::new(opened, value)?;
    let elements = value.elements(py, opened)?;
    run(py, opened, access, |options| opened.array.write_from(selection, &elements, options))
        .map_err(|failed| failed.into_exception(py, opened))
}

/// `array.append(data, axis)`; the array as it is then.
pub(crate) fn append(
    py: Python<'_>,
    opened: &Opened,
    data: &Bound<'_, PyAny>,
    axis: usize,
    access: Access,
) -> PyResult<swath::Array> {
    if opened.array.data_type().is_variable_length() {
        let data = variable_elements::given(py, opened, data)?;
        return run(py, opened, access, |options| opened.array.append_variable(axis, &data, options))
            .map_err(|failed| failed.into_exception(py, opened));
    }
    let value = Value::new(opened, data)?;
    let elements = value.elements(py, opened)?;
    run(py, opened, access, |options| opened.array.append(axis, &elements, options))
        .map_err(|failed| failed.into_exception(py, opened))
}

/// A value as elements of an array: cast as NumPy casts in an assignment, contiguous in C order.
struct Value<'py> {
    shape: Vec<u64>,
    bytes: Option<PyReadonlyArray1<'py, u8>>,
}

impl<'py> Value<'py> {
    fn new(opened: &Opened, value: &Bound<'py, PyAny>) -> PyResult<Value<'py>> {
        let py = value.py();
        static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let asarray = ASARRAY.import(py, "numpy", "asarray")?;
        let options = PyDict::new(py);
        options.set_item(intern!(py, "dtype"), opened.dtype(py)?)?;
        options.set_item(intern!(py, "order"), "C")?;
        let array = asarray.call((value,), Some(&options))?.cast_into::<PyUntypedArray>()?;
        let shape = array.shape().iter().map(|length| u64::try_from(*length)).collect::<Result<_, _>>()?;
        if array.is_empty() {
            return Ok(Value { shape, bytes: None });
        }
        let flat = array.call_method1(intern!(py, "reshape"), (-1,))?;
        let bytes = flat.call_method1(intern!(py, "view"), (intern!(py, "uint8"),))?;
        let bytes = bytes.cast_into::<PyArray1<u8>>()?.try_readonly().map_err(|_| {
            let message = "wanted a value that no read is writing to, found one that is in use";
            error(py, Class::Invalid, message, &opened.name)
        })?;
        Ok(Value { shape, bytes: Some(bytes) })
    }

    fn elements(&self, py: Python<'_>, opened: &Opened) -> PyResult<Elements<'_>> {
        let bytes = match &self.bytes {
            Some(bytes) => bytes.as_slice()?,
            None => &[],
        };
        let elements = Elements::new(bytes, &self.shape, opened.array.data_type().size_bytes());
        elements.map_err(|error| raised_about(py, &error, &opened.name))
    }
}

/// Why a write did not come to its end.
enum Failed {
    Signalled(PyErr),
    Refused(Error),
}

impl Failed {
    fn into_exception(self, py: Python<'_>, opened: &Opened) -> PyErr {
        match self {
            Failed::Signalled(raised) => raised,
            Failed::Refused(error) if error.object().is_some() => raised(py, &error),
            Failed::Refused(error) => raised_about(py, &error, &opened.name),
        }
    }
}

/// Writes without the GIL; signals, which Python handles on its main thread, end the write with what they raise.
fn run<T: Send>(
    py: Python<'_>,
    opened: &Opened,
    access: Access,
    write: impl FnOnce(&WriteOptions<'_>) -> Result<T, Error> + Send,
) -> Result<T, Failed> {
    let watch = Watch::new(None, "writing", &opened.name, "objects").map_err(Failed::Signalled)?;
    let waited = waited(py, |signalled| {
        let interrupt = || interrupted(signalled);
        let progress = |done, total| {
            if let Some(watch) = &watch {
                watch.tick(done, total, signalled);
            }
        };
        let empty_chunks = if access.stores_empty { EmptyChunks::Store } else { EmptyChunks::Omit };
        let (interrupt, progress) = (Some(&interrupt as &dyn Fn() -> bool), Some(&progress as _));
        write(&WriteOptions { empty_chunks, interrupt, progress, ..WriteOptions::default() })
    });
    let Waited { done: written, signalled, section: _section } = waited.map_err(Failed::Signalled)?;
    let logged = pass_on(py);
    let shown = watch.map_or(Ok(()), |watch| watch.end(py, None));
    signalled.map_or(Ok(()), Err).and(logged).and(shown).map_err(Failed::Signalled)?;
    written.or_else(|error| {
        check_running(py).map_err(Failed::Signalled)?;
        Err(Failed::Refused(error))
    })
}
