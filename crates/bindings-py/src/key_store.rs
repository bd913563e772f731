//! Stores as keys and bytes.

use crate::errors::raised;
use crate::location::Location;
use crate::logs::reported;
use crate::open::writable_location;
use crate::read::detached;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::sync::{Mutex, MutexGuard, PoisonError};
use swath::ioengine::{Entry, FileIdentity};
use swath::{Error, ErrorKind, KeyPut, KeyRange, Store};

/// A store as keys and bytes; local directories are made when they are first written to.
#[pyclass(frozen, module = "swath._swath")]
pub(crate) struct KeyStore {
    location: Location,
    /// The store, and which directory it is of: another one may have been made in its place.
    store: Mutex<Option<(Directory, Store)>>,
}

/// Device and number of a local directory, as far as the platform tells; `None` of what is none.
type Directory = Option<(u64, u64)>;

/// A key, and the first and the last byte that are wanted of it: all without either, so many at the end with only the last.
type Wanted = (String, Option<u64>, Option<u64>);

impl KeyStore {
    pub(crate) fn at(location: Location) -> KeyStore {
        KeyStore { location, store: Mutex::default() }
    }

    /// Where a node of the store is.
    pub(crate) fn node(&self, path: &str) -> Location {
        self.location.with_path(&self.key(path))
    }

    /// The store, if there is one.
    fn existing(&self) -> Result<Option<Store>, Error> {
        match self.opened(Location::store) {
            Ok(store) => Ok(Some(store)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn opened(&self, open: impl FnOnce(&Location) -> Result<Store, Error>) -> Result<Store, Error> {
        let directory = self.directory();
        if let Some((of, store)) = &*self.known()
            && *of == directory
        {
            return Ok(store.clone());
        }
        // Opening may wait, and what a signal calls meanwhile may be of this store too: it is not locked.
        let opened = open(&self.location)?;
        *self.known() = Some((self.directory(), opened.clone()));
        Ok(opened)
    }

    fn known(&self) -> MutexGuard<'_, Option<(Directory, Store)>> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn directory(&self) -> Directory {
        if self.location.is_remote() {
            return None;
        }
        let metadata = std::fs::metadata(self.location.with_path("").store_path()).ok()?;
        let FileIdentity { device, inode, .. } = FileIdentity::of(&metadata);
        Some((device, inode))
    }

    /// The key below the path that the location names.
    fn key(&self, key: &str) -> String {
        match (self.location.path(), key) {
            ("", key) => key.to_owned(),
            (path, "") => path.to_owned(),
            (path, key) => format!("{path}/{key}"),
        }
    }

    /// The same key as Python names it.
    fn bare(&self, key: String) -> String {
        let path = self.location.path();
        let bare =
            key.strip_prefix(path).filter(|_| !path.is_empty()).map(|bare| bare.trim_start_matches('/'));
        bare.map_or_else(|| key.clone(), str::to_owned)
    }
}

#[pymethods]
impl KeyStore {
    #[new]
    #[pyo3(signature = (store, storage_options = None))]
    fn new(store: &Bound<'_, PyAny>, storage_options: Option<&Bound<'_, PyAny>>) -> PyResult<KeyStore> {
        writable_location(store, storage_options).map(KeyStore::at)
    }

    /// What the store is called: its directory, or its URL without credentials.
    #[getter]
    fn name(&self) -> String {
        self.location.name()
    }

    /// Whether it is behind a network, or in an archive.
    #[getter]
    fn is_remote(&self) -> bool {
        self.location.is_remote()
    }

    /// Return what keys hold, between two offsets; None where nothing is stored.
    ///
    /// All without offsets, from the first offset on without a second, and so many bytes at the end without
    /// a first.
    fn get<'py>(&self, py: Python<'py>, wanted: Vec<Wanted>) -> PyResult<Vec<Option<Bound<'py, PyBytes>>>> {
        let wanted: Vec<(String, KeyRange)> =
            wanted.into_iter().map(|(key, start, end)| (self.key(&key), range(start, end))).collect();
        let found = detached(py, |_| {
            let Some(store) = self.existing()? else { return Ok(vec![None; wanted.len()]) };
            let wanted: Vec<(&str, KeyRange)> =
                wanted.iter().map(|(key, range)| (key.as_str(), *range)).collect();
            store.get_many(&wanted).into_iter().collect()
        })?;
        Ok(found.into_iter().map(|found| found.map(|bytes| PyBytes::new(py, &bytes))).collect())
    }

    /// Write what a key holds, and tell whether it was; with `if_absent` only where nothing is stored.
    fn put<'py>(
        &self,
        py: Python<'py>,
        key: &str,
        value: &Bound<'py, PyArray1<u8>>,
        if_absent: bool,
    ) -> PyResult<bool> {
        let bytes = value.try_readonly()?.as_slice()?.to_vec();
        let put = if if_absent { KeyPut::IfAbsent } else { KeyPut::Replace };
        let key = self.key(key);
        detached(py, |_| self.opened(Location::new_store)?.put(&key, bytes.into(), put))
    }

    /// Remove what a key holds, if it holds something.
    fn delete(&self, py: Python<'_>, key: &str) -> PyResult<()> {
        let key = self.key(key);
        detached(py, |_| self.existing()?.map_or(Ok(()), |store| store.delete(&key)))
    }

    /// Remove all keys below a path.
    fn delete_below(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        let path = self.key(path);
        detached(py, |_| self.existing()?.map_or(Ok(()), |store| store.delete_below(&path)))
    }

    /// Return how many bytes a key holds; None where nothing is stored.
    fn size(&self, py: Python<'_>, key: &str) -> PyResult<Option<u64>> {
        let key = self.key(key);
        detached(py, |_| self.existing()?.map_or(Ok(None), |store| store.size_of(&key)))
    }

    /// Return the names of what lies directly below a path.
    fn names(&self, py: Python<'_>, path: &str) -> PyResult<Vec<String>> {
        let path = self.key(path);
        let found = detached(py, |_| self.existing()?.map_or(Ok(Vec::new()), |store| store.entries(&path)))?;
        Ok(found.iter().map(Entry::name).map(str::to_owned).collect())
    }

    /// Return what lies directly below a path: names and sizes; None for what has more below.
    fn entries(&self, py: Python<'_>, path: &str) -> PyResult<Vec<(String, Option<u64>)>> {
        let path = self.key(path);
        let found = detached(py, |_| self.existing()?.map_or(Ok(Vec::new()), |store| store.entries(&path)))?;
        let entries = found.into_iter().map(|entry| match entry {
            Entry::Object { name, size } => (name, Some(size)),
            Entry::Prefix { name } => (name, None),
        });
        Ok(entries.collect())
    }

    /// Return all keys below a path, each with how many bytes it holds.
    fn keys(&self, py: Python<'_>, path: &str) -> PyResult<Vec<(String, u64)>> {
        let path = self.key(path);
        let found =
            detached(py, |_| self.existing()?.map_or(Ok(Vec::new()), |store| store.keys_below(&path)))?;
        Ok(found.into_iter().map(|(key, size)| (self.bare(key), size)).collect())
    }

    /// Make sure that the directory of a local store is there; `create` makes it.
    fn ensure(&self, py: Python<'_>, create: bool) -> PyResult<()> {
        let open = if create { Location::new_store } else { Location::store };
        reported(py, || self.opened(open).map(drop))?.map_err(|error| raised(py, &error))
    }

    fn __eq__(&self, other: &KeyStore) -> bool {
        self.location.is_same(&other.location)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        self.location.pickled(py, "keys")
    }
}

/// The bytes that two offsets stand for.
fn range(start: Option<u64>, end: Option<u64>) -> KeyRange {
    match (start, end) {
        (None, None) => KeyRange::Whole,
        (Some(start), None) => KeyRange::From(start),
        (None, Some(count)) => KeyRange::Last(count),
        (Some(start), Some(end)) => KeyRange::Between(start, end),
    }
}
