"""Observations at any times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from swath.errors import InvalidError
from swath.train.arrays import AxisIndex, Draws, Flags, Positions, Values, as_indexes
from swath.train.axis import Axis, span
from swath.train.crop import Crop, Refused


@dataclass(frozen=True, slots=True)
class Observations(Crop):
    """The newest observations of a span of time, which need not be evenly spaced.

    The span is origin - before < t <= origin + after. Samples have `most` of them, oldest first;
    where there are fewer, the last places do not count, and come as NaN, or as `fill` says.

    Parameters
    ----------
    before : timedelta, str or number
        How far back the span goes.
    most : int
        How many a sample has room for.
    after : timedelta, str or number, optional
        How far ahead the span goes; by default not at all.
    least : int, default 0
        Origins with fewer are refused.
    along : str, default "time"
        The dimension of origins that it follows.
    """

    before: Any
    most: int
    after: Any = None
    least: int = 0
    along: str | None = "time"

    def __post_init__(self) -> None:
        if self.most < 1 or not 0 <= self.least <= self.most:
            raise InvalidError(f"wanted 0 <= least <= most, found least={self.least} and most={self.most}")

    def lengths(self, axes: tuple[Axis, ...]) -> tuple[int, ...]:
        """See `Crop.lengths`."""
        return (self.most,)

    def reach(self) -> tuple[Any, Any]:
        """See `Crop.reach`."""
        before = span(self.before)
        return -before, before * 0 if self.after is None else span(self.after)

    def refused(self, axes: tuple[Axis, ...], origins: Values) -> Refused:
        """See `Crop.refused`."""
        first, stop = self._bounds(axes[0], origins)
        return {"too few": stop - first < self.least}

    def indexes(self, axes: tuple[Axis, ...], origins: Values, draws: Draws) -> list[tuple[AxisIndex, ...]]:
        """See `Crop.indexes`. Places that do not count are read from where the last one is, or from 0."""
        if len(axes[0]) == 0:
            raise InvalidError("wanted observations, found an axis of none")
        first, stop = self._bounds(axes[0], origins)
        places = np.minimum(first[:, None] + np.arange(self.most), np.maximum(stop - 1, 0)[:, None])
        return [(entry,) for entry in as_indexes(np.minimum(places, len(axes[0]) - 1))]

    def present(self, axes: tuple[Axis, ...], origins: Values, draws: Draws) -> Flags:
        """See `Crop.present`."""
        first, stop = self._bounds(axes[0], origins)
        return np.arange(self.most) < (stop - first)[:, None]

    def _bounds(self, axis: Axis, origins: Values) -> tuple[Positions, Positions]:
        if not axis.is_sorted:
            raise InvalidError("wanted observations in the order of their times")
        axis.length(self.before)
        begin, end = self.reach()
        first = np.searchsorted(axis.values, origins + begin, side="right")
        stop = np.searchsorted(axis.values, origins + end, side="right")
        return np.maximum(first, stop - self.most).astype(np.int64), stop.astype(np.int64)
