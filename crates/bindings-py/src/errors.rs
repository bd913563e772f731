//! The facade's errors as Python's.

use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule};
use swath::{Error, ErrorKind};

/// The exception classes of `swath.errors`, which Python code defines because each has several bases.
#[derive(Clone, Copy)]
pub(crate) enum Class {
    NotFound,
    MemberNotFound,
    OutOfBounds,
    Invalid,
    Unsupported,
    UnsupportedSelection,
    Corrupt,
    Storage,
    Cancelled,
    DeadlineExceeded,
    Internal,
}

impl Class {
    pub(crate) fn of(kind: ErrorKind) -> Class {
        match kind {
            ErrorKind::NotFound => Class::NotFound,
            ErrorKind::OutOfBounds => Class::OutOfBounds,
            ErrorKind::Invalid => Class::Invalid,
            ErrorKind::Unsupported => Class::Unsupported,
            ErrorKind::Corrupt => Class::Corrupt,
            ErrorKind::Io => Class::Storage,
            ErrorKind::Cancelled => Class::Cancelled,
            ErrorKind::DeadlineExceeded => Class::DeadlineExceeded,
            _ => Class::Internal,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Class::NotFound => "NotFoundError",
            Class::MemberNotFound => "MemberNotFoundError",
            Class::OutOfBounds => "OutOfBoundsError",
            Class::Invalid => "InvalidError",
            Class::Unsupported => "UnsupportedError",
            Class::UnsupportedSelection => "UnsupportedSelectionError",
            Class::Corrupt => "CorruptError",
            Class::Storage => "StorageError",
            Class::Cancelled => "CancelledError",
            Class::DeadlineExceeded => "DeadlineExceededError",
            Class::Internal => "InternalError",
        }
    }
}

/// The exception for an error of the facade.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    raised_as(py, Class::of(error.kind()), error)
}

/// The exception for an error of a conversion.
pub(crate) fn raised_by_conversion(py: Python<'_>, error: &swath::convert::Error) -> PyErr {
    raised(py, &Error::from(error.clone()))
}

/// The exception for an error that is about `object` where it names nothing else.
pub(crate) fn raised_about(py: Python<'_>, error: &Error, object: &str) -> PyErr {
    match error.object() {
        Some(_) => raised(py, error),
        None => {
            let message = format!("{object}: {error}");
            build(py, Class::of(error.kind()), &message, Some(object), error.is_retryable())
        }
    }
}

/// The exception for an error about a member of a group: one that is not there is a `KeyError` too.
pub(crate) fn raised_for_member(py: Python<'_>, error: &Error) -> PyErr {
    match error.kind() {
        ErrorKind::NotFound => raised_as(py, Class::MemberNotFound, error),
        _ => raised(py, error),
    }
}

fn raised_as(py: Python<'_>, class: Class, error: &Error) -> PyErr {
    build(py, class, &error.to_string(), error.object(), error.is_retryable())
}

/// An exception about `object` that the bindings raise themselves.
pub(crate) fn error(py: Python<'_>, class: Class, message: &str, object: &str) -> PyErr {
    let message = if object.is_empty() { message.to_owned() } else { format!("{object}: {message}") };
    let object = if object.is_empty() { None } else { Some(object) };
    build(py, class, &message, object, false)
}

fn build(py: Python<'_>, class: Class, message: &str, object: Option<&str>, retryable: bool) -> PyErr {
    let make = || {
        let arguments = PyDict::new(py);
        arguments.set_item("object", object)?;
        arguments.set_item("retryable", retryable)?;
        module(py)?.getattr(class.name())?.call((message,), Some(&arguments))
    };
    match make() {
        Ok(exception) => PyErr::from_value(exception),
        // What a signal's handler raised meanwhile comes first.
        Err(failed) if !failed.is_instance_of::<PyException>(py) => failed,
        Err(failed) => {
            let raised = PyRuntimeError::new_err(message.to_owned());
            raised.set_cause(py, Some(failed));
            raised
        }
    }
}

/// Warns of something that was left out.
pub(crate) fn warn(py: Python<'_>, message: &str) -> PyResult<()> {
    let category = module(py)?.getattr("SwathWarning")?;
    py.import("warnings")?.call_method1("warn", (message, category, 2))?;
    Ok(())
}

fn module(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("swath.errors").map(Bound::unbind))?;
    Ok(module.bind(py))
}
