//! Reading selections into NumPy arrays.

use crate::conversion::Keywords;
use crate::errors::{Class, error, raised, raised_about};
use crate::interpreter::{Waited, check_running, interrupted, waited};
use crate::logs::pass_on;
use crate::opened::Opened;
use crate::output::{Target, allocate, checked};
use crate::progress::Watch;
use crate::selection::Way;
use crate::{dtype, fields, plain_slice, selection, variable};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use swath::ioengine::{Control, storage_len};
use swath::{AxisSelection, ConvertedArray, ReadOptions, ReadPlan, Selection};

/// Reads one index into a new array, or into `out`.
pub(crate) fn one<'py>(
    py: Python<'py>,
    opened: &Opened,
    selection: &Selection,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let plan = ReadPlan::new(&opened.array, std::slice::from_ref(selection));
    let plan = plan.map_err(|error| raised_about(py, &error, &opened.name))?;
    let shape = output_shape(py, opened, &plan, 0)?;
    into_array(py, opened, &plan, &shape, out, None)
}

/// What `read` and `read_many` read: the array as keyword arguments say that it is converted.
pub(crate) fn view<'py>(
    py: Python<'py>,
    opened: &Opened,
    keywords: &Keywords<'py>,
) -> PyResult<Option<ConvertedArray>> {
    let Some(conversion) = keywords.conversion(py, opened)? else { return Ok(None) };
    let view = opened.array.converted(&conversion);
    view.map(Some).map_err(|error| raised(py, &error))
}

/// A plan of no selections: of an array as it is, or as it is converted.
pub(crate) fn empty_plan<'a>(opened: &'a Opened, view: Option<&'a ConvertedArray>) -> ReadPlan<'a> {
    view.map_or_else(|| ReadPlan::empty(&opened.array), ReadPlan::converted)
}

/// Reads one index, in one way or in that of `array[index]`, into a new array, or into `out`.
pub(crate) fn viewed<'py>(
    py: Python<'py>,
    opened: &Opened,
    keywords: &Keywords<'py>,
    index: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    if let Some(index) = index
        && let Some((seen, rest)) = fields::split(opened, index)?
    {
        return viewed(py, &seen, keywords, Some(&rest), out);
    }
    let view = view(py, opened, keywords)?;
    let mut plan = empty_plan(opened, view.as_ref());
    let mut axes = Vec::new();
    match index {
        Some(index) => push(&mut plan, opened, keywords.way, index, &mut axes)?,
        None => plan.push_axes(&[]).map_err(|error| raised_about(py, &error, &opened.name))?,
    }
    let shape = output_shape(py, opened, &plan, 0)?;
    into_array(py, opened, &plan, &shape, out, keywords.progress.as_ref())
}

/// Adds what an index selects to a plan.
fn push(
    plan: &mut ReadPlan<'_>,
    opened: &Opened,
    way: Option<Way>,
    index: &Bound<'_, PyAny>,
    axes: &mut Vec<AxisSelection>,
) -> PyResult<()> {
    let selection = match way {
        None => opened.parse(index, axes)?,
        Some(way) => Some(selection::parse_by(way, index, opened.array.shape(), &opened.name)?),
    };
    let pushed = match selection {
        None => plan.push_axes(axes),
        Some(selection) => plan.push(&selection),
    };
    pushed.map_err(|error| raised_about(index.py(), &error, &opened.name))
}

/// Reads many indexes of equal shapes into one new array, or into `out`: stacked along a new first axis.
pub(crate) fn stacked<'py>(
    py: Python<'py>,
    opened: &Opened,
    plan: &ReadPlan<'_>,
    out: Option<&Bound<'py, PyAny>>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let refused = |message: &str| error(py, Class::Invalid, message, &opened.name);
    if plan.is_empty() {
        return Err(refused(
            "wanted at least one selection to stack, found none: `stack=False` gives an empty list",
        ));
    }
    if let Some(number) = plan.other_shape() {
        let first = PyTuple::new(py, plan.shape(0))?;
        let other = PyTuple::new(py, plan.shape(number))?;
        return Err(refused(&format!(
            "wanted selections of equal shapes to stack, found {first} first and {other} as number {number}: \
             `stack=False` gives a list of arrays"
        )));
    }
    let mut shape = vec![plan.len()];
    shape.extend(output_shape(py, opened, plan, 0)?);
    into_array(py, opened, plan, &shape, out, progress)
}

/// Reads many indexes of any shapes: one array each, all in the memory of one.
pub(crate) fn listed<'py>(
    py: Python<'py>,
    opened: &Opened,
    plan: &ReadPlan<'_>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let mut shapes = Vec::with_capacity(plan.len());
    for number in 0..plan.len() {
        shapes.push(output_shape(py, opened, plan, number)?);
    }
    let counts = shapes.iter().map(|shape| shape.iter().product::<usize>());
    let memory = into_array(py, opened, plan, &[counts.sum()], None, progress)?;
    let arrays = PyList::empty(py);
    let mut start = 0;
    for shape in shapes {
        let end = start + shape.iter().product::<usize>();
        let part = memory.get_item(plain_slice::made(py, start, end, 1)?)?;
        let shape = PyTuple::new(py, shape)?;
        arrays.append(part.call_method1(intern!(py, "reshape"), (shape,))?)?;
        start = end;
    }
    Ok(arrays)
}

/// The plan to read an iterable of indexes, each in one way or in that of `array[index]`.
pub(crate) fn plan_many<'a>(
    opened: &'a Opened,
    view: Option<&'a ConvertedArray>,
    way: Option<Way>,
    indexes: &Bound<'_, PyAny>,
) -> PyResult<ReadPlan<'a>> {
    let mut plan = empty_plan(opened, view);
    let mut axes = Vec::new();
    for index in indexes.try_iter()? {
        push(&mut plan, opened, way, &index?, &mut axes)?;
    }
    Ok(plan)
}

/// What `a[index]` gives.
pub(crate) fn item<'py>(
    py: Python<'py>,
    opened: &Opened,
    index: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some((seen, rest)) = fields::split(opened, index)? {
        return item(py, &seen, &rest);
    }
    let mut axes = Vec::new();
    if let Some(selection) = opened.parse(index, &mut axes)? {
        return one(py, opened, &selection, None)?.into_bound_py_any(py);
    }
    let selection = Selection::new(axes);
    let array = one(py, opened, &selection, None)?;
    if array.ndim() == 0 && selection::gives_scalar(&selection) {
        return array.get_item(PyTuple::empty(py));
    }
    array.into_bound_py_any(py)
}

/// Reads what an index selects in one way, into a new array or into `out`.
pub(crate) fn by<'py>(
    py: Python<'py>,
    opened: &Opened,
    way: Way,
    index: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    if let Some((seen, rest)) = fields::split(opened, index)? {
        return by(py, &seen, way, &rest, out);
    }
    let selection = selection::parse_by(way, index, opened.array.shape(), &opened.name)?;
    one(py, opened, &selection, out)
}

/// What `a.get_basic_selection(index)` gives.
pub(crate) fn basic<'py>(
    py: Python<'py>,
    opened: &Opened,
    index: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some((seen, rest)) = fields::split(opened, index)? {
        return basic(py, &seen, &rest, out);
    }
    let selection = basic_selection(py, opened, index)?;
    match out {
        None => item(py, opened, index),
        Some(_) => one(py, opened, &selection, out)?.into_bound_py_any(py),
    }
}

/// The selection that an index by integers, slices and `...` stands for; any other is refused.
pub(crate) fn basic_selection(
    py: Python<'_>,
    opened: &Opened,
    index: &Bound<'_, PyAny>,
) -> PyResult<Selection> {
    let mut axes = Vec::new();
    if opened.parse(index, &mut axes)?.is_some() {
        let message = "not supported: a basic selection by lists or arrays; integers, slices and `...` do";
        return Err(error(py, Class::UnsupportedSelection, message, &opened.name));
    }
    Ok(Selection::new(axes))
}

/// Refuses to write to fields.
pub(crate) fn refuse_fields(opened: &Opened, fields: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match fields {
        Some(fields) if fields.is_truthy()? => {
            let message = "not supported: a write to fields; all fields of an element are written";
            Err(error(fields.py(), Class::UnsupportedSelection, message, &opened.name))
        }
        _ => Ok(()),
    }
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

fn into_array<'py>(
    py: Python<'py>,
    opened: &Opened,
    plan: &ReadPlan<'_>,
    shape: &[usize],
    out: Option<&Bound<'py, PyAny>>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    if opened.array.data_type().is_variable_length() {
        let watch = Watch::new(progress, "reading", &opened.name, "elements")?;
        return variable::into_array(py, opened, plan, shape, out, watch.as_ref());
    }
    let converted;
    let dtype = match plan.is_converted() {
        false => opened.dtype(py)?,
        true => {
            converted = dtype::of(py, &plan.data_type(), &opened.name)?;
            &converted
        }
    };
    let array = match out {
        Some(out) => checked(out, shape, dtype, &opened.name)?,
        None => allocate(py, &PyTuple::new(py, shape)?, dtype)?,
    };
    let mut target = Target::of(&array, &opened.name)?;
    let target = target.bytes()?;
    let (watch, total) = (Watch::new(progress, "reading", &opened.name, "B")?, storage_len(target.len()));
    watched(py, watch.as_ref(), total, |options| plan.read_into(target, options))?;
    Ok(array)
}

/// Reads into memory that fits, if `is_there` then says that what is to be read is there; false where it does not, and where the
/// memory may not be written to.
pub(crate) fn into_memory(
    opened: &Opened,
    plan: &ReadPlan<'_>,
    memory: &Bound<'_, PyUntypedArray>,
    is_there: impl FnOnce() -> bool + Send,
) -> PyResult<bool> {
    let Ok(mut target) = Target::of(memory, &opened.name) else { return Ok(false) };
    let target = target.bytes()?;
    detached(memory.py(), |options| {
        if !is_there() {
            return Ok(false);
        }
        plan.read_into(target, options).map(|()| true)
    })
}

/// Reads without the GIL; signals, which Python handles on its main thread, end the read with what they raise.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    read: impl FnOnce(&ReadOptions<'_>) -> Result<T, swath::Error> + Send,
) -> PyResult<T> {
    watched(py, None, 0, read)
}

/// As [`detached`], and shows how far the read of so much is.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    watch: Option<&Watch>,
    total: u64,
    read: impl FnOnce(&ReadOptions<'_>) -> Result<T, swath::Error> + Send,
) -> PyResult<T> {
    let waited = waited(py, |signalled| {
        let control = Control::new();
        let interrupt = || {
            interrupted(signalled)
                || watch.is_some_and(|watch| watch.tick(done(&control, total), total, signalled))
        };
        let (control, interrupt) = (control.clone(), Some(&interrupt as &dyn Fn() -> bool));
        read(&ReadOptions { control, interrupt, ..ReadOptions::default() })
    });
    let Waited { done: read, signalled, section: _section } = waited?;
    let logged = pass_on(py);
    let done = (read.is_ok() && signalled.is_none() && logged.is_ok()).then_some(total);
    let shown = watch.map_or(Ok(()), |watch| watch.end(py, done));
    signalled.map_or(Ok(()), Err).and(logged).and(shown)?;
    read.or_else(|error| {
        check_running(py)?;
        Err(raised(py, &error))
    })
}

/// How much of so much is read, by the windows that are done.
fn done(control: &Control, total: u64) -> u64 {
    let progress = control.progress();
    let share = u128::from(total) * u128::from(progress.windows - progress.windows_left);
    u64::try_from(share / u128::from(progress.windows.max(1))).unwrap_or(total)
}

/// The shape of a selection's result.
pub(crate) fn output_shape(
    py: Python<'_>,
    opened: &Opened,
    plan: &ReadPlan<'_>,
    number: usize,
) -> PyResult<Vec<usize>> {
    let shape = plan.shape(number).into_iter().map(usize::try_from).collect::<Result<Vec<_>, _>>();
    shape.map_err(|_| {
        let message = "the result is larger than this machine can address";
        error(py, Class::Invalid, message, &opened.name)
    })
}
