"""Part of an array of swath, as lazy indexing made it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from swath._swath import Array
from swath.train.arrays import AxisIndex, Positions, as_index
from swath.train.decoding import Decoding

# What is taken of one axis: a position, which takes the axis away, or some.
type Pick = int | range | Positions


@dataclass(frozen=True, slots=True)
class View:
    """What was selected of an array, with its axes in any order. Nothing is read, and reads are of the array.

    Attributes
    ----------
    array : swath.Array
        Where elements are stored.
    picks : tuple of int, range or numpy.ndarray
        What is taken along each axis of the array.
    order : tuple of int
        Which axis of the array each axis of the view is.
    """

    array: Array
    picks: tuple[Pick, ...]
    order: tuple[int, ...]

    @property
    def is_whole(self) -> bool:
        """Whether it is the array itself."""
        is_ordered = self.order == tuple(range(self.array.ndim))
        return is_ordered and all(
            isinstance(pick, range) and pick == range(extent)
            for pick, extent in zip(self.picks, self.array.shape, strict=True)
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis of the view."""
        return tuple(_length(self.picks[axis]) for axis in self.order)

    @property
    def dtype(self) -> np.dtype[Any]:
        """What elements are stored as."""
        return self.array.dtype

    def indexed(self, index: Sequence[AxisIndex]) -> tuple[AxisIndex, ...]:
        """Return the index of the array that an index of the view stands for: an entry for each axis."""
        found: list[AxisIndex] = [pick if isinstance(pick, int) else slice(None) for pick in self.picks]
        for axis, entry in zip(self.order, index, strict=True):
            found[axis] = _picked(self.picks[axis], entry)
        return tuple(found)

    def turned(self, index: Sequence[AxisIndex]) -> tuple[int, ...]:
        """Return which axis of what the array's index selects each axis of what the view's selects is."""
        kept = [axis for axis, entry in zip(self.order, index, strict=True) if not isinstance(entry, int)]
        return tuple(sorted(kept).index(axis) for axis in kept)

    def decoded(self, decoding: Decoding) -> Decoding:
        """Return the steps with what they say along an axis of the view said along that of the array."""
        if decoding.axis is None:
            return decoding
        axis = self.order[decoding.axis]
        mean, std = self._spread(decoding.mean, axis, 0.0), self._spread(decoding.std, axis, 1.0)
        return replace(decoding, axis=axis, mean=mean, std=std)

    def _spread(self, told: Any, axis: int, other: float) -> Any:
        if not isinstance(told, tuple):
            return told
        spread = [other] * self.array.shape[axis]
        for position, number in zip(_listed(self.picks[axis]), told, strict=True):
            spread[position] = number
        return tuple(spread)

    def has_repeats(self, axis: int) -> bool:
        """Whether a position of the array is taken more than once along an axis of the view."""
        picked = _listed(self.picks[self.order[axis]])
        return len(set(picked)) != len(picked)

    def along(self, lengths: Sequence[int]) -> tuple[int, ...]:
        """Return what is said of each axis of the array, such as lengths of chunks, for each of the view."""
        return tuple(lengths[axis] for axis in self.order)


def taken(pick: Pick, entry: Any) -> Pick:
    """Return what an index along one axis takes of what was taken before."""
    if isinstance(pick, int):
        raise IndexError(f"wanted an axis, found the position {pick}")
    if isinstance(entry, slice):
        return pick[entry]
    if isinstance(entry, int | np.integer):
        return int(pick[int(entry)])
    return np.asarray(pick)[np.asarray(entry)]


def _picked(pick: Pick, entry: AxisIndex) -> AxisIndex:
    found = taken(pick, entry)
    if isinstance(found, int):
        return found
    if isinstance(found, range) and 0 < found.step:
        return slice(found.start, found.stop, found.step) if len(found) else slice(0, 0)
    return as_index(np.asarray(found, np.int64))


def _listed(pick: Pick) -> list[int]:
    if isinstance(pick, int):
        return [pick]
    return [int(position) for position in pick]


def _length(pick: Pick) -> int:
    return 1 if isinstance(pick, int) else len(pick)
