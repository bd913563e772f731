//! Iterating over an array's first axis.

use pyo3::prelude::*;

/// Iterates over an array's first axis.
#[pyclass(module = "swath")]
pub(crate) struct ArrayIterator {
    pub(crate) array: Py<PyAny>,
    pub(crate) next: usize,
    pub(crate) length: usize,
}

#[pymethods]
impl ArrayIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.length <= self.next {
            return Ok(None);
        }
        let item = self.array.bind(py).get_item(self.next)?;
        self.next += 1;
        Ok(Some(item))
    }
}
