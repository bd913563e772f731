//! `swath.Group`.

use crate::create;
use crate::errors::{Class, error, raised, raised_for_member, warn};
use crate::info::{Info, format_number, tree};
use crate::json;
use crate::location::{Lazy, Location};
use crate::logs::reported;
use crate::open::wrap;
use crate::stats::remote_stats;
use crate::write::require_writable;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyIterator, PyTuple};
use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use swath::{Error, ErrorKind, Node};

/// A Zarr group: a mapping of names to arrays and groups.
///
/// Made by `swath.open`, `swath.open_group`, or from another group. It can be pickled (as its path or
/// URL, without secrets) and used from any number of threads. Two groups are equal when they are stored
/// at the same place. Where its writer consolidated the metadata, nothing further is read to list it.
///
/// Examples
/// --------
/// >>> group = swath.open_group("archive.zarr")
/// >>> group["2020/t2m"].shape
/// (8760, 721, 1440)
#[pyclass(frozen, weakref, module = "swath")]
pub(crate) struct Group {
    lazy: Lazy<Opened>,
}

/// A group once it is opened.
struct Opened {
    group: swath::Group,
    attributes: PyOnceLock<Py<PyAny>>,
}

impl Opened {
    /// Where it may be written to, its consolidated metadata is not used: that would not know what is
    /// made. Nor where it is not wanted.
    fn new(location: &Location, group: &swath::Group) -> Opened {
        let group = group.with_decoded_cache(location.decoded());
        let access = location.access();
        let is_used = !access.is_writable && !access.skips_consolidated;
        let group = if is_used { group } else { group.without_consolidated() };
        Opened { group, attributes: PyOnceLock::new() }
    }
}

impl Group {
    pub(crate) fn opened(location: Location, group: swath::Group) -> Group {
        let opened = Opened::new(&location, &group);
        Group { lazy: Lazy::opened(location, opened) }
    }

    pub(crate) fn unopened(location: Location) -> Group {
        Group { lazy: Lazy::unopened(location) }
    }

    fn opened_here(&self, py: Python<'_>) -> PyResult<Arc<Opened>> {
        self.lazy.get_with(py, swath::Group::open_in, |group| Ok(Opened::new(&self.lazy.location, &group)))
    }

    fn get(&self, py: Python<'_>) -> PyResult<swath::Group> {
        Ok(self.opened_here(py)?.group.clone())
    }

    /// Where a node below the group is to be made or removed.
    fn below(&self, py: Python<'_>, path: &str) -> PyResult<Location> {
        require_writable(py, &self.lazy.location)?;
        let path = path.trim_matches('/');
        let own = self.lazy.location.path();
        Ok(self.lazy.location.with_path(&if own.is_empty() {
            path.to_owned()
        } else {
            format!("{own}/{path}")
        }))
    }

    fn children(&self, py: Python<'_>) -> PyResult<Vec<(String, Result<Node, Error>)>> {
        let group = self.get(py)?;
        reported(py, || group.children())?.map_err(|error| raised(py, &error))
    }

    fn nodes_below(&self, py: Python<'_>) -> PyResult<Vec<(String, Result<Node, Error>)>> {
        let group = self.get(py)?;
        reported(py, || group.walk())?.map_err(|error| raised(py, &error))
    }

    /// The nodes that can be opened, by name; a warning for each that is not one swath knows.
    ///
    /// # Errors
    ///
    /// Those of the storage: what cannot be reached now is not left out as though it were not there.
    fn pairs<'py>(
        &self,
        py: Python<'py>,
        nodes: Vec<(String, Result<Node, Error>)>,
        is_wanted: impl Fn(&Node) -> bool,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let mut pairs = Vec::with_capacity(nodes.len());
        for (name, node) in nodes {
            match node {
                Ok(node) if is_wanted(&node) => pairs.push((name, wrap(py, &self.lazy.location, node)?)),
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Invalid) => {
                    warn(py, &format!("left out, because it cannot be opened: {error}"))?;
                }
                Err(error) => return Err(raised(py, &error)),
            }
        }
        PyTuple::new(py, pairs)
    }
}

#[pymethods]
impl Group {
    /// The group whose members are awaited.
    #[getter]
    fn async_group<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        static ASYNC_GROUP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = this.py();
        ASYNC_GROUP.import(py, "swath.asynchronous", "AsyncGroup")?.call1((this,))
    }

    /// Open the array or group at a path below this group.
    ///
    /// Parameters
    /// ----------
    /// path : str
    ///     Relative to this group: "t2m", "2020/t2m".
    ///
    /// Returns
    /// -------
    /// Array or Group
    ///
    /// Raises
    /// ------
    /// MemberNotFoundError
    ///     There is none. A KeyError and a FileNotFoundError too.
    /// InvalidError, UnsupportedError
    ///     As `swath.open`.
    ///
    /// Examples
    /// --------
    /// >>> group["2020/t2m"].dtype
    /// dtype('float32')
    fn __getitem__<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
        let group = self.get(py)?;
        let node = reported(py, || group.get(path))?.map_err(|error| raised_for_member(py, &error))?;
        wrap(py, &self.lazy.location, node)
    }

    /// Whether there is an array or a group at a path below this group.
    fn __contains__(&self, py: Python<'_>, path: &str) -> PyResult<bool> {
        let group = self.get(py)?;
        match reported(py, || group.get(path))? {
            Ok(_) => Ok(true),
            Err(error) => match error.kind() {
                ErrorKind::NotFound => Ok(false),
                // It is there, and swath cannot read it.
                ErrorKind::Unsupported | ErrorKind::Invalid => Ok(true),
                _ => Err(raised(py, &error)),
            },
        }
    }

    /// The names directly below.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.keys(py)?.try_iter()
    }

    /// The number of arrays and groups directly below.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.children(py)?.len())
    }

    /// List the names of the arrays and groups directly below, those that swath cannot read included.
    ///
    /// Returns
    /// -------
    /// tuple of str
    ///     Sorted.
    ///
    /// Raises
    /// ------
    /// StorageError
    ///     The storage cannot be listed.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.children(py)?.into_iter().map(|(name, _)| name).collect::<Vec<_>>())
    }

    /// Open the arrays and groups directly below.
    ///
    /// Returns
    /// -------
    /// tuple of (str, Array or Group)
    ///     Sorted by name. Nodes that swath cannot open are left out, each with a `SwathWarning`.
    ///
    /// Raises
    /// ------
    /// StorageError
    ///     The storage cannot be listed, or a node cannot be read.
    fn members<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let children = self.children(py)?;
        self.pairs(py, children, |_| true)
    }

    /// Open the arrays directly below.
    ///
    /// Returns
    /// -------
    /// tuple of (str, Array)
    ///     As `members`.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let children = self.children(py)?;
        self.pairs(py, children, |node| matches!(node, Node::Array(_)))
    }

    /// Open the groups directly below.
    ///
    /// Returns
    /// -------
    /// tuple of (str, Group)
    ///     As `members`.
    fn groups<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let children = self.children(py)?;
        self.pairs(py, children, |node| matches!(node, Node::Group(_)))
    }

    /// Open every array and group below, at any depth.
    ///
    /// Returns
    /// -------
    /// tuple of (str, Array or Group)
    ///     By path relative to this group: each group before what it holds. Nodes that swath cannot open
    ///     are left out, each with a `SwathWarning`.
    ///
    /// Raises
    /// ------
    /// StorageError
    ///     The storage cannot be listed, or a node cannot be read.
    ///
    /// Examples
    /// --------
    /// >>> [path for path, node in group.walk()]
    /// ['2020', '2020/t2m']
    fn walk<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let nodes = self.nodes_below(py)?;
        self.pairs(py, nodes, |_| true)
    }

    /// Draw everything below as a tree.
    ///
    /// Returns
    /// -------
    /// Info
    ///     Text that prints as it is: names, shapes, data types, and for what swath cannot open the
    ///     reason.
    ///
    /// Raises
    /// ------
    /// StorageError
    ///     The storage cannot be listed.
    fn tree(&self, py: Python<'_>) -> PyResult<Info> {
        let nodes = self.nodes_below(py)?;
        Ok(Info::from(tree(&self.name(), &nodes)))
    }

    /// The user's attributes, a mapping: read-only unless the group was opened to be written to.
    ///
    /// Changes are written at once: `attrs["units"] = "K"`, `attrs.update({...})`, `del attrs["units"]`.
    #[getter]
    fn attrs<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let opened = this.opened_here(py)?;
        if this.lazy.location.access().is_writable {
            return json::attributes(py, opened.group.attributes(), Some(slf.as_any()));
        }
        let make = || json::attributes(py, opened.group.attributes(), None).map(Bound::unbind);
        Ok(opened.attributes.get_or_try_init(py, make)?.bind(py).clone())
    }

    /// Add and remove attributes, for `attrs`; returns all of them.
    fn _change_attributes<'py>(
        &self,
        py: Python<'py>,
        added: &str,
        removed: Vec<String>,
    ) -> PyResult<Bound<'py, PyDict>> {
        require_writable(py, &self.lazy.location)?;
        let mut before = self.opened_here(py)?;
        let change = json::change(py, added, removed, &self.lazy.location.name())?;
        let changed = reported(py, || before.group.change_attributes(change))?;
        let changed = changed.map_err(|error| raised(py, &error))?;
        let mut group = changed.clone();
        while !self.lazy.replace(&before, Opened::new(&self.lazy.location, &group)) {
            before = self.opened_here(py)?;
            let stored = reported(py, || swath::Group::open_in(before.group.store(), before.group.path()))?;
            group = stored.map_err(|error| raised(py, &error))?;
        }
        json::object(py, changed.attributes())
    }

    /// Make an array below this group.
    ///
    /// Parameters
    /// ----------
    /// name : str
    ///     Its path, relative to this group; groups above it are made too.
    /// **options : optional
    ///     As for `swath.create_array`: `shape`, `dtype`, `data`, `chunks`, `shards`, and so on. The
    ///     format is the group's.
    ///
    /// Returns
    /// -------
    /// Array
    ///
    /// Raises
    /// ------
    /// InvalidError
    ///     There is a node already, or the options contradict each other. A ValueError too.
    /// UnsupportedError, StorageError
    ///     As for writing.
    #[pyo3(signature = (name, **options))]
    fn create_array<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let location = self.below(py, name)?;
        let zarr_format = format_number(self.get(py)?.zarr_format());
        create::array(py, &location, options, Some(zarr_format))?.into_bound_py_any(py)
    }

    /// Make a group below this one.
    ///
    /// Parameters
    /// ----------
    /// name : str
    ///     Its path, relative to this group; groups above it are made too.
    /// overwrite : bool, default False
    ///     Whether what is there already is removed, with all that is below it.
    /// attributes : dict, optional
    ///     The user's attributes.
    ///
    /// Returns
    /// -------
    /// Group
    ///
    /// Raises
    /// ------
    /// InvalidError
    ///     There is a node already. A ValueError too.
    /// UnsupportedError, StorageError
    ///     As for writing.
    #[pyo3(signature = (name, *, overwrite = false, attributes = None))]
    fn create_group(
        &self,
        py: Python<'_>,
        name: &str,
        overwrite: bool,
        attributes: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Group> {
        let location = self.below(py, name)?;
        let zarr_format = self.get(py)?.zarr_format();
        create::group(py, &location, zarr_format, overwrite, attributes)
    }

    /// Open a group below this one, or make it where there is none.
    ///
    /// Parameters
    /// ----------
    /// name : str
    ///     Its path, relative to this group.
    /// overwrite : bool, default False
    ///     Whether a group that is there is replaced by an empty one.
    ///
    /// Returns
    /// -------
    /// Group
    ///
    /// Raises
    /// ------
    /// InvalidError
    ///     There is an array. A ValueError too.
    /// UnsupportedError, StorageError
    ///     As for writing.
    #[pyo3(signature = (name, *, overwrite = false))]
    fn require_group(&self, py: Python<'_>, name: &str, overwrite: bool) -> PyResult<Group> {
        let location = self.below(py, name)?;
        let group = self.get(py)?;
        match reported(py, || group.get(name))? {
            Ok(Node::Group(found)) if !overwrite => Ok(Group::opened(location, found)),
            Ok(Node::Array(_)) => {
                let message = "wanted a group, or nothing, found an array";
                Err(error(py, Class::Invalid, message, &location.name()))
            }
            Err(failed) if failed.kind() != ErrorKind::NotFound => Err(raised(py, &failed)),
            Ok(_) | Err(_) => create::group(py, &location, group.zarr_format(), overwrite, None),
        }
    }

    /// Open an array below this group, or make it where there is none.
    ///
    /// Parameters
    /// ----------
    /// name : str
    ///     Its path, relative to this group.
    /// shape : tuple of int
    ///     What it has to have.
    /// dtype : dtype, optional
    ///     What it has to be; of one that is there, anything that can be cast to it safely, or with
    ///     `exact` this alone.
    /// exact : bool, default False
    ///     Whether one that is there must have exactly this dtype.
    /// **options : optional
    ///     As for `create_array`, where it is made.
    ///
    /// Returns
    /// -------
    /// Array
    ///
    /// Raises
    /// ------
    /// InvalidError
    ///     What is there is a group, or has another shape or dtype. A ValueError too.
    /// UnsupportedError, StorageError
    ///     As for writing.
    #[pyo3(signature = (name, *, shape, dtype = None, exact = false, **options))]
    fn require_array<'py>(
        slf: &Bound<'py, Self>,
        name: &str,
        shape: &Bound<'py, PyAny>,
        dtype: Option<&Bound<'py, PyAny>>,
        exact: bool,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let require = slf.py().import("swath.creation")?.getattr("require_array")?;
        require.call((slf, name, shape, dtype, exact), options)
    }

    /// Remove a node below this group, with all that is below it.
    fn __delitem__(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        let location = self.below(py, path)?;
        let group = self.get(py)?;
        let removed = reported(py, || {
            let store = group.store();
            let is_there = store.contains_node(location.path())?;
            if is_there { store.remove_node(location.path()).map(|()| true) } else { Ok(false) }
        })?;
        match removed {
            Ok(true) => Ok(()),
            Ok(false) => Err(error(py, Class::MemberNotFound, "there is no such member", &location.name())),
            Err(failed) => Err(raised(py, &failed)),
        }
    }

    /// The Zarr format, 2 or 3.
    #[getter]
    fn zarr_format(&self, py: Python<'_>) -> PyResult<u8> {
        Ok(format_number(self.get(py)?.zarr_format()))
    }

    /// Whether the group can only be read: it was opened with mode "r".
    #[getter]
    fn read_only(&self) -> bool {
        !self.lazy.location.access().is_writable
    }

    /// The path in the store with a slash in front: "/" for the root.
    #[getter]
    fn name(&self) -> String {
        self.lazy.location.zarr_name()
    }

    /// The path in the store: "" for the root.
    #[getter]
    fn path(&self) -> &str {
        self.lazy.location.path()
    }

    /// The last part of the path: "" for the root.
    #[getter]
    fn basename(&self) -> &str {
        self.lazy.location.basename()
    }

    /// The group's directory, absolute, or its URL without credentials; `swath.open` takes it.
    #[getter]
    fn store_path(&self) -> OsString {
        self.lazy.location.store_path()
    }

    /// Count what requests to the group's storage came to in this process.
    ///
    /// Returns
    /// -------
    /// dict or None
    ///     None for local files and memory. Else what was counted since the first request to the endpoint,
    ///     which all stores of one scheme, host and port share: `requests`, those sent again included;
    ///     `bytes_received`; of the requests, `retries`, `resumed` after a body that broke, and `hedges`;
    ///     `throttled`, answers that asked for fewer requests; `connections_opened`, `connections_open`,
    ///     `http2_open`; `in_flight` and `in_flight_max`; `concurrency`, how many requests may be under way
    ///     as adapted by now, and `concurrency_history`, (seconds since the first request, limit) each time
    ///     it moved; `first_byte_seconds`, a dict of the `median`, the 99th percentile `p99` and the `max`
    ///     from a request to the first byte of its answer; `request_cost_ns` and `byte_cost_ns`, what one
    ///     more request and one more byte cost as measured, 0 before; and `endpoint`. Divide
    ///     `bytes_received` by `swath.stats()["bytes_wanted"]` for what was read in vain.
    ///     `cache` is None, or a dict of what the cache of `swath.open(..., cache=...)` counted for all that
    ///     share it: `hits`, answered without a request; `misses`, of which `partial` needed one for some of
    ///     their bytes; `shared`, that waited for another's request; `checks` whether an object changed and
    ///     `changes` found; `bytes_from_memory`, `bytes_from_files` and `bytes_from_storage`; what is held,
    ///     `memory_bytes` and `file_bytes`; and ranges `dropped` before they were stored or found `corrupt`.
    ///
    /// Examples
    /// --------
    /// >>> before = group.store_stats()["requests"]
    /// >>> crop = group["t2m"][0]
    /// >>> group.store_stats()["requests"] - before
    /// 3
    fn store_stats<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        remote_stats(py, self.get(py)?.store())
    }

    /// What the group is, in lines to read.
    #[getter]
    fn info(&self, py: Python<'_>) -> PyResult<Info> {
        Ok(Info::of_group(&self.lazy.location, &self.get(py)?))
    }

    fn __repr__(&self) -> String {
        format!("<swath.Group {}{}>", self.lazy.location.name(), self.lazy.location.remark())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let other = other.cast::<Group>();
        other.is_ok_and(|other| other.get().lazy.location.is_same(&self.lazy.location))
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.lazy.location.store_path().hash(&mut hasher);
        hasher.finish()
    }

    /// Tell dask which group it is: the same in every process, whatever caches there are.
    fn __dask_tokenize__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.lazy.location.token(py, "swath.Group")
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        self.lazy.location.pickled(py, "group")
    }
}
