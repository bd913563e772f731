//! Small reads of zarr-python's, of an array that was read before and a directory that is still the same: looked at and read
//! in one call, as looking at them in Python takes longer than reading them.

use crate::array::Array;
use crate::chunk_batch::{Along, ChunkGrid, Selected};
use crate::errors::raised_about;
use crate::read::into_memory;
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyType};
use std::num::NonZeroI64;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use swath::ioengine::FileIdentity;
use swath::{AxisSelection, ReadPlan};

/// Batches that were read in this process.
static READS: AtomicU64 = AtomicU64::new(0);

/// Batches of one array in a local store, each of which is one box and fills a small output.
///
/// What it is made with has been looked at in Python, and each batch is held against that. Those that differ
/// are left to Python.
#[pyclass(frozen, module = "swath._swath")]
pub(crate) struct QuickReads {
    grid: Py<ChunkGrid>,
    array: Py<Array>,
    /// The array's path in its store.
    path: String,
    /// Elements along each axis that may be asked for.
    shape: Vec<u64>,
    store: Py<PyAny>,
    /// The store's `root`, and the directory that it named.
    root: Py<PyAny>,
    folder: PathBuf,
    directory: (u64, u64),
    classes: Classes,
    bytes_max: usize,
}

/// zarr-python's classes of what is at a path of a store, and of memory.
#[derive(FromPyObject)]
struct Classes {
    #[pyo3(item("path"))]
    path: Py<PyType>,
    #[pyo3(item("buffer"))]
    buffer: Py<PyType>,
    #[pyo3(item("nd_buffer"))]
    nd_buffer: Py<PyType>,
    /// Names of methods that may have been put in place of a store's own.
    #[pyo3(item("methods"))]
    methods: Vec<Py<PyString>>,
}

#[pymethods]
impl QuickReads {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "what a batch is held against, one by one")]
    fn new(
        grid: Py<ChunkGrid>,
        array: Py<Array>,
        path: String,
        shape: Vec<u64>,
        store: Bound<'_, PyAny>,
        folder: PathBuf,
        directory: (u64, u64),
        classes: Classes,
        bytes_max: usize,
    ) -> PyResult<QuickReads> {
        let root = store.getattr(intern!(store.py(), "root"))?.unbind();
        let store = store.unbind();
        Ok(QuickReads { grid, array, path, shape, store, root, folder, directory, classes, bytes_max })
    }

    /// Read what a batch asks for into memory; False where Python is to look at it.
    fn read(&self, batch: &Bound<'_, PyList>, memory: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = batch.py();
        if !memory.is_exact_instance_of::<PyUntypedArray>() || !self.is_as_before(batch)? {
            return Ok(false);
        }
        let (memory, opened) = (memory.cast::<PyUntypedArray>()?, self.array.get().get(py)?);
        let dtype = memory.dtype();
        let is_small =
            memory.len().checked_mul(dtype.itemsize()).is_some_and(|bytes| bytes <= self.bytes_max);
        if !is_small
            || opened.array.data_type().is_variable_length()
            || !memory.is_c_contiguous()
            || !dtype.is_equiv_to(opened.dtype(py)?)
        {
            return Ok(false);
        }
        let Some(selected) = self.grid.get().selected(batch)? else { return Ok(false) };
        let Some(axes) = self.axes(&selected, memory.shape()) else { return Ok(false) };
        let mut plan = ReadPlan::empty(&opened.array);
        plan.push_axes(&axes).map_err(|error| raised_about(py, &error, &opened.name))?;
        let is_read = into_memory(&opened, &plan, memory, || self.is_there())?;
        READS.fetch_add(u64::from(is_read), Ordering::Relaxed);
        Ok(is_read)
    }

    /// Return how many batches were read so in this process.
    #[staticmethod]
    fn count() -> u64 {
        READS.load(Ordering::Relaxed)
    }
}

impl QuickReads {
    /// Whether a batch comes from the same store, which does nothing but read, and asks for nothing but elements in NumPy's
    /// memory.
    fn is_as_before(&self, batch: &Bound<'_, PyList>) -> PyResult<bool> {
        let (py, classes) = (batch.py(), &self.classes);
        let first = batch.get_item(0)?.cast_into::<PyTuple>()?;
        let (getter, spec) = (first.get_borrowed_item(0)?, first.get_borrowed_item(1)?);
        if !getter.get_type().is(&classes.path) {
            return Ok(false);
        }
        let prototype = spec.getattr(intern!(py, "prototype"))?.cast_into::<PyTuple>()?;
        let buffers = [&classes.buffer, &classes.nd_buffer];
        if prototype.len() != 2
            || !prototype.iter_borrowed().zip(buffers).all(|(found, known)| found.is(known))
        {
            return Ok(false);
        }
        let config = spec.getattr(intern!(py, "config"))?;
        if !config.getattr(intern!(py, "read_missing_chunks"))?.is_truthy()? {
            return Ok(false);
        }
        let own = self.store.bind(py).getattr(intern!(py, "__dict__"))?.cast_into::<PyDict>()?;
        for method in &classes.methods {
            if own.contains(method)? {
                return Ok(false);
            }
        }
        Ok(own.get_item(intern!(py, "root"))?.is_some_and(|root| root.is(&self.root)))
    }

    /// What is selected along each axis, where it is of this array and fills an output of a shape.
    fn axes(&self, selected: &Selected<'_>, shape: &[usize]) -> Option<Vec<AxisSelection>> {
        let lies_within = selected.ends.iter().zip(&self.shape).all(|(end, length)| end <= length);
        let fills = selected.lengths().map(usize::try_from).eq(shape.iter().map(|length| Ok(*length)));
        if !lies_within || !fills || !selected.store.is(&self.store) || selected.path != self.path {
            return None;
        }
        let number = |value: u64| i64::try_from(value).ok();
        let axes = selected.axes.iter().map(|along| match *along {
            Along::Integer(at) => number(at).map(AxisSelection::Index),
            Along::Slice { first, end, step, .. } => Some(AxisSelection::Slice {
                start: Some(number(first)?),
                stop: Some(number(end)?),
                step: NonZeroI64::new(number(step)?)?,
            }),
        });
        axes.collect()
    }

    /// Whether the directory is still the one that it was: another one may have been put in its place.
    fn is_there(&self) -> bool {
        let found = std::fs::metadata(&self.folder).map(|found| FileIdentity::of(&found));
        found.is_ok_and(|found| (found.device, found.inode) == self.directory)
    }
}
