//! GRIB messages as chunks of zarr-python.

use crate::errors::{Class, error};
use numpy::{Element, PyArray1, PyArrayMethods, PyUntypedArray};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use swath::codecs::NumberType;
use swath::convert::{Error, GribCodec, Sample};

/// Decode a chunk by a codec's metadata entry in JSON, into an array of one axis.
#[pyfunction]
#[pyo3(name = "_decode_grib")]
pub(crate) fn decode_grib<'py>(
    py: Python<'py>,
    entry: &str,
    message: &Bound<'py, PyArray1<u8>>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let unknown =
        |what: &str| error(py, Class::Invalid, &format!("wanted a codec entry, found {what}"), NAME);
    let parsed = serde_json::from_str(entry).map_err(|_| unknown("no JSON"))?;
    let codec = GribCodec::from_entry(&parsed).ok_or_else(|| unknown(entry))?;
    let codec = codec.map_err(|error| raised(py, &error))?;
    let message = message.try_readonly()?;
    let message = message.as_slice()?;
    match codec.number() {
        NumberType::Float64 => decoded::<f64>(py, codec, message),
        _ => decoded::<f32>(py, codec, message),
    }
}

/// What errors call a chunk of which only the bytes are known.
const NAME: &str = "a chunk";

fn decoded<'py, T: Sample + Element>(
    py: Python<'py>,
    codec: GribCodec,
    message: &[u8],
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let values = py.detach(|| {
        let elements = usize::try_from(codec.elements(message)?).unwrap_or(usize::MAX);
        let mut values = Vec::new();
        // A message of some bytes may stand for billions of equal values.
        if values.try_reserve_exact(elements).is_err() {
            return Ok(Err(elements));
        }
        values.resize(elements, T::MISSING);
        codec.decode(message, None, &mut values)?;
        Ok(Ok(values))
    });
    match values.map_err(|error| raised(py, &error))? {
        Ok(values) => Ok(PyArray1::from_vec(py, values).as_untyped().clone()),
        Err(elements) => Err(PyMemoryError::new_err(format!("no memory for a field of {elements} points"))),
    }
}

fn raised(py: Python<'_>, found: &Error) -> PyErr {
    let class = Class::of(swath::Error::from(found.clone()).kind());
    error(py, class, found.message(), NAME)
}
