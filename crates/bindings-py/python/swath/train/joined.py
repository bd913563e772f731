"""Arrays that stand one behind the other along an axis, as files of one year each do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swath.errors import InvalidError
from swath.train.arrays import AxisIndex, as_index

if TYPE_CHECKING:
    from swath.train.sources import Source


@dataclass(frozen=True, slots=True)
class Piece:
    """What an index of joined arrays selects of one of them.

    Attributes
    ----------
    part : int
        Of which.
    index : tuple of int, slice or list
        What, an entry for each axis.
    target : tuple of int, slice or list
        Where in the result it is.
    shape : tuple of int
        Elements of it along each axis of the result.
    """

    part: int
    index: tuple[AxisIndex, ...]
    target: tuple[AxisIndex, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Joined:
    """Sources one behind the other along an axis, each decoded in its own way.

    Attributes
    ----------
    parts : tuple of Source
        The sources, of arrays that differ in length along the axis only, and of which nothing is cut.
    axis : int
        Along which.
    """

    parts: tuple[Source, ...]
    axis: int

    def __post_init__(self) -> None:
        first = self.parts[0]
        for part in self.parts:
            if part.dims != first.dims or _other(part, self.axis) != _other(first, self.axis):
                found = f"{dict(zip(part.dims, part.array.shape, strict=True))}"
                wanted = f"{dict(zip(first.dims, first.array.shape, strict=True))}"
                raise InvalidError(
                    f"wanted arrays that differ along {first.dims[self.axis]} only, "
                    f"found {wanted} and {found}"
                )

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements of all parts together along each axis."""
        shape = list(self.parts[0].array.shape)
        shape[self.axis] = sum(self.lengths)
        return tuple(shape)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Elements of each part along the axis."""
        return tuple(part.array.shape[self.axis] for part in self.parts)

    @property
    def dtype(self) -> np.dtype[Any]:
        """What the first part's elements are stored as."""
        dtype: np.dtype[Any] = np.dtype(self.parts[0].array.dtype)
        return dtype

    def pieces(self, index: Sequence[AxisIndex]) -> list[Piece]:
        """Return what an index selects of each part that it touches."""
        ends = np.cumsum(self.lengths)
        entry = index[self.axis]
        extents = self.shape
        counts = [_count(one, extent) for one, extent in zip(index, extents, strict=True)]
        if isinstance(entry, int):
            part = int(np.searchsorted(ends, entry, side="right"))
            within: list[AxisIndex] = list(index)
            within[self.axis] = entry - int(ends[part]) + self.lengths[part]
            shape = tuple(count for count in counts if count is not None)
            return [Piece(part, tuple(within), (slice(None),) * len(shape), shape)]
        positions = np.arange(extents[self.axis])[entry]
        parts = np.searchsorted(ends, positions, side="right")
        found = []
        for part in np.unique(parts).tolist():
            places = np.flatnonzero(parts == part)
            within = list(index)
            within[self.axis] = as_index(positions[places] - ends[part] + self.lengths[part])
            counts[self.axis] = len(places)
            target: list[AxisIndex] = [slice(None)] * len(counts)
            target[self.axis] = as_index(places)
            kept = [axis for axis, count in enumerate(counts) if count is not None]
            shape = tuple(count for count in counts if count is not None)
            found.append(Piece(part, tuple(within), tuple(target[axis] for axis in kept), shape))
        return found


def _other(part: Source, axis: int) -> tuple[int, ...]:
    shape = part.array.shape
    return (*shape[:axis], *shape[axis + 1 :])


def _count(entry: AxisIndex, extent: int) -> int | None:
    if isinstance(entry, int):
        return None
    return len(range(*entry.indices(extent))) if isinstance(entry, slice) else len(entry)
