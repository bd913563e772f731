"""What a batch of zarr-python's selects: chunks with a selection in each, as selections of the array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from zarr.core.array_spec import ArraySpec

    from swath._swath import Array, ChunkGrid

type Item = tuple[Any, ArraySpec, Any, Any, bool]
type Ints = npt.NDArray[np.integer[Any]]
type By = Literal["index", "orthogonal", "coordinate"]


@dataclass(slots=True)
class Box:
    """One selection by integers and slices, which fills the whole output."""

    path: str
    # Where the last chunk ends along each axis.
    ends: Sequence[int]
    index: tuple[int | slice, ...]

    def read(self, array: Array, out: npt.NDArray[Any], drop_axes: tuple[int, ...]) -> None:
        """Read into the output."""
        del drop_axes
        if takes(array, out):
            array.read(self.index, out)
        else:
            out[...] = array.read(self.index)


@dataclass(slots=True)
class Pieces:
    """A selection for each chunk, and where in the output it goes."""

    path: str
    ends: Sequence[int]
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
    batch: list[Item], grid: ChunkGrid, shape: tuple[int, ...], drop_axes: tuple[int, ...]
) -> Box | Pieces | None:
    """Return what a batch selects; None for what swath has no selection for, or chunks of several arrays."""
    found = None if drop_axes else grid.box_of(batch, shape)
    return pieces_of(batch, grid) if found is None else Box(*found)


def pieces_of(batch: Sequence[Item], grid: ChunkGrid) -> Pieces | None:
    """Return a selection for each chunk of a batch, if swath has one way for all of them."""
    extents = grid.extents
    path: str | None = None
    store = batch[0][0].store
    ends = [0] * len(extents)
    ways, indexes = set(), []
    for getter, _, inside, _, _ in batch:
        place = grid.place(getter.path) if getter.store is store else None
        if place is None or (path is not None and place[0] != path):
            return None
        path = place[0]
        origin = [at * extent for at, extent in zip(place[1], extents, strict=True)]
        ends = [max(end, at + extent) for end, at, extent in zip(ends, origin, extents, strict=True)]
        found = piece_of(inside, origin, extents)
        if found is None:
            return None
        ways.add(found[0])
        indexes.append(found[1])
    if path is None or len(ways) != 1:
        return None
    return Pieces(path, ends, ways.pop(), indexes, [outside for _, _, _, outside, _ in batch])


def piece_of(inside: Any, origin: Sequence[int], extents: Sequence[int]) -> tuple[By, Any] | None:
    """Return what is selected of one chunk as a selection of the array, as NumPy would of the chunk."""
    rank = len(origin)
    if type(inside) is not tuple or len(inside) != rank:
        return None
    lists = [part for part in inside if isinstance(part, np.ndarray)]
    if any(part.dtype.kind not in "iub" for part in lists):
        return None
    if not lists:
        parts = [moved(*axis) for axis in zip(inside, origin, extents, strict=True)]
        return None if None in parts else ("index", tuple(parts))
    if len(lists) == rank:
        return points(lists, origin) or crossed(lists, origin)
    if (
        len(lists) == 1
        and lists[0].ndim == 1
        and all(isinstance(part, slice | np.ndarray) for part in inside)
    ):
        mixed: list[Any] = [
            numbers(part) + start if isinstance(part, np.ndarray) else moved(part, start, extent)
            for part, start, extent in zip(inside, origin, extents, strict=True)
        ]
        return None if any(part is None for part in mixed) else ("orthogonal", tuple(mixed))
    return None


def points(lists: Sequence[npt.NDArray[Any]], origin: Sequence[int]) -> tuple[By, Any] | None:
    """Return lists of one length, whose elements go together, as a selection of the array."""
    if any(part.ndim != 1 or part.shape != lists[0].shape for part in lists):
        return None
    if 1 < len(lists) and any(part.dtype == bool for part in lists):
        return None
    return "coordinate", tuple(numbers(part) + start for part, start in zip(lists, origin, strict=True))


def crossed(lists: Sequence[npt.NDArray[Any]], origin: Sequence[int]) -> tuple[By, Any] | None:
    """Return lists with an axis each, as `numpy.ix_` gives them, as a selection of the array."""
    rank = len(lists)
    if any(part.ndim != rank or part.size != part.shape[axis] for axis, part in enumerate(lists)):
        return None
    flat = (part.reshape(-1) for part in lists)
    return "orthogonal", tuple(numbers(part) + start for part, start in zip(flat, origin, strict=True))


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
