"""Coordinate values along one axis, and where in it they are."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.errors import InvalidError
from swath.train.arrays import Positions, Values

MISSING = -1
REPEATED = -2

# Floats are the same where they differ by less than this share of the smallest spacing: 0.1 * 3 is not 0.3.
FLOAT_SHARE = 1e-3
DURATION = re.compile(r"\s*(\d+)\s*(ns|us|ms|s|min|m|h|d|D|w|W)\s*")
UNITS = {"min": "m", "d": "D", "w": "W"}


class Axis:
    """Coordinate values of one axis, in any order, with gaps and repeats as they are.

    Parameters
    ----------
    values : array_like
        Numbers, times or durations, one for each position. NaN and NaT are positions that no value finds.

    Attributes
    ----------
    values : numpy.ndarray
        The same; integers as int64, in which differences of small or unsigned ones have room.
    is_sorted : bool
        Whether no value is below the one before it, and all are known.
    """

    __slots__ = ("__weakref__", "_counts", "_known", "_places", "_tolerance", "is_sorted", "values")

    def __init__(self, values: npt.ArrayLike) -> None:
        self.values: Values = np.asarray(values)
        if self.values.ndim != 1 or self.values.dtype.kind not in "iufmM":
            found = f"{self.values.dtype} of shape {self.values.shape}"
            raise InvalidError(f"wanted numbers, times or durations along one axis, found {found}")
        if self.values.dtype.kind in "iu":
            if self.values.size and 2**63 <= int(self.values.max()):
                raise InvalidError(f"wanted coordinates below 2**63, found {self.values.max()}")
            self.values = self.values.astype(np.int64)
        self.is_sorted: bool = bool(np.all(self.values[:-1] <= self.values[1:]))
        known, places, counts = np.unique(self.values, return_index=True, return_counts=True)
        sound = ~np.isnan(known) if known.dtype.kind in "fmM" else np.ones(len(known), bool)
        self._known: Values = known[sound]
        self._places: Positions = places[sound].astype(np.int64)
        self._counts: Positions = counts[sound].astype(np.int64)
        self._tolerance = 0.0
        if known.dtype.kind == "f" and 1 < len(self._known):
            self._tolerance = float(np.diff(self._known).min()) * FLOAT_SHARE

    def __len__(self) -> int:
        return len(self.values)

    @property
    def repeats(self) -> int:
        """How many positions hold a value that others hold too."""
        return int(self._counts[self._counts != 1].sum())

    def length(self, value: Any) -> Any:
        """Return what `span` makes of a length, if values of this axis can be that far apart.

        Raises
        ------
        InvalidError
            It is a number and values are times or durations, or the other way round.
        """
        told = span(value)
        if len(self) and (np.asarray(told).dtype.kind == "m") != (self.values.dtype.kind in "mM"):
            wanted = "a duration such as '5min'" if self.values.dtype.kind in "mM" else "a number"
            raise InvalidError(f"wanted {wanted} along coordinates of {self.values.dtype}, found {value!r}")
        return told

    def find(self, wanted: npt.ArrayLike) -> Positions:
        """Return where values are; `MISSING` where nowhere, `REPEATED` where at several positions."""
        asked = self._asked(wanted)
        if len(self._known) == 0:
            return np.full(asked.shape, MISSING, np.int64)
        if self._tolerance:
            near = np.searchsorted(self._known, asked - self._tolerance)
        else:
            near = np.searchsorted(self._known, asked)
        near = np.minimum(near, len(self._known) - 1)
        if self._tolerance:
            same = np.abs(self._known[near] - asked) <= self._tolerance
        else:
            same = self._known[near] == asked
        found = np.where(self._counts[near] == 1, self._places[near], REPEATED)
        return np.where(same, found, MISSING).astype(np.int64)

    def newest(self, limits: npt.ArrayLike) -> Positions:
        """Return where the largest value not above each limit is; `MISSING`, `REPEATED` as by `find`."""
        asked = self._asked(limits)
        if len(self._known) == 0:
            return np.full(asked.shape, MISSING, np.int64)
        near = np.searchsorted(self._known, asked, side="right") - 1
        found = np.where(self._counts[near] == 1, self._places[near], REPEATED)
        # Times that are not known are behind every other in NumPy's order, not the newest of all.
        unknown = np.isnan(asked) if asked.dtype.kind in "fmM" else np.zeros(asked.shape, bool)
        return np.where((near < 0) | unknown, MISSING, found).astype(np.int64)

    def nearest(self, wanted: npt.ArrayLike) -> Positions:
        """Return the position of the nearest value; `MISSING` further out than half a spacing at the ends.

        Half way between two it is the smaller one.
        """
        asked = self._asked(wanted)
        if len(self._known) == 0:
            return np.full(asked.shape, MISSING, np.int64)
        if len(self._known) == 1:
            return self.find(asked)
        known = self._known
        right = np.minimum(np.maximum(np.searchsorted(known, asked), 1), len(known) - 1)
        below, above = known[right - 1], known[right]
        near = np.where(asked - below <= above - asked, right - 1, right)
        inside = 2 * (known[0] - asked) <= known[1] - known[0]
        inside &= 2 * (asked - known[-1]) <= known[-1] - known[-2]
        return np.where(inside, self._places[near], MISSING).astype(np.int64)

    def is_monotonic(self) -> bool:
        """Whether values only rise or only fall, so that neighbours are neighbours in space."""
        steps = np.sign(np.diff(self.values.astype("i8") if self.values.dtype.kind in "mM" else self.values))
        return bool(np.all(steps == 1) or np.all(steps == -1))

    def _asked(self, wanted: npt.ArrayLike) -> Values:
        asked = np.asarray(wanted)
        alike = "iuf" if self.values.dtype.kind in "if" else self.values.dtype.kind
        if len(self._known) and asked.dtype.kind not in alike:
            raise InvalidError(
                f"wanted coordinates that are compared with {self.values.dtype}, found {asked.dtype}"
            )
        return asked


def known(values: Values) -> Values:
    """Return values without NaN and NaT."""
    return values[~np.isnan(values)] if values.dtype.kind in "fmM" else values


def span(value: Any) -> Any:
    """Return a length along an axis: what is text ("5min", "6h", "1D") or a timedelta as ``timedelta64``."""
    if isinstance(value, timedelta):
        return np.timedelta64(value)
    if not isinstance(value, str):
        return value
    found = DURATION.fullmatch(value)
    if found is None:
        raise InvalidError(f"wanted a duration such as '5min', '6h' or '1D', found {value!r}")
    unit: Any = UNITS.get(found[2], found[2])
    return np.timedelta64(int(found[1]), unit)
