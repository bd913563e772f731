//! The keyword arguments by which reads convert, and how an index is read, as the facade's.

use crate::errors::{Class, error};
use crate::opened::Opened;
use crate::selection::Way;
use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyString};
use swath::{Conversion, NanMeans, Number, NumberType};

/// What the keyword arguments of a read say.
#[derive(Default)]
pub(crate) struct Keywords<'py> {
    /// How indexes are read; `None` for `array[index]`'s way.
    pub(crate) way: Option<Way>,
    /// Whether progress is shown, or who is told of it.
    pub(crate) progress: Option<Bound<'py, PyAny>>,
    dtype: Option<Bound<'py, PyAny>>,
    mask: Option<Bound<'py, PyAny>>,
    valid_range: Option<Bound<'py, PyAny>>,
    scale: Option<Bound<'py, PyAny>>,
    offset: Option<Bound<'py, PyAny>>,
    decode_dtype: Option<Bound<'py, PyAny>>,
    mean: Option<Bound<'py, PyAny>>,
    std: Option<Bound<'py, PyAny>>,
    axis: Option<Bound<'py, PyAny>>,
    downsample: Option<Bound<'py, PyAny>>,
    skipna: bool,
    fill: Option<Bound<'py, PyAny>>,
}

impl<'py> Keywords<'py> {
    /// Sorts keyword arguments out; what a read called `function` does not know is a `TypeError`.
    pub(crate) fn new(function: &str, given: Option<&Bound<'py, PyDict>>) -> PyResult<Keywords<'py>> {
        let mut keywords = Keywords::default();
        for (key, value) in given.into_iter().flatten() {
            let key = key.extract::<String>()?;
            let place = match key.as_str() {
                "by" => {
                    keywords.way = way(&value)?;
                    continue;
                }
                "skipna" => {
                    keywords.skipna = value.is_truthy()?;
                    continue;
                }
                "progress" => &mut keywords.progress,
                "dtype" => &mut keywords.dtype,
                "mask" => &mut keywords.mask,
                "valid_range" => &mut keywords.valid_range,
                "scale" => &mut keywords.scale,
                "offset" => &mut keywords.offset,
                "decode_dtype" => &mut keywords.decode_dtype,
                "mean" => &mut keywords.mean,
                "std" => &mut keywords.std,
                "axis" => &mut keywords.axis,
                "downsample" => &mut keywords.downsample,
                "fill" => &mut keywords.fill,
                _ => {
                    let message = format!("{function}() got an unexpected keyword argument '{key}'");
                    return Err(PyTypeError::new_err(message));
                }
            };
            *place = (!value.is_none()).then_some(value);
        }
        Ok(keywords)
    }

    /// The conversion that they ask for of an array; `None` where they ask for none.
    pub(crate) fn conversion(&self, py: Python<'py>, opened: &Opened) -> PyResult<Option<Conversion>> {
        let steps =
            [&self.dtype, &self.mask, &self.valid_range, &self.scale, &self.offset, &self.mean, &self.std];
        if steps.into_iter().chain([&self.downsample, &self.fill]).all(Option::is_none) {
            return Ok(None);
        }
        let mut conversion = Conversion::default();
        if let Some(dtype) = &self.dtype {
            conversion = conversion.cast(number_type(py, dtype, opened)?);
        }
        if let Some(mask) = &self.mask {
            conversion = conversion.mask(numbers(mask)?);
        }
        if let Some(range) = &self.valid_range {
            let (min, max) = range.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
            let end = |end: Bound<'_, PyAny>| (!end.is_none()).then(|| number(&end)).transpose();
            conversion = conversion.valid_range(end(min)?, end(max)?);
        }
        if let Some(scale) = &self.scale {
            conversion = conversion.scale(scale.extract()?);
        }
        if let Some(offset) = &self.offset {
            conversion = conversion.offset(offset.extract()?);
        }
        if let Some(dtype) = &self.decode_dtype {
            conversion = conversion.decode_in(number_type(py, dtype, opened)?);
        }
        if let Some(factors) = &self.downsample {
            conversion = conversion.downsample(&factors.extract::<Vec<u64>>()?);
        }
        if self.skipna {
            conversion = conversion.nan_means(NanMeans::Skip);
        }
        if let Some(fill) = &self.fill {
            conversion = conversion.fill_nan(number(fill)?);
        }
        self.normalised(py, conversion, opened).map(Some)
    }

    fn normalised(&self, py: Python<'py>, conversion: Conversion, opened: &Opened) -> PyResult<Conversion> {
        let (mean, std) = (values(self.mean.as_ref())?, values(self.std.as_ref())?);
        let (means, deviations) = match (mean, std) {
            (None, None) => return Ok(conversion),
            (mean, std) => (mean.unwrap_or(Values::One(0.0)), std.unwrap_or(Values::One(1.0))),
        };
        let axis = match &self.axis {
            Some(axis) => axis.extract::<i64>()?,
            None => {
                let (Values::One(mean), Values::One(deviation)) = (means, deviations) else {
                    let message = "wanted `axis` beside a sequence as `mean` or `std`, found none";
                    return Err(error(py, Class::Invalid, message, &opened.name));
                };
                return Ok(conversion.normalise(mean, deviation));
            }
        };
        let shape = opened.array.shape();
        let rank = i64::try_from(shape.len()).unwrap_or(i64::MAX);
        let axis = usize::try_from(if axis < 0 { axis.saturating_add(rank) } else { axis });
        let length = axis.ok().and_then(|axis| Some((axis, usize::try_from(*shape.get(axis)?).ok()?)));
        let Some((axis, length)) = length else {
            let message = format!("wanted an `axis` from {} to {}, found another", -rank, rank - 1);
            return Err(error(py, Class::Invalid, &message, &opened.name));
        };
        Ok(conversion.normalise_along(axis, &means.along(length), &deviations.along(length)))
    }
}

/// One number for all, or one for each index along an axis.
enum Values {
    One(f64),
    Each(Vec<f64>),
}

impl Values {
    fn along(self, length: usize) -> Vec<f64> {
        match self {
            Values::One(value) => vec![value; length],
            Values::Each(values) => values,
        }
    }
}

fn values(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Values>> {
    let Some(given) = given else { return Ok(None) };
    match given.try_iter() {
        Ok(items) => {
            let items = items.map(|item| item?.extract::<f64>());
            Ok(Some(Values::Each(items.collect::<PyResult<Vec<f64>>>()?)))
        }
        Err(_) => Ok(Some(Values::One(given.extract()?))),
    }
}

/// One number, or some.
fn numbers(given: &Bound<'_, PyAny>) -> PyResult<Vec<Number>> {
    match given.try_iter() {
        Ok(items) => items.map(|item| number(&item?)).collect(),
        Err(_) => Ok(vec![number(given)?]),
    }
}

/// A number of Python or NumPy: integers keep all their digits.
fn number(given: &Bound<'_, PyAny>) -> PyResult<Number> {
    if !given.is_instance_of::<PyFloat>() {
        if let Ok(number) = given.extract::<i64>() {
            return Ok(number.into());
        }
        if let Ok(number) = given.extract::<u64>() {
            return Ok(number.into());
        }
    }
    Ok(given.extract::<f64>()?.into())
}

/// The type of numbers that a dtype, or what NumPy makes one of, stands for.
fn number_type(py: Python<'_>, given: &Bound<'_, PyAny>, opened: &Opened) -> PyResult<NumberType> {
    let dtype = PyArrayDescr::new(py, given)?;
    let name = dtype.getattr(intern!(py, "name"))?.extract::<String>()?;
    let is_native = dtype.is_native_byteorder().unwrap_or(true);
    NumberType::from_v3_name(&name).filter(|_| is_native).ok_or_else(|| {
        let message = format!(
            "conversion to dtype {dtype}: numbers in native byte order are what elements are cast to"
        );
        error(py, Class::Unsupported, &message, &opened.name)
    })
}

/// The way that `by` names.
pub(crate) fn way(given: &Bound<'_, PyAny>) -> PyResult<Option<Way>> {
    let name = given.cast::<PyString>().map(|name| name.to_string()).unwrap_or_default();
    match name.as_str() {
        "index" => Ok(None),
        "orthogonal" => Ok(Some(Way::Orthogonal)),
        "coordinate" => Ok(Some(Way::Points)),
        "mask" => Ok(Some(Way::Mask)),
        "block" => Ok(Some(Way::Blocks)),
        _ => {
            let found = given.repr()?;
            let message =
                format!("wanted `by` 'index', 'orthogonal', 'coordinate', 'mask' or 'block', found {found}");
            Err(PyValueError::new_err(message))
        }
    }
}
