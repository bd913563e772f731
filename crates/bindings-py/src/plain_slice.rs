//! The usual slice: read without the calls that look for `__index__`, and made.
//!
//! Guarded by `tests/test_array.py::test_slices_are_pythons`.

#![expect(unsafe_code, reason = "a function of the stable ABI that PyO3 has no wrapper for")]

use pyo3::prelude::*;
use pyo3::types::PySlice;

/// Where `slice` starts and stops in an axis of `length`, and its step, where its parts are `int` or None and it goes forwards
/// over at least one element; `None` for any other slice, which may be as sound.
///
/// `PySlice_GetIndices` neither looks for `__index__` nor cuts what lies outside, and takes less than half of the
/// instructions of `PySlice_Unpack`, which were most of what parsing many selections took.
#[inline]
pub(crate) fn indices(slice: &Bound<'_, PySlice>, length: isize) -> Option<(isize, isize, isize)> {
    let (mut start, mut stop, mut step) = (0, 0, 0);
    // SAFETY: the slice is one, as its type says, and is borrowed; the three places are writable.
    let refused =
        unsafe { pyo3::ffi::PySlice_GetIndices(slice.as_ptr(), length, &mut start, &mut stop, &mut step) };
    // An `int` that does not fit reads as -1, with an exception set: as a step, or as the last element.
    let last = length - 1;
    if refused == 0 && 0 < step && 0 <= start && start < stop && start != last && stop != last {
        return Some((start, stop, step));
    }
    drop(PyErr::take(slice.py()));
    None
}

/// A slice of three numbers. PyO3's own constructor keeps its numbers for ever: `PySlice_New` takes references of its own to
/// them, and the constructor gives up none of those that it made.
///
/// # Errors
///
/// What Python raises where it has no memory left.
pub(crate) fn made<'py, N: IntoPyObject<'py>>(
    py: Python<'py>,
    start: N,
    stop: N,
    step: N,
) -> PyResult<Bound<'py, PyAny>> {
    py.get_type::<PySlice>().call1((start, stop, step))
}
