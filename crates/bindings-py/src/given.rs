//! Arguments that may be left out.

use pyo3::prelude::*;

/// An argument that may be left out, but not be None.
pub(crate) struct Given<'py>(pub(crate) Option<Bound<'py, PyAny>>);

impl Given<'_> {
    /// What stands for an argument that was left out.
    pub(crate) fn nothing() -> Self {
        Given(None)
    }
}

impl<'py> FromPyObject<'_, 'py> for Given<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Given(Some(object.to_owned())))
    }
}
