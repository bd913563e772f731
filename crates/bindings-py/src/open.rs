//! Opening what is stored at a path.

use crate::array::Array;
use crate::cache::{CacheArguments, CacheFreshness, CacheSettings, CacheSize, PortableCache};
use crate::configuration;
use crate::create;
use crate::errors::{Class, error, raised, raised_about, warn};
use crate::group::Group;
use crate::hdf5;
use crate::key_store::KeyStore;
use crate::location::{Access, Location};
use crate::logs::reported;
use crate::references::TextReferences;
use crate::remote::{Portable, Remote, TextOptions, archive_of, without_credentials};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use swath::{CloudOptions, Error, ErrorKind, Node, Store};

/// Open the array or group stored in a directory, in a zip archive or at a URL.
///
/// Parameters
/// ----------
/// url : str, os.PathLike or a store
///     A directory or a URL below which lies a `zarr.json` (Zarr v3), or a `.zarray` or `.zgroup`
///     (v2): `s3://bucket/key`, `gs://bucket/key`, `az://container/key`,
///     `abfs://container@account.dfs.core.windows.net/key`, `https://host/path`, `file:///path`. What
///     ends in `.zip` is a zip archive, as `zip::URL` and `zip://folder/in/it::URL` are; what ends in
///     `.json`, `.parq` or `.parquet`, or begins with `reference::`, are kerchunk's references, as a
///     dict of them is; `icechunk::URL` is an Icechunk repository; what ends in `.nc`, `.nc4`, `.h5`,
///     `.hdf5` or `.he5`, a place below it, and `hdf5::URL` are HDF5 and NetCDF-4 files, of which a
///     `SwathWarning` names what is left out; these can be read only. Or a store
///     for these, as it is: of obstore (`S3Store`, `GCSStore`, `AzureStore`, `HTTPStore`,
///     `LocalStore`), of zarr-python (`ObjectStore`, `FsspecStore`, `LocalStore`, `ZipStore`,
///     `MemoryStore`, `StorePath`), VirtualiZarr's `ManifestStore`, icechunk's `IcechunkStore`, or what
///     `fsspec.get_mapper` gives; only where it points and how are taken from it, reading is swath's own.
/// mode : {"r", "r+", "a", "w", "w-"}, default "r"
///     "r" to read; "r+" to read and write what is there; "a" the same, and it is made where there is
///     none; "w" to make it, in place of what is there, which is removed with all below it; "w-" to
///     make it where nothing is.
/// storage_options : dict, optional
///     How to reach a URL, by the names of obstore, s3fs, gcsfs or adlfs, nested dicts included:
///     region, endpoint, credentials, timeouts. What is not given comes from the environment. A
///     callable as `credential_provider` gives credentials, as obstore takes it. Of references, also
///     `remote_protocol`, `remote_options`, `target_options` and the like, as fsspec has them.
///     Of an Icechunk repository, also one of `branch`, `tag` and `snapshot_id`, and the prefixes of
///     virtual chunks that may be read in `authorize_virtual_chunk_access`.
///     Pickles leave secrets out: the process that reads one finds them in its own environment, or by
///     a `credential_provider`, which is pickled with the array.
/// decoded_cache_bytes : int, optional
///     Bytes of memory in which decoded chunks are kept, of all arrays of a group together, so that
///     reading them again needs no decoding. They count only as long as what is stored did not
///     change. Uncompressed chunks are not kept: reading them costs no more than copying them. A copy
///     made by pickling or forking has a cache of its own.
/// cache : int or str, optional
///     How many bytes that were read over a network are kept, such as 500_000_000, "2GB" or "512MiB":
///     in memory, or in files where `cache_dir` is given, and then a sixteenth of it, at most 256
///     MiB, in memory besides. What is cached is read again without a request. Arrays and groups of
///     one process that are opened with equal `cache`, `cache_dir` and `cache_freshness` share it,
///     and it goes with the last of them; processes have memory of their own. Local files and
///     `memory://` are never cached, whatever is given here.
/// cache_dir : str or os.PathLike, optional
///     A folder for the cache's files, made where there is none; 64 GiB of files unless `cache` is
///     given. Several processes may use it at once, and later ones read what is there.
/// cache_freshness : {"checked", "immutable"} or float, optional
///     When cached bytes count: "checked", an object that was not confirmed within the last second is
///     asked whether it changed, which costs one small request; a number, the same with so many
///     seconds; "immutable", always, for archives that never change.
/// checksums : {"verify", "skip"}, optional
///     Whether chunks are compared with the checksums behind them (`crc32c`, `fletcher32` and their
///     like). Those of shard indexes, and those inside gzip, zlib and zstd streams, always are.
///     Writing a part of a chunk compares what is stored of it all the same, and so does validating.
///
///     What is not given of these options is as `swath.config` says: no caches, and "verify".
///
/// **creation : optional
///     What is to be made, in modes that make something: an array, where there is a `shape` or
///     `data`, with the options of `create_array`; else a group, with `zarr_format` and `attributes`.
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
///     for a scheme, an option or a store that is not known, and for storage that cannot be written
///     to.
/// StorageError
///     The storage failed, or refused the credentials.
///
/// Examples
/// --------
/// >>> array = swath.open("example.zarr")
/// >>> array[0, :, :10].shape
/// (3, 10, 256)
#[pyfunction]
#[pyo3(
    signature = (url, mode = "r", *, storage_options = None, decoded_cache_bytes = None, cache = None, cache_dir = None, cache_freshness = None, checksums = None, **creation),
    text_signature = "(url, mode='r', *, storage_options=None, decoded_cache_bytes=None, cache=None, cache_dir=None, cache_freshness=None, checksums=None, **creation)"
)]
#[expect(clippy::too_many_arguments, reason = "one for each of Python's")]
pub(crate) fn open<'py>(
    py: Python<'py>,
    url: &Bound<'_, PyAny>,
    mode: &str,
    storage_options: Option<&Bound<'_, PyAny>>,
    decoded_cache_bytes: Option<u64>,
    cache: Option<CacheSize>,
    cache_dir: Option<PathBuf>,
    cache_freshness: Option<CacheFreshness>,
    checksums: Option<&str>,
    creation: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let given = Given { decoded_cache_bytes, cache, cache_dir, cache_freshness, checksums };
    let (mode, location) = opened_location(mode, url, storage_options, given)?;
    if let Some(node) = existing(py, mode, &location, Node::open_in)? {
        refuse_creation(mode, &location, creation)?;
        return wrap(py, &location, node);
    }
    match creation.is_some_and(|creation| {
        creation.contains("shape").unwrap_or(true) || creation.contains("data").unwrap_or(true)
    }) {
        true => make_array(py, mode, &location, creation)?.into_bound_py_any(py),
        false => make_group(py, mode, &location, creation)?.into_bound_py_any(py),
    }
}

/// Open the array stored in a directory or at a URL.
///
/// Parameters
/// ----------
/// url : str, os.PathLike or a store
///     As for `open`; a `zarr.json` (Zarr v3) or a `.zarray` (v2) lies there.
/// mode : {"r", "r+", "a", "w", "w-"}, default "r"
///     "r" to read; "r+" to read and write what is there; "a" the same, and it is made where there is
///     none; "w" to make it, in place of what is there, which is removed with all below it; "w-" to
///     make it where nothing is.
/// storage_options : dict, optional
///     As for `open`.
/// decoded_cache_bytes : int, optional
///     Bytes of memory in which decoded chunks are kept, so that reading them again needs no
///     decoding. They count only as long as what is stored did not change. Uncompressed chunks are
///     not kept: reading them costs no more than copying them. A copy made by pickling or forking has
///     a cache of its own.
/// cache, cache_dir, cache_freshness, checksums : optional
///     As for `open`.
/// **creation : optional
///     As for `create_array`, in modes that make an array.
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
    signature = (url, mode = "r", *, storage_options = None, decoded_cache_bytes = None, cache = None, cache_dir = None, cache_freshness = None, checksums = None, **creation),
    text_signature = "(url, mode='r', *, storage_options=None, decoded_cache_bytes=None, cache=None, cache_dir=None, cache_freshness=None, checksums=None, **creation)"
)]
#[expect(clippy::too_many_arguments, reason = "one for each of Python's")]
pub(crate) fn open_array<'py>(
    py: Python<'py>,
    url: &Bound<'_, PyAny>,
    mode: &str,
    storage_options: Option<&Bound<'_, PyAny>>,
    decoded_cache_bytes: Option<u64>,
    cache: Option<CacheSize>,
    cache_dir: Option<PathBuf>,
    cache_freshness: Option<CacheFreshness>,
    checksums: Option<&str>,
    creation: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, Array>> {
    let given = Given { decoded_cache_bytes, cache, cache_dir, cache_freshness, checksums };
    let (mode, location) = opened_location(mode, url, storage_options, given)?;
    if let Some(array) = existing(py, mode, &location, swath::Array::open_in)? {
        refuse_creation(mode, &location, creation)?;
        return Bound::new(py, Array::opened(py, location, array)?);
    }
    make_array(py, mode, &location, creation)
}

/// Open the group stored in a directory or at a URL.
///
/// Parameters
/// ----------
/// url : str, os.PathLike or a store
///     As for `open`; a `zarr.json` (Zarr v3) or a `.zgroup` (v2) lies there.
/// mode : {"r", "r+", "a", "w", "w-"}, default "r"
///     "r" to read; "r+" to read and write what is there; "a" the same, and it is made where there is
///     none; "w" to make it, in place of what is there, which is removed with all below it; "w-" to
///     make it where nothing is.
/// storage_options : dict, optional
///     As for `open`.
/// decoded_cache_bytes : int, optional
///     Bytes of memory in which decoded chunks are kept, of all arrays of the group together, so
///     that reading them again needs no decoding. They count only as long as their file did not
///     change. Uncompressed chunks are not kept: reading them costs no more than copying them. A
///     copy made by pickling or forking has a cache of its own.
/// cache, cache_dir, cache_freshness, checksums : optional
///     As for `open`.
/// use_consolidated : bool or str, optional
///     Whether consolidated metadata is used, in modes that open a group to be read: True has to find
///     some, False passes over it, and by default it is used where there is some. Of a v2 group also its
///     key, ".zmetadata".
/// **creation : optional
///     `zarr_format` and `attributes`, in modes that make a group.
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
    signature = (url, mode = "r", *, storage_options = None, decoded_cache_bytes = None, cache = None, cache_dir = None, cache_freshness = None, checksums = None, use_consolidated = None, **creation),
    text_signature = "(url, mode='r', *, storage_options=None, decoded_cache_bytes=None, cache=None, cache_dir=None, cache_freshness=None, checksums=None, use_consolidated=None, **creation)"
)]
#[expect(clippy::too_many_arguments, reason = "one for each of Python's")]
pub(crate) fn open_group(
    py: Python<'_>,
    url: &Bound<'_, PyAny>,
    mode: &str,
    storage_options: Option<&Bound<'_, PyAny>>,
    decoded_cache_bytes: Option<u64>,
    cache: Option<CacheSize>,
    cache_dir: Option<PathBuf>,
    cache_freshness: Option<CacheFreshness>,
    checksums: Option<&str>,
    use_consolidated: Option<UseConsolidated>,
    creation: Option<&Bound<'_, PyDict>>,
) -> PyResult<Group> {
    let given = Given { decoded_cache_bytes, cache, cache_dir, cache_freshness, checksums };
    let (mode, location) = opened_location(mode, url, storage_options, given)?;
    if let Some(group) = existing(py, mode, &location, swath::Group::open_in)? {
        refuse_creation(mode, &location, creation)?;
        let location = with_consolidated(py, location, &group, use_consolidated)?;
        return Ok(Group::opened(location, group));
    }
    make_group(py, mode, &location, creation)
}

/// Make the array or group of a pickle; it is opened when it is first used.
#[pyfunction]
#[pyo3(name = "_reopen", signature = (kind, root, path, decoded_cache_bytes = 0, access = 0, config = None))]
pub(crate) fn reopen(
    py: Python<'_>,
    kind: &str,
    root: PathBuf,
    path: &str,
    decoded_cache_bytes: u64,
    access: u8,
    config: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    configuration::adopt(py, config)?;
    let location = Location::local(&root, path, decoded_cache_bytes);
    unopened(py, kind, location.with_access(Access::from_number(access)))
}

/// As `_reopen`, of a URL without credentials, its options, its credential provider and the names of
/// what the pickle left out, and of how what is read is cached.
#[pyfunction]
#[pyo3(name = "_reopen_url", signature = (kind, store, path, decoded_cache_bytes = 0, cache = None, access = 0, references = None, config = None))]
#[expect(clippy::too_many_arguments, reason = "pickles of before hold them one by one")]
pub(crate) fn reopen_url(
    py: Python<'_>,
    kind: &str,
    store: (String, TextOptions, Option<Py<PyAny>>, Vec<String>),
    path: &str,
    decoded_cache_bytes: u64,
    cache: Option<PortableCache>,
    access: u8,
    references: Option<TextReferences>,
    config: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    configuration::adopt(py, config)?;
    let (url, options, provider, withheld) = store;
    let remote = Remote::new(Portable { url, options, provider, withheld, references });
    let remote = remote.map_err(|error| raised(py, &error))?;
    let cache = cache.map_or(Ok(None), CacheSettings::new);
    let cache = cache.map_err(|message| error(py, Class::Invalid, &message, remote.name()))?;
    let location = Location::remote(remote, path, decoded_cache_bytes, cache);
    unopened(py, kind, location.with_access(Access::from_number(access)))
}

fn unopened(py: Python<'_>, kind: &str, location: Location) -> PyResult<Py<PyAny>> {
    match kind {
        "array" => Array::unopened(location).into_py_any(py),
        "group" => Group::unopened(location).into_py_any(py),
        "keys" => KeyStore::at(location).into_py_any(py),
        _ => Err(error(py, Class::Invalid, &format!("a pickle of kind {kind:?}"), &location.name())),
    }
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

/// What may be done with what is opened, and what becomes of what is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// "r"
    Read,
    /// "r+"
    Write,
    /// "a"
    WriteOrMake,
    /// "w"
    Replace,
    /// "w-", or "x"
    Make,
}

/// What is there, where the mode has it opened; `None` where something is to be made.
fn existing<T: Send>(
    py: Python<'_>,
    mode: Mode,
    location: &Location,
    open: impl FnOnce(&Store, &str) -> Result<T, Error> + Send,
) -> PyResult<Option<T>> {
    if matches!(mode, Mode::Replace | Mode::Make) {
        return Ok(None);
    }
    let opened = reported(py, || location.store().and_then(|store| open(&store, location.path())))?;
    match opened {
        Ok(node) => Ok(Some(node)),
        // A group in the place of an array is not found either, and is not written over: making one refuses.
        Err(error) if mode == Mode::WriteOrMake && error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(raised(py, &error)),
    }
}

/// Options of what is to be made mean nothing where nothing is made; with mode "a" they say what
/// would have been.
fn refuse_creation(mode: Mode, location: &Location, creation: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    match creation.and_then(|creation| creation.keys().iter().next()) {
        Some(name) if mode != Mode::WriteOrMake => {
            let message =
                format!("{name} is an option of what is made, and mode \"r\" and \"r+\" make nothing");
            Err(PyTypeError::new_err(format!("{}: {message}", location.name())))
        }
        _ => Ok(()),
    }
}

fn make_array<'py>(
    py: Python<'py>,
    mode: Mode,
    location: &Location,
    creation: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, Array>> {
    let options = PyDict::new(py);
    if let Some(creation) = creation {
        options.update(creation.as_mapping())?;
    }
    options.set_item("overwrite", mode == Mode::Replace)?;
    create::array(py, location, Some(&options), None)
}

fn make_group(
    py: Python<'_>,
    mode: Mode,
    location: &Location,
    creation: Option<&Bound<'_, PyDict>>,
) -> PyResult<Group> {
    let (mut zarr_format, mut attributes) = (None, None);
    for (name, value) in creation.into_iter().flat_map(|creation| creation.iter()) {
        match name.extract::<String>()?.as_str() {
            "zarr_format" => zarr_format = value.extract()?,
            "attributes" => attributes = Some(value),
            other => {
                let message = format!("{}: unexpected option {other:?} of a group", location.name());
                return Err(PyTypeError::new_err(message));
            }
        }
    }
    let zarr_format = create::format_of(py, zarr_format.unwrap_or(3), &location.name())?;
    create::group(py, location, zarr_format, mode == Mode::Replace, attributes.as_ref())
}

/// A location to make nodes at.
pub(crate) fn writable_location(
    store: &Bound<'_, PyAny>,
    storage_options: Option<&Bound<'_, PyAny>>,
) -> PyResult<Location> {
    drop(configuration::opening(store.py())?);
    let kept = Kept { decoded_cache_bytes: 0, remote: CacheArguments::default() };
    location("a", store, storage_options, kept).map(|(_, location)| location)
}

/// What the options of `open` say of how something is read.
struct Given<'a> {
    decoded_cache_bytes: Option<u64>,
    cache: Option<CacheSize>,
    cache_dir: Option<PathBuf>,
    cache_freshness: Option<CacheFreshness>,
    checksums: Option<&'a str>,
}

/// As [`location`], read as the options say, and as `swath.config` says where they do not.
fn opened_location(
    mode: &str,
    store: &Bound<'_, PyAny>,
    storage_options: Option<&Bound<'_, PyAny>>,
    given: Given<'_>,
) -> PyResult<(Mode, Location)> {
    let defaults = configuration::opening(store.py())?;
    let remote = CacheArguments {
        size: given.cache.or(defaults.cache),
        folder: given.cache_dir.or(defaults.cache_dir),
        freshness: given.cache_freshness.or(defaults.cache_freshness),
    };
    let decoded_cache_bytes = given.decoded_cache_bytes.unwrap_or(defaults.decoded_cache_bytes);
    let (mode, location) = location(mode, store, storage_options, Kept { decoded_cache_bytes, remote })?;
    let checksums = given.checksums.unwrap_or(&defaults.checksums);
    Ok((mode, with_checksums(store.py(), location, checksums)?))
}

/// The same location, whose chunks are compared with their checksums or not.
fn with_checksums(py: Python<'_>, location: Location, checksums: &str) -> PyResult<Location> {
    let skips_checksums = match checksums {
        "verify" => false,
        "skip" => true,
        _ => {
            let message = format!("wanted checksums \"verify\" or \"skip\", found {checksums:?}");
            return Err(error(py, Class::Invalid, &message, &location.name()));
        }
    };
    let access = Access { skips_checksums, ..location.access() };
    Ok(location.with_access(access))
}

/// Whether consolidated metadata is used: a boolean, or its key.
#[derive(FromPyObject)]
pub(crate) enum UseConsolidated {
    #[pyo3(transparent, annotation = "bool")]
    Told(bool),
    #[pyo3(transparent, annotation = "str")]
    Key(String),
}

/// The same location, of whose group the consolidated metadata is used or not.
fn with_consolidated(
    py: Python<'_>,
    location: Location,
    group: &swath::Group,
    wanted: Option<UseConsolidated>,
) -> PyResult<Location> {
    let refused = |class, message: &str| Err(error(py, class, message, &location.name()));
    match wanted {
        None => Ok(location),
        Some(UseConsolidated::Told(false)) => {
            let access = Access { skips_consolidated: true, ..location.access() };
            Ok(location.with_access(access))
        }
        Some(UseConsolidated::Key(key)) if key != ".zmetadata" => refused(
            Class::Unsupported,
            &format!("consolidated metadata under the key {key:?}: wanted \".zmetadata\", True or False"),
        ),
        Some(_) if group.metadata().consolidated().is_none() => {
            refused(Class::Invalid, "wanted consolidated metadata (`use_consolidated`), found none")
        }
        Some(_) => Ok(location),
    }
}

/// What a mode means, and the location that the arguments of `open` name, if it is one that swath can
/// read.
fn location(
    mode: &str,
    store: &Bound<'_, PyAny>,
    storage_options: Option<&Bound<'_, PyAny>>,
    kept: Kept,
) -> PyResult<(Mode, Location)> {
    let given = place(store, storage_options)?;
    let given = with_absolute_archive(in_hdf5(given));
    let mode = mode_of(store.py(), mode, &given.url)?;
    let access = Access { is_writable: mode != Mode::Read, ..Access::default() };
    Ok((mode, location_of(store.py(), &given, kept)?.with_access(access)))
}

fn location_of(py: Python<'_>, given: &Place, kept: Kept) -> PyResult<Location> {
    let Kept { decoded_cache_bytes, remote } = kept;
    let cache = remote
        .settings()
        .map_err(|message| error(py, Class::Invalid, &message, &without_credentials(&given.url)))?;
    let is_told = archive_of(&given.url).is_some() || given.references.is_some();
    let scheme = given.url.split_once("://").map(|(scheme, _)| scheme);
    let Some(scheme) = scheme.or(is_told.then_some("")) else {
        check_local(py, given, Path::new(&given.path))?;
        return Ok(Location::local(Path::new(&given.path), "", decoded_cache_bytes));
    };
    if !is_told && scheme.contains(':') {
        let message = "chained URLs of fsspec cannot be read: wanted the URL of the storage itself";
        return Err(error(py, Class::Unsupported, message, &without_credentials(&given.url)));
    }
    let remote = Portable {
        url: given.url.clone(),
        options: given.options.clone(),
        provider: given.provider.as_ref().map(|provider| provider.clone_ref(py)),
        withheld: Vec::new(),
        references: given.references.clone().map(|references| references.0),
    };
    let remote =
        Remote::new(remote).map_err(|error| raised_about(py, &error, &without_credentials(&given.url)))?;
    let remote = reported(py, || remote.pinned())?;
    let remote = remote.map_err(|error| raised_about(py, &error, &without_credentials(&given.url)))?;
    let listed = reported(py, || remote.listed())?;
    for (path, reason) in
        listed.map_err(|error| raised_about(py, &error, &without_credentials(&given.url)))?
    {
        warn(py, &format!("{}: left out: {path}: {reason}", remote.name()))?;
    }
    if is_told || !scheme.eq_ignore_ascii_case("file") {
        let folder = given.references.as_ref().map_or(given.folder.as_str(), |(_, folder)| folder);
        return Ok(Location::remote(remote, folder, decoded_cache_bytes, cache));
    }
    let opened = reported(py, || Store::open(&given.url, &CloudOptions::new()))?;
    let store = opened.map_err(|error| raised(py, &error))?;
    check_local(py, given, Path::new(store.name()))?;
    Ok(Location::local(Path::new(store.name()), "", decoded_cache_bytes))
}

/// The same, of a place in an HDF5 file: as the store that lies in that, and a node of it.
fn in_hdf5(given: Place) -> Place {
    let found = if given.references.is_none() { hdf5::file_of(&given.url) } else { None };
    let Some((file, folder)) = found else { return given };
    let (url, folder) = (format!("{}::{file}", hdf5::PREFIX), folder.to_owned());
    Place { path: OsString::from(&url), url, folder, ..given }
}

/// The same, with the path of a local archive or of references made absolute: a pickle may be read in a process with another working directory.
fn with_absolute_archive(given: Place) -> Place {
    let is_document = match &given.references {
        None => is_reference_name(&given.path),
        Some(((document, ..), _)) => document.is_none() && archive_of(&given.url).is_none(),
    };
    let url = if is_document { format!("reference::{}", given.url) } else { given.url.clone() };
    let absolute =
        archive_of(&url).filter(|(_, archive)| !archive.contains("://")).and_then(|(zip, archive)| {
            let absolute = std::path::absolute(archive).ok()?;
            Some(format!("{zip}::{}", absolute.to_str()?))
        });
    let url = absolute.unwrap_or(url);
    match url == given.url {
        true => given,
        false => Place { path: OsString::from(&url), url, ..given },
    }
}

/// What is to be kept of what is read.
struct Kept {
    decoded_cache_bytes: u64,
    remote: CacheArguments,
}

/// What the arguments of `open` name.
struct Place {
    url: String,
    /// The same, where it is a path: paths need not be UTF-8.
    path: OsString,
    options: TextOptions,
    provider: Option<Py<PyAny>>,
    /// What else is known of references, and the node's path among their keys.
    references: Option<(TextReferences, String)>,
    /// The node's path in an Icechunk repository.
    folder: String,
}

/// What `swath.stores.place` returns.
type FoundPlace = (PathBuf, TextOptions, Option<Py<PyAny>>, Option<FoundReferences>, String);

/// `swath.stores.References`.
type FoundReferences = (Option<String>, Option<String>, Option<String>, Option<TextOptions>, String);

/// Paths are taken as they are; what else there is, `swath.stores` knows.
fn place(store: &Bound<'_, PyAny>, storage_options: Option<&Bound<'_, PyAny>>) -> PyResult<Place> {
    let path: PyResult<PathBuf> = store.extract();
    if let (Ok(path), None) = (path, storage_options) {
        let url = path.to_string_lossy().into_owned();
        let options = TextOptions::new();
        let path = path.into_os_string();
        return Ok(Place { url, path, options, provider: None, references: None, folder: String::new() });
    }
    let stores = store.py().import("swath.stores")?;
    let found = stores.getattr("place")?.call1((store, storage_options))?;
    let (path, options, provider, references, folder): FoundPlace = found.extract()?;
    let references = references
        .map(|(document, scheme, default, options, folder)| ((document, scheme, default, options), folder));
    let url = path.to_string_lossy().into_owned();
    Ok(Place { url, path: path.into_os_string(), options, provider, references, folder })
}

fn mode_of(py: Python<'_>, mode: &str, url: &str) -> PyResult<Mode> {
    match mode {
        "r" => Ok(Mode::Read),
        "r+" => Ok(Mode::Write),
        "a" => Ok(Mode::WriteOrMake),
        "w" => Ok(Mode::Replace),
        "w-" | "x" => Ok(Mode::Make),
        _ => {
            let message = format!("wanted mode \"r\", \"r+\", \"a\", \"w\" or \"w-\", found {mode:?}");
            Err(error(py, Class::Invalid, &message, &without_credentials(url)))
        }
    }
}

fn check_local(py: Python<'_>, given: &Place, path: &Path) -> PyResult<()> {
    let (class, message) = if !given.options.is_empty() || given.provider.is_some() {
        (Class::Invalid, "storage options are for URLs, and this is a local path")
    } else if path.is_file() && !is_zip(path) {
        (
            Class::Unsupported,
            "this is a file: swath reads directories, zip archives (.zip), references (.json) and HDF5 (.nc, .h5)",
        )
    } else {
        return Ok(());
    };
    Err(error(py, class, message, &given.url))
}

/// Whether a path, or the URL of one, names a file or folder that holds references.
fn is_reference_name(path: &OsStr) -> bool {
    let path = Path::new(path);
    let is = |known: &str| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(known));
    let (is_json, is_parquet) = (is("json"), is("parq") || is("parquet"));
    let is_there = path.is_file() || path.to_str().is_some_and(|url| url.starts_with("file://"));
    is_json && is_there || is_parquet && path.join(".zmetadata").is_file()
}

fn is_zip(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"))
}
