//! Where a node is, and the node once it is opened.

use crate::errors::raised;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use swath::{DecodedCache, Error, Store};

/// A store's directory, a node's path in it, and where the node's decoded chunks are kept. All that a pickle holds: of the
/// cache, its size.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    root: PathBuf,
    path: String,
    decoded: DecodedCache,
}

impl Location {
    /// The node at `path` of the store in `root`, which is made absolute: a pickle may be read in a process with
    /// another working directory. It and all nodes below it keep at most so many bytes of decoded chunks, together.
    pub(crate) fn new(root: &Path, path: &str, decoded_cache_bytes: u64) -> Location {
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let decoded = DecodedCache::new(decoded_cache_bytes);
        Location { root, path: path.trim_matches('/').to_owned(), decoded }
    }

    /// The same store and cache at another path.
    pub(crate) fn with_path(&self, path: &str) -> Location {
        Location { path: path.to_owned(), ..self.clone() }
    }

    /// Where the node's decoded chunks are kept.
    pub(crate) fn decoded(&self) -> &DecodedCache {
        &self.decoded
    }

    pub(crate) fn store(&self) -> Result<Store, Error> {
        Store::directory(&self.root)
    }

    /// The node's path in its store; empty for the root.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The node's directory.
    pub(crate) fn directory(&self) -> PathBuf {
        if self.path.is_empty() { self.root.clone() } else { self.root.join(&self.path) }
    }

    /// The directory, for people.
    pub(crate) fn name(&self) -> String {
        self.directory().to_string_lossy().into_owned()
    }

    /// zarr-python's `name`: the path with a slash in front.
    pub(crate) fn zarr_name(&self) -> String {
        format!("/{}", self.path)
    }

    /// The last part of the path; empty for the root.
    pub(crate) fn basename(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// What `reopen` makes the node of again.
    pub(crate) fn pickled(&self, kind: &'static str) -> Pickled {
        (kind, self.root.clone().into_os_string(), self.path.clone(), self.decoded.bytes_max())
    }
}

/// The arguments of `reopen`: the kind of node, its store, its path and its cache's bytes.
pub(crate) type Pickled = (&'static str, OsString, String, u64);

/// A node that is opened when it is first used: at once by `swath.open`, later where it comes from a pickle.
pub(crate) struct Lazy<T> {
    pub(crate) location: Location,
    node: OnceLock<T>,
}

impl<T> Lazy<T> {
    pub(crate) fn opened(location: Location, node: T) -> Lazy<T> {
        Lazy { location, node: OnceLock::from(node) }
    }

    pub(crate) fn unopened(location: Location) -> Lazy<T> {
        Lazy { location, node: OnceLock::new() }
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
    ) -> PyResult<&T> {
        if let Some(node) = self.node.get() {
            return Ok(node);
        }
        let location = &self.location;
        let opened = py.detach(|| location.store().and_then(|store| open(&store, location.path())));
        let node = make(opened.map_err(|error| raised(py, &error))?)?;
        Ok(self.node.get_or_init(|| node))
    }

    /// The node, if it was opened.
    pub(crate) fn known(&self) -> Option<&T> {
        self.node.get()
    }
}
