"""The native part of swath; import ``swath`` instead."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import EllipsisType
from typing import Any, Literal, SupportsIndex, final, overload, override

import numpy as np
import numpy.typing as npt
from typing_extensions import CapsuleType

from swath.asynchronous import AsyncArray, AsyncGroup
from swath.attributes import Attributes

type AxisIndex = SupportsIndex | slice | EllipsisType
type BasicIndex = AxisIndex | tuple[AxisIndex, ...]
type IndexList = list[int] | list[bool] | npt.NDArray[np.integer[Any]] | npt.NDArray[np.bool_]
type Index = AxisIndex | IndexList | tuple[AxisIndex | IndexList, ...]
type PointList = SupportsIndex | list[int] | npt.NDArray[np.integer[Any]]
type FieldIndex = str | tuple[AxisIndex | IndexList | str, ...]
type PointIndex = PointList | tuple[PointList, ...]
type Mask = list[bool] | npt.NDArray[np.bool_]
type AnyIndex = Index | PointIndex | Mask
type By = Literal["index", "orthogonal", "coordinate", "mask", "block"]
type Number = float | np.number[Any]

__version__: str

@final
class Array:
    """A Zarr array.

    Made by `swath.open`, `swath.open_array`, or from a group. It holds metadata but no open file: it
    can be pickled (as its path or URL, without secrets), sent to other processes by fork, forkserver or
    spawn, and used from any number of threads. Two arrays are equal when they are stored at the same
    place.

    Indexing reads from storage into a new NumPy array, with NumPy's rules for integers, slices (steps
    and negative numbers included) and `...`, and with zarr-python's for lists and arrays. What is not
    stored reads as the fill value. The GIL is released while a read runs, and Ctrl-C ends it.

    Examples
    --------
    >>> array = swath.open_array("example.zarr")
    >>> array[0:4, :, 100:228, 100:228].shape
    (4, 3, 128, 128)
    """

    def __getitem__(self, index: Index | FieldIndex, /) -> npt.NDArray[Any]:
        """Return self[key]."""

    def __setitem__(self, index: Index, value: npt.ArrayLike, /) -> None:
        """Set self[key] to value."""

    def resize(self, new_shape: int | Sequence[int]) -> None:
        """Give the array another shape.

        Parameters
        ----------
        new_shape : int or tuple of int
            Elements along each axis. What lies outside a smaller shape is lost, but for what chunks at
            the new edge hold: that shows again where the array grows anew.

        Raises
        ------
        InvalidError
            The shape has another number of axes.
        UnsupportedError, StorageError
            As for writing.
        """

    def append(self, data: npt.ArrayLike, axis: int = 0) -> tuple[int, ...]:
        """Write behind the array's last elements along an axis, as it is stored by then.

        Several that append at once do so one after the other: in one process, and to a local directory in
        several.

        Parameters
        ----------
        data : array_like
            Of the array's shape, but for that axis.
        axis : int, default 0
            Along which the array grows.

        Returns
        -------
        tuple of int
            The new shape.

        Raises
        ------
        InvalidError
            The shapes differ.
        UnsupportedError, StorageError
            As for writing.
        """

    def _change_attributes(self, added: str, removed: list[str]) -> dict[str, Any]:
        """Add and remove attributes, for `attrs`; returns all of them."""

    def read(
        self,
        index: AnyIndex = ...,
        out: npt.NDArray[Any] | None = None,
        *,
        by: By = "index",
        dtype: npt.DTypeLike | None = None,
        mask: Number | Sequence[Number] | npt.NDArray[Any] | None = None,
        valid_range: tuple[Number | None, Number | None] | None = None,
        scale: Number | None = None,
        offset: Number | None = None,
        decode_dtype: npt.DTypeLike | None = None,
        mean: Number | Sequence[Number] | npt.NDArray[Any] | None = None,
        std: Number | Sequence[Number] | npt.NDArray[Any] | None = None,
        axis: int | None = None,
        downsample: Sequence[int] | None = None,
        skipna: bool = False,
        fill: Number | None = None,
        progress: bool | Callable[[int, int], object] | None = None,
    ) -> npt.NDArray[Any]:
        """Read what an index selects, into `out` if it is given, and convert it on the way if asked to.

        Parameters
        ----------
        index : int, slice, Ellipsis, list, numpy.ndarray, or a tuple of them; default ...
            As for `array[index]`.
        out : numpy.ndarray, optional
            Where to write: a writable array, contiguous in C order, of exactly the result's shape and
            dtype. While it is written to, give it to no other read and leave it alone; after an error its
            content is undefined.
        by : {'index', 'orthogonal', 'coordinate', 'mask', 'block'}, default 'index'
            How the index is read: as by `array[...]`, `oindex`, `get_coordinate_selection`,
            `get_mask_selection` or `blocks`.
        dtype : numpy dtype, optional
            What elements are cast to: float16, float32, float64, bfloat16 of ml_dtypes, or an integer of 8 to
            64 bits. By default the array's own where elements are at most masked and filled and it has NaN
            or needs none; else float32 where every element is exact in it, and float64 otherwise.
        mask : number or sequence of numbers, optional
            Stored values that become NaN: CF's `_FillValue` and `missing_value`.
        valid_range : tuple of two numbers, optional
            Stored values outside become NaN; both ends are valid, and None is no end.
        scale, offset : float, optional
            Elements become ``stored * scale + offset``: CF's `scale_factor` and `add_offset`.
        decode_dtype : {'float32', 'float64'}, optional
            The precision to scale in. By default float32 where `dtype` is a float of up to 32 bits and every
            stored element is exact in it, else float64. xarray scales by attributes in float64.
        mean, std : float or sequence of floats, optional
            Elements become ``(element - mean) / std``; sequences have a number for each index along `axis` of
            the array, whatever is selected of it.
        axis : int, optional
            The axis of the array that `mean` and `std` are told along.
        downsample : sequence of int, optional
            A factor for each axis of the array: blocks of so many elements of the result become their mean,
            and what is left over at the end of an axis is dropped. 1 where an axis is selected by an integer
            or a list.
        skipna : bool, default False
            Whether means leave NaN out. Else NaN in a block makes its mean NaN.
        fill : number, optional
            What NaN becomes, means too. Needed where an integer dtype is masked.
        progress : bool or function, optional
            Whether a read of more than half a second shows how far it is: by tqdm or rich where they are
            installed, else in lines on stderr. A function is called now and then with what is done and all
            there is, in bytes of the result (elements, where they have lengths of their own), and at the end.
            By default as `swath.config` says.

        Returns
        -------
        numpy.ndarray
            `out`, or a new array; without dimensions where every axis is selected by an integer.

        Raises
        ------
        InvalidError
            `out` does not fit, or the steps do not fit the array or the dtype. A ValueError too.
        UnsupportedError
            Elements are no numbers, or there is no cast to `dtype`; or means of elements that are picked one
            by one.
        OutOfBoundsError, UnsupportedSelectionError, CorruptError, StorageError
            As for `array[index]`.

        Notes
        -----
        The order is always: mask, scale and offset, rounding to the working precision, mean and std,
        downsample, fill, cast. The working precision is float32 where `dtype` is a float of up to 32 bits,
        else float64. Equal to the same steps in NumPy, but that sums of means are float64, and that casts
        to integers take the nearest number of the type (and 0 of NaN) where NumPy wraps around. All is done
        on each chunk while it is in cache; no array of the result's size is made on the way. Reads of the
        same give the same bits.

        Examples
        --------
        >>> out = numpy.empty((3, 256, 256), array.dtype)
        >>> array.read(0, out=out) is out
        True
        >>> array.read(0, dtype="float32", mask=0, scale=0.5, fill=-1, downsample=(1, 1, 2, 2)).shape
        (3, 128, 128)
        """

    @overload
    def read_many(
        self,
        indexes: Iterable[AnyIndex],
        out: npt.NDArray[Any] | None = None,
        *,
        stack: Literal[True] = True,
        by: By = "index",
        dtype: npt.DTypeLike | None = None,
        mask: Number | Sequence[Number] | npt.NDArray[Any] | None = None,
        valid_range: tuple[Number | None, Number | None] | None = None,
        scale: Number | None = None,
        offset: Number | None = None,
        decode_dtype: npt.DTypeLike | None = None,
        mean: Number | Sequence[Number] | npt.NDArray[Any] | None = None,
        std: Number | Sequence[Number] | npt.NDArray[Any] | None = None,
        axis: int | None = None,
        downsample: Sequence[int] | None = None,
        skipna: bool = False,
        fill: Number | None = None,
        progress: bool | Callable[[int, int], object] | None = None,
    ) -> npt.NDArray[Any]:
        """Read many selections at once. A chunk that several need is read and decoded once.

        Parameters
        ----------
        indexes : iterable of indexes
            Each as for `array[index]`.
        out : numpy.ndarray, optional
            Where to write, as for `read`; of shape (n, ...). Not together with `stack=False`.
        stack : bool, default True
            Whether to return one array. The selections must then have equal shapes.
        by, dtype, mask, valid_range, scale, offset, decode_dtype, mean, std, axis, downsample, skipna, fill
            As for `read`.
        progress : bool or function, optional
            As for `read`.

        Returns
        -------
        numpy.ndarray or list of numpy.ndarray
            One array of shape (n, ...), whose item i is the result of index i; with `stack=False` a list
            of n arrays of any shapes, which are views of one block of memory: copy what you keep for
            long.

        Raises
        ------
        InvalidError
            The shapes differ, there is nothing to stack, `out` does not fit, or what `read` refuses. A
            ValueError too.
        UnsupportedError
            As for `read`.
        OutOfBoundsError, UnsupportedSelectionError
            As for `array[index]`; nothing has been read.
        CorruptError, StorageError
            Some selections could not be read; all others have been. The message names the first and
            counts them.

        Examples
        --------
        >>> array.read_many([numpy.s_[t, :, 0:128, 0:128] for t in (0, 5, 2)]).shape
        (3, 3, 128, 128)
        """

    @overload
    def read_many(
        self,
        indexes: Iterable[AnyIndex],
        out: None = None,
        *,
        stack: Literal[False],
        by: By = "index",
        dtype: npt.DTypeLike | None = None,
        mask: Number | Sequence[Number] | npt.NDArray[Any] | None = None,
        valid_range: tuple[Number | None, Number | None] | None = None,
        scale: Number | None = None,
        offset: Number | None = None,
        decode_dtype: npt.DTypeLike | None = None,
        mean: Number | Sequence[Number] | npt.NDArray[Any] | None = None,
        std: Number | Sequence[Number] | npt.NDArray[Any] | None = None,
        axis: int | None = None,
        downsample: Sequence[int] | None = None,
        skipna: bool = False,
        fill: Number | None = None,
        progress: bool | Callable[[int, int], object] | None = None,
    ) -> list[npt.NDArray[Any]]: ...
    @overload
    def read_many(
        self,
        indexes: Iterable[AnyIndex],
        out: npt.NDArray[Any] | None = None,
        *,
        stack: bool,
        by: By = "index",
        dtype: npt.DTypeLike | None = None,
        mask: Number | Sequence[Number] | npt.NDArray[Any] | None = None,
        valid_range: tuple[Number | None, Number | None] | None = None,
        scale: Number | None = None,
        offset: Number | None = None,
        decode_dtype: npt.DTypeLike | None = None,
        mean: Number | Sequence[Number] | npt.NDArray[Any] | None = None,
        std: Number | Sequence[Number] | npt.NDArray[Any] | None = None,
        axis: int | None = None,
        downsample: Sequence[int] | None = None,
        skipna: bool = False,
        fill: Number | None = None,
        progress: bool | Callable[[int, int], object] | None = None,
    ) -> npt.NDArray[Any] | list[npt.NDArray[Any]]: ...
    @property
    def oindex(self) -> OIndex:
        """Read along each axis by itself, and write: `array.oindex[...]`.

        Takes integers, slices with positive steps, one `...`, and lists or arrays with one axis: of
        integers in any order, repeated or negative, or of booleans, as long as the axis. The result has an
        element for every combination.

        Examples
        --------
        >>> array.oindex[[5, 0, 5], 0, 10:20, [1, -1]].shape
        (3, 10, 2)
        """

    @property
    def vindex(self) -> VIndex:
        """Read single elements, and write them: `array.vindex[...]`.

        Takes an integer, or a list or array of integers, for every axis, matched in shape as NumPy does;
        or one array of booleans of the array's shape. The result has the shape that the indexes have
        together, and one axis for booleans.

        Examples
        --------
        >>> array.vindex[[5, 0], 1, [7, 8], -1].shape
        (2,)
        """

    @property
    def blocks(self) -> BlockIndex:
        """Read stored chunks, or shards where there are some, and write them: `array.blocks[...]`.

        Takes integers and slices without steps, which count chunks. The result has every axis.

        Examples
        --------
        >>> array.blocks[-1, :, 0].shape
        (1, 3, 256, 256)
        """

    @property
    def async_array(self) -> AsyncArray:
        """The array whose reads are awaited."""

    def _request(self, by: By, index: object) -> Request | None:
        """Check an index that is to be awaited; None where reads of it block."""

    def _start(
        self, requests: list[Request], deliver: Callable[[list[Any]], object], conversion: dict[str, Any]
    ) -> Awaited:
        """Start reads that were checked."""

    def get_basic_selection(
        self,
        selection: BasicIndex = ...,
        *,
        out: npt.NDArray[Any] | None = None,
        fields: str | Sequence[str] | None = None,
    ) -> npt.NDArray[Any]:
        """Read what integers, slices and `...` select: zarr-python's name for `read`.

        Parameters
        ----------
        selection : int, slice, Ellipsis, or a tuple of them; default ...
            As for `array[selection]`.
        out : numpy.ndarray, optional
            Where to write, as for `read`.
        fields : str or sequence of str, optional
            Of structured elements, what to read: one field by itself, or some in the order given.

        Returns
        -------
        numpy.ndarray
            As `array[selection]`, or `out`.

        Raises
        ------
        UnsupportedSelectionError
            For lists and arrays, and for fields that there are not. An IndexError too.
        InvalidError, OutOfBoundsError, CorruptError, StorageError
            As `read`.
        """

    def get_orthogonal_selection(
        self,
        selection: Index,
        *,
        out: npt.NDArray[Any] | None = None,
        fields: str | Sequence[str] | None = None,
    ) -> npt.NDArray[Any]:
        """Read along each axis by itself: see `oindex`.

        Parameters
        ----------
        selection : int, slice, Ellipsis, list, numpy.ndarray, or a tuple of them
            As for `array.oindex[selection]`.
        out : numpy.ndarray, optional
            Where to write, as for `read`.
        fields : str or sequence of str, optional
            Of structured elements, what to read: one field by itself, or some in the order given.

        Returns
        -------
        numpy.ndarray
            `out`, or a new array.

        Raises
        ------
        OutOfBoundsError
            An index lies outside its axis, or booleans are not as many as it has. An IndexError too.
        UnsupportedSelectionError
            The selection holds anything else, or goes backwards. An IndexError too.
        InvalidError, CorruptError, StorageError
            As `read`.
        """

    def get_coordinate_selection(
        self,
        selection: PointIndex,
        *,
        out: npt.NDArray[Any] | None = None,
        fields: str | Sequence[str] | None = None,
    ) -> npt.NDArray[Any]:
        """Read single elements by their indexes: see `vindex`.

        Parameters
        ----------
        selection : int, list, numpy.ndarray, or a tuple of them
            One entry for every axis, as for `array.vindex[selection]`.
        out : numpy.ndarray, optional
            Where to write, as for `read`.
        fields : str or sequence of str, optional
            Of structured elements, what to read: one field by itself, or some in the order given.

        Returns
        -------
        numpy.ndarray
            `out`, or a new array.

        Raises
        ------
        OutOfBoundsError, UnsupportedSelectionError
            As `get_orthogonal_selection`.
        InvalidError
            The entries' shapes do not match, or `out` does not fit. A ValueError too.
        CorruptError, StorageError
            As `read`.
        """

    def get_mask_selection(
        self, mask: Mask, *, out: npt.NDArray[Any] | None = None, fields: str | Sequence[str] | None = None
    ) -> npt.NDArray[Any]:
        """Read the elements for which a mask is true, in C order.

        Parameters
        ----------
        mask : numpy.ndarray or list
            Booleans, of the array's shape.
        out : numpy.ndarray, optional
            Where to write, as for `read`; of one axis.
        fields : str or sequence of str, optional
            Of structured elements, what to read: one field by itself, or some in the order given.

        Returns
        -------
        numpy.ndarray
            `out`, or a new array, of one axis.

        Raises
        ------
        OutOfBoundsError, UnsupportedSelectionError
            The mask has another shape, or is none. IndexErrors too.
        InvalidError, CorruptError, StorageError
            As `read`.
        """

    def get_block_selection(
        self,
        selection: BasicIndex,
        *,
        out: npt.NDArray[Any] | None = None,
        fields: str | Sequence[str] | None = None,
    ) -> npt.NDArray[Any]:
        """Read stored chunks: see `blocks`.

        Parameters
        ----------
        selection : int, slice, Ellipsis, or a tuple of them
            As for `array.blocks[selection]`.
        out : numpy.ndarray, optional
            Where to write, as for `read`.
        fields : str or sequence of str, optional
            Of structured elements, what to read: one field by itself, or some in the order given.

        Returns
        -------
        numpy.ndarray
            `out`, or a new array.

        Raises
        ------
        OutOfBoundsError, UnsupportedSelectionError
            There is no such chunk, or the selection holds anything else. IndexErrors too.
        InvalidError, CorruptError, StorageError
            As `read`.
        """

    def set_basic_selection(
        self, selection: BasicIndex, value: npt.ArrayLike, *, fields: None = None
    ) -> None:
        """Write to what integers, slices and `...` select.

        Parameters
        ----------
        selection : int, slice, Ellipsis, or a tuple of them
            As for `array[selection]`.
        value : array_like
            What to write, as for `array[index] = value`.
        fields : None
            For zarr-python's sake: swath writes all fields of an element, and refuses to select some.

        Raises
        ------
        OutOfBoundsError, UnsupportedSelectionError
            As for reading. IndexErrors too.
        InvalidError, CorruptError, UnsupportedError, StorageError
            As for `array[index] = value`.
        """

    def set_orthogonal_selection(
        self, selection: Index, value: npt.ArrayLike, *, fields: None = None
    ) -> None:
        """Write along each axis by itself: see `oindex`.

        Parameters
        ----------
        selection : int, slice, Ellipsis, list, numpy.ndarray, or a tuple of them
            As for `array.oindex[selection]`.
        value : array_like
            What to write, as for `array[index] = value`.
        fields : None
            For zarr-python's sake: swath writes all fields of an element, and refuses to select some.

        Raises
        ------
        OutOfBoundsError, UnsupportedSelectionError
            As for reading. IndexErrors too.
        InvalidError, CorruptError, UnsupportedError, StorageError
            As for `array[index] = value`.
        """

    def set_coordinate_selection(
        self, selection: PointIndex, value: npt.ArrayLike, *, fields: None = None
    ) -> None:
        """Write single elements by their indexes: see `vindex`.

        Parameters
        ----------
        selection : int, list, numpy.ndarray, or a tuple of them
            One entry for every axis, as for `array.vindex[selection]`.
        value : array_like
            What to write, as for `array[index] = value`.
        fields : None
            For zarr-python's sake: swath writes all fields of an element, and refuses to select some.

        Raises
        ------
        OutOfBoundsError, UnsupportedSelectionError
            As for reading. IndexErrors too.
        InvalidError, CorruptError, UnsupportedError, StorageError
            As for `array[index] = value`.
        """

    def set_mask_selection(self, mask: Mask, value: npt.ArrayLike, *, fields: None = None) -> None:
        """Write the elements for which a mask is true, in C order.

        Parameters
        ----------
        mask : numpy.ndarray or list
            Booleans, of the array's shape.
        value : array_like
            What to write, as for `array[index] = value`.
        fields : None
            For zarr-python's sake: swath writes all fields of an element, and refuses to select some.

        Raises
        ------
        OutOfBoundsError, UnsupportedSelectionError
            As for reading. IndexErrors too.
        InvalidError, CorruptError, UnsupportedError, StorageError
            As for `array[index] = value`.
        """

    def set_block_selection(
        self, selection: BasicIndex, value: npt.ArrayLike, *, fields: None = None
    ) -> None:
        """Write stored chunks: see `blocks`.

        Parameters
        ----------
        selection : int, slice, Ellipsis, or a tuple of them
            As for `array.blocks[selection]`.
        value : array_like
            What to write, as for `array[index] = value`.
        fields : None
            For zarr-python's sake: swath writes all fields of an element, and refuses to select some.

        Raises
        ------
        OutOfBoundsError, UnsupportedSelectionError
            As for reading. IndexErrors too.
        InvalidError, CorruptError, UnsupportedError, StorageError
            As for `array[index] = value`.
        """

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Read the whole array, for NumPy: `numpy.asarray(array)`.

        Parameters
        ----------
        dtype : dtype, optional
            What to convert to.
        copy : bool, optional
            False is refused: a read always makes a new array.

        Returns
        -------
        numpy.ndarray

        Raises
        ------
        InvalidError
            `copy` is False. A ValueError too.
        """

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType:
        """Read the whole array, for libraries that exchange tensors by DLPack: `torch.from_dlpack(array)`.

        Parameters
        ----------
        stream, max_version, dl_device : optional
            As for `numpy.ndarray.__dlpack__`.
        copy : bool, optional
            False is refused: a read always makes new memory.

        Returns
        -------
        capsule

        Raises
        ------
        BufferError
            `copy` is False, or elements are not of a type that DLPack has.
        """

    def __dlpack_device__(self) -> tuple[int, int]:
        """Where `__dlpack__` puts what it reads: (1, 0), the memory of the CPU."""

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """Tell dask which array it is: the same in every process, whatever caches there are."""

    def __len__(self) -> int:
        """Return len(self)."""

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        """Implement iter(self)."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""

    @property
    def ndim(self) -> int:
        """The number of axes."""

    @property
    def size(self) -> int:
        """Elements in all; 1 for an array without dimensions."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of what reads give, in this machine's byte order.

        zarr-python's where that has one. What NumPy has no type for is ml_dtypes': integers of 2 and 4 bits,
        small floats, their complex numbers.

        Raises
        ------
        UnsupportedError
            The package ml_dtypes is wanted, and not installed.
        """

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array once read."""

    @property
    def chunks(self) -> tuple[int, ...]:
        """Elements of a chunk along each axis, the smallest unit read: an inner chunk if there are shards.

        Raises
        ------
        NotImplementedError
            Chunks differ in length: `read_chunk_sizes` has them.
        """

    @property
    def read_chunk_sizes(self) -> tuple[tuple[int, ...], ...]:
        """Elements of each chunk along each axis, cut off at the end; inner chunks if there are shards."""

    @property
    def write_chunk_sizes(self) -> tuple[tuple[int, ...], ...]:
        """Elements of each stored chunk or shard along each axis, cut off where the array ends."""

    @property
    def shards(self) -> tuple[int, ...] | None:
        """Elements of a shard along each axis; None where the array is not sharded.

        Raises
        ------
        NotImplementedError
            Shards differ in length: `write_chunk_sizes` has them.
        """

    @property
    def cdata_shape(self) -> tuple[int, ...]:
        """Chunks along each axis; inner chunks in a sharded array."""

    @property
    def nchunks(self) -> int:
        """Chunks in all, stored or not; inner chunks in a sharded array."""

    @property
    def fill_value(self) -> np.generic | str | bytes | None:
        """What elements that are not stored read as.

        A NumPy scalar of the array's dtype, a `str` or `bytes` where elements have lengths of their own;
        None where a v2 array defines none, and they read as zeros.
        """

    @property
    def attrs(self) -> Attributes:
        """The user's attributes, a mapping: read-only unless the array was opened to be written to.

        Changes are written at once: `attrs["units"] = "K"`, `attrs.update({...})`, `del attrs["units"]`.
        """

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata document as it is stored, `zarr.json` or `.zarray`; a new dict each time."""

    @property
    def dimension_names(self) -> tuple[str | None, ...] | None:
        """A name or None for each axis; None where the array names none."""

    @property
    def codecs(self) -> tuple[str, ...]:
        """Every codec that a chunk goes through, described, in encoding order."""

    @property
    def compressors(self) -> tuple[str, ...]:
        """The codecs that compress or check a chunk's bytes, described, in encoding order."""

    @property
    def zarr_format(self) -> Literal[2, 3]:
        """The Zarr format, 2 or 3."""

    @property
    def read_only(self) -> bool:
        """Whether the array can only be read: it was opened with mode "r"."""

    @property
    def name(self) -> str:
        """The path in the store with a slash in front: "/" for the root."""

    @property
    def path(self) -> str:
        """The path in the store: "" for the root."""

    @property
    def basename(self) -> str:
        """The last part of the path: "" for the root."""

    @property
    def store_path(self) -> str:
        """The array's directory, absolute, or its URL without credentials; `swath.open` takes it."""

    def nbytes_stored(self) -> int:
        """Count the bytes of the stored chunks, by listing them: as long as that takes.

        Returns
        -------
        int
            Without the metadata documents.

        Raises
        ------
        StorageError
            The storage cannot be listed.
        """

    def store_stats(self) -> dict[str, Any] | None:
        """Count what requests to the array's storage came to in this process.

        Returns
        -------
        dict or None
            None for local files and memory. Else what was counted since the first request to the endpoint,
            which all stores of one scheme, host and port share: `requests`, those sent again included;
            `bytes_received`; of the requests, `retries`, `resumed` after a body that broke, and `hedges`;
            `throttled`, answers that asked for fewer requests; `connections_opened`, `connections_open`,
            `http2_open`; `in_flight` and `in_flight_max`; `concurrency`, how many requests may be under way
            as adapted by now, and `concurrency_history`, (seconds since the first request, limit) each time
            it moved; `first_byte_seconds`, a dict of the `median`, the 99th percentile `p99` and the `max`
            from a request to the first byte of its answer; `request_cost_ns` and `byte_cost_ns`, what one
            more request and one more byte cost as measured, 0 before; and `endpoint`. Divide
            `bytes_received` by `swath.stats()["bytes_wanted"]` for what was read in vain.
            `cache` is None, or a dict of what the cache of `swath.open(..., cache=...)` counted for all that
            share it: `hits`, answered without a request; `misses`, of which `partial` needed one for some of
            their bytes; `shared`, that waited for another's request; `checks` whether an object changed and
            `changes` found; `bytes_from_memory`, `bytes_from_files` and `bytes_from_storage`; what is held,
            `memory_bytes` and `file_bytes`; and ranges `dropped` before they were stored or found `corrupt`.

        Examples
        --------
        >>> before = array.store_stats()["requests"]
        >>> crop = array[0, :, :128, :128]
        >>> array.store_stats()["requests"] - before
        3
        """

    @property
    def info(self) -> Info:
        """What the array is, in lines to read."""

    @override
    def __eq__(self, other: object, /) -> bool: ...
    @override
    def __hash__(self) -> int: ...

@final
class Group:
    """A Zarr group: a mapping of names to arrays and groups.

    Made by `swath.open`, `swath.open_group`, or from another group. It can be pickled (as its path or
    URL, without secrets) and used from any number of threads. Two groups are equal when they are stored
    at the same place. Where its writer consolidated the metadata, nothing further is read to list it.

    Examples
    --------
    >>> group = swath.open_group("archive.zarr")
    >>> group["2020/t2m"].shape
    (8760, 721, 1440)
    """

    @property
    def async_group(self) -> AsyncGroup:
        """The group whose members are awaited."""

    def __getitem__(self, path: str, /) -> Array | Group:
        """Return self[key]."""

    def __delitem__(self, path: str, /) -> None:
        """Delete self[key]."""

    def create_array(self, name: str, **options: Any) -> Array:
        """Make an array below this group.

        Parameters
        ----------
        name : str
            Its path, relative to this group; groups above it are made too.
        **options : optional
            As for `swath.create_array`: `shape`, `dtype`, `data`, `chunks`, `shards`, and so on. The
            format is the group's.

        Returns
        -------
        Array

        Raises
        ------
        InvalidError
            There is a node already, or the options contradict each other. A ValueError too.
        UnsupportedError, StorageError
            As for writing.
        """

    def create_group(
        self, name: str, *, overwrite: bool = False, attributes: Mapping[str, Any] | None = None
    ) -> Group:
        """Make a group below this one.

        Parameters
        ----------
        name : str
            Its path, relative to this group; groups above it are made too.
        overwrite : bool, default False
            Whether what is there already is removed, with all that is below it.
        attributes : dict, optional
            The user's attributes.

        Returns
        -------
        Group

        Raises
        ------
        InvalidError
            There is a node already. A ValueError too.
        UnsupportedError, StorageError
            As for writing.
        """

    def require_group(self, name: str, *, overwrite: bool = False) -> Group:
        """Open a group below this one, or make it where there is none.

        Parameters
        ----------
        name : str
            Its path, relative to this group.
        overwrite : bool, default False
            Whether a group that is there is replaced by an empty one.

        Returns
        -------
        Group

        Raises
        ------
        InvalidError
            There is an array. A ValueError too.
        UnsupportedError, StorageError
            As for writing.
        """

    def require_array(
        self,
        name: str,
        *,
        shape: int | Sequence[int],
        dtype: npt.DTypeLike | None = None,
        exact: bool = False,
        **options: Any,
    ) -> Array:
        """Open an array below this group, or make it where there is none.

        Parameters
        ----------
        name : str
            Its path, relative to this group.
        shape : tuple of int
            What it has to have.
        dtype : dtype, optional
            What it has to be; of one that is there, anything that can be cast to it safely, or with
            `exact` this alone.
        exact : bool, default False
            Whether one that is there must have exactly this dtype.
        **options : optional
            As for `create_array`, where it is made.

        Returns
        -------
        Array

        Raises
        ------
        InvalidError
            What is there is a group, or has another shape or dtype. A ValueError too.
        UnsupportedError, StorageError
            As for writing.
        """

    def _change_attributes(self, added: str, removed: list[str]) -> dict[str, Any]:
        """Add and remove attributes, for `attrs`; returns all of them."""

    def __contains__(self, path: str, /) -> bool:
        """Return bool(key in self)."""

    def __iter__(self) -> Iterator[str]:
        """Implement iter(self)."""

    def __len__(self) -> int:
        """Return len(self)."""

    def keys(self) -> tuple[str, ...]:
        """List the names of the arrays and groups directly below, those that swath cannot read included.

        Returns
        -------
        tuple of str
            Sorted.

        Raises
        ------
        StorageError
            The storage cannot be listed.
        """

    def members(self) -> tuple[tuple[str, Array | Group], ...]:
        """Open the arrays and groups directly below.

        Returns
        -------
        tuple of (str, Array or Group)
            Sorted by name. Nodes that swath cannot open are left out, each with a `SwathWarning`.

        Raises
        ------
        StorageError
            The storage cannot be listed, or a node cannot be read.
        """

    def arrays(self) -> tuple[tuple[str, Array], ...]:
        """Open the arrays directly below.

        Returns
        -------
        tuple of (str, Array)
            As `members`.
        """

    def groups(self) -> tuple[tuple[str, Group], ...]:
        """Open the groups directly below.

        Returns
        -------
        tuple of (str, Group)
            As `members`.
        """

    def walk(self) -> tuple[tuple[str, Array | Group], ...]:
        """Open every array and group below, at any depth.

        Returns
        -------
        tuple of (str, Array or Group)
            By path relative to this group: each group before what it holds. Nodes that swath cannot open
            are left out, each with a `SwathWarning`.

        Raises
        ------
        StorageError
            The storage cannot be listed, or a node cannot be read.

        Examples
        --------
        >>> [path for path, node in group.walk()]
        ['2020', '2020/t2m']
        """

    def tree(self) -> Info:
        """Draw everything below as a tree.

        Returns
        -------
        Info
            Text that prints as it is: names, shapes, data types, and for what swath cannot open the
            reason.

        Raises
        ------
        StorageError
            The storage cannot be listed.
        """

    @property
    def attrs(self) -> Attributes:
        """The user's attributes, a mapping: read-only unless the group was opened to be written to.

        Changes are written at once: `attrs["units"] = "K"`, `attrs.update({...})`, `del attrs["units"]`.
        """

    @property
    def zarr_format(self) -> Literal[2, 3]:
        """The Zarr format, 2 or 3."""

    @property
    def read_only(self) -> bool:
        """Whether the group can only be read: it was opened with mode "r"."""

    @property
    def name(self) -> str:
        """The path in the store with a slash in front: "/" for the root."""

    @property
    def path(self) -> str:
        """The path in the store: "" for the root."""

    @property
    def basename(self) -> str:
        """The last part of the path: "" for the root."""

    @property
    def store_path(self) -> str:
        """The group's directory, absolute, or its URL without credentials; `swath.open` takes it."""

    def store_stats(self) -> dict[str, Any] | None:
        """Count what requests to the group's storage came to in this process.

        Returns
        -------
        dict or None
            None for local files and memory. Else what was counted since the first request to the endpoint,
            which all stores of one scheme, host and port share: `requests`, those sent again included;
            `bytes_received`; of the requests, `retries`, `resumed` after a body that broke, and `hedges`;
            `throttled`, answers that asked for fewer requests; `connections_opened`, `connections_open`,
            `http2_open`; `in_flight` and `in_flight_max`; `concurrency`, how many requests may be under way
            as adapted by now, and `concurrency_history`, (seconds since the first request, limit) each time
            it moved; `first_byte_seconds`, a dict of the `median`, the 99th percentile `p99` and the `max`
            from a request to the first byte of its answer; `request_cost_ns` and `byte_cost_ns`, what one
            more request and one more byte cost as measured, 0 before; and `endpoint`. Divide
            `bytes_received` by `swath.stats()["bytes_wanted"]` for what was read in vain.
            `cache` is None, or a dict of what the cache of `swath.open(..., cache=...)` counted for all that
            share it: `hits`, answered without a request; `misses`, of which `partial` needed one for some of
            their bytes; `shared`, that waited for another's request; `checks` whether an object changed and
            `changes` found; `bytes_from_memory`, `bytes_from_files` and `bytes_from_storage`; what is held,
            `memory_bytes` and `file_bytes`; and ranges `dropped` before they were stored or found `corrupt`.

        Examples
        --------
        >>> before = group.store_stats()["requests"]
        >>> crop = group["t2m"][0]
        >>> group.store_stats()["requests"] - before
        3
        """

    @property
    def info(self) -> Info:
        """What the group is, in lines to read."""

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """Tell dask which group it is: the same in every process, whatever caches there are."""

    @override
    def __eq__(self, other: object, /) -> bool: ...
    @override
    def __hash__(self) -> int: ...

@final
class Request:
    """One selection that is to be read and awaited."""

@final
class Awaited:
    """Reads that were started together."""

    def cancel(self) -> None:
        """End the reads: what is delivered then is the error of that."""

@final
class Landing:
    """What a thread that reads ahead tells who waits for it, at once and without the GIL.

    Its reads begin `held_back_s` seconds (1 at most) after they were planned.
    """

    def __new__(cls, held_back_s: float = 0.0) -> Landing: ...
    def end(self) -> None:
        """Say that nothing more will land."""

    def wait(self) -> bool:
        """Wait until all was read, or nothing more will land; true where all was read."""

    @property
    def is_there(self) -> bool:
        """Whether `wait` would not wait."""

@final
class Turns:
    """Turns to work, each taken by one thread, which does not want the GIL before its turn is due."""

    def __new__(cls) -> Turns: ...
    def give(self, count: int, held_back_s: float) -> bool:
        """Give turns, of which none is taken before so many seconds (1 at most); false where they ended."""

    def end(self) -> None:
        """Say that no more will be given: what was given may be taken at once."""

    def take(self) -> bool:
        """Wait for a turn; false where there will be none. Signals are not looked at."""

@final
class QuickReads:
    """Batches of one array in a local store, each of which is one box and fills a small output.

    What it is made with has been looked at in Python, and each batch is held against that. Those that differ
    are left to Python.
    """

    def __new__(
        cls,
        grid: ChunkGrid,
        array: Array,
        path: str,
        shape: Sequence[int],
        store: Any,
        folder: str,
        directory: tuple[int, int],
        classes: Mapping[str, Any],
        bytes_max: int,
    ) -> QuickReads: ...
    def read(self, batch: list[Any], memory: npt.NDArray[Any]) -> bool:
        """Read what a batch asks for into memory; False where Python is to look at it."""

    @staticmethod
    def count() -> int:
        """Return how many batches were read so in this process."""

@final
class RangeReader:
    """What reads ranges of objects: see `swath.io.get_ranges`."""

    def __new__(cls, options: dict[str, str], provider: object = None) -> RangeReader: ...
    def read(
        self,
        urls: list[str],
        which: npt.NDArray[np.uint64],
        starts: npt.NDArray[np.uint64],
        lengths: npt.NDArray[np.uint64],
        out: npt.NDArray[np.uint8] | None = None,
        coalesce: int | None = None,
    ) -> npt.NDArray[np.uint8]:
        """Read ranges into one array of bytes: of each its URL, its first byte, and how many."""

@final
class FieldScan:
    """What a scan found in GRIB files: see `swath.convert.scan`."""

    def __new__(
        cls, files: list[str], options: dict[str, str], provider: object = None, side_cars: bool = True
    ) -> FieldScan: ...
    def records(self) -> list[dict[str, Any]]:
        """List a dict for each field and each damage, file by file."""

    def parquet(self) -> bytes:
        """Give the same as a flat table: the bytes of a Parquet file."""

@final
class ReferenceSet:
    """References to the messages or chunks of files: see `swath.convert.references`."""

    @staticmethod
    def of_grib(scan: FieldScan, keep: list[str]) -> tuple[ReferenceSet, list[Any]]:
        """List the messages of a scan; what of its files cannot be listed is named."""

    @staticmethod
    def of_hdf5(
        files: list[str], concat: str | None, options: dict[str, str], provider: object
    ) -> ReferenceSet:
        """List the chunks of an HDF5 file, or of several that are joined along a dimension."""

    def document(self) -> dict[str, Any]:
        """Give the set in kerchunk's JSON, as a dict."""

    def write(self, target: str, relative: bool, record_size: int) -> None:
        """Write the set in JSON, or in Parquet to what ends in `.parq` or `.parquet`."""

    @property
    def arrays(self) -> int:
        """How many arrays there are."""

    @property
    def chunks(self) -> int:
        """How many chunks are byte ranges of files."""

    @property
    def differing(self) -> list[tuple[str, str]]:
        """Attributes of which joined files have other values than the first one: which, and where."""

    @property
    def left_out(self) -> list[tuple[str, str]]:
        """What references cannot say: where it is, and why."""

@final
class ConversionPlan:
    """What a conversion of GRIB files writes: see `swath.convert.Plan`."""

    @staticmethod
    def of(
        scan: FieldScan,
        access: str,
        chunks: list[tuple[str, int]] | None,
        shards: list[tuple[str, int]] | None,
        codec: str,
        mantissa_bits: int | None,
        keep: list[str],
    ) -> tuple[ConversionPlan, list[Any]]:
        """Put the fields of a scan together; what of them cannot be written is named."""

    @staticmethod
    def from_json(text: str) -> ConversionPlan:
        """Make the plan that JSON says."""

    def to_json(self) -> str:
        """Give the plan as JSON."""

    def text(self) -> str:
        """Say the plan in lines to read."""

    @property
    def files(self) -> list[str]:
        """The paths and URLs of its files."""

    @property
    def variables(self) -> list[str]:
        """The names of its variables, behind those of their groups."""

    @property
    def fields(self) -> int:
        """How many fields it writes."""

    def fields_of(self, number: int, count: int) -> int:
        """How many fields a piece writes, by its number of so many."""

    def write(
        self,
        target: object,
        storage_options: Mapping[str, Any] | None,
        sources: tuple[dict[str, str], object],
        piece: tuple[int, int] | None,
        journal: str | None,
        journal_beside: bool,
        strict: bool,
        progress: bool | Callable[[int, int], object] | None,
    ) -> tuple[int, int, list[Any]]:
        """Write all of it to a new store, or one piece."""

@final
class ImagePlan:
    """What a conversion of SEVIRI's images writes: see `swath.convert.Plan`."""

    @staticmethod
    def of(
        files: list[str],
        sources: tuple[dict[str, str], object],
        calibrate: str,
        coefficients: str,
        channels: list[str],
        chunks: list[tuple[str, int]] | None,
        shards: list[tuple[str, int]] | None,
        codec: str,
    ) -> tuple[ImagePlan, list[Any]]:
        """Put the images of files together; what of them cannot be read is named."""

    def to_json(self) -> str:
        """Give the plan as JSON."""

    def text(self) -> str:
        """Say the plan in lines to read."""

    @property
    def files(self) -> list[str]:
        """The paths and URLs of its files."""

    @property
    def variables(self) -> list[str]:
        """The names of its variables."""

    @property
    def fields(self) -> int:
        """How many images it writes."""

    def fields_of(self, number: int, count: int) -> int:
        """How many images a piece writes, by its number of so many."""

    def write(
        self,
        target: object,
        storage_options: Mapping[str, Any] | None,
        sources: tuple[dict[str, str], object],
        piece: tuple[int, int] | None,
        journal: str | None,
        journal_beside: bool,
        strict: bool,
        progress: bool | Callable[[int, int], object] | None,
    ) -> tuple[int, int, list[Any]]:
        """Write all of it to a new store, or one piece."""

@final
class OIndex:
    """Selects along each axis by itself, by lists and masks too: `array.oindex[...]`.

    Examples
    --------
    >>> array.oindex[[0, 5, 2], :, [1, 4], ::2].shape
    (3, 3, 2, 128)
    """

    def __getitem__(self, index: Index | FieldIndex, /) -> npt.NDArray[Any]:
        """Return self[key]."""

    def __setitem__(self, index: Index, value: npt.ArrayLike, /) -> None:
        """Set self[key] to value."""

@final
class VIndex:
    """Selects single elements, by points or a mask: `array.vindex[...]`.

    Examples
    --------
    >>> array.vindex[[0, 7], [1, 1], [20, 30], [40, -1]].shape
    (2,)
    """

    def __getitem__(self, index: PointIndex | Mask | FieldIndex, /) -> npt.NDArray[Any]:
        """Return self[key]."""

    def __setitem__(self, index: PointIndex | Mask, value: npt.ArrayLike, /) -> None:
        """Set self[key] to value."""

@final
class BlockIndex:
    """Selects stored chunks, shards where there are some: `array.blocks[...]`.

    Examples
    --------
    >>> array.blocks[0, 0].shape
    (1, 3, 256, 256)
    """

    def __getitem__(self, index: BasicIndex | FieldIndex, /) -> npt.NDArray[Any]:
        """Return self[key]."""

    def __setitem__(self, index: BasicIndex, value: npt.ArrayLike, /) -> None:
        """Set self[key] to value."""

@final
class Info:
    """What an array or a group is, in lines to read: `print(array.info)`."""

def create_group(
    store: str | PathLike[str] | object,
    *,
    path: str | None = None,
    zarr_format: Literal[2, 3] | None = 3,
    overwrite: bool = False,
    attributes: Mapping[str, Any] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Group:
    """Make a group.

    Parameters
    ----------
    store : str, os.PathLike or a store
        As for `open`; a directory is made where there is none.
    path : str, optional
        The group's path in the store; the root where it is left out. Groups above it are made too.
    zarr_format : {2, 3}, default 3
        The format.
    overwrite : bool, default False
        Whether what is there already is removed, with all that is below it.
    attributes : dict, optional
        The user's attributes.
    storage_options : dict, optional
        As for `open`.

    Returns
    -------
    Group
        To be written to.

    Raises
    ------
    InvalidError
        There is a node already. A ValueError too.
    UnsupportedError
        The storage cannot be written to.
    StorageError
        The storage failed.

    Examples
    --------
    >>> group = swath.create_group("new.zarr", attributes={"title": "maps"})
    >>> group.create_array("t2m", shape=(100, 80), dtype="f4").shape
    (100, 80)
    """

def consolidate_metadata(
    store: str | PathLike[str] | object,
    path: str | None = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> Group:
    """Write the metadata of everything below a group into one document, which readers open at once.

    It stays as it is when nodes are made, changed or removed later: then it has to be written again.

    Parameters
    ----------
    store : str, os.PathLike or a store
        As for `open`.
    path : str, optional
        The group's path in the store; the root where it is left out.
    storage_options : dict, optional
        As for `open`.

    Returns
    -------
    Group
        For reading, with what was consolidated.

    Raises
    ------
    NotFoundError
        There is no group.
    UnsupportedError
        The storage cannot be listed, or written to.
    StorageError
        The storage failed.

    Examples
    --------
    >>> group = swath.consolidate_metadata("new.zarr")
    """

def _create_array(
    store: str | PathLike[str] | object,
    name: str,
    storage_options: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> Array:
    """Make an array of options in a dict, for `swath.create_array`."""

def open(
    url: str | PathLike[str] | object,
    mode: str = "r",
    *,
    storage_options: Mapping[str, Any] | None = None,
    decoded_cache_bytes: int | None = None,
    cache: int | str | None = None,
    cache_dir: str | PathLike[str] | None = None,
    cache_freshness: Literal["checked", "immutable"] | float | None = None,
    checksums: Literal["verify", "skip"] | None = None,
    **creation: Any,
) -> Array | Group:
    """Open the array or group stored in a directory, in a zip archive or at a URL.

    Parameters
    ----------
    url : str, os.PathLike or a store
        A directory or a URL below which lies a `zarr.json` (Zarr v3), or a `.zarray` or `.zgroup`
        (v2): `s3://bucket/key`, `gs://bucket/key`, `az://container/key`,
        `abfs://container@account.dfs.core.windows.net/key`, `https://host/path`, `file:///path`. What
        ends in `.zip` is a zip archive, as `zip::URL` and `zip://folder/in/it::URL` are; what ends in
        `.json`, `.parq` or `.parquet`, or begins with `reference::`, are kerchunk's references, as a
        dict of them is; `icechunk::URL` is an Icechunk repository; what ends in `.nc`, `.nc4`, `.h5`,
        `.hdf5` or `.he5`, a place below it, and `hdf5::URL` are HDF5 and NetCDF-4 files, of which a
        `SwathWarning` names what is left out; these can be read only. Or a store
        for these, as it is: of obstore (`S3Store`, `GCSStore`, `AzureStore`, `HTTPStore`,
        `LocalStore`), of zarr-python (`ObjectStore`, `FsspecStore`, `LocalStore`, `ZipStore`,
        `MemoryStore`, `StorePath`), VirtualiZarr's `ManifestStore`, icechunk's `IcechunkStore`, or what
        `fsspec.get_mapper` gives; only where it points and how are taken from it, reading is swath's own.
    mode : {"r", "r+", "a", "w", "w-"}, default "r"
        "r" to read; "r+" to read and write what is there; "a" the same, and it is made where there is
        none; "w" to make it, in place of what is there, which is removed with all below it; "w-" to
        make it where nothing is.
    storage_options : dict, optional
        How to reach a URL, by the names of obstore, s3fs, gcsfs or adlfs, nested dicts included:
        region, endpoint, credentials, timeouts. What is not given comes from the environment. A
        callable as `credential_provider` gives credentials, as obstore takes it. Of references, also
        `remote_protocol`, `remote_options`, `target_options` and the like, as fsspec has them.
        Of an Icechunk repository, also one of `branch`, `tag` and `snapshot_id`, and the prefixes of
        virtual chunks that may be read in `authorize_virtual_chunk_access`.
        Pickles leave secrets out: the process that reads one finds them in its own environment, or by
        a `credential_provider`, which is pickled with the array.
    decoded_cache_bytes : int, optional
        Bytes of memory in which decoded chunks are kept, of all arrays of a group together, so that
        reading them again needs no decoding. They count only as long as what is stored did not
        change. Uncompressed chunks are not kept: reading them costs no more than copying them. A copy
        made by pickling or forking has a cache of its own.
    cache : int or str, optional
        How many bytes that were read over a network are kept, such as 500_000_000, "2GB" or "512MiB":
        in memory, or in files where `cache_dir` is given, and then a sixteenth of it, at most 256
        MiB, in memory besides. What is cached is read again without a request. Arrays and groups of
        one process that are opened with equal `cache`, `cache_dir` and `cache_freshness` share it,
        and it goes with the last of them; processes have memory of their own. Local files and
        `memory://` are never cached, whatever is given here.
    cache_dir : str or os.PathLike, optional
        A folder for the cache's files, made where there is none; 64 GiB of files unless `cache` is
        given. Several processes may use it at once, and later ones read what is there.
    cache_freshness : {"checked", "immutable"} or float, optional
        When cached bytes count: "checked", an object that was not confirmed within the last second is
        asked whether it changed, which costs one small request; a number, the same with so many
        seconds; "immutable", always, for archives that never change.
    checksums : {"verify", "skip"}, optional
        Whether chunks are compared with the checksums behind them (`crc32c`, `fletcher32` and their
        like). Those of shard indexes, and those inside gzip, zlib and zstd streams, always are.
        Writing a part of a chunk compares what is stored of it all the same, and so does validating.

        What is not given of these options is as `swath.config` says: no caches, and "verify".

    **creation : optional
        What is to be made, in modes that make something: an array, where there is a `shape` or
        `data`, with the options of `create_array`; else a group, with `zarr_format` and `attributes`.

    Returns
    -------
    Array or Group

    Raises
    ------
    NotFoundError
        There is neither an array nor a group at the path or URL.
    InvalidError
        The metadata breaks the Zarr specification.
    UnsupportedError
        The array uses a codec, data type or grid that swath does not read; the message names it. Also
        for a scheme, an option or a store that is not known, and for storage that cannot be written
        to.
    StorageError
        The storage failed, or refused the credentials.

    Examples
    --------
    >>> array = swath.open("example.zarr")
    >>> array[0, :, :10].shape
    (3, 10, 256)
    """

def open_array(
    url: str | PathLike[str] | object,
    mode: str = "r",
    *,
    storage_options: Mapping[str, Any] | None = None,
    decoded_cache_bytes: int | None = None,
    cache: int | str | None = None,
    cache_dir: str | PathLike[str] | None = None,
    cache_freshness: Literal["checked", "immutable"] | float | None = None,
    checksums: Literal["verify", "skip"] | None = None,
    **creation: Any,
) -> Array:
    """Open the array stored in a directory or at a URL.

    Parameters
    ----------
    url : str, os.PathLike or a store
        As for `open`; a `zarr.json` (Zarr v3) or a `.zarray` (v2) lies there.
    mode : {"r", "r+", "a", "w", "w-"}, default "r"
        "r" to read; "r+" to read and write what is there; "a" the same, and it is made where there is
        none; "w" to make it, in place of what is there, which is removed with all below it; "w-" to
        make it where nothing is.
    storage_options : dict, optional
        As for `open`.
    decoded_cache_bytes : int, optional
        Bytes of memory in which decoded chunks are kept, so that reading them again needs no
        decoding. They count only as long as what is stored did not change. Uncompressed chunks are
        not kept: reading them costs no more than copying them. A copy made by pickling or forking has
        a cache of its own.
    cache, cache_dir, cache_freshness, checksums : optional
        As for `open`.
    **creation : optional
        As for `create_array`, in modes that make an array.

    Returns
    -------
    Array

    Raises
    ------
    NotFoundError
        There is no array at the path or URL.
    InvalidError, UnsupportedError, StorageError
        As `open`.

    Examples
    --------
    >>> swath.open_array("example.zarr").shape
    (8, 3, 256, 256)
    """

def open_group(
    url: str | PathLike[str] | object,
    mode: str = "r",
    *,
    storage_options: Mapping[str, Any] | None = None,
    decoded_cache_bytes: int | None = None,
    cache: int | str | None = None,
    cache_dir: str | PathLike[str] | None = None,
    cache_freshness: Literal["checked", "immutable"] | float | None = None,
    checksums: Literal["verify", "skip"] | None = None,
    use_consolidated: bool | str | None = None,
    **creation: Any,
) -> Group:
    """Open the group stored in a directory or at a URL.

    Parameters
    ----------
    url : str, os.PathLike or a store
        As for `open`; a `zarr.json` (Zarr v3) or a `.zgroup` (v2) lies there.
    mode : {"r", "r+", "a", "w", "w-"}, default "r"
        "r" to read; "r+" to read and write what is there; "a" the same, and it is made where there is
        none; "w" to make it, in place of what is there, which is removed with all below it; "w-" to
        make it where nothing is.
    storage_options : dict, optional
        As for `open`.
    decoded_cache_bytes : int, optional
        Bytes of memory in which decoded chunks are kept, of all arrays of the group together, so
        that reading them again needs no decoding. They count only as long as their file did not
        change. Uncompressed chunks are not kept: reading them costs no more than copying them. A
        copy made by pickling or forking has a cache of its own.
    cache, cache_dir, cache_freshness, checksums : optional
        As for `open`.
    use_consolidated : bool or str, optional
        Whether consolidated metadata is used, in modes that open a group to be read: True has to find
        some, False passes over it, and by default it is used where there is some. Of a v2 group also its
        key, ".zmetadata".
    **creation : optional
        `zarr_format` and `attributes`, in modes that make a group.

    Returns
    -------
    Group

    Raises
    ------
    NotFoundError
        There is no group at the path or URL.
    InvalidError, UnsupportedError, StorageError
        As `open`.

    Examples
    --------
    >>> swath.open_group("archive.zarr").keys()
    ('latitude', 'longitude', 't2m')
    """

@final
class ChunkCodec:
    """The codecs of metadata in JSON, for chunks that are given as bytes."""

    def __new__(cls, document: str) -> ChunkCodec: ...
    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of decoded chunks."""

    def decode(self, chunks: list[npt.NDArray[np.uint8]], out: npt.NDArray[Any]) -> None:
        """Decode chunks, each a contiguous array of uint8, into an array of shape (n, *chunk)."""

    def encode(self, chunks: list[npt.NDArray[np.uint8]]) -> list[bytes]:
        """Encode chunks, each given as the contiguous uint8 view of its elements in C order."""

@final
class ChunkGrid:
    """Where chunks of one shape lie, and how their keys are made."""

    def __new__(cls, extents: Sequence[int], prefix: str | None, separator: str) -> ChunkGrid: ...
    @property
    def extents(self) -> list[int]:
        """Elements of a chunk along each axis."""

    def place(self, path: str) -> tuple[str, list[int]] | None:
        """Return an array's path and a chunk's coordinates, from the chunk's path; None for other paths."""

    def box_of(
        self, batch: list[Any], shape: Sequence[int]
    ) -> tuple[str, list[int], tuple[int | slice, ...]] | None:
        """Return the one selection by integers and slices that a batch of zarr-python's comes to.

        The array's path, where the last chunk ends along each axis, and the index. None where it comes to no
        such selection, or to one that does not fill an output of this shape.
        """

@final
class KeyStore:
    """A store as keys and bytes; local directories are made when they are first written to."""

    def __new__(
        cls,
        store: str | PathLike[str] | object,
        storage_options: Mapping[str, Any] | None = None,
    ) -> KeyStore: ...
    @property
    def name(self) -> str:
        """What the store is called: its directory, or its URL without credentials."""

    @property
    def is_remote(self) -> bool:
        """Whether it is behind a network, or in an archive."""

    def get(self, wanted: list[tuple[str, int | None, int | None]]) -> list[bytes | None]:
        """Return what keys hold, between two offsets; None where nothing is stored.

        All without offsets, from the first offset on without a second, and so many bytes at the end without
        a first.
        """

    def put(self, key: str, value: npt.NDArray[np.uint8], if_absent: bool) -> bool:
        """Write what a key holds, and tell whether it was; with `if_absent` only where nothing is stored."""

    def delete(self, key: str) -> None:
        """Remove what a key holds, if it holds something."""

    def delete_below(self, path: str) -> None:
        """Remove all keys below a path."""

    def size(self, key: str) -> int | None:
        """Return how many bytes a key holds; None where nothing is stored."""

    def names(self, path: str) -> list[str]:
        """Return the names of what lies directly below a path."""

    def entries(self, path: str) -> list[tuple[str, int | None]]:
        """Return what lies directly below a path: names and sizes; None for what has more below."""

    def keys(self, path: str) -> list[tuple[str, int]]:
        """Return all keys below a path, each with how many bytes it holds."""

    def ensure(self, create: bool) -> None:
        """Make sure that the directory of a local store is there; `create` makes it."""

def _append_conversion(
    scan: FieldScan,
    target: object,
    storage_options: Mapping[str, Any] | None,
    sources: tuple[dict[str, str], object],
    journal: str | None,
    strict: bool,
    progress: bool | Callable[[int, int], object] | None,
) -> tuple[int, int, list[Any]]:
    """Add the fields of a scan to a store."""

def _append_images(
    files: list[str],
    target: object,
    storage_options: Mapping[str, Any] | None,
    sources: tuple[dict[str, str], object],
    journal: str | None,
    strict: bool,
    progress: bool | Callable[[int, int], object] | None,
) -> tuple[int, int, list[Any]]:
    """Add images to a store, behind those that it has."""

def _are_images(files: list[str]) -> bool:
    """Say whether files are images of SEVIRI, by their names: all of them, or none."""

def _refuse_images(files: list[str]) -> None:
    """Refuse to list images of SEVIRI as references, by their names."""

def _decode_grib(entry: str, message: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    """Decode a chunk by a codec's metadata entry in JSON, into an array of one axis."""

def _described(store: str | PathLike[str] | object, path: str, document: str) -> Array:
    """Make the array that metadata in JSON describes, at a path of a store; nothing is read."""

def _end() -> None:
    """Have other threads end what they read and write, and wait for them; swath does so when Python ends."""

def _flush_caches() -> None:
    """Wait until what is cached is in the files; swath does so when Python ends."""

def _are_hdf5(files: list[str], options: dict[str, str], provider: object) -> bool:
    """Say whether HDF5 files are among these: by their names, or where there is one by its first bytes."""

def _option_name(name: str) -> str:
    """Return the name that an option has among all its spellings; the name itself where none is known."""

def _plan_of_json(text: str) -> ConversionPlan | ImagePlan:
    """Make the plan that JSON says, of fields or of images."""

def _public_options(options: dict[str, str]) -> dict[str, str]:
    """Return options without secrets: pickles hold these."""

def _read_arrays(
    reads: list[tuple[Array, Iterable[Index], npt.NDArray[Any], dict[str, Any], str]],
    priority: int,
    landing: Landing | None = None,
) -> None:
    """Read several arrays at once, each as `read_many` with `out`; the first error is raised, with its note.

    With a landing it must not be called on the main thread, whose signals it then does not look at.
    """

def _calibration(folder: str) -> tuple[float, float, float, int] | None:
    """Say what a folder's device was measured to do; None where that is not stored.

    These are reads and bytes a second, seconds a read, and how many reads to keep in flight.
    """

def _with_decoded_cache(arrays: list[Array], size: int) -> list[Array] | None:
    """Return arrays with one new cache of decoded chunks, of so many bytes, in place of what they had.

    None where one would keep nothing: its chunks are stored as they are, or differ in length.
    """

def _decoded_bytes(array: Array) -> tuple[int, int]:
    """Return the most bytes of decoded chunks that an array's cache takes, and those that it takes by now."""

def _drop_decoded(array: Array, cells: list[int]) -> None:
    """Drop chunks from an array's cache of decoded ones.

    Each is told by its index along every axis, one behind the other; those not kept are passed over.
    """

def _decoded_counts(arrays: list[Array]) -> tuple[int, int]:
    """Count chunks that arrays took from where decoded ones are kept, and those that they decoded.

    A cache that several of them share counts once, and others that share it count too.
    """

def _resume_conversion(
    target: object,
    storage_options: Mapping[str, Any] | None,
    sources: tuple[dict[str, str], object],
    journal: str | None,
    strict: bool,
    progress: bool | Callable[[int, int], object] | None,
) -> tuple[int, int, list[Any]]:
    """Go on with a conversion that was interrupted."""

def _set_file_access(way: str | None) -> None:
    """Say how files are read from now on, for `swath.set_file_access`."""

def _set_limits(lanes: int | None, bounds: dict[str, int]) -> None:
    """Have the engine work within other bounds; others than those named are the defaults."""

def _set_progress(is_shown: bool) -> None:
    """Say whether progress is shown where nobody says otherwise."""

def _bytes(text: str) -> int:
    """Read a number of bytes such as "2GB"."""

def stats() -> dict[str, Any]:
    """Count what this process has read so far.

    Returns
    -------
    dict
        The engine's counters since its first read, each an int:

        - `windows`, pieces that reads were planned in, and `logical_reads`, ranges of bytes wanted of them;
          `served_reads` are those whose bytes were there already, in memory or in a mapping.
        - `physical_reads`, requests to the storage or the system; `merged_reads` are logical reads that
          shared one, `split_reads` pieces of a logical read that took several; `retries` were sent again,
          `unmerged` are merged reads that failed and were sent one by one, `failed_reads` logical reads
          that failed.
        - `bytes_wanted` and `bytes_fetched`; `read_amplification`, a float, is the second by the first.
        - `opens`, objects opened, and `handle_hits`, those found open.
        - `follow_ups`, plans that followed an index; `replans`, plans made anew as an object was replaced.
        - `inline_batches`, reads done on the thread that asked, and `lane_batches`, those on swath's own;
          `deferred_windows` began on the one and had to wait on the others.
        - `lanes`, most threads of swath's own that read and decode, which start once a read needs them;
          `parks`, how often they slept, and `in_flight_high_water`, most physical reads that one had in
          flight.
        - `latency`, a list of how many physical reads took less than 1, 2, 4, ... microseconds.
        - `drivers`, a list of what reads files and why.
        - `python_codec_calls`, chunks that were decoded or encoded by codecs of numcodecs or zarr-python.

    Examples
    --------
    >>> before = swath.stats()["physical_reads"]
    >>> crop = array[0, :, :128, :128]
    >>> swath.stats()["physical_reads"] - before
    3
    """
