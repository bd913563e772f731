//! Where a node is, and the node once it is opened.

use crate::cache::CacheSettings;
use crate::configuration;
use crate::errors::raised;
use crate::logs::reported;
use crate::remote::{Portable, Remote};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use swath::codecs::Checksums;
use swath::{DecodedCache, Error, Store};

/// A store, a node's path in it, and where the node's decoded chunks are kept. All that a pickle holds: of the cache, its
/// size; of a URL and its options, what is no secret.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    root: Root,
    path: String,
    decoded: DecodedCache,
    /// How what is read over a network is kept.
    cache: Option<CacheSettings>,
    access: Access,
}

/// What may be done to a node, and how. A pickle holds it as a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    /// Whether it may be written to.
    pub(crate) is_writable: bool,
    /// Whether chunks that hold nothing but the fill value are stored.
    pub(crate) stores_empty: bool,
    /// Whether the checksums of chunks are passed over.
    pub(crate) skips_checksums: bool,
    /// Whether consolidated metadata is passed over.
    pub(crate) skips_consolidated: bool,
}

impl Access {
    pub(crate) fn from_number(number: u8) -> Access {
        Access {
            is_writable: number & 1 != 0,
            stores_empty: number & 2 != 0,
            skips_checksums: number & 4 != 0,
            skips_consolidated: number & 8 != 0,
        }
    }

    fn number(self) -> u8 {
        let flags = [self.is_writable, self.stores_empty, self.skips_checksums, self.skips_consolidated];
        flags.into_iter().zip(0..).map(|(flag, place)| u8::from(flag) << place).sum()
    }
}

/// Where a store is.
#[derive(Clone)]
enum Root {
    /// A directory, or a zip archive.
    Directory(PathBuf),
    Remote(Arc<Remote>),
}

impl fmt::Debug for Root {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Root::Directory(root) => root.fmt(out),
            Root::Remote(remote) => remote.name().fmt(out),
        }
    }
}

impl Location {
    /// The node at `path` of the store in the directory or zip archive `root`, which is made absolute: a pickle may be read in a process
    /// with another working directory. It and all nodes below it keep at most so many bytes of decoded chunks, together.
    pub(crate) fn local(root: &Path, path: &str, decoded_cache_bytes: u64) -> Location {
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        Location::new(Root::Directory(root), path, decoded_cache_bytes)
    }

    /// The node at `path` of a store that a URL names.
    pub(crate) fn remote(
        remote: Remote,
        path: &str,
        decoded_cache_bytes: u64,
        cache: Option<CacheSettings>,
    ) -> Location {
        let location = Location::new(Root::Remote(Arc::new(remote)), path, decoded_cache_bytes);
        Location { cache, ..location }
    }

    fn new(root: Root, path: &str, decoded_cache_bytes: u64) -> Location {
        let decoded = DecodedCache::new(decoded_cache_bytes);
        Location {
            root,
            path: path.trim_matches('/').to_owned(),
            decoded,
            cache: None,
            access: Access::default(),
        }
    }

    /// The same node, of which this may be done.
    pub(crate) fn with_access(self, access: Access) -> Location {
        Location { access, ..self }
    }

    /// The same node, whose decoded chunks are kept in another cache.
    pub(crate) fn with_decoded(self, decoded: DecodedCache) -> Location {
        Location { decoded, ..self }
    }

    /// What may be done to the node.
    pub(crate) fn access(&self) -> Access {
        self.access
    }

    /// Opens the store to make nodes in it: a local directory is made where there is none.
    pub(crate) fn new_store(&self) -> Result<Store, Error> {
        match &self.root {
            // A file is an archive, or an error that says so.
            Root::Directory(root) if root.is_file() => self.store(),
            Root::Directory(root) => Store::create_directory(root),
            Root::Remote(_) => self.store(),
        }
    }

    /// The same store and cache at another path.
    pub(crate) fn with_path(&self, path: &str) -> Location {
        Location { path: path.to_owned(), ..self.clone() }
    }

    /// Where the node's decoded chunks are kept.
    pub(crate) fn decoded(&self) -> &DecodedCache {
        &self.decoded
    }

    /// Opens the store; nothing is connected yet.
    pub(crate) fn store(&self) -> Result<Store, Error> {
        let store = match &self.root {
            Root::Directory(root) => Store::path(root),
            Root::Remote(remote) => match &self.cache {
                Some(cache) => cache.in_front_of(remote.store()?),
                None => remote.store(),
            },
        }?;
        Ok(match self.access.skips_checksums {
            true => store.with_checksums(Checksums::Skip),
            false => store,
        })
    }

    /// The node's path in its store; empty for the root.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The node's directory, or its URL without credentials.
    pub(crate) fn store_path(&self) -> OsString {
        match &self.root {
            Root::Directory(root) if self.path.is_empty() => root.clone().into_os_string(),
            Root::Directory(root) => root.join(&self.path).into_os_string(),
            Root::Remote(remote) if self.path.is_empty() => remote.name().into(),
            Root::Remote(remote) => format!("{}/{}", remote.name(), self.path).into(),
        }
    }

    /// The directory or the URL, for people.
    pub(crate) fn name(&self) -> String {
        self.store_path().to_string_lossy().into_owned()
    }

    /// What a representation says besides: the secrets that a pickle left out.
    pub(crate) fn remark(&self) -> String {
        match self.withheld() {
            [] => String::new(),
            names => format!(" (unpickled without {})", names.join(", ")),
        }
    }

    /// True where both are the same node, whatever the secrets to get there.
    pub(crate) fn is_same(&self, other: &Location) -> bool {
        let same_root = match (&self.root, &other.root) {
            (Root::Remote(one), Root::Remote(other)) => one.is_same(other),
            (Root::Directory(_), Root::Directory(_)) => true,
            _ => false,
        };
        same_root && self.store_path() == other.store_path()
    }

    /// True for what a URL names that is not a local directory.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self.root, Root::Remote(_))
    }

    /// zarr-python's `name`: the path with a slash in front.
    pub(crate) fn zarr_name(&self) -> String {
        format!("/{}", self.path)
    }

    /// The last part of the path; empty for the root.
    pub(crate) fn basename(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The function that makes a node of this kind again, and its arguments.
    pub(crate) fn pickled<'py>(
        &self,
        py: Python<'py>,
        kind: &'static str,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (module, config) = (py.import("swath._swath")?, configuration::carried(py)?);
        let (path, decoded, access) = (&self.path, self.decoded.bytes_max(), self.access.number());
        match &self.root {
            Root::Directory(root) => {
                let arguments = (kind, root.as_os_str(), path, decoded, access, config).into_pyobject(py)?;
                Ok((module.getattr("_reopen")?, arguments))
            }
            Root::Remote(remote) => {
                let portable = remote.portable(py);
                let store = (portable.url, portable.options, portable.provider, portable.withheld);
                let cache = self.cache.as_ref().map(CacheSettings::portable);
                let references = portable.references;
                let arguments = (kind, store, path, decoded, cache, access, references, config);
                let arguments = arguments.into_pyobject(py)?;
                Ok((module.getattr("_reopen_url")?, arguments))
            }
        }
    }

    /// What the node is for dask: its kind, where it is, and how it is reached, without secrets, caches and checks.
    pub(crate) fn token<'py>(&self, py: Python<'py>, kind: &'static str) -> PyResult<Bound<'py, PyTuple>> {
        match &self.root {
            Root::Directory(root) => (kind, root.as_os_str(), &self.path).into_pyobject(py),
            Root::Remote(remote) => {
                let Portable { url, options, provider, references, .. } = remote.portable(py);
                let options: Vec<(String, String)> = options.into_iter().collect();
                (kind, url, &self.path, options, provider, references).into_pyobject(py)
            }
        }
    }

    /// The exception for an error of opening the node.
    fn failed(&self, py: Python<'_>, error: &Error) -> PyErr {
        let raised = raised(py, error);
        if let names @ [_, ..] = self.withheld() {
            let note = format!(
                "The pickle left out {}: this process has to find them in its environment.",
                names.join(", ")
            );
            // Without the note the error is as true.
            let _ = raised.value(py).call_method1("add_note", (note,));
        }
        raised
    }

    fn withheld(&self) -> &[String] {
        match &self.root {
            Root::Directory(_) => &[],
            Root::Remote(remote) => remote.withheld(),
        }
    }
}

/// A node that is opened when it is first used: at once by `swath.open`, later where it comes from a pickle.
pub(crate) struct Lazy<T> {
    pub(crate) location: Location,
    /// Held with the GIL only, and for no longer than a pointer takes to be copied: so no fork finds it held.
    node: Mutex<Option<Arc<T>>>,
}

impl<T> Lazy<T> {
    pub(crate) fn opened(location: Location, node: T) -> Lazy<T> {
        Lazy { location, node: Mutex::new(Some(Arc::new(node))) }
    }

    pub(crate) fn unopened(location: Location) -> Lazy<T> {
        Lazy { location, node: Mutex::new(None) }
    }
}

impl<T: Send + Sync> Lazy<T> {
    /// The node, opened by `open` without the GIL and made by `make` with it. Threads that get here at the same time
    /// each open it, and all use the first one's: a lock held meanwhile could be inherited by a forked child.
    pub(crate) fn get_with<N: Send>(
        &self,
        py: Python<'_>,
        open: impl FnOnce(&Store, &str) -> Result<N, Error> + Send,
        make: impl FnOnce(N) -> PyResult<T>,
    ) -> PyResult<Arc<T>> {
        if let Some(node) = self.known() {
            return Ok(node);
        }
        let location = &self.location;
        let opened = reported(py, || location.store().and_then(|store| open(&store, location.path())))?;
        let node = Arc::new(make(opened.map_err(|error| location.failed(py, &error))?)?);
        Ok(Arc::clone(self.slot().get_or_insert(node)))
    }

    /// The node, if it was opened.
    pub(crate) fn known(&self) -> Option<Arc<T>> {
        self.slot().clone()
    }

    /// Puts another in place of the node: the same one, changed from what it was `before`. False where it is not that any
    /// more, as others changed it too: which of the changes came last is the store's to say.
    pub(crate) fn replace(&self, before: &Arc<T>, node: T) -> bool {
        let mut slot = self.slot();
        let is_same = slot.as_ref().is_none_or(|known| Arc::ptr_eq(known, before));
        if is_same {
            *slot = Some(Arc::new(node));
        }
        is_same
    }

    fn slot(&self) -> MutexGuard<'_, Option<Arc<T>>> {
        self.node.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
