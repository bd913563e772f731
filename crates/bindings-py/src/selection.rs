//! Python's indexes as selections.

use crate::errors::{Class, error};
use crate::plain_slice;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PySlice, PyTuple};
use std::num::{NonZeroI64, NonZeroU8};
use swath::{AxisSelection, Selection};

/// How an index is read.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    Orthogonal,
    Vectorised,
    Points,
    Mask,
    Blocks,
}

/// The selection that `index` stands for, read in one way, in an array of `shape` that errors call `name`.
pub(crate) fn parse_by(way: Way, index: &Bound<'_, PyAny>, shape: &[u64], name: &str) -> PyResult<Selection> {
    let parser = Parser { shape, name };
    match way {
        Way::Orthogonal => parser.orthogonal(index),
        Way::Vectorised => parser.vectorised(index),
        Way::Points => parser.points(index),
        Way::Mask => parser.mask(index),
        Way::Blocks => parser.blocks(index),
    }
}

/// Writes the selection that `index` stands for, in an array of `shape` that errors call `name`, to `axes`, if it is one by
/// integers, slices and `...` alone. Any other is returned: see [`fancy`](crate::fancy).
pub(crate) fn parse(
    index: &Bound<'_, PyAny>,
    shape: &[u64],
    name: &str,
    axes: &mut Vec<AxisSelection>,
) -> PyResult<Option<Selection>> {
    axes.clear();
    let parser = Parser { shape, name };
    let Ok(entries) = index.cast::<PyTuple>() else {
        match parser.numpy_entry(index, 0)? {
            Some(entry) => axes.push(entry),
            None => return parser.fancy(index).map(Some),
        }
        return Ok(None);
    };
    let given = entries.len();
    let mut axis = 0;
    for entry in entries.iter_borrowed() {
        let Some(entry) = parser.numpy_entry(&entry, axis)? else { return parser.fancy(index).map(Some) };
        // Behind an ellipsis, axes count from the last. Where there are too many, `resolve` says so.
        axis = match entry {
            AxisSelection::Ellipsis => shape.len().saturating_sub(given - axes.len() - 1),
            _ => axis + 1,
        };
        axes.push(entry);
    }
    Ok(None)
}

/// True where no axis is left to the result, and zarr-python gives a scalar: it does for `a[...]` and `a[()]` of an
/// array without dimensions and for `a[..., 1, 2]`, but not for `a[1, 2]`, which gives an array without dimensions.
pub(crate) fn gives_scalar(selection: &Selection) -> bool {
    let is_index = |axis: &AxisSelection| matches!(axis, AxisSelection::Index(_));
    selection.axes().is_some_and(|axes| axes.is_empty() || !axes.iter().all(is_index))
}

/// What reads an index, of an array of a shape, that errors call by a name.
pub(crate) struct Parser<'a> {
    pub(crate) shape: &'a [u64],
    pub(crate) name: &'a str,
}

impl Parser<'_> {
    /// One entry of an index, if it is an integer, a slice or `...`.
    pub(crate) fn entry(&self, entry: &Bound<'_, PyAny>, axis: usize) -> PyResult<Option<AxisSelection>> {
        if let Ok(slice) = entry.cast::<PySlice>() {
            return self.slice(slice, axis).map(Some);
        }
        if entry.is_instance_of::<PyEllipsis>() {
            return Ok(Some(AxisSelection::Ellipsis));
        }
        if entry.is_instance_of::<PyBool>() || entry.cast::<PyUntypedArray>().is_ok() {
            return Ok(None);
        }
        self.integer(entry, axis)
    }

    /// As [`entry`](Parser::entry), and an array without axes is the integer that it holds, as in NumPy; but of an array with
    /// one axis it picks an element as a list does, as in zarr-python.
    fn numpy_entry(&self, entry: &Bound<'_, PyAny>, axis: usize) -> PyResult<Option<AxisSelection>> {
        match entry.cast::<PyUntypedArray>() {
            Ok(array) if array.ndim() == 0 && self.shape.len() != 1 => self.integer(entry, axis),
            Ok(_) => Ok(None),
            Err(_) => self.entry(entry, axis),
        }
    }

    fn integer(&self, entry: &Bound<'_, PyAny>, axis: usize) -> PyResult<Option<AxisSelection>> {
        match entry.extract::<i64>() {
            Ok(index) => Ok(Some(AxisSelection::Index(index))),
            Err(failed) if failed.is_instance_of::<PyOverflowError>(entry.py()) => {
                Err(self.out_of_bounds(entry, axis))
            }
            Err(failed) if failed.is_instance_of::<PyTypeError>(entry.py()) => Ok(None),
            Err(failed) => Err(failed),
        }
    }

    /// Python resolves the slice against the axis itself, so that its rules, and any `__index__`, are Python's.
    fn slice(&self, slice: &Bound<'_, PySlice>, axis: usize) -> PyResult<AxisSelection> {
        let length = self.shape.get(axis).copied().unwrap_or(0);
        let length = isize::try_from(length).unwrap_or(isize::MAX);
        if let Some((start, stop, step)) = plain_slice::indices(slice, length)
            && let (Ok(start), Ok(stop), Ok(step)) =
                (i64::try_from(start), i64::try_from(stop), i64::try_from(step))
            && let Some(step) = NonZeroI64::new(step)
        {
            return Ok(AxisSelection::Slice { start: Some(start), stop: Some(stop), step });
        }
        let resolved = slice.indices(length).map_err(|failed| self.refused_slice(slice, failed))?;
        let step = i64::try_from(resolved.step).ok().and_then(NonZeroI64::new);
        match step.filter(|_| resolved.slicelength != 0) {
            None => Ok(AxisSelection::Slice { start: Some(0), stop: Some(0), step: NonZeroU8::MIN.into() }),
            Some(step) => {
                // A slice that goes back past the first element stops at -1, which as a selection would be the last.
                let start = i64::try_from(resolved.start).ok();
                let stop = i64::try_from(resolved.stop).ok().filter(|stop| 0 <= *stop);
                Ok(AxisSelection::Slice { start, stop, step })
            }
        }
    }

    fn refused_slice(&self, slice: &Bound<'_, PySlice>, failed: PyErr) -> PyErr {
        let py = slice.py();
        let class = if failed.is_instance_of::<PyValueError>(py) {
            Class::Invalid
        } else if failed.is_instance_of::<PyTypeError>(py) {
            Class::UnsupportedSelection
        } else {
            return failed;
        };
        let message = format!("invalid selection: {} in {}", failed.value(py), shown(slice.as_any()));
        let raised = error(py, class, &message, self.name);
        raised.set_cause(py, Some(failed));
        raised
    }

    /// The error for an index, or an entry of one, that selects nothing in this way; `wanted` says what would.
    pub(crate) fn unsupported(&self, entry: &Bound<'_, PyAny>, wanted: &str) -> PyErr {
        let what = if entry.is_none() { "None (numpy.newaxis)".to_owned() } else { shown(entry) };
        let message = format!("not supported: a selection by {what}; {wanted}");
        error(entry.py(), Class::UnsupportedSelection, &message, self.name)
    }

    fn out_of_bounds(&self, entry: &Bound<'_, PyAny>, axis: usize) -> PyErr {
        let length = self.shape.get(axis).copied().unwrap_or(0);
        let message = format!(
            "out of bounds: index {} is out of bounds for axis {axis} with length {length}",
            shown(entry)
        );
        error(entry.py(), Class::OutOfBounds, &message, self.name)
    }
}

/// An object's type, and its `repr` where that is short.
fn shown(object: &Bound<'_, PyAny>) -> String {
    const CHARACTERS_MAX: usize = 60;
    let type_name = object.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    match object.repr() {
        Ok(text) if text.to_string_lossy().chars().count() <= CHARACTERS_MAX => {
            format!("{} ({type_name})", text.to_string_lossy())
        }
        _ => format!("an object of type {type_name}"),
    }
}
