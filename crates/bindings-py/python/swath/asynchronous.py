"""Arrays and groups whose reads are awaited, by the names of zarr-python's `AsyncArray` and `AsyncGroup`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, override

import numpy as np

from swath import _swath
from swath.attributes import Attributes
from swath.awaiting import in_thread, read, read_together

if TYPE_CHECKING:
    import numpy.typing as npt


class AsyncArray:
    """An array whose reads are awaited: on asyncio's loop, uvloop's, or trio's.

    What tasks ask of one array within one turn of the loop is one batch of the engine: each chunk that any of
    them needs is read and decoded once, and the results lie in memory that they share. A task that is
    cancelled ends its wait; the batch ends once nobody waits for any of it. A read that fails raises where it
    is awaited, and leaves the others alone. What else takes time (opening, writing, reading strings of any
    length, or fields of structures) runs on a thread.

    Made by `array.async_array` and `swath.api.asynchronous.open_array`; pickled as the array is. What it says
    of itself is what `swath.Array` says, by the same names.

    Examples
    --------
    >>> crops = await asyncio.gather(*(array.getitem((slice(t, t + 4), 0)) for t in starts))
    """

    __slots__ = ("_node",)

    def __init__(self, array: _swath.Array) -> None:
        self._node = array

    @property
    def array(self) -> _swath.Array:
        """The same array, whose reads block."""
        return self._node

    @property
    def oindex(self) -> AsyncIndex:
        """Read along each axis by itself: `await array.oindex.getitem(...)`."""
        return AsyncIndex(self, "orthogonal")

    @property
    def vindex(self) -> AsyncIndex:
        """Read single elements by their indexes, or by a mask: `await array.vindex.getitem(...)`."""
        return AsyncIndex(self, "coordinate")

    @property
    def blocks(self) -> AsyncIndex:
        """Read stored chunks, or shards where there are some: `await array.blocks.getitem(...)`."""
        return AsyncIndex(self, "block")

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""
        return self._node.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._node.ndim

    @property
    def size(self) -> int:
        """Elements in all; 1 for an array without dimensions."""
        return self._node.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of what reads give, in this machine's byte order."""
        return self._node.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array once read."""
        return self._node.nbytes

    @property
    def chunks(self) -> tuple[int, ...]:
        """Elements of a chunk along each axis, the smallest unit read: an inner chunk if there are shards."""
        return self._node.chunks

    @property
    def shards(self) -> tuple[int, ...] | None:
        """Elements of a shard along each axis; None where the array is not sharded."""
        return self._node.shards

    @property
    def read_chunk_sizes(self) -> tuple[tuple[int, ...], ...]:
        """Elements of each chunk along each axis, cut off at the end; inner chunks if there are shards."""
        return self._node.read_chunk_sizes

    @property
    def write_chunk_sizes(self) -> tuple[tuple[int, ...], ...]:
        """Elements of each stored chunk or shard along each axis, cut off where the array ends."""
        return self._node.write_chunk_sizes

    @property
    def cdata_shape(self) -> tuple[int, ...]:
        """Chunks along each axis; inner chunks in a sharded array."""
        return self._node.cdata_shape

    @property
    def nchunks(self) -> int:
        """Chunks in all, stored or not; inner chunks in a sharded array."""
        return self._node.nchunks

    @property
    def fill_value(self) -> Any:
        """What elements that are not stored read as."""
        return self._node.fill_value

    @property
    def attrs(self) -> Attributes:
        """The user's attributes, a mapping: read-only unless the array was opened to be written to."""
        return self._node.attrs

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata document as it is stored, `zarr.json` or `.zarray`; a new dict each time."""
        return self._node.metadata

    @property
    def dimension_names(self) -> tuple[str | None, ...] | None:
        """A name or None for each axis; None where the array names none."""
        return self._node.dimension_names

    @property
    def codecs(self) -> tuple[str, ...]:
        """Every codec that a chunk goes through, described, in encoding order."""
        return self._node.codecs

    @property
    def compressors(self) -> tuple[str, ...]:
        """The codecs that compress or check a chunk's bytes, described, in encoding order."""
        return self._node.compressors

    @property
    def zarr_format(self) -> Literal[2, 3]:
        """The Zarr format, 2 or 3."""
        return self._node.zarr_format

    @property
    def read_only(self) -> bool:
        """Whether the array can only be read."""
        return self._node.read_only

    @property
    def name(self) -> str:
        """The path in the store with a slash in front."""
        return self._node.name

    @property
    def path(self) -> str:
        """The path in the store; empty for the root."""
        return self._node.path

    @property
    def basename(self) -> str:
        """The last part of the path."""
        return self._node.basename

    @property
    def store_path(self) -> str:
        """The array's directory, absolute, or its URL without credentials; `swath.open` takes it."""
        return self._node.store_path

    @property
    def info(self) -> _swath.Info:
        """What the array is, in lines to read."""
        return self._node.info

    async def getitem(self, selection: Any) -> Any:
        """Read what `array[selection]` gives.

        Raises
        ------
        OutOfBoundsError, UnsupportedSelectionError
            The selection does not fit the array. IndexErrors too.
        CorruptError, StorageError
            What is stored contradicts the metadata, or the storage failed.
        """
        request = self._node._request("index", selection)
        if request is None:
            return await in_thread(partial(self._node.__getitem__, selection))
        return await read(self._node, request)

    async def get_orthogonal_selection(self, selection: Any) -> npt.NDArray[Any]:
        """Read along each axis by itself, as `Array.get_orthogonal_selection`."""
        return np.asarray(await self._by("orthogonal", selection))

    async def get_coordinate_selection(self, selection: Any) -> npt.NDArray[Any]:
        """Read single elements by their indexes, as `Array.get_coordinate_selection`."""
        return np.asarray(await self._by("coordinate", selection))

    async def get_mask_selection(self, mask: Any) -> npt.NDArray[Any]:
        """Read the elements for which a mask is true, as `Array.get_mask_selection`."""
        return np.asarray(await self._by("mask", mask))

    async def get_block_selection(self, selection: Any) -> npt.NDArray[Any]:
        """Read stored chunks, as `Array.get_block_selection`."""
        return np.asarray(await self._by("block", selection))

    async def read(self, index: Any = ..., *, by: _swath.By = "index", **conversion: Any) -> npt.NDArray[Any]:
        """Read what an index selects, and convert it on the way, by the arguments of `Array.read`."""
        request = self._node._request(by, index)
        if request is None:
            return await in_thread(partial(self._node.read, index, by=by, **conversion))
        if not conversion:
            return np.asarray(await read(self._node, request))
        results = await read_together(self._node, [request], conversion)
        return np.asarray(results[0])

    async def read_many(
        self, indexes: Iterable[Any], *, by: _swath.By = "index", **conversion: Any
    ) -> list[npt.NDArray[Any]]:
        """Read many indexes as one batch: a list of arrays, as `Array.read_many` gives with ``stack=False``.

        Raises
        ------
        SwathError
            That of the first index that could not be read.
        """
        indexes = list(indexes)
        requests = [self._node._request(by, index) for index in indexes]
        known = [request for request in requests if request is not None]
        if len(known) != len(requests):
            return await in_thread(lambda: self._node.read_many(indexes, stack=False, by=by, **conversion))
        return [np.asarray(result) for result in await read_together(self._node, known, conversion)]

    async def setitem(self, selection: Any, value: npt.ArrayLike) -> None:
        """Write, as `array[selection] = value` does; a task that is cancelled does not end it."""
        await in_thread(partial(self._node.__setitem__, selection, value))

    async def resize(self, new_shape: int | Sequence[int]) -> None:
        """Give the array another shape, as `Array.resize`."""
        await in_thread(partial(self._node.resize, new_shape))

    async def append(self, data: npt.ArrayLike, axis: int = 0) -> tuple[int, ...]:
        """Write behind the array's last elements along an axis, as `Array.append`."""
        return await in_thread(partial(self._node.append, data, axis))

    async def update_attributes(self, new_attributes: Mapping[str, Any]) -> AsyncArray:
        """Add and replace attributes in one write; returns the array."""
        await in_thread(partial(self._node.attrs.update, new_attributes))
        return self

    async def nbytes_stored(self) -> int:
        """Count the bytes stored for the array's chunks, as `Array.nbytes_stored`."""
        return await in_thread(self._node.nbytes_stored)

    async def _by(self, by: _swath.By, selection: Any) -> Any:
        request = self._node._request(by, selection)
        if request is None:
            return await in_thread(partial(self._node.read, selection, by=by))
        return await read(self._node, request)

    def __len__(self) -> int:
        return len(self._node)

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, AsyncArray) and self._node == other._node

    @override
    def __hash__(self) -> int:
        return hash((AsyncArray, self._node))

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return AsyncArray, (self._node,)

    @override
    def __repr__(self) -> str:
        return f"<AsyncArray {self._node!r}>"


class AsyncIndex:
    """Reads in one way: `oindex`, `vindex` and `blocks` of an `AsyncArray`."""

    __slots__ = ("_array", "_by")

    def __init__(self, array: AsyncArray, by: _swath.By) -> None:
        self._array, self._by = array, by

    async def getitem(self, selection: Any) -> npt.NDArray[Any]:
        """Read a selection, as the `swath.Array`'s property of the same name does."""
        by = self._by
        if by == "coordinate" and getattr(selection, "dtype", None) == np.bool_:
            by = "mask"
        return np.asarray(await self._array._by(by, selection))


class AsyncGroup:
    """A group whose members are awaited.

    Made by `group.async_group` and `swath.api.asynchronous.open_group`. What it says of itself is what
    `swath.Group` says, by the same names.

    Examples
    --------
    >>> group = await swath.api.asynchronous.open_group("example.zarr")
    >>> async for name, member in group.members():
    ...     print(name, member)
    """

    __slots__ = ("_node",)

    def __init__(self, group: _swath.Group) -> None:
        self._node = group

    @property
    def group(self) -> _swath.Group:
        """The same group, whose members are read while the caller waits."""
        return self._node

    @property
    def attrs(self) -> Attributes:
        """The user's attributes, a mapping: read-only unless the group was opened to be written to."""
        return self._node.attrs

    @property
    def zarr_format(self) -> Literal[2, 3]:
        """The Zarr format, 2 or 3."""
        return self._node.zarr_format

    @property
    def read_only(self) -> bool:
        """Whether the group can only be read."""
        return self._node.read_only

    @property
    def name(self) -> str:
        """The path in the store with a slash in front."""
        return self._node.name

    @property
    def path(self) -> str:
        """The path in the store; empty for the root."""
        return self._node.path

    @property
    def basename(self) -> str:
        """The last part of the path."""
        return self._node.basename

    @property
    def store_path(self) -> str:
        """The group's directory, absolute, or its URL without credentials; `swath.open` takes it."""
        return self._node.store_path

    @property
    def info(self) -> _swath.Info:
        """What the group is, in lines to read."""
        return self._node.info

    async def getitem(self, path: str) -> AsyncArray | AsyncGroup:
        """Give a member, or one of a group within.

        Raises
        ------
        MemberNotFoundError
            There is no such member. A KeyError too.
        """
        return wrapped(await in_thread(partial(_opened_member, self._node, path)))

    async def contains(self, path: str) -> bool:
        """Tell whether there is a member of this name, or at this path."""
        return await in_thread(partial(self._node.__contains__, path))

    async def nmembers(self) -> int:
        """Count the members."""
        return await in_thread(self._node.__len__)

    def __aiter__(self) -> AsyncIterator[str]:
        return self.keys()

    async def keys(self) -> AsyncIterator[str]:
        """Give the members' names."""
        for name in await in_thread(self._node.keys):
            yield name

    async def members(self) -> AsyncIterator[tuple[str, AsyncArray | AsyncGroup]]:
        """Give the members with their names."""
        for name, node in await in_thread(self._node.members):
            yield name, wrapped(node)

    async def arrays(self) -> AsyncIterator[tuple[str, AsyncArray]]:
        """Give the members that are arrays, with their names."""
        for name, array in await in_thread(self._node.arrays):
            yield name, AsyncArray(array)

    async def groups(self) -> AsyncIterator[tuple[str, AsyncGroup]]:
        """Give the members that are groups, with their names."""
        for name, group in await in_thread(self._node.groups):
            yield name, AsyncGroup(group)

    async def create_array(self, name: str, **options: Any) -> AsyncArray:
        """Make an array in the group, as `Group.create_array`."""
        return AsyncArray(await in_thread(partial(self._node.create_array, name, **options)))

    async def create_group(self, name: str, **options: Any) -> AsyncGroup:
        """Make a group in the group, as `Group.create_group`."""
        return AsyncGroup(await in_thread(partial(self._node.create_group, name, **options)))

    async def require_group(self, name: str, *, overwrite: bool = False) -> AsyncGroup:
        """Give a group, made where there is none, as `Group.require_group`."""
        return AsyncGroup(await in_thread(partial(self._node.require_group, name, overwrite=overwrite)))

    async def delitem(self, path: str) -> None:
        """Remove a member and all that it holds."""
        await in_thread(partial(self._node.__delitem__, path))

    async def update_attributes(self, new_attributes: Mapping[str, Any]) -> AsyncGroup:
        """Add and replace attributes in one write; returns the group."""
        await in_thread(partial(self._node.attrs.update, new_attributes))
        return self

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, AsyncGroup) and self._node == other._node

    @override
    def __hash__(self) -> int:
        return hash((AsyncGroup, self._node))

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return AsyncGroup, (self._node,)

    @override
    def __repr__(self) -> str:
        return f"<AsyncGroup {self._node!r}>"


def _opened_member(group: _swath.Group, path: str) -> _swath.Array | _swath.Group:
    """Give a member whose metadata are there: what is asked of it later must not make a loop wait."""
    return opened(group[path])


def opened(node: _swath.Array | _swath.Group) -> _swath.Array | _swath.Group:
    """Open an array or a group, if it is not yet."""
    _ = node.zarr_format
    return node


def wrapped(node: _swath.Array | _swath.Group) -> AsyncArray | AsyncGroup:
    """Give the form of an array or a group whose reads are awaited."""
    return AsyncArray(node) if isinstance(node, _swath.Array) else AsyncGroup(node)
