//! What methods of arrays share: arrays are opened when they are first needed, written where they may be, and replaced where
//! their metadata changed.

use crate::array::Array;
use crate::errors::raised;
use crate::logs::reported;
use crate::opened::Opened;
use crate::read;
use crate::selection::{self, Way};
use crate::write::{self, require_writable};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;
use swath::codecs::Codec;

impl Array {
    /// The array, opened now if it was not.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<Arc<Opened>> {
        if let Some(opened) = self.lazy.known() {
            return Ok(opened);
        }
        let location = &self.lazy.location;
        self.lazy.get_with(py, swath::Array::open_in, |array| Ok(Opened::new(location, array)))
    }

    /// Reads what an index selects in one way, into a new array or into `out`.
    pub(crate) fn read_by<'py>(
        &self,
        py: Python<'py>,
        way: Way,
        index: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyUntypedArray>> {
        read::by(py, &*self.get(py)?, way, index, out)
    }

    /// Writes to what an index selects in one way.
    pub(crate) fn write_by(
        &self,
        py: Python<'_>,
        way: Way,
        index: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let opened = self.writable(py)?;
        let selection = selection::parse_by(way, index, opened.array.shape(), &opened.name)?;
        write::assign(py, &opened, &selection, value, self.lazy.location.access())
    }

    /// As [`write_by`](Array::write_by), with zarr-python's `fields`, which are refused.
    pub(crate) fn set_by(
        &self,
        py: Python<'_>,
        way: Way,
        index: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        fields: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        read::refuse_fields(&*self.get(py)?, fields)?;
        self.write_by(py, way, index, value)
    }

    /// The array, if it was opened to be written to.
    pub(crate) fn writable(&self, py: Python<'_>) -> PyResult<Arc<Opened>> {
        require_writable(py, &self.lazy.location)?;
        self.get(py)
    }

    /// Has the array be what it was changed to, from what it was `before`; as it is stored, where other threads changed it
    /// too.
    pub(crate) fn changed(
        &self,
        py: Python<'_>,
        mut before: Arc<Opened>,
        mut array: swath::Array,
    ) -> PyResult<()> {
        while !self.lazy.replace(&before, Opened::new(&self.lazy.location, array)) {
            before = self.get(py)?;
            let stored = reported(py, || swath::Array::open_in(before.array.store(), before.array.path()))?;
            array = stored.map_err(|error| raised(py, &error))?;
        }
        Ok(())
    }

    /// Axes of the array.
    pub(crate) fn rank(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.get(py)?.array.shape().len())
    }

    /// A phrase for each codec that is wanted, in encoding order.
    pub(crate) fn phrases<'py>(
        &self,
        py: Python<'py>,
        is_wanted: impl Fn(&Codec) -> bool,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let opened = self.get(py)?;
        let codecs = opened.codecs().filter(|(codec, _)| is_wanted(codec));
        PyTuple::new(py, codecs.map(|(_, phrase)| phrase).collect::<Vec<_>>())
    }
}
