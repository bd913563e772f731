//! Making arrays and groups from what Python gives: `swath.creation` turns it into JSON.

use crate::array::Array;
use crate::errors::{Class, error, raised};
use crate::group::Group;
use crate::json;
use crate::location::{Access, Location};
use crate::logs::reported;
use crate::open::writable_location;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyEllipsis};
use serde_json::{Map, Value};
use swath::codecs::ByteOrder;
use swath::{
    ArrayBuilder, AxisChunks, ChunkKeyEncoding, DataType, Existing, FillValue, IndexLocation, MemoryOrder,
    Separator, ZarrFormat,
};

/// Makes an array with the options of `swath.create_array`, and writes its `data` where there is any.
/// The format, where it is given, is not an option.
pub(crate) fn array<'py>(
    py: Python<'py>,
    location: &Location,
    options: Option<&Bound<'py, PyDict>>,
    zarr_format: Option<u8>,
) -> PyResult<Bound<'py, Array>> {
    let given = PyDict::new(py);
    if let Some(options) = options {
        given.update(options.as_mapping())?;
    }
    if let Some(zarr_format) = zarr_format {
        given.set_item("zarr_format", zarr_format)?;
    }
    let specification = py.import("swath.creation")?.getattr("specification")?.call((), Some(&given))?;
    let (text, data): (String, Bound<'_, PyAny>) = specification.extract()?;
    let name = location.name();
    let wanted = json::parse(py, &text, &name)?;
    let builder = builder(&wanted).map_err(|error| raised(py, &error))?;
    let builder = builder.ok_or_else(|| error(py, Class::Invalid, "options of no array", &name))?;
    let made = reported(py, || builder.create(&location.new_store()?, location.path()))?;
    let made = made.map_err(|error| raised(py, &error))?;
    let stores_empty = wanted.get("write_empty_chunks") == Some(&Value::Bool(true));
    let location =
        location.clone().with_access(Access { is_writable: true, stores_empty, ..location.access() });
    let array = Bound::new(py, Array::opened(py, location, made)?)?;
    if !data.is_none() {
        array.set_item(PyEllipsis::get(py), data)?;
    }
    Ok(array)
}

/// Makes a group.
pub(crate) fn group(
    py: Python<'_>,
    location: &Location,
    zarr_format: ZarrFormat,
    overwrite: bool,
    attributes: Option<&Bound<'_, PyAny>>,
) -> PyResult<Group> {
    let attributes = match attributes {
        Some(attributes) => {
            let text: String =
                py.import("swath.attributes")?.getattr("as_json")?.call1((attributes,))?.extract()?;
            json::parse(py, &text, &location.name())?
        }
        None => Map::new(),
    };
    let existing = existing(overwrite);
    let made = reported(py, || {
        swath::Group::create(&location.new_store()?, location.path(), zarr_format, &attributes, existing)
    })?;
    let made = made.map_err(|error| raised(py, &error))?;
    Ok(Group::opened(location.clone().with_access(Access { is_writable: true, ..location.access() }), made))
}

fn existing(overwrite: bool) -> Existing {
    if overwrite { Existing::Replace } else { Existing::Refuse }
}

/// The format of this number.
pub(crate) fn format_of(py: Python<'_>, number: u8, name: &str) -> PyResult<ZarrFormat> {
    match number {
        2 => Ok(ZarrFormat::V2),
        3 => Ok(ZarrFormat::V3),
        _ => {
            let message = format!("wanted zarr_format 2 or 3, found {number}");
            Err(error(py, Class::Invalid, &message, name))
        }
    }
}

/// What `swath.creation.specification` describes; `None` where it is none of its.
fn builder(wanted: &Map<String, Value>) -> Result<Option<ArrayBuilder>, swath::Error> {
    let text = |name: &str| wanted.get(name).and_then(Value::as_str);
    let Some(shape) = wanted.get("shape").and_then(lengths) else { return Ok(None) };
    let Some(dtype) = wanted.get("dtype") else { return Ok(None) };
    let is_numpy = dtype.as_str().is_some_and(|dtype| dtype.starts_with(['<', '>', '|']));
    let (data_type, order) = match is_numpy || dtype.is_array() {
        true => DataType::from_v2_json(dtype)?,
        false => (DataType::from_v3(dtype)?, ByteOrder::Little),
    };
    let is_v2 = wanted.get("zarr_format") == Some(&Value::from(2));
    let mut builder = ArrayBuilder::new(&shape, data_type.clone());
    if is_v2 {
        // In v3 the order is the serializer's, as zarr-python has it.
        builder = builder.zarr_format(ZarrFormat::V2).byte_order(order);
    }
    if let Some(chunks) = wanted.get("chunks").and_then(lengths) {
        builder = builder.chunk_shape(&chunks);
    }
    if let Some(axes) = wanted.get("axis_chunks").and_then(axis_chunks) {
        builder = builder.axis_chunks(axes);
    }
    if let Some(axes) = wanted.get("axis_shards").and_then(axis_chunks) {
        builder = builder.axis_shards(axes);
    }
    match wanted.get("shards") {
        Some(Value::String(_)) => builder = builder.guessed_shards(),
        Some(shards) => {
            builder = lengths(shards).map_or(builder.clone(), |shards| builder.shard_shape(&shards))
        }
        None => {}
    }
    if text("index_location") == Some("start") {
        builder = builder.index_location(IndexLocation::Start);
    }
    if let Some(Value::Array(filters)) = wanted.get("filters") {
        builder = builder.filters(filters.iter().cloned());
    }
    if let Some(Value::Array(compressors)) = wanted.get("compressors") {
        builder = builder.compressors(compressors.iter().cloned());
    }
    if let Some(serializer) = wanted.get("serializer") {
        builder = builder.serializer(serializer.clone());
    }
    builder = match wanted.get("fill_value") {
        None => builder,
        Some(Value::Null) => builder.no_fill_value(),
        Some(fill) => builder.fill_value(FillValue::from_json(fill, &data_type, ZarrFormat::V3)?),
    };
    if let Some(Value::Object(attributes)) = wanted.get("attributes") {
        builder = builder.attributes(attributes.clone());
    }
    if let Some(Value::Array(names)) = wanted.get("dimension_names") {
        builder = builder.dimension_names(names.iter().map(|name| name.as_str().map(str::to_owned)));
    }
    if text("order") == Some("F") {
        builder = builder.order(MemoryOrder::F);
    }
    let separator = if text("separator") == Some(".") { Separator::Dot } else { Separator::Slash };
    builder = match text("keys") {
        None => builder,
        Some("v2") => builder.chunk_key_encoding(ChunkKeyEncoding::V2 { separator }),
        Some(_) => builder.chunk_key_encoding(ChunkKeyEncoding::Default { separator }),
    };
    let overwrite = wanted.get("overwrite") == Some(&Value::Bool(true));
    Ok(Some(builder.existing(existing(overwrite))))
}

/// How each axis is cut: a length, or a list of them.
fn axis_chunks(value: &Value) -> Option<Vec<AxisChunks>> {
    let axis = |value: &Value| match value.as_u64() {
        Some(extent) => Some(AxisChunks::Every(extent)),
        None => lengths(value).map(AxisChunks::Listed),
    };
    value.as_array()?.iter().map(axis).collect()
}

/// A list of lengths.
fn lengths(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(Value::as_u64).collect()
}

/// Make an array of options in a dict, for `swath.create_array`.
#[pyfunction]
#[pyo3(name = "_create_array", signature = (store, name, storage_options, options))]
pub(crate) fn create_array<'py>(
    py: Python<'py>,
    store: &Bound<'_, PyAny>,
    name: &str,
    storage_options: Option<&Bound<'_, PyAny>>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, Array>> {
    let location = writable_location(store, storage_options)?.with_path(name.trim_matches('/'));
    array(py, &location, Some(options), None)
}

/// Make a group.
///
/// Parameters
/// ----------
/// store : str, os.PathLike or a store
///     As for `open`; a directory is made where there is none.
/// path : str, optional
///     The group's path in the store; the root where it is left out. Groups above it are made too.
/// zarr_format : {2, 3}, default 3
///     The format.
/// overwrite : bool, default False
///     Whether what is there already is removed, with all that is below it.
/// attributes : dict, optional
///     The user's attributes.
/// storage_options : dict, optional
///     As for `open`.
///
/// Returns
/// -------
/// Group
///     To be written to.
///
/// Raises
/// ------
/// InvalidError
///     There is a node already. A ValueError too.
/// UnsupportedError
///     The storage cannot be written to.
/// StorageError
///     The storage failed.
///
/// Examples
/// --------
/// >>> group = swath.create_group("new.zarr", attributes={"title": "maps"})
/// >>> group.create_array("t2m", shape=(100, 80), dtype="f4").shape
/// (100, 80)
#[pyfunction]
#[pyo3(signature = (store, *, path = None, zarr_format = 3, overwrite = false, attributes = None, storage_options = None))]
pub(crate) fn create_group(
    py: Python<'_>,
    store: &Bound<'_, PyAny>,
    path: Option<&str>,
    zarr_format: Option<u8>,
    overwrite: bool,
    attributes: Option<&Bound<'_, PyAny>>,
    storage_options: Option<&Bound<'_, PyAny>>,
) -> PyResult<Group> {
    let location = writable_location(store, storage_options)?.with_path(path.unwrap_or("").trim_matches('/'));
    let zarr_format = format_of(py, zarr_format.unwrap_or(3), &location.name())?;
    group(py, &location, zarr_format, overwrite, attributes)
}

/// Write the metadata of everything below a group into one document, which readers open at once.
///
/// It stays as it is when nodes are made, changed or removed later: then it has to be written again.
///
/// Parameters
/// ----------
/// store : str, os.PathLike or a store
///     As for `open`.
/// path : str, optional
///     The group's path in the store; the root where it is left out.
/// storage_options : dict, optional
///     As for `open`.
///
/// Returns
/// -------
/// Group
///     For reading, with what was consolidated.
///
/// Raises
/// ------
/// NotFoundError
///     There is no group.
/// UnsupportedError
///     The storage cannot be listed, or written to.
/// StorageError
///     The storage failed.
///
/// Examples
/// --------
/// >>> group = swath.consolidate_metadata("new.zarr")
#[pyfunction]
#[pyo3(signature = (store, path = None, *, storage_options = None))]
pub(crate) fn consolidate_metadata(
    py: Python<'_>,
    store: &Bound<'_, PyAny>,
    path: Option<&str>,
    storage_options: Option<&Bound<'_, PyAny>>,
) -> PyResult<Group> {
    let location = writable_location(store, storage_options)?.with_path(path.unwrap_or("").trim_matches('/'));
    let consolidated =
        reported(py, || swath::Group::open_in(&location.store()?, location.path())?.consolidate())?;
    let group = consolidated.map_err(|error| raised(py, &error))?;
    Ok(Group::opened(location.with_access(Access::default()), group))
}
