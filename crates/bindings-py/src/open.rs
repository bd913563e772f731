//! Opening what is stored at a path.

use crate::array::Array;
use crate::errors::{Class, error, raised};
use crate::group::Group;
use crate::location::Location;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use std::path::PathBuf;
use swath::{Error, Node, Store};

/// Open the array or group stored in a directory.
///
/// Parameters
/// ----------
/// path : str or os.PathLike
///     A directory that holds a `zarr.json` (Zarr v3), or a `.zarray` or `.zgroup` (v2).
/// mode : str, default "r"
///     Only "r", reading: swath does not write yet.
/// decoded_cache_bytes : int, default 0
///     Bytes of memory in which decoded chunks are kept, of all arrays of a group together, so that
///     reading them again needs no decoding. They count only as long as their file did not change.
///     Uncompressed chunks are not kept: reading them costs no more than copying them. A copy made
///     by pickling or forking has a cache of its own.
///
/// Returns
/// -------
/// Array or Group
///
/// Raises
/// ------
/// NotFoundError
///     There is no such directory, or it holds neither an array nor a group.
/// InvalidError
///     The metadata breaks the Zarr specification.
/// UnsupportedError
///     The array uses a codec, data type or grid that swath does not read; the message names it. Also
///     for a `mode` that writes, and for anything but a local directory.
///
/// Examples
/// --------
/// >>> array = swath.open("example.zarr")
/// >>> array[0, :10].shape
/// (10,)
#[pyfunction]
#[pyo3(
    signature = (path, mode = "r", *, decoded_cache_bytes = 0),
    text_signature = "(path, mode='r', *, decoded_cache_bytes=0)"
)]
pub(crate) fn open<'py>(
    py: Python<'py>,
    path: PathBuf,
    mode: &str,
    decoded_cache_bytes: u64,
) -> PyResult<Bound<'py, PyAny>> {
    let location = checked(py, path, mode, decoded_cache_bytes)?;
    let node = open_with(py, &location, Node::open_in)?;
    wrap(py, &location, node)
}

/// Open the array stored in a directory.
///
/// Parameters
/// ----------
/// path : str or os.PathLike
///     A directory that holds a `zarr.json` (Zarr v3) or a `.zarray` (v2).
/// mode : str, default "r"
///     Only "r", reading: swath does not write yet.
/// decoded_cache_bytes : int, default 0
///     Bytes of memory in which decoded chunks are kept, so that reading them again needs no
///     decoding. They count only as long as their file did not change. Uncompressed chunks are not
///     kept: reading them costs no more than copying them. A copy made by pickling or forking has a
///     cache of its own.
///
/// Returns
/// -------
/// Array
///
/// Raises
/// ------
/// NotFoundError
///     There is no such directory, or it holds no array.
/// InvalidError, UnsupportedError
///     As `open`.
///
/// Examples
/// --------
/// >>> swath.open_array("example.zarr").shape
/// (8, 3, 256, 256)
#[pyfunction]
#[pyo3(
    signature = (path, mode = "r", *, decoded_cache_bytes = 0),
    text_signature = "(path, mode='r', *, decoded_cache_bytes=0)"
)]
pub(crate) fn open_array(
    py: Python<'_>,
    path: PathBuf,
    mode: &str,
    decoded_cache_bytes: u64,
) -> PyResult<Array> {
    let location = checked(py, path, mode, decoded_cache_bytes)?;
    let array = open_with(py, &location, swath::Array::open_in)?;
    Array::opened(py, location, array)
}

/// Open the group stored in a directory.
///
/// Parameters
/// ----------
/// path : str or os.PathLike
///     A directory that holds a `zarr.json` (Zarr v3) or a `.zgroup` (v2).
/// mode : str, default "r"
///     Only "r", reading: swath does not write yet.
/// decoded_cache_bytes : int, default 0
///     Bytes of memory in which decoded chunks are kept, of all arrays of the group together, so
///     that reading them again needs no decoding. They count only as long as their file did not
///     change. Uncompressed chunks are not kept: reading them costs no more than copying them. A
///     copy made by pickling or forking has a cache of its own.
///
/// Returns
/// -------
/// Group
///
/// Raises
/// ------
/// NotFoundError
///     There is no such directory, or it holds no group.
/// InvalidError, UnsupportedError
///     As `open`.
///
/// Examples
/// --------
/// >>> swath.open_group("archive.zarr").keys()
/// ('latitude', 'longitude', 't2m')
#[pyfunction]
#[pyo3(
    signature = (path, mode = "r", *, decoded_cache_bytes = 0),
    text_signature = "(path, mode='r', *, decoded_cache_bytes=0)"
)]
pub(crate) fn open_group(
    py: Python<'_>,
    path: PathBuf,
    mode: &str,
    decoded_cache_bytes: u64,
) -> PyResult<Group> {
    let location = checked(py, path, mode, decoded_cache_bytes)?;
    let group = open_with(py, &location, swath::Group::open_in)?;
    Ok(Group::opened(location, group))
}

/// Make the array or group of a pickle; it is opened when it is first used.
#[pyfunction]
#[pyo3(name = "_reopen", signature = (kind, root, path, decoded_cache_bytes = 0))]
pub(crate) fn reopen(
    py: Python<'_>,
    kind: &str,
    root: PathBuf,
    path: &str,
    decoded_cache_bytes: u64,
) -> PyResult<Py<PyAny>> {
    let location = Location::new(&root, path, decoded_cache_bytes);
    match kind {
        "array" => Array::unopened(location).into_py_any(py),
        "group" => Group::unopened(location).into_py_any(py),
        _ => Err(error(py, Class::Invalid, &format!("a pickle of kind {kind:?}"), &location.name())),
    }
}

/// `reopen`, as pickles name it.
pub(crate) fn reopener(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("swath._swath")?.getattr("_reopen")
}

/// The Python object of an opened node.
pub(crate) fn wrap<'py>(py: Python<'py>, location: &Location, node: Node) -> PyResult<Bound<'py, PyAny>> {
    match node {
        Node::Array(array) => {
            let location = location.with_path(array.path());
            Array::opened(py, location, array)?.into_bound_py_any(py)
        }
        Node::Group(group) => {
            let location = location.with_path(group.path());
            Group::opened(location, group).into_bound_py_any(py)
        }
    }
}

fn open_with<T: Send>(
    py: Python<'_>,
    location: &Location,
    open: impl FnOnce(&Store, &str) -> Result<T, Error> + Send,
) -> PyResult<T> {
    py.detach(|| location.store().and_then(|store| open(&store, location.path())))
        .map_err(|error| raised(py, &error))
}

/// The location that the arguments of `open` name, if it is one that swath can read.
fn checked(py: Python<'_>, path: PathBuf, mode: &str, decoded_cache_bytes: u64) -> PyResult<Location> {
    let name = path.to_string_lossy().into_owned();
    match mode {
        "r" => {}
        "r+" | "a" | "w" | "w-" | "x" => {
            let message = format!("writing is not there yet: wanted mode=\"r\", found {mode:?}");
            return Err(error(py, Class::Unsupported, &message, &name));
        }
        _ => {
            let message = format!("wanted mode=\"r\", found {mode:?}");
            return Err(error(py, Class::Invalid, &message, &name));
        }
    }
    if let Some((scheme, rest)) = name.split_once("://") {
        if scheme == "file" && rest.starts_with('/') {
            return Ok(Location::new(rest.as_ref(), "", decoded_cache_bytes));
        }
        let message = format!("storage by {scheme}:// is not there yet: swath reads local directories");
        return Err(error(py, Class::Unsupported, &message, &name));
    }
    if path.is_file() {
        let message = "this is a file: swath reads directories, and no zip files yet";
        return Err(error(py, Class::Unsupported, message, &name));
    }
    Ok(Location::new(&path, "", decoded_cache_bytes))
}
