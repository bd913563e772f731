"""Reads of zarr-python's arrays that swath does from storage by itself."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from operator import le
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy.typing as npt
from zarr.core.array_spec import ArraySpec
from zarr.core.buffer import NDBuffer, cpu
from zarr.core.chunk_key_encodings import DefaultChunkKeyEncoding, V2ChunkKeyEncoding
from zarr.core.metadata import ArrayV2Metadata
from zarr.core.metadata.v3 import RegularChunkGridMetadata
from zarr.storage import FsspecStore, LocalStore, ObjectStore, StorePath, ZipStore
from zarr.storage._fsspec import ALLOWED_EXCEPTIONS

from swath._swath import Array, ChunkGrid, QuickReads, _described
from swath.errors import CorruptError, InvalidError, StorageError, SwathError, UnsupportedError
from swath.zarr.batch import Box, Item, Pieces, selection_of
from swath.zarr.chunks import (
    Refused,
    is_same_but_for_order,
    named,
    require_dtype,
    require_known,
    why_no_chunks,
)
from swath.zarr.store import SwathStore

if TYPE_CHECKING:
    from pathlib import Path

    from zarr.abc.codec import Codec
    from zarr.core.metadata import ArrayMetadata


# Bytes that are decoded, or read from local storage, on the event loop's own thread: going to another one
# takes about as long.
INLINE_BYTES_MAX = 256 << 10

# What zarr-python's own way is asked about once more, to raise what its users know.
FAILURES = (CorruptError, InvalidError, StorageError, UnsupportedError)


@dataclass(slots=True)
class Read:
    """One read of swath's that does what a batch asks for."""

    array: Array
    selection: Box | Pieces
    out: npt.NDArray[Any]
    drop_axes: tuple[int, ...]
    # Of the output, where storage is local; else more than is read on an event loop.
    bytes_here: float

    def run(self) -> None:
        """Read."""
        self.selection.read(self.array, self.out, self.drop_axes)


class Refusals(NamedTuple):
    """Why there is no native way; None where there is one."""

    # To do anything.
    everything: str | None
    # To decode and encode chunks whose bytes come and go through a store's own methods.
    chunks: str | None


class NativeArray:
    """What swath knows of an array of zarr-python's, and once it was read the same array natively."""

    def __init__(self, metadata: ArrayMetadata) -> None:
        self.metadata = metadata
        self.grid = grid_of(metadata)
        # By the classes of buffers.
        self.known: dict[Hashable, Refusals] = {}
        self.place: Place | None = None
        self.arrays: dict[Hashable, tuple[Array | None, Any]] = {}
        # Reads like the last that was looked at, and where and of which array that was.
        self.quick: QuickReads | None = None
        self.quick_of: tuple[Any, ...] = (None, None)
        # Whole chunks.
        extents = self.grid.extents if self.grid is not None else [1] * len(metadata.shape)
        self.shape = [
            -(-length // max(extent, 1)) * extent
            for length, extent in zip(metadata.shape, extents, strict=True)
        ]

    def __getstate__(self) -> dict[str, Any]:
        return {"metadata": self.metadata}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["metadata"])  # type: ignore[misc]

    def refused(self, codecs: Iterable[Codec], spec: ArraySpec) -> Refusals:
        """Return why swath has no native way for an array's chunks."""
        known = self.known.get(spec.prototype)
        if known is None:
            known = self.known[spec.prototype] = self.refusals(tuple(codecs), spec)
        return known

    def refusals(self, codecs: Sequence[Codec], spec: ArraySpec) -> Refusals:
        """Find that out."""
        prototype = spec.prototype
        try:
            for codec in codecs:
                require_known(codec)
            for kind, base in ((prototype.buffer, cpu.Buffer), (prototype.nd_buffer, cpu.NDBuffer)):
                if not issubclass(kind, base):
                    raise Refused(f"buffers of class {named(kind)}")
            array = _described("memory://", "", self.document(self.metadata.shape))
            require_dtype(spec, array.dtype)
        except (Refused, SwathError, TypeError, ValueError) as error:
            return Refusals(str(error), str(error))
        return Refusals(None, why_no_chunks(array.dtype))

    def document(self, shape: Sequence[int]) -> str:
        """Return the metadata in JSON, without what reads do not need, for another shape."""
        name = ".zarray" if isinstance(self.metadata, ArrayV2Metadata) else "zarr.json"
        found = json.loads(self.metadata.to_buffer_dict(CPU)[name].to_bytes())
        found.pop("attributes", None)
        found["shape"] = list(shape)
        return json.dumps(found)

    def read_quickly(self, batch: list[Item], out: NDBuffer) -> bool:
        """Read a small batch that is like an earlier one; False where it is to be looked at by itself."""
        # Another thread may take it away.
        quick = self.quick
        if quick is None or type(out) is not cpu.NDBuffer:
            return False
        try:
            return quick.read(batch, out.as_numpy_array())
        except FAILURES:
            # The long way says what is wrong, or finds it right by then.
            self.quick = None
            return False

    def is_plain(self, batch: list[Item], out: NDBuffer) -> bool:
        """Return whether a batch asks for nothing but elements in NumPy's memory."""
        first, spec = batch[0][0], batch[0][1]
        return (
            self.grid is not None
            and type(first) is StorePath
            and type(out) is cpu.NDBuffer
            and spec.prototype == CPU
            and bool(spec.config.read_missing_chunks)
        )

    def reader(self, batch: list[Item], memory: npt.NDArray[Any], drop_axes: tuple[int, ...]) -> Read | None:
        """Return the native read of a plain batch; None where the store's methods are to be called."""
        place = self.place = place_of(batch[0][0].store, self.place)
        if place is None or self.grid is None:
            return None
        selection = selection_of(batch, self.grid, memory.shape, drop_axes)
        if selection is None:
            return None
        array = self.array(place, selection)
        if array is None:
            return None
        if not is_same_but_for_order(memory.dtype, array.dtype):
            return None
        bytes_here = memory.nbytes if place.is_local else math.inf
        if bytes_here <= INLINE_BYTES_MAX:
            self.remember(batch[0][0].store, place, selection, array)
        return Read(array, selection, memory, drop_axes, bytes_here)

    def remember(self, store: Any, place: Place, selection: Box | Pieces, array: Array) -> None:
        """Have batches like this one read quickly."""
        is_known = self.quick is not None and self.quick_of[0] is place and self.quick_of[1] is array
        # A relative path is not kept, as it may be another one next time.
        if is_known or type(store) is not LocalStore or place.inode is None or place.keep is None:
            return
        if isinstance(selection, Box) and self.grid is not None:
            self.quick = QuickReads(
                self.grid, array, selection.path, self.shape, store,
                place.store, place.inode, CLASSES, INLINE_BYTES_MAX,
            )  # fmt: skip
            self.quick_of = (place, array)

    def array(self, place: Place, selection: Box | Pieces) -> Array | None:
        """Return the array natively; None where its storage cannot be read."""
        # It may have been resized: what matters here is that what is asked for lies in it.
        if not all(map(le, selection.ends, self.shape)):
            self.shape = [max(pair) for pair in zip(self.shape, selection.ends, strict=True)]
            self.arrays.clear()
        key = (place.key, selection.path)
        known = self.arrays.get(key)
        if known is None:
            try:
                array = _described(place.store, selection.path, self.document(self.shape))
            except SwathError:
                array = None
            if PLACES_MAX <= len(self.arrays):
                self.arrays.clear()
            # The store is kept, so that no other one gets its number.
            known = self.arrays[key] = (array, place.keep)
        return known[0]


# Stores that are known of one array: those that are moved, or made anew, leave others behind.
PLACES_MAX = 8

CPU = cpu.buffer_prototype


def grid_of(metadata: ArrayMetadata) -> ChunkGrid | None:
    """Return how keys of chunks are made; None where that is not one of zarr-python's own ways."""
    if isinstance(metadata, ArrayV2Metadata):
        return ChunkGrid(metadata.chunks, None, metadata.dimension_separator)
    encoding = metadata.chunk_key_encoding
    if type(metadata.chunk_grid) is not RegularChunkGridMetadata:
        return None
    if type(encoding) is DefaultChunkKeyEncoding:
        return ChunkGrid(metadata.chunk_grid.chunk_shape, "c", encoding.separator)
    if type(encoding) is V2ChunkKeyEncoding:
        return ChunkGrid(metadata.chunk_grid.chunk_shape, None, encoding.separator)
    return None


@dataclass(slots=True)
class Place:
    """Where a store that swath knows is."""

    key: Hashable
    # What `swath.open` takes.
    store: Any
    keep: Any
    is_local: bool
    inode: tuple[int, int] | None = None


METHODS = frozenset({"get", "get_partial_values", "get_ranges", "get_sync"})

# What quick reads look for.
CLASSES = {"path": StorePath, "buffer": cpu.Buffer, "nd_buffer": cpu.NDBuffer, "methods": sorted(METHODS)}


def inode_of(path: str) -> tuple[int, int] | None:
    """Return the device and number of a directory; None where there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116, pathlib takes ten times as long
    except OSError:
        return None
    return found.st_dev, found.st_ino


def local_place(folder: Path, last: Place | None) -> Place | None:
    """Return where a LocalStore is: another directory may have been put in the place of the last."""
    if last is not None and last.keep is folder and inode_of(last.store) == last.inode:
        return last
    root = str(folder)
    is_absolute = root.startswith("/")
    if not is_absolute:
        root = os.path.abspath(root)  # noqa: PTH100, pathlib takes ten times as long
    inode = inode_of(root)
    # A relative path is another one once the process works elsewhere.
    keep = folder if is_absolute else None
    return None if inode is None else Place((root, *inode), root, keep, True, inode)


def place_of(store: Any, last: Place | None = None) -> Place | None:
    """Return where a store is; None of classes that may do more than read what is there.

    It is `last` again, that of an earlier read, where it is the same.
    """
    # What was put in place of a method is the user's to be called.
    if not vars(store).keys().isdisjoint(METHODS):
        return None
    kind = type(store)
    if kind is LocalStore:
        return local_place(store.root, last)
    if kind is SwathStore:
        keys = store._keys
        inode = None if keys.is_remote else inode_of(keys.name)
        return Place(("swath", id(keys), inode), keys, keys, not keys.is_remote)
    if kind is ObjectStore:
        return Place(("object", id(store.store)), store, store.store, False)
    if kind is FsspecStore and store.allowed_exceptions == ALLOWED_EXCEPTIONS:
        return Place(("fsspec", id(store.fs), store.path), store, store.fs, False)
    if kind is ZipStore and store.read_only and store.path is not None:
        return Place(("zip", str(store.path)), store, None, True)
    return None
