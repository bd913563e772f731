//! Reads that coroutines await: started together and delivered together, by a thread of their own.

use crate::deliveries::begin;
use crate::errors::{Class, error, raised, raised_about};
use crate::interpreter::attached;
use crate::logs::pass_on;
use crate::opened::Opened;
use crate::{conversion, dtype, fields, selection};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple};
use std::sync::Arc;
use swath::ioengine::Control;
use swath::{ConvertedArray, DataType, EachResult, Error, ReadPlan, Selection};

/// One selection that is to be read and awaited.
#[pyclass(frozen, module = "swath._swath")]
pub(crate) struct Request {
    selection: Selection,
    /// Whether what is read is given as a NumPy scalar.
    is_scalar: bool,
}

impl Request {
    /// Checks an index that is read in the way that `by` names; `None` where reads of it block: of elements that have lengths
    /// of their own, and by fields.
    ///
    /// # Errors
    ///
    /// As reading it.
    pub(crate) fn new(
        opened: &Opened,
        by: &Bound<'_, PyAny>,
        index: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Request>> {
        if opened.array.data_type().is_variable_length() || fields::split(opened, index)?.is_some() {
            return Ok(None);
        }
        let way = conversion::way(by)?;
        let selection = match way {
            Some(way) => selection::parse_by(way, index, opened.array.shape(), &opened.name)?,
            None => {
                let mut axes = Vec::new();
                let fancy = opened.parse(index, &mut axes)?;
                fancy.unwrap_or_else(|| Selection::new(axes))
            }
        };
        let pushed = ReadPlan::empty(&opened.array).push(&selection);
        pushed.map_err(|error| raised_about(index.py(), &error, &opened.name))?;
        let is_scalar = way.is_none() && selection::gives_scalar(&selection);
        Ok(Some(Request { selection, is_scalar }))
    }
}

/// Reads that were started together.
#[pyclass(frozen, module = "swath._swath")]
pub(crate) struct Awaited {
    control: Control,
}

#[pymethods]
impl Awaited {
    /// End the reads: what is delivered then is the error of that.
    fn cancel(&self) {
        self.control.cancel();
    }
}

/// Starts reads. What they give is delivered as one list, in order, by one call of `deliver` on a thread of swath's: an
/// array or an exception for each.
pub(crate) fn start(
    py: Python<'_>,
    opened: &Arc<Opened>,
    view: Option<ConvertedArray>,
    requests: &[Bound<'_, Request>],
    deliver: Py<PyAny>,
) -> PyResult<Awaited> {
    pass_on(py)?;
    let control = Control::new();
    let requests: Vec<(Selection, bool)> =
        requests.iter().map(|request| (request.get().selection.clone(), request.get().is_scalar)).collect();
    let (scalars, name) = (requests.iter().map(|(_, is_scalar)| *is_scalar).collect(), opened.name.clone());
    let delivery = Delivery { deliver: Some(deliver), scalars, name };
    let (array, held) = (opened.array.clone(), control.clone());
    let read = async move {
        let plan = view.as_ref().map_or_else(|| ReadPlan::empty(&array), ReadPlan::converted);
        delivery.give(read(plan, &requests, &held).await);
    };
    // The plan is made by the thread that wants it.
    py.detach(|| begin(Box::pin(read))).map_err(|error| raised(py, &error.into()))?;
    Ok(Awaited { control })
}

/// What reads that were started together came to.
struct Finished {
    read: EachResult,
    shapes: Vec<Vec<u64>>,
    data_type: DataType,
}

async fn read(
    mut plan: ReadPlan<'_>,
    requests: &[(Selection, bool)],
    control: &Control,
) -> Result<Finished, Error> {
    for (selection, _) in requests {
        plan.push(selection)?;
    }
    let read = plan.read_each(control).await?;
    let shapes = (0..plan.len()).map(|number| plan.shape(number)).collect();
    Ok(Finished { read, shapes, data_type: plan.data_type() })
}

/// Who waits for reads: is told of their end, whatever that is.
struct Delivery {
    /// `None` once it was called.
    deliver: Option<Py<PyAny>>,
    /// Of each read, whether it gives a NumPy scalar.
    scalars: Vec<bool>,
    name: String,
}

impl Delivery {
    fn give(mut self, finished: Result<Finished, Error>) {
        let deliver = self.deliver.take();
        attached(|py| {
            let results = finished.map_err(|error| raised(py, &error));
            self.call(py, deliver, results.and_then(|finished| self.results(py, finished)));
        });
    }

    fn call(&self, py: Python<'_>, deliver: Option<Py<PyAny>>, results: PyResult<Bound<'_, PyList>>) {
        let failed = |failed: PyErr| {
            let failed = failed.into_value(py);
            PyList::new(py, self.scalars.iter().map(|_| failed.clone_ref(py)))
        };
        let results = results.or_else(failed);
        let called =
            results.and_then(|results| deliver.map(|deliver| deliver.call1(py, (results,))).transpose());
        if let Err(failed) = called {
            failed.write_unraisable(py, None);
        }
    }

    /// The results as Python has them: arrays in the memory of all of them, and errors.
    fn results<'py>(&self, py: Python<'py>, finished: Finished) -> PyResult<Bound<'py, PyList>> {
        static NDARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let ndarray = NDARRAY.import(py, "numpy", "ndarray")?;
        let Finished { read: EachResult { bytes, mut errors }, shapes, data_type } = finished;
        let element_bytes = u64::try_from(data_type.size_bytes()).unwrap_or(u64::MAX);
        let dtype = dtype::of(py, &data_type, &self.name)?;
        let memory = PyArray1::from_vec(py, bytes);
        let results = PyList::empty(py);
        let mut offset = 0;
        for (number, (shape, is_scalar)) in shapes.iter().zip(&self.scalars).enumerate() {
            let result = match errors.remove(&number) {
                Some(error) => raised(py, &error).into_value(py).into_bound(py).into_any(),
                None => {
                    let array = ndarray.call1((PyTuple::new(py, shape)?, &dtype, &memory, offset))?;
                    let is_scalar = *is_scalar && shape.is_empty();
                    if is_scalar { array.get_item(PyTuple::empty(py))? } else { array }
                }
            };
            results.append(result)?;
            offset += shape.iter().product::<u64>() * element_bytes;
        }
        Ok(results)
    }
}

impl Drop for Delivery {
    /// What was dropped half-way, by a panic, has waiters all the same.
    fn drop(&mut self) {
        if let Some(deliver) = self.deliver.take() {
            attached(|py| {
                let failed = error(py, Class::Internal, "the read was given up", &self.name);
                self.call(py, Some(deliver), Err(failed));
            });
        }
    }
}
