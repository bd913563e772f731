//! `swath.Array`.

use crate::array_iterator::ArrayIterator;
use crate::awaited::{self, Awaited, Request};
use crate::conversion::Keywords;
use crate::errors::raised;
use crate::given::Given;
use crate::indexers::{BlockIndex, OIndex, VIndex};
use crate::info::Info;
use crate::location::{Lazy, Location};
use crate::logs::reported;
use crate::opened::Opened;
use crate::output::allocate;
use crate::selection::Way;
use crate::stats::remote_stats;
use crate::write;
use crate::{chunk_sizes, dtype, fields, json, read};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::hash::{Hash, Hasher};
use swath::codecs::Codec;
use swath::{DecodedCache, Selection, ZarrFormat};

/// A Zarr array.
///
/// Made by `swath.open`, `swath.open_array`, or from a group. It holds metadata but no open file: it
/// can be pickled (as its path or URL, without secrets), sent to other processes by fork, forkserver or
/// spawn, and used from any number of threads. Two arrays are equal when they are stored at the same
/// place.
///
/// Indexing reads from storage into a new NumPy array, with NumPy's rules for integers, slices (steps
/// and negative numbers included) and `...`, and with zarr-python's for lists and arrays. What is not
/// stored reads as the fill value. The GIL is released while a read runs, and Ctrl-C ends it.
///
/// Examples
/// --------
/// >>> array = swath.open_array("example.zarr")
/// >>> array[0:4, :, 100:228, 100:228].shape
/// (4, 3, 128, 128)
#[pyclass(frozen, weakref, module = "swath")]
pub(crate) struct Array {
    pub(crate) lazy: Lazy<Opened>,
}

impl Array {
    /// An array that was opened just now: codecs of it that are Python's are warned of.
    pub(crate) fn opened(py: Python<'_>, location: Location, array: swath::Array) -> PyResult<Array> {
        let opened = Opened::new(&location, array);
        opened.warn_of_python_codecs(py)?;
        Ok(Array { lazy: Lazy::opened(location, opened) })
    }

    /// Where its decoded chunks are kept.
    pub(crate) fn decoded(&self) -> &DecodedCache {
        self.lazy.location.decoded()
    }

    /// The same array with another cache of decoded chunks; `None` where it would keep none.
    pub(crate) fn with_decoded_cache(&self, py: Python<'_>, cache: &DecodedCache) -> PyResult<Option<Array>> {
        let location = self.lazy.location.clone().with_decoded(cache.clone());
        let opened = Opened::new(&location, self.get(py)?.array.clone());
        let keeps = opened.array.keeps_decoded();
        Ok(keeps.then(|| Array { lazy: Lazy::opened(location, opened) }))
    }

    pub(crate) fn unopened(location: Location) -> Array {
        Array { lazy: Lazy::unopened(location) }
    }
}

#[pymethods]
impl Array {
    /// Read what an index selects.
    ///
    /// Parameters
    /// ----------
    /// index : int, slice, Ellipsis, list, numpy.ndarray, or a tuple of them
    ///     NumPy's basic indexing: negative numbers count from the end, steps may be negative, fewer
    ///     entries than axes select the rest whole. An integer drops its axis. Strings name fields of
    ///     structured elements, of which only those are read. With lists and arrays as
    ///     zarr-python: one of integers for every axis, integers among them, as `vindex`, and so an array
    ///     of booleans of the array's shape; one list or array beside integers and slices as `oindex`.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     A new array in C order, of the array's dtype. As with zarr-python, an integer for every axis
    ///     gives an array without dimensions, and `a[...]` or `a[()]` of an array without dimensions
    ///     gives a NumPy scalar.
    ///
    /// Raises
    /// ------
    /// OutOfBoundsError
    ///     An index lies outside its axis, or there are more indices than axes. An IndexError too.
    /// UnsupportedSelectionError
    ///     The index holds anything else, such as None or a boolean. An IndexError too.
    /// CorruptError
    ///     Stored bytes contradict the metadata or their checksum.
    /// StorageError
    ///     The storage failed.
    ///
    /// Examples
    /// --------
    /// >>> array[0, ..., ::-2].shape
    /// (3, 256, 128)
    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        read::item(py, &*self.get(py)?, index)
    }

    /// Write to what an index selects.
    ///
    /// What is written is cast to the array's dtype and broadcast to the selection's shape, both as NumPy
    /// does. Chunks that are written in part are read first; each stored object is replaced in one step,
    /// so that readers see the old or the new of it. Chunks of nothing but the fill value are not stored,
    /// unless `config` said so.
    ///
    /// Parameters
    /// ----------
    /// index : int, slice, Ellipsis, list, numpy.ndarray, or a tuple of them
    ///     As for reading. Of an element that is named more often than once the last value counts.
    /// value : array_like
    ///     What to write.
    ///
    /// Raises
    /// ------
    /// InvalidError
    ///     The value cannot be broadcast, or the array was opened for reading only. A ValueError too.
    /// OutOfBoundsError, UnsupportedSelectionError
    ///     As for reading.
    /// CorruptError
    ///     A chunk that is written in part cannot be decoded.
    /// UnsupportedError
    ///     The storage cannot be written to, or a codec only decodes.
    /// StorageError
    ///     The storage failed.
    fn __setitem__(
        &self,
        py: Python<'_>,
        index: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let opened = self.writable(py)?;
        let mut axes = Vec::new();
        let fancy = opened.parse(index, &mut axes)?;
        let selection = fancy.unwrap_or_else(|| Selection::new(axes));
        write::assign(py, &opened, &selection, value, self.lazy.location.access())
    }

    /// Give the array another shape.
    ///
    /// Parameters
    /// ----------
    /// new_shape : int or tuple of int
    ///     Elements along each axis. What lies outside a smaller shape is lost, but for what chunks at
    ///     the new edge hold: that shows again where the array grows anew.
    ///
    /// Raises
    /// ------
    /// InvalidError
    ///     The shape has another number of axes.
    /// UnsupportedError, StorageError
    ///     As for writing.
    fn resize(&self, py: Python<'_>, new_shape: &Bound<'_, PyAny>) -> PyResult<()> {
        let opened = self.writable(py)?;
        let shape = match new_shape.extract::<u64>() {
            Ok(length) => vec![length],
            Err(_) => new_shape.extract::<Vec<u64>>()?,
        };
        let resized = reported(py, || opened.array.resize(&shape))?.map_err(|error| raised(py, &error))?;
        self.changed(py, opened, resized)
    }

    /// Write behind the array's last elements along an axis, as it is stored by then.
    ///
    /// Several that append at once do so one after the other: in one process, and to a local directory in
    /// several.
    ///
    /// Parameters
    /// ----------
    /// data : array_like
    ///     Of the array's shape, but for that axis.
    /// axis : int, default 0
    ///     Along which the array grows.
    ///
    /// Returns
    /// -------
    /// tuple of int
    ///     The new shape.
    ///
    /// Raises
    /// ------
    /// InvalidError
    ///     The shapes differ.
    /// UnsupportedError, StorageError
    ///     As for writing.
    #[pyo3(signature = (data, axis = 0))]
    fn append<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        axis: usize,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let opened = self.writable(py)?;
        let appended = write::append(py, &opened, data, axis, self.lazy.location.access())?;
        self.changed(py, opened, appended)?;
        PyTuple::new(py, self.get(py)?.array.shape())
    }

    /// Add and remove attributes, for `attrs`; returns all of them.
    fn _change_attributes<'py>(
        &self,
        py: Python<'py>,
        added: &str,
        removed: Vec<String>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let opened = self.writable(py)?;
        let change = json::change(py, added, removed, &opened.name)?;
        let changed = reported(py, || opened.array.change_attributes(change))?;
        self.changed(py, opened, changed.map_err(|error| raised(py, &error))?)?;
        json::object(py, self.get(py)?.array.metadata().attributes())
    }

    /// Read what an index selects, into `out` if it is given, and convert it on the way if asked to.
    ///
    /// Parameters
    /// ----------
    /// index : int, slice, Ellipsis, list, numpy.ndarray, or a tuple of them; default ...
    ///     As for `array[index]`.
    /// out : numpy.ndarray, optional
    ///     Where to write: a writable array, contiguous in C order, of exactly the result's shape and
    ///     dtype. While it is written to, give it to no other read and leave it alone; after an error its
    ///     content is undefined.
    /// by : {'index', 'orthogonal', 'coordinate', 'mask', 'block'}, default 'index'
    ///     How the index is read: as by `array[...]`, `oindex`, `get_coordinate_selection`,
    ///     `get_mask_selection` or `blocks`.
    /// dtype : numpy dtype, optional
    ///     What elements are cast to: float16, float32, float64, bfloat16 of ml_dtypes, or an integer of 8 to
    ///     64 bits. By default the array's own where elements are at most masked and filled and it has NaN
    ///     or needs none; else float32 where every element is exact in it, and float64 otherwise.
    /// mask : number or sequence of numbers, optional
    ///     Stored values that become NaN: CF's `_FillValue` and `missing_value`.
    /// valid_range : tuple of two numbers, optional
    ///     Stored values outside become NaN; both ends are valid, and None is no end.
    /// scale, offset : float, optional
    ///     Elements become ``stored * scale + offset``: CF's `scale_factor` and `add_offset`.
    /// decode_dtype : {'float32', 'float64'}, optional
    ///     The precision to scale in. By default float32 where `dtype` is a float of up to 32 bits and every
    ///     stored element is exact in it, else float64. xarray scales by attributes in float64.
    /// mean, std : float or sequence of floats, optional
    ///     Elements become ``(element - mean) / std``; sequences have a number for each index along `axis` of
    ///     the array, whatever is selected of it.
    /// axis : int, optional
    ///     The axis of the array that `mean` and `std` are told along.
    /// downsample : sequence of int, optional
    ///     A factor for each axis of the array: blocks of so many elements of the result become their mean,
    ///     and what is left over at the end of an axis is dropped. 1 where an axis is selected by an integer
    ///     or a list.
    /// skipna : bool, default False
    ///     Whether means leave NaN out. Else NaN in a block makes its mean NaN.
    /// fill : number, optional
    ///     What NaN becomes, means too. Needed where an integer dtype is masked.
    /// progress : bool or function, optional
    ///     Whether a read of more than half a second shows how far it is: by tqdm or rich where they are
    ///     installed, else in lines on stderr. A function is called now and then with what is done and all
    ///     there is, in bytes of the result (elements, where they have lengths of their own), and at the end.
    ///     By default as `swath.config` says.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     `out`, or a new array; without dimensions where every axis is selected by an integer.
    ///
    /// Raises
    /// ------
    /// InvalidError
    ///     `out` does not fit, or the steps do not fit the array or the dtype. A ValueError too.
    /// UnsupportedError
    ///     Elements are no numbers, or there is no cast to `dtype`; or means of elements that are picked one
    ///     by one.
    /// OutOfBoundsError, UnsupportedSelectionError, CorruptError, StorageError
    ///     As for `array[index]`.
    ///
    /// Notes
    /// -----
    /// The order is always: mask, scale and offset, rounding to the working precision, mean and std,
    /// downsample, fill, cast. The working precision is float32 where `dtype` is a float of up to 32 bits,
    /// else float64. Equal to the same steps in NumPy, but that sums of means are float64, and that casts
    /// to integers take the nearest number of the type (and 0 of NaN) where NumPy wraps around. All is done
    /// on each chunk while it is in cache; no array of the result's size is made on the way. Reads of the
    /// same give the same bits.
    ///
    /// Examples
    /// --------
    /// >>> out = numpy.empty((3, 256, 256), array.dtype)
    /// >>> array.read(0, out=out) is out
    /// True
    /// >>> array.read(0, dtype="float32", mask=0, scale=0.5, fill=-1, downsample=(1, 1, 2, 2)).shape
    /// (3, 128, 128)
    #[pyo3(
        signature = (index = Given::nothing(), out = None, **keywords),
        text_signature = "($self, index=..., out=None, *, by='index', dtype=None, mask=None, valid_range=None, scale=None, offset=None, decode_dtype=None, mean=None, std=None, axis=None, downsample=None, skipna=False, fill=None, progress=None)"
    )]
    fn read<'py>(
        &self,
        py: Python<'py>,
        index: Given<'py>,
        out: Option<&Bound<'py, PyAny>>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyUntypedArray>> {
        let keywords = Keywords::new("read", keywords)?;
        read::viewed(py, &*self.get(py)?, &keywords, index.0.as_ref(), out)
    }

    /// Read many selections at once. A chunk that several need is read and decoded once.
    ///
    /// Parameters
    /// ----------
    /// indexes : iterable of indexes
    ///     Each as for `array[index]`.
    /// out : numpy.ndarray, optional
    ///     Where to write, as for `read`; of shape (n, ...). Not together with `stack=False`.
    /// stack : bool, default True
    ///     Whether to return one array. The selections must then have equal shapes.
    /// by, dtype, mask, valid_range, scale, offset, decode_dtype, mean, std, axis, downsample, skipna, fill
    ///     As for `read`.
    /// progress : bool or function, optional
    ///     As for `read`.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray or list of numpy.ndarray
    ///     One array of shape (n, ...), whose item i is the result of index i; with `stack=False` a list
    ///     of n arrays of any shapes, which are views of one block of memory: copy what you keep for
    ///     long.
    ///
    /// Raises
    /// ------
    /// InvalidError
    ///     The shapes differ, there is nothing to stack, `out` does not fit, or what `read` refuses. A
    ///     ValueError too.
    /// UnsupportedError
    ///     As for `read`.
    /// OutOfBoundsError, UnsupportedSelectionError
    ///     As for `array[index]`; nothing has been read.
    /// CorruptError, StorageError
    ///     Some selections could not be read; all others have been. The message names the first and
    ///     counts them.
    ///
    /// Examples
    /// --------
    /// >>> array.read_many([numpy.s_[t, :, 0:128, 0:128] for t in (0, 5, 2)]).shape
    /// (3, 3, 128, 128)
    #[pyo3(
        signature = (indexes, out = None, *, stack = true, **keywords),
        text_signature = "($self, indexes, out=None, *, stack=True, by='index', dtype=None, mask=None, valid_range=None, scale=None, offset=None, decode_dtype=None, mean=None, std=None, axis=None, downsample=None, skipna=False, fill=None, progress=None)"
    )]
    fn read_many<'py>(
        &self,
        py: Python<'py>,
        indexes: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        stack: bool,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (opened, keywords) = (self.get(py)?, Keywords::new("read_many", keywords)?);
        let view = read::view(py, &opened, &keywords)?;
        let plan = read::plan_many(&opened, view.as_ref(), keywords.way, indexes)?;
        let progress = keywords.progress.as_ref();
        match (stack, out) {
            (true, out) => read::stacked(py, &opened, &plan, out, progress)?.into_bound_py_any(py),
            (false, None) => read::listed(py, &opened, &plan, progress)?.into_bound_py_any(py),
            (false, Some(_)) => Err(read::refused_out(py, &opened)),
        }
    }

    /// Read along each axis by itself, and write: `array.oindex[...]`.
    ///
    /// Takes integers, slices with positive steps, one `...`, and lists or arrays with one axis: of
    /// integers in any order, repeated or negative, or of booleans, as long as the axis. The result has an
    /// element for every combination.
    ///
    /// Examples
    /// --------
    /// >>> array.oindex[[5, 0, 5], 0, 10:20, [1, -1]].shape
    /// (3, 10, 2)
    #[getter]
    fn oindex(slf: Bound<'_, Self>) -> OIndex {
        OIndex(slf.unbind())
    }

    /// Read single elements, and write them: `array.vindex[...]`.
    ///
    /// Takes an integer, or a list or array of integers, for every axis, matched in shape as NumPy does;
    /// or one array of booleans of the array's shape. The result has the shape that the indexes have
    /// together, and one axis for booleans.
    ///
    /// Examples
    /// --------
    /// >>> array.vindex[[5, 0], 1, [7, 8], -1].shape
    /// (2,)
    #[getter]
    fn vindex(slf: Bound<'_, Self>) -> VIndex {
        VIndex(slf.unbind())
    }

    /// Read stored chunks, or shards where there are some, and write them: `array.blocks[...]`.
    ///
    /// Takes integers and slices without steps, which count chunks. The result has every axis.
    ///
    /// Examples
    /// --------
    /// >>> array.blocks[-1, :, 0].shape
    /// (1, 3, 256, 256)
    #[getter]
    fn blocks(slf: Bound<'_, Self>) -> BlockIndex {
        BlockIndex(slf.unbind())
    }

    /// Read what integers, slices and `...` select: zarr-python's name for `read`.
    ///
    /// Parameters
    /// ----------
    /// selection : int, slice, Ellipsis, or a tuple of them; default ...
    ///     As for `array[selection]`.
    /// out : numpy.ndarray, optional
    ///     Where to write, as for `read`.
    /// fields : str or sequence of str, optional
    ///     Of structured elements, what to read: one field by itself, or some in the order given.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     As `array[selection]`, or `out`.
    ///
    /// Raises
    /// ------
    /// UnsupportedSelectionError
    ///     For lists and arrays, and for fields that there are not. An IndexError too.
    /// InvalidError, OutOfBoundsError, CorruptError, StorageError
    ///     As `read`.
    #[pyo3(
        signature = (selection = Given::nothing(), *, out = None, fields = None),
        text_signature = "($self, selection=..., *, out=None, fields=None)"
    )]
    fn get_basic_selection<'py>(
        &self,
        py: Python<'py>,
        selection: Given<'py>,
        out: Option<&Bound<'py, PyAny>>,
        fields: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let opened = self.get(py)?;
        let seen = fields::given(&opened, fields)?;
        let opened = seen.as_ref().unwrap_or(&opened);
        let index = match selection.0 {
            Some(index) => index,
            None => PyTuple::empty(py).into_any(),
        };
        read::basic(py, opened, &index, out)
    }

    /// Read along each axis by itself: see `oindex`.
    ///
    /// Parameters
    /// ----------
    /// selection : int, slice, Ellipsis, list, numpy.ndarray, or a tuple of them
    ///     As for `array.oindex[selection]`.
    /// out : numpy.ndarray, optional
    ///     Where to write, as for `read`.
    /// fields : str or sequence of str, optional
    ///     Of structured elements, what to read: one field by itself, or some in the order given.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     `out`, or a new array.
    ///
    /// Raises
    /// ------
    /// OutOfBoundsError
    ///     An index lies outside its axis, or booleans are not as many as it has. An IndexError too.
    /// UnsupportedSelectionError
    ///     The selection holds anything else, or goes backwards. An IndexError too.
    /// InvalidError, CorruptError, StorageError
    ///     As `read`.
    #[pyo3(signature = (selection, *, out = None, fields = None))]
    fn get_orthogonal_selection<'py>(
        &self,
        py: Python<'py>,
        selection: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        fields: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyUntypedArray>> {
        let opened = self.get(py)?;
        let seen = fields::given(&opened, fields)?;
        read::by(py, seen.as_ref().unwrap_or(&opened), Way::Orthogonal, selection, out)
    }

    /// Read single elements by their indexes: see `vindex`.
    ///
    /// Parameters
    /// ----------
    /// selection : int, list, numpy.ndarray, or a tuple of them
    ///     One entry for every axis, as for `array.vindex[selection]`.
    /// out : numpy.ndarray, optional
    ///     Where to write, as for `read`.
    /// fields : str or sequence of str, optional
    ///     Of structured elements, what to read: one field by itself, or some in the order given.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     `out`, or a new array.
    ///
    /// Raises
    /// ------
    /// OutOfBoundsError, UnsupportedSelectionError
    ///     As `get_orthogonal_selection`.
    /// InvalidError
    ///     The entries' shapes do not match, or `out` does not fit. A ValueError too.
    /// CorruptError, StorageError
    ///     As `read`.
    #[pyo3(signature = (selection, *, out = None, fields = None))]
    fn get_coordinate_selection<'py>(
        &self,
        py: Python<'py>,
        selection: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        fields: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyUntypedArray>> {
        let opened = self.get(py)?;
        let seen = fields::given(&opened, fields)?;
        read::by(py, seen.as_ref().unwrap_or(&opened), Way::Points, selection, out)
    }

    /// Read the elements for which a mask is true, in C order.
    ///
    /// Parameters
    /// ----------
    /// mask : numpy.ndarray or list
    ///     Booleans, of the array's shape.
    /// out : numpy.ndarray, optional
    ///     Where to write, as for `read`; of one axis.
    /// fields : str or sequence of str, optional
    ///     Of structured elements, what to read: one field by itself, or some in the order given.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     `out`, or a new array, of one axis.
    ///
    /// Raises
    /// ------
    /// OutOfBoundsError, UnsupportedSelectionError
    ///     The mask has another shape, or is none. IndexErrors too.
    /// InvalidError, CorruptError, StorageError
    ///     As `read`.
    #[pyo3(signature = (mask, *, out = None, fields = None))]
    fn get_mask_selection<'py>(
        &self,
        py: Python<'py>,
        mask: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        fields: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyUntypedArray>> {
        let opened = self.get(py)?;
        let seen = fields::given(&opened, fields)?;
        read::by(py, seen.as_ref().unwrap_or(&opened), Way::Mask, mask, out)
    }

    /// Read stored chunks: see `blocks`.
    ///
    /// Parameters
    /// ----------
    /// selection : int, slice, Ellipsis, or a tuple of them
    ///     As for `array.blocks[selection]`.
    /// out : numpy.ndarray, optional
    ///     Where to write, as for `read`.
    /// fields : str or sequence of str, optional
    ///     Of structured elements, what to read: one field by itself, or some in the order given.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///     `out`, or a new array.
    ///
    /// Raises
    /// ------
    /// OutOfBoundsError, UnsupportedSelectionError
    ///     There is no such chunk, or the selection holds anything else. IndexErrors too.
    /// InvalidError, CorruptError, StorageError
    ///     As `read`.
    #[pyo3(signature = (selection, *, out = None, fields = None))]
    fn get_block_selection<'py>(
        &self,
        py: Python<'py>,
        selection: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        fields: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyUntypedArray>> {
        let opened = self.get(py)?;
        let seen = fields::given(&opened, fields)?;
        read::by(py, seen.as_ref().unwrap_or(&opened), Way::Blocks, selection, out)
    }

    /// The array whose reads are awaited.
    #[getter]
    fn async_array<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        static ASYNC_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = this.py();
        ASYNC_ARRAY.import(py, "swath.asynchronous", "AsyncArray")?.call1((this,))
    }

    /// Check an index that is to be awaited; None where reads of it block.
    fn _request(
        &self,
        py: Python<'_>,
        by: &Bound<'_, PyAny>,
        index: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Request>> {
        Request::new(&*self.get(py)?, by, index)
    }

    /// Start reads that were checked.
    fn _start(
        &self,
        py: Python<'_>,
        requests: Vec<Bound<'_, Request>>,
        deliver: Py<PyAny>,
        conversion: &Bound<'_, PyDict>,
    ) -> PyResult<Awaited> {
        let opened = self.get(py)?;
        let view = read::view(py, &opened, &Keywords::new("read", Some(conversion))?)?;
        awaited::start(py, &opened, view, &requests, deliver)
    }

    /// Write to what integers, slices and `...` select.
    ///
    /// Parameters
    /// ----------
    /// selection : int, slice, Ellipsis, or a tuple of them
    ///     As for `array[selection]`.
    /// value : array_like
    ///     What to write, as for `array[index] = value`.
    /// fields : None
    ///     For zarr-python's sake: swath writes all fields of an element, and refuses to select some.
    ///
    /// Raises
    /// ------
    /// OutOfBoundsError, UnsupportedSelectionError
    ///     As for reading. IndexErrors too.
    /// InvalidError, CorruptError, UnsupportedError, StorageError
    ///     As for `array[index] = value`.
    #[pyo3(signature = (selection, value, *, fields = None))]
    fn set_basic_selection(
        &self,
        py: Python<'_>,
        selection: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        fields: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let opened = self.writable(py)?;
        read::refuse_fields(&opened, fields)?;
        let selection = read::basic_selection(py, &opened, selection)?;
        write::assign(py, &opened, &selection, value, self.lazy.location.access())
    }

    /// Write along each axis by itself: see `oindex`.
    ///
    /// Parameters
    /// ----------
    /// selection : int, slice, Ellipsis, list, numpy.ndarray, or a tuple of them
    ///     As for `array.oindex[selection]`.
    /// value : array_like
    ///     What to write, as for `array[index] = value`.
    /// fields : None
    ///     For zarr-python's sake: swath writes all fields of an element, and refuses to select some.
    ///
    /// Raises
    /// ------
    /// OutOfBoundsError, UnsupportedSelectionError
    ///     As for reading. IndexErrors too.
    /// InvalidError, CorruptError, UnsupportedError, StorageError
    ///     As for `array[index] = value`.
    #[pyo3(signature = (selection, value, *, fields = None))]
    fn set_orthogonal_selection(
        &self,
        py: Python<'_>,
        selection: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        fields: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.set_by(py, Way::Orthogonal, selection, value, fields)
    }

    /// Write single elements by their indexes: see `vindex`.
    ///
    /// Parameters
    /// ----------
    /// selection : int, list, numpy.ndarray, or a tuple of them
    ///     One entry for every axis, as for `array.vindex[selection]`.
    /// value : array_like
    ///     What to write, as for `array[index] = value`.
    /// fields : None
    ///     For zarr-python's sake: swath writes all fields of an element, and refuses to select some.
    ///
    /// Raises
    /// ------
    /// OutOfBoundsError, UnsupportedSelectionError
    ///     As for reading. IndexErrors too.
    /// InvalidError, CorruptError, UnsupportedError, StorageError
    ///     As for `array[index] = value`.
    #[pyo3(signature = (selection, value, *, fields = None))]
    fn set_coordinate_selection(
        &self,
        py: Python<'_>,
        selection: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        fields: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.set_by(py, Way::Points, selection, value, fields)
    }

    /// Write the elements for which a mask is true, in C order.
    ///
    /// Parameters
    /// ----------
    /// mask : numpy.ndarray or list
    ///     Booleans, of the array's shape.
    /// value : array_like
    ///     What to write, as for `array[index] = value`.
    /// fields : None
    ///     For zarr-python's sake: swath writes all fields of an element, and refuses to select some.
    ///
    /// Raises
    /// ------
    /// OutOfBoundsError, UnsupportedSelectionError
    ///     As for reading. IndexErrors too.
    /// InvalidError, CorruptError, UnsupportedError, StorageError
    ///     As for `array[index] = value`.
    #[pyo3(signature = (mask, value, *, fields = None))]
    fn set_mask_selection(
        &self,
        py: Python<'_>,
        mask: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        fields: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.set_by(py, Way::Mask, mask, value, fields)
    }

    /// Write stored chunks: see `blocks`.
    ///
    /// Parameters
    /// ----------
    /// selection : int, slice, Ellipsis, or a tuple of them
    ///     As for `array.blocks[selection]`.
    /// value : array_like
    ///     What to write, as for `array[index] = value`.
    /// fields : None
    ///     For zarr-python's sake: swath writes all fields of an element, and refuses to select some.
    ///
    /// Raises
    /// ------
    /// OutOfBoundsError, UnsupportedSelectionError
    ///     As for reading. IndexErrors too.
    /// InvalidError, CorruptError, UnsupportedError, StorageError
    ///     As for `array[index] = value`.
    #[pyo3(signature = (selection, value, *, fields = None))]
    fn set_block_selection(
        &self,
        py: Python<'_>,
        selection: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        fields: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.set_by(py, Way::Blocks, selection, value, fields)
    }

    /// Read the whole array, for NumPy: `numpy.asarray(array)`.
    ///
    /// Parameters
    /// ----------
    /// dtype : dtype, optional
    ///     What to convert to.
    /// copy : bool, optional
    ///     False is refused: a read always makes a new array.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray
    ///
    /// Raises
    /// ------
    /// InvalidError
    ///     `copy` is False. A ValueError too.
    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let opened = self.get(py)?;
        if copy == Some(false) {
            return Err(read::refused_view(py, &opened));
        }
        let array = read::one(py, &opened, &Selection::all(), None)?;
        match dtype {
            None => array.into_bound_py_any(py),
            Some(dtype) => array.call_method1(intern!(py, "astype"), (dtype, "K", "unsafe", true, false)),
        }
    }

    /// Read the whole array, for libraries that exchange tensors by DLPack: `torch.from_dlpack(array)`.
    ///
    /// Parameters
    /// ----------
    /// stream, max_version, dl_device : optional
    ///     As for `numpy.ndarray.__dlpack__`.
    /// copy : bool, optional
    ///     False is refused: a read always makes new memory.
    ///
    /// Returns
    /// -------
    /// capsule
    ///
    /// Raises
    /// ------
    /// BufferError
    ///     `copy` is False, or elements are not of a type that DLPack has.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<&Bound<'py, PyAny>>,
        dl_device: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let opened = self.get(py)?;
        if copy == Some(false) {
            return Err(PyBufferError::new_err(format!("{}: a read always makes new memory", opened.name)));
        }
        let options = PyDict::new(py);
        // NumPy 2.0 knows `stream` alone.
        for (name, value) in [("stream", stream), ("max_version", max_version), ("dl_device", dl_device)] {
            if let Some(value) = value {
                options.set_item(name, value)?;
            }
        }
        let exported =
            |array: Bound<'py, PyAny>| array.call_method(intern!(py, "__dlpack__"), (), Some(&options));
        // An empty one is refused for the same reasons as the array, and costs no read.
        let empty = allocate(py, &PyTuple::new(py, [0])?, opened.dtype(py)?)?;
        drop(exported(empty.into_any())?);
        exported(read::one(py, &opened, &Selection::all(), None)?.into_any())
    }

    /// Where `__dlpack__` puts what it reads: (1, 0), the memory of the CPU.
    fn __dlpack_device__(&self) -> (u8, u8) {
        (1, 0)
    }

    /// Tell dask which array it is: the same in every process, whatever caches there are.
    fn __dask_tokenize__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.lazy.location.token(py, "swath.Array")
    }

    /// Elements along the first axis.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let opened = self.get(py)?;
        match opened.array.shape().first() {
            Some(length) => Ok(usize::try_from(*length)?),
            None => Err(PyTypeError::new_err("len() of an array without dimensions")),
        }
    }

    /// Read the array item by item along its first axis.
    fn __iter__(slf: Bound<'_, Self>) -> PyResult<ArrayIterator> {
        let length = slf.len()?;
        Ok(ArrayIterator { array: slf.into_any().unbind(), next: 0, length })
    }

    /// Elements along each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.get(py)?.array.shape())
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self, py: Python<'_>) -> PyResult<usize> {
        self.rank(py)
    }

    /// Elements in all; 1 for an array without dimensions.
    #[getter]
    fn size(&self, py: Python<'_>) -> PyResult<u64> {
        // The metadata was checked: the product fits.
        Ok(self.get(py)?.array.shape().iter().product())
    }

    /// The type of what reads give, in this machine's byte order.
    ///
    /// zarr-python's where that has one. What NumPy has no type for is ml_dtypes': integers of 2 and 4 bits,
    /// small floats, their complex numbers.
    ///
    /// Raises
    /// ------
    /// UnsupportedError
    ///     The package ml_dtypes is wanted, and not installed.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDescr>> {
        Ok(self.get(py)?.dtype(py)?.clone())
    }

    /// Bytes of the whole array once read.
    #[getter]
    fn nbytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let itemsize = self.get(py)?.dtype(py)?.itemsize();
        self.size(py)?.into_bound_py_any(py)?.mul(itemsize)
    }

    /// Elements of a chunk along each axis, the smallest unit read: an inner chunk if there are shards.
    ///
    /// Raises
    /// ------
    /// NotImplementedError
    ///     Chunks differ in length: `read_chunk_sizes` has them.
    #[getter]
    fn chunks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        chunk_sizes::shape(py, &self.get(py)?.array)
    }

    /// Elements of each chunk along each axis, cut off at the end; inner chunks if there are shards.
    #[getter]
    fn read_chunk_sizes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        chunk_sizes::read(py, &self.get(py)?.array)
    }

    /// Elements of each stored chunk or shard along each axis, cut off where the array ends.
    #[getter]
    fn write_chunk_sizes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        chunk_sizes::stored(py, &self.get(py)?.array)
    }

    /// Elements of a shard along each axis; None where the array is not sharded.
    ///
    /// Raises
    /// ------
    /// NotImplementedError
    ///     Shards differ in length: `write_chunk_sizes` has them.
    #[getter]
    fn shards<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        chunk_sizes::of_shards(py, &self.get(py)?.array)
    }

    /// Chunks along each axis; inner chunks in a sharded array.
    #[getter]
    fn cdata_shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.get(py)?.chunk_grid())
    }

    /// Chunks in all, stored or not; inner chunks in a sharded array.
    #[getter]
    fn nchunks(&self, py: Python<'_>) -> PyResult<u64> {
        // At most as many as elements.
        Ok(self.get(py)?.chunk_grid().iter().product())
    }

    /// What elements that are not stored read as.
    ///
    /// A NumPy scalar of the array's dtype, a `str` or `bytes` where elements have lengths of their own;
    /// None where a v2 array defines none, and they read as zeros.
    #[getter]
    fn fill_value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let opened = self.get(py)?;
        let metadata = opened.array.metadata();
        let is_null = metadata.document().get("fill_value").is_none_or(serde_json::Value::is_null);
        if metadata.zarr_format() == ZarrFormat::V2 && is_null {
            return Ok(py.None().into_bound(py));
        }
        dtype::scalar(py, metadata.fill_value(), opened.dtype(py)?)
    }

    /// The user's attributes, a mapping: read-only unless the array was opened to be written to.
    ///
    /// Changes are written at once: `attrs["units"] = "K"`, `attrs.update({...})`, `del attrs["units"]`.
    #[getter]
    fn attrs<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let opened = this.get(py)?;
        if this.lazy.location.access().is_writable {
            return json::attributes(py, opened.array.metadata().attributes(), Some(slf.as_any()));
        }
        let make = || json::attributes(py, opened.array.metadata().attributes(), None).map(Bound::unbind);
        Ok(opened.attributes.get_or_try_init(py, make)?.bind(py).clone())
    }

    /// The metadata document as it is stored, `zarr.json` or `.zarray`; a new dict each time.
    #[getter(metadata)]
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, self.get(py)?.array.metadata().document())
    }

    /// A name or None for each axis; None where the array names none.
    #[getter]
    fn dimension_names<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.get(py)?.array.metadata().dimension_names().map(|names| PyTuple::new(py, names)).transpose()
    }

    /// Every codec that a chunk goes through, described, in encoding order.
    #[getter]
    fn codecs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.phrases(py, |_| true)
    }

    /// The codecs that compress or check a chunk's bytes, described, in encoding order.
    #[getter]
    fn compressors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.phrases(py, |codec| !matches!(codec, Codec::Bytes(_) | Codec::Transpose(_)))
    }

    /// The Zarr format, 2 or 3.
    #[getter]
    fn zarr_format(&self, py: Python<'_>) -> PyResult<u8> {
        Ok(crate::info::format_number(self.get(py)?.array.zarr_format()))
    }

    /// Whether the array can only be read: it was opened with mode "r".
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

    /// The array's directory, absolute, or its URL without credentials; `swath.open` takes it.
    #[getter]
    fn store_path(&self) -> OsString {
        self.lazy.location.store_path()
    }

    /// Count the bytes of the stored chunks, by listing them: as long as that takes.
    ///
    /// Returns
    /// -------
    /// int
    ///     Without the metadata documents.
    ///
    /// Raises
    /// ------
    /// StorageError
    ///     The storage cannot be listed.
    fn nbytes_stored(&self, py: Python<'_>) -> PyResult<u64> {
        let opened = self.get(py)?;
        let stored = reported(py, || opened.array.stored_bytes())?.map_err(|error| raised(py, &error))?;
        Ok(stored.0)
    }

    /// Count what requests to the array's storage came to in this process.
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
    /// >>> before = array.store_stats()["requests"]
    /// >>> crop = array[0, :, :128, :128]
    /// >>> array.store_stats()["requests"] - before
    /// 3
    fn store_stats<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        remote_stats(py, self.get(py)?.array.store())
    }

    /// What the array is, in lines to read.
    #[getter]
    fn info(&self, py: Python<'_>) -> PyResult<Info> {
        let opened = self.get(py)?;
        Ok(Info::of_array(&self.lazy.location, &opened.array))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let (name, remark) = (self.lazy.location.name(), self.lazy.location.remark());
        // A representation waits for no network: debuggers and logs ask for it.
        if self.lazy.location.is_remote() && self.lazy.known().is_none() {
            return format!("<swath.Array {name} (not opened yet){remark}>");
        }
        match self.get(py) {
            Ok(opened) => {
                let shape = crate::info::tuple(opened.array.shape());
                format!("<swath.Array {name} shape={shape} dtype={}{remark}>", opened.array.data_type())
            }
            // A representation never fails; using the array will say why.
            Err(_) => format!("<swath.Array {name} (cannot be opened){remark}>"),
        }
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let other = other.cast::<Array>();
        other.is_ok_and(|other| other.get().lazy.location.is_same(&self.lazy.location))
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.lazy.location.store_path().hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        self.lazy.location.pickled(py, "array")
    }
}
