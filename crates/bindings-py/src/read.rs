//! Reading selections into NumPy arrays.

use crate::array::Opened;
use crate::errors::{Class, error, raised, raised_about};
use crate::output::{Target, allocate, checked};
use crate::selection;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice, PyTuple};
use std::cell::RefCell;
use swath::{ReadOptions, ReadPlan, ResolvedSelection, Selection};

/// Reads one index into a new array, or into `out`.
pub(crate) fn one<'py>(
    py: Python<'py>,
    opened: &Opened,
    selection: &Selection,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let plan = plan(py, opened, std::slice::from_ref(selection))?;
    let shape = match plan.selections() {
        [selection] => output_shape(py, opened, selection)?,
        _ => Vec::new(),
    };
    into_array(py, opened, &plan, &shape, out)
}

/// Reads many indexes of equal shapes into one new array, or into `out`: stacked along a new first axis.
pub(crate) fn stacked<'py>(
    py: Python<'py>,
    opened: &Opened,
    selections: &[Selection],
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let plan = plan(py, opened, selections)?;
    let refused = |message: &str| error(py, Class::Invalid, message, &opened.name);
    let Some(first) = plan.selections().first() else {
        return Err(refused(
            "wanted at least one selection to stack, found none: `stack=False` gives an empty list",
        ));
    };
    let mut shape = vec![selections.len()];
    shape.extend(output_shape(py, opened, first)?);
    for (number, selection) in plan.selections().iter().enumerate() {
        if !equal_shapes(first, selection) {
            let first = PyTuple::new(py, first.output_shape())?;
            let other = PyTuple::new(py, selection.output_shape())?;
            return Err(refused(&format!(
                "wanted selections of equal shapes to stack, found {first} first and {other} as number {number}: \
                 `stack=False` gives a list of arrays"
            )));
        }
    }
    into_array(py, opened, &plan, &shape, out)
}

/// Reads many indexes of any shapes: one array each, all in the memory of one.
pub(crate) fn listed<'py>(
    py: Python<'py>,
    opened: &Opened,
    selections: &[Selection],
) -> PyResult<Bound<'py, PyList>> {
    let plan = plan(py, opened, selections)?;
    let mut shapes = Vec::with_capacity(selections.len());
    for selection in plan.selections() {
        shapes.push(output_shape(py, opened, selection)?);
    }
    let counts = shapes.iter().map(|shape| shape.iter().product::<usize>());
    let memory = into_array(py, opened, &plan, &[counts.sum()], None)?;
    let arrays = PyList::empty(py);
    let mut start = 0;
    for shape in shapes {
        let end = start + shape.iter().product::<usize>();
        let part = memory.get_item(PySlice::new(py, isize_of(start), isize_of(end), 1))?;
        let shape = PyTuple::new(py, shape)?;
        arrays.append(part.call_method1(intern!(py, "reshape"), (shape,))?)?;
        start = end;
    }
    Ok(arrays)
}

/// The selections of an iterable of indexes.
pub(crate) fn parse_many(opened: &Opened, selections: &Bound<'_, PyAny>) -> PyResult<Vec<Selection>> {
    let mut parsed = Vec::with_capacity(selections.len().unwrap_or(0));
    for index in selections.try_iter()? {
        parsed.push(opened.parse(&index?)?);
    }
    Ok(parsed)
}

/// What `a[index]` gives.
pub(crate) fn item<'py>(
    py: Python<'py>,
    opened: &Opened,
    index: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let selection = opened.parse(index)?;
    let array = one(py, opened, &selection, None)?;
    if array.ndim() == 0 && selection::gives_scalar(&selection) {
        return array.get_item(PyTuple::empty(py));
    }
    array.into_bound_py_any(py)
}

/// The error for `out=` together with `stack=False`.
pub(crate) fn refused_out(py: Python<'_>, opened: &Opened) -> PyErr {
    let message =
        "wanted no `out` with `stack=False`, found one: results of different shapes get memory of their own";
    error(py, Class::Invalid, message, &opened.name)
}

/// The error for `copy=False`.
pub(crate) fn refused_view(py: Python<'_>, opened: &Opened) -> PyErr {
    let message = "wanted `copy` None or True, found False: reading an array always makes a copy";
    error(py, Class::Invalid, message, &opened.name)
}

fn plan<'a>(py: Python<'_>, opened: &'a Opened, selections: &[Selection]) -> PyResult<ReadPlan<'a>> {
    ReadPlan::new(&opened.array, selections).map_err(|error| raised_about(py, &error, &opened.name))
}

fn into_array<'py>(
    py: Python<'py>,
    opened: &Opened,
    plan: &ReadPlan<'_>,
    shape: &[usize],
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let dtype = opened.dtype.bind(py);
    let array = match out {
        Some(out) => checked(out, shape, dtype, &opened.name)?,
        None => allocate(py, &PyTuple::new(py, shape)?, dtype)?,
    };
    let mut target = Target::of(&array, &opened.name)?;
    run(py, plan, target.bytes()?)?;
    Ok(array)
}

/// Reads without the GIL; signals, which Python handles on its main thread, end the read with what they raise.
fn run(py: Python<'_>, plan: &ReadPlan<'_>, target: &mut [u8]) -> PyResult<()> {
    let (read, signalled) = py.detach(|| {
        let signalled = RefCell::new(None);
        let interrupt = || match Python::attach(|py| py.check_signals()) {
            Ok(()) => false,
            Err(raised) => {
                *signalled.borrow_mut() = Some(raised);
                true
            }
        };
        let read =
            plan.read_into(target, &ReadOptions { interrupt: Some(&interrupt), ..ReadOptions::default() });
        (read, signalled.into_inner())
    });
    match signalled {
        Some(signalled) => Err(signalled),
        None => read.map_err(|error| raised(py, &error)),
    }
}

fn equal_shapes(left: &ResolvedSelection, right: &ResolvedSelection) -> bool {
    left.axes
        .iter()
        .zip(&right.axes)
        .all(|(left, right)| left.kind == right.kind && left.count == right.count)
        || left.output_shape() == right.output_shape()
}

fn output_shape(py: Python<'_>, opened: &Opened, selection: &ResolvedSelection) -> PyResult<Vec<usize>> {
    let shape = selection.output_shape().into_iter().map(usize::try_from).collect::<Result<Vec<_>, _>>();
    shape.map_err(|_| {
        let message = "the result is larger than this machine can address";
        error(py, Class::Invalid, message, &opened.name)
    })
}

/// Positions within memory that exists fit.
fn isize_of(position: usize) -> isize {
    isize::try_from(position).unwrap_or(isize::MAX)
}
