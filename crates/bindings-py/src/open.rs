//! Opening what is stored at a path.

use crate::array::Array;
use crate::cache::{CacheArguments, CacheFreshness, CacheSettings, CacheSize, PortableCache};
use crate::errors::{Class, error, raised, raised_about};
use crate::group::Group;
use crate::location::Location;
use crate::remote::{Portable, Remote, TextOptions, archive_of, without_credentials};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use swath::{CloudOptions, Error, Node, Store};

/// Open the array or group stored in a directory, in a zip archive or at a URL.
///
/// Parameters
/// ----------
/// url : str, os.PathLike or a store
///     A directory or a URL below which lies a `zarr.json` (Zarr v3), or a `.zarray` or `.zgroup` (v2):
///     `s3://bucket/key`, `gs://bucket/key`, `az://container/key`,
///     `abfs://container@account.dfs.core.windows.net/key`, `https://host/path`, `file:///path`. What
///     ends in `.zip` is a zip archive, as `zip::URL` and `zip://folder/in/it::URL` are. Or a
///     store for these, as it is: of obstore (`S3Store`, `GCSStore`, `AzureStore`, `HTTPStore`,
///     `LocalStore`), of zarr-python (`ObjectStore`, `FsspecStore`, `LocalStore`, `ZipStore`,
///     `StorePath`), or what `fsspec.get_mapper` gives; only where it points and how are taken from it,
///     reading is swath's own.
/// mode : str, default "r"
///     Only "r", reading: swath does not write yet.
/// storage_options : dict, optional
///     How to reach a URL, by the names of obstore, s3fs, gcsfs or adlfs, nested dicts included: region,
///     endpoint, credentials, timeouts. What is not given comes from the environment. A callable as
///     `credential_provider` gives credentials, as obstore takes it. Pickles leave secrets out: the
///     process that reads one finds them in its own environment, or by a `credential_provider`, which
///     is pickled with the array.
/// decoded_cache_bytes : int, default 0
///     Bytes of memory in which decoded chunks are kept, of all arrays of a group together, so that
///     reading them again needs no decoding. They count only as long as what is stored did not change.
///     Uncompressed chunks are not kept: reading them costs no more than copying them. A copy made
///     by pickling or forking has a cache of its own.
/// cache : int or str, optional
///     How many bytes that were read over a network are kept, such as 500_000_000, "2GB" or "512MiB":
///     in memory, or in files where `cache_dir` is given, and then a sixteenth of it, at most 256 MiB, in
///     memory besides. What is cached is read again without a request. Arrays and groups of one process
///     that are opened with equal `cache`, `cache_dir` and `cache_freshness` share it, and it goes with
///     the last of them; processes have memory of their own. Local files and `memory://` are never
///     cached, whatever is given here.
/// cache_dir : str or os.PathLike, optional
///     A folder for the cache's files, made where there is none; 64 GiB of files unless `cache` is given.
///     Several processes may use it at once, and later ones read what is there.
/// cache_freshness : {"checked", "immutable"} or float, default "checked"
///     When cached bytes count: "checked", an object that was not confirmed within the last second is
///     asked whether it changed, which costs one small request; a number, the same with so many seconds;
///     "immutable", always, for archives that never change.
///
/// Returns
/// -------
/// Array or Group
///
/// Raises
/// ------
/// NotFoundError
///     There is neither an array nor a group at the path or URL.
/// InvalidError
///     The metadata breaks the Zarr specification.
/// UnsupportedError
///     The array uses a codec, data type or grid that swath does not read; the message names it. Also
///     for a `mode` that writes, for a scheme, an option or a store that is not known.
/// StorageError
///     The storage failed, or refused the credentials.
///
/// Examples
/// --------
/// >>> array = swath.open("example.zarr")
/// >>> array[0, :10].shape
/// (10,)
#[pyfunction]
#[pyo3(
    signature = (url, mode = "r", *, storage_options = None, decoded_cache_bytes = 0, cache = None, cache_dir = None, cache_freshness = None),
    text_signature = "(url, mode='r', *, storage_options=None, decoded_cache_bytes=0, cache=None, cache_dir=None, cache_freshness=None)"
)]
#[expect(clippy::too_many_arguments, reason = "one for each of Python's")]
pub(crate) fn open<'py>(
    py: Python<'py>,
    url: &Bound<'_, PyAny>,
    mode: &str,
    storage_options: Option<&Bound<'_, PyAny>>,
    decoded_cache_bytes: u64,
    cache: Option<CacheSize>,
    cache_dir: Option<PathBuf>,
    cache_freshness: Option<CacheFreshness>,
) -> PyResult<Bound<'py, PyAny>> {
    let caches = Caches::new(decoded_cache_bytes, cache, cache_dir, cache_freshness);
    let location = location(mode, url, storage_options, caches)?;
    let node = open_with(py, &location, Node::open_in)?;
    wrap(py, &location, node)
}

/// Open the array stored in a directory or at a URL.
///
/// Parameters
/// ----------
/// url : str, os.PathLike or a store
///     As for `open`; a `zarr.json` (Zarr v3) or a `.zarray` (v2) lies there.
/// mode : str, default "r"
///     Only "r", reading: swath does not write yet.
/// storage_options : dict, optional
///     As for `open`.
/// decoded_cache_bytes : int, default 0
///     Bytes of memory in which decoded chunks are kept, so that reading them again needs no
///     decoding. They count only as long as what is stored did not change. Uncompressed chunks are not
///     kept: reading them costs no more than copying them. A copy made by pickling or forking has a
///     cache of its own.
/// cache, cache_dir, cache_freshness : optional
///     As for `open`.
///
/// Returns
/// -------
/// Array
///
/// Raises
/// ------
/// NotFoundError
///     There is no array at the path or URL.
/// InvalidError, UnsupportedError, StorageError
///     As `open`.
///
/// Examples
/// --------
/// >>> swath.open_array("example.zarr").shape
/// (8, 3, 256, 256)
#[pyfunction]
#[pyo3(
    signature = (url, mode = "r", *, storage_options = None, decoded_cache_bytes = 0, cache = None, cache_dir = None, cache_freshness = None),
    text_signature = "(url, mode='r', *, storage_options=None, decoded_cache_bytes=0, cache=None, cache_dir=None, cache_freshness=None)"
)]
#[expect(clippy::too_many_arguments, reason = "one for each of Python's")]
pub(crate) fn open_array(
    py: Python<'_>,
    url: &Bound<'_, PyAny>,
    mode: &str,
    storage_options: Option<&Bound<'_, PyAny>>,
    decoded_cache_bytes: u64,
    cache: Option<CacheSize>,
    cache_dir: Option<PathBuf>,
    cache_freshness: Option<CacheFreshness>,
) -> PyResult<Array> {
    let caches = Caches::new(decoded_cache_bytes, cache, cache_dir, cache_freshness);
    let location = location(mode, url, storage_options, caches)?;
    let array = open_with(py, &location, swath::Array::open_in)?;
    Ok(Array::opened(location, array))
}

/// Open the group stored in a directory or at a URL.
///
/// Parameters
/// ----------
/// url : str, os.PathLike or a store
///     As for `open`; a `zarr.json` (Zarr v3) or a `.zgroup` (v2) lies there.
/// mode : str, default "r"
///     Only "r", reading: swath does not write yet.
/// storage_options : dict, optional
///     As for `open`.
/// decoded_cache_bytes : int, default 0
///     Bytes of memory in which decoded chunks are kept, of all arrays of the group together, so
///     that reading them again needs no decoding. They count only as long as their file did not
///     change. Uncompressed chunks are not kept: reading them costs no more than copying them. A
///     copy made by pickling or forking has a cache of its own.
/// cache, cache_dir, cache_freshness : optional
///     As for `open`.
///
/// Returns
/// -------
/// Group
///
/// Raises
/// ------
/// NotFoundError
///     There is no group at the path or URL.
/// InvalidError, UnsupportedError, StorageError
///     As `open`.
///
/// Examples
/// --------
/// >>> swath.open_group("archive.zarr").keys()
/// ('latitude', 'longitude', 't2m')
#[pyfunction]
#[pyo3(
    signature = (url, mode = "r", *, storage_options = None, decoded_cache_bytes = 0, cache = None, cache_dir = None, cache_freshness = None),
    text_signature = "(url, mode='r', *, storage_options=None, decoded_cache_bytes=0, cache=None, cache_dir=None, cache_freshness=None)"
)]
#[expect(clippy::too_many_arguments, reason = "one for each of Python's")]
pub(crate) fn open_group(
    py: Python<'_>,
    url: &Bound<'_, PyAny>,
    mode: &str,
    storage_options: Option<&Bound<'_, PyAny>>,
    decoded_cache_bytes: u64,
    cache: Option<CacheSize>,
    cache_dir: Option<PathBuf>,
    cache_freshness: Option<CacheFreshness>,
) -> PyResult<Group> {
    let caches = Caches::new(decoded_cache_bytes, cache, cache_dir, cache_freshness);
    let location = location(mode, url, storage_options, caches)?;
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
    unopened(py, kind, Location::local(&root, path, decoded_cache_bytes))
}

/// As `_reopen`, of a URL without credentials, its options, its credential provider and the names of what the pickle
/// left out, and of how what is read is cached.
#[pyfunction]
#[pyo3(name = "_reopen_url", signature = (kind, store, path, decoded_cache_bytes = 0, cache = None))]
pub(crate) fn reopen_url(
    py: Python<'_>,
    kind: &str,
    store: (String, TextOptions, Option<Py<PyAny>>, Vec<String>),
    path: &str,
    decoded_cache_bytes: u64,
    cache: Option<PortableCache>,
) -> PyResult<Py<PyAny>> {
    let (url, options, provider, withheld) = store;
    let remote = Remote::new(Portable { url, options, provider, withheld });
    let remote = remote.map_err(|error| raised(py, &error))?;
    let cache = cache.map_or(Ok(None), CacheSettings::new);
    let cache = cache.map_err(|message| error(py, Class::Invalid, &message, remote.name()))?;
    unopened(py, kind, Location::remote(remote, path, decoded_cache_bytes, cache))
}

fn unopened(py: Python<'_>, kind: &str, location: Location) -> PyResult<Py<PyAny>> {
    match kind {
        "array" => Array::unopened(location).into_py_any(py),
        "group" => Group::unopened(location).into_py_any(py),
        _ => Err(error(py, Class::Invalid, &format!("a pickle of kind {kind:?}"), &location.name())),
    }
}

/// The Python object of an opened node.
pub(crate) fn wrap<'py>(py: Python<'py>, location: &Location, node: Node) -> PyResult<Bound<'py, PyAny>> {
    match node {
        Node::Array(array) => {
            let location = location.with_path(array.path());
            Array::opened(location, array).into_bound_py_any(py)
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
fn location(
    mode: &str,
    store: &Bound<'_, PyAny>,
    storage_options: Option<&Bound<'_, PyAny>>,
    caches: Caches,
) -> PyResult<Location> {
    let py = store.py();
    let given = place(store, storage_options)?;
    check_mode(py, mode, &given.url)?;
    let given = with_absolute_archive(given);
    let Caches { decoded_cache_bytes, remote } = caches;
    let cache = remote
        .settings()
        .map_err(|message| error(py, Class::Invalid, &message, &without_credentials(&given.url)))?;
    let chained = archive_of(&given.url);
    let scheme = given.url.split_once("://").map(|(scheme, _)| scheme);
    let Some(scheme) = scheme.or(chained.map(|(zip, _)| zip)) else {
        check_local(py, &given, Path::new(&given.path))?;
        return Ok(Location::local(Path::new(&given.path), "", decoded_cache_bytes));
    };
    if chained.is_none() && scheme.contains(':') {
        let message = "chained URLs of fsspec cannot be read: wanted the URL of the storage itself";
        return Err(error(py, Class::Unsupported, message, &without_credentials(&given.url)));
    }
    let remote = Portable {
        url: given.url.clone(),
        options: given.options.clone(),
        provider: given.provider.as_ref().map(|provider| provider.clone_ref(py)),
        withheld: Vec::new(),
    };
    let remote =
        Remote::new(remote).map_err(|error| raised_about(py, &error, &without_credentials(&given.url)))?;
    if !scheme.eq_ignore_ascii_case("file") {
        return Ok(Location::remote(remote, "", decoded_cache_bytes, cache));
    }
    let opened = py.detach(|| Store::open(&given.url, &CloudOptions::new()));
    let store = opened.map_err(|error| raised(py, &error))?;
    check_local(py, &given, Path::new(store.name()))?;
    Ok(Location::local(Path::new(store.name()), "", decoded_cache_bytes))
}

/// The same, with the path of a local archive made absolute: a pickle may be read in a process with another working directory.
fn with_absolute_archive(given: Place) -> Place {
    let absolute =
        archive_of(&given.url).filter(|(_, archive)| !archive.contains("://")).and_then(|(zip, archive)| {
            let absolute = std::path::absolute(archive).ok()?;
            Some(format!("{zip}::{}", absolute.to_str()?))
        });
    match absolute {
        Some(url) => Place { path: OsString::from(&url), url, ..given },
        None => given,
    }
}

/// What is to be kept of what is read.
struct Caches {
    decoded_cache_bytes: u64,
    remote: CacheArguments,
}

impl Caches {
    fn new(
        decoded_cache_bytes: u64,
        size: Option<CacheSize>,
        folder: Option<PathBuf>,
        freshness: Option<CacheFreshness>,
    ) -> Caches {
        Caches { decoded_cache_bytes, remote: CacheArguments { size, folder, freshness } }
    }
}

/// What the arguments of `open` name.
struct Place {
    url: String,
    /// The same, where it is a path: paths need not be UTF-8.
    path: OsString,
    options: TextOptions,
    provider: Option<Py<PyAny>>,
}

/// Paths are taken as they are; what else there is, `swath.stores` knows.
fn place(store: &Bound<'_, PyAny>, storage_options: Option<&Bound<'_, PyAny>>) -> PyResult<Place> {
    let path: PyResult<PathBuf> = store.extract();
    if let (Ok(path), None) = (path, storage_options) {
        let url = path.to_string_lossy().into_owned();
        return Ok(Place { url, path: path.into_os_string(), options: TextOptions::new(), provider: None });
    }
    let stores = store.py().import("swath.stores")?;
    let found = stores.getattr("place")?.call1((store, storage_options))?;
    let (path, options, provider): (PathBuf, TextOptions, Option<Py<PyAny>>) = found.extract()?;
    Ok(Place { url: path.to_string_lossy().into_owned(), path: path.into_os_string(), options, provider })
}

fn check_mode(py: Python<'_>, mode: &str, url: &str) -> PyResult<()> {
    let (class, reason) = match mode {
        "r" => return Ok(()),
        "r+" | "a" | "w" | "w-" | "x" => (Class::Unsupported, "writing is not there yet: "),
        _ => (Class::Invalid, ""),
    };
    let message = format!("{reason}wanted mode=\"r\", found {mode:?}");
    Err(error(py, class, &message, &without_credentials(url)))
}

fn check_local(py: Python<'_>, given: &Place, path: &Path) -> PyResult<()> {
    let (class, message) = if !given.options.is_empty() || given.provider.is_some() {
        (Class::Invalid, "storage options are for URLs, and this is a local path")
    } else if path.is_file() && !is_zip(path) {
        (Class::Unsupported, "this is a file: swath reads directories and zip archives")
    } else {
        return Ok(());
    };
    Err(error(py, class, message, &given.url))
}

fn is_zip(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"))
}
