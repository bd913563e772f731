"""What a batch of zarr-python's selects: chunks with a selection in each, as one selection of the array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from zarr.core.array_spec import ArraySpec

    from swath._swath import Array

type Item = tuple[Any, ArraySpec, Any, Any, bool]
type Ints = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Grid:
    """Chunks of one shape, and how their keys are made."""

    chunk: tuple[int, ...]
    # What stands before the coordinates.
    prefix: str | None
    separator: str

    def place(self, path: str) -> tuple[str, tuple[int, ...]] | None:
        """Return an array's path and the coordinates of a chunk, from the chunk's path; None where it is of no chunk."""
        rank = len(self.chunk)
        if self.prefix is None:
            if self.separator == "/" and 1 < rank:
                *head, = path.rsplit("/", rank)
                folder, names = ("", head) if len(head) == rank else (head[0], head[1:])
            else:
                folder, _, name = path.rpartition("/")
                names = name.split(self.separator) if rank else []
        else:
            head, *names = path.rsplit(self.separator, rank)
            folder, _, name = head.rpartition("/")
            if name != self.prefix:
                return None
        if len(names) != rank or not all(name.isdecimal() for name in names):
            return None
        return folder, tuple(map(int, names))


@dataclass(frozen=True)
class Box:
    """One selection by integers and slices, which fills the whole output."""

    path: str
    ends: tuple[int, ...]
    index: tuple[int | slice, ...]

    def read(self, array: Array, out: npt.NDArray[Any], drop_axes: tuple[int, ...]) -> None:
        """Read into the output."""
        del drop_axes
        if takes(array, out):
            array.read(self.index, out=out)
        else:
            out[...] = array.read(self.index)


type By = Literal["index", "orthogonal", "coordinate"]


@dataclass(frozen=True)
class Pieces:
    """A selection for each chunk, and where in the output it goes."""

    path: str
    ends: tuple[int, ...]
    by: By
    indexes: list[Any]
    places: list[Any]

    def read(self, array: Array, out: npt.NDArray[Any], drop_axes: tuple[int, ...]) -> None:
        """Read into the output."""
        found = array.read_many(self.indexes, stack=False, by=self.by)
        for place, piece in zip(self.places, found, strict=True):
            out[place] = piece.squeeze(axis=drop_axes) if drop_axes else piece


def takes(array: Array, out: npt.NDArray[Any]) -> bool:
    """Return whether swath can write into an output by itself."""
    return out.dtype == array.dtype and out.flags.c_contiguous and out.flags.writeable


def selection_of(
    batch: Sequence[Item], grid: Grid, shape: tuple[int, ...], drop_axes: tuple[int, ...]
) -> Box | Pieces | None:
    """Return what a batch selects; None for what swath has no selection for, or chunks of several arrays."""
    path, store = None, batch[0][0].store
    chunks: list[tuple[int, ...]] = []
    for getter, *_ in batch:
        if type(getter) is not type(batch[0][0]) or getter.store is not store:
            return None
        place = grid.place(getter.path)
        if place is None or (path is not None and place[0] != path):
            return None
        path = place[0]
        chunks.append(place[1])
    assert path is not None
    ends = tuple((max(at) + 1) * extent for at, extent in zip(zip(*chunks, strict=True), grid.chunk, strict=True))
    if not drop_axes:
        index = box_of(batch, chunks, grid, shape)
        if index is not None:
            return Box(path, ends, index)
    return pieces_of(batch, chunks, grid, path, ends)


def box_of(
    batch: Sequence[Item], chunks: Sequence[tuple[int, ...]], grid: Grid, shape: tuple[int, ...]
) -> tuple[int | slice, ...] | None:
    """Return the one selection by integers and slices that a batch comes to, if it does, and fills the output."""
    rank = len(grid.chunk)
    # Of each axis, what is selected in the chunks at each coordinate: the same in all of them.
    axes: list[dict[int, tuple[Any, ...]]] = [{} for _ in range(rank)]
    for (_, _, inside, outside, _), chunk in zip(batch, chunks, strict=True):
        if type(inside) is not tuple or type(outside) is not tuple or len(inside) != rank:
            return None
        kept = 0
        for axis, at, part in zip(axes, chunk, inside, strict=True):
            if type(part) is slice:
                if len(outside) <= kept or type(outside[kept]) is not slice:
                    return None
                target = outside[kept]
                kept += 1
                entry = (part.start, part.step, target.start, target.stop, target.step)
            elif isinstance(part, int | np.integer):
                entry = (int(part),)
            else:
                return None
            if axis.setdefault(at, entry) != entry:
                return None
        if kept != len(outside):
            return None
    # Each combination once: as many as there are, and no two alike.
    if math.prod(map(len, axes)) != len(batch) or len(set(chunks)) != len(batch):
        return None
    index = [along(axis, extent) for axis, extent in zip(axes, grid.chunk, strict=True)]
    found = tuple(part for part, _ in (entry for entry in index if entry is not None))
    if len(found) != rank:
        return None
    lengths = tuple(length for _, length in (entry for entry in index if entry is not None) if length is not None)
    return found if lengths == shape else None


def along(axis: dict[int, tuple[Any, ...]], extent: int) -> tuple[int | slice, int | None] | None:
    """Return what is selected along an axis, and how many elements of the output that fills from its start on."""
    parts = sorted(axis.items())
    at, entry = parts[0]
    if len(entry) == 1:
        return (at * extent + entry[0], None) if len(parts) == 1 else None
    step = entry[1] or 1
    first = following = None
    filled = 0
    for at, (start, part_step, target, target_end, target_step) in (
        (at, entry) for at, entry in parts if len(entry) == 5
    ):
        if (part_step or 1) != step or target_step not in (None, 1) or target != filled or None in (start, target_end):
            return None
        start += at * extent
        if first is None:
            first = following = start
        if start != following:
            return None
        following = start + (target_end - target) * step
        filled = target_end
    if first is None or following is None or step < 1 or filled == 0:
        return None
    return slice(first, following - step + 1, step), filled


def pieces_of(
    batch: Sequence[Item], chunks: Sequence[tuple[int, ...]], grid: Grid, path: str, ends: tuple[int, ...]
) -> Pieces | None:
    """Return a selection for each chunk of a batch, if swath has one way for all of them."""
    ways, indexes = set(), []
    for (_, _, inside, _, _), chunk in zip(batch, chunks, strict=True):
        origin = [at * extent for at, extent in zip(chunk, grid.chunk, strict=True)]
        found = piece_of(inside, origin, grid.chunk)
        if found is None:
            return None
        way, index = found
        ways.add(way)
        indexes.append(index)
    if len(ways) != 1:
        return None
    return Pieces(path, ends, ways.pop(), indexes, [outside for _, _, _, outside, _ in batch])


def piece_of(inside: Any, origin: Sequence[int], extents: Sequence[int]) -> tuple[By, Any] | None:
    """Return what is selected of one chunk as a selection of the array, as NumPy would of the chunk."""
    rank = len(origin)
    if type(inside) is not tuple or len(inside) != rank:
        return None
    lists = [part for part in inside if isinstance(part, np.ndarray)]
    if any(part.dtype.kind not in "iu" and part.dtype != bool for part in lists):
        return None
    if not lists:
        parts = [moved(part, start, extent) for part, start, extent in zip(inside, origin, extents, strict=True)]
        return None if None in parts else ("index", tuple(parts))
    if len(lists) == rank and all(part.ndim == 1 and part.shape == lists[0].shape for part in lists):
        if any(part.dtype == bool for part in lists) and 1 < rank:
            return None
        return "coordinate", tuple(numbers(part) + start for part, start in zip(inside, origin, strict=True))
    # Each list on an axis of its own, as numpy.ix_ gives them; or one list among slices.
    if len(lists) == rank:
        flat = [part for axis, part in enumerate(lists) if part.ndim == rank and part.size == part.shape[axis]]
        if len(flat) != rank:
            return None
        return "orthogonal", tuple(numbers(part.reshape(-1)) + start for part, start in zip(flat, origin, strict=True))
    if len(lists) == 1 and lists[0].ndim == 1 and all(isinstance(part, slice | np.ndarray) for part in inside):
        parts = [
            numbers(part) + start if isinstance(part, np.ndarray) else moved(part, start, extent)
            for part, start, extent in zip(inside, origin, extents, strict=True)
        ]
        return None if any(part is None for part in parts) else ("orthogonal", tuple(parts))
    return None


def numbers(part: npt.NDArray[Any]) -> Ints:
    """Return the indexes that a list of numbers or of booleans stands for."""
    return np.flatnonzero(part) if part.dtype == bool else part.astype(np.int64, copy=False)


def moved(part: Any, start: int, extent: int) -> int | slice | None:
    """Return an integer or a slice within a chunk as one of the array."""
    if type(part) is slice:
        first, last, step = part.indices(extent)
        return slice(start + first, start + max(first, last), step) if 0 < step else None
    if isinstance(part, int | np.integer):
        return start + int(part) if 0 <= part < extent else None
    return None
