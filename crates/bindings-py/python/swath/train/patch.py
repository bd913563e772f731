"""Neighbouring cells, single cells and whole axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from swath.errors import InvalidError
from swath.train.arrays import AxisIndex, Draws, Positions, Values, as_indexes
from swath.train.axis import MISSING, Axis, known
from swath.train.crop import Crop, Refused


@dataclass(frozen=True, slots=True)
class Patch(Crop):
    """Neighbouring cells around, or from, the cell nearest to the origin.

    Parameters
    ----------
    size : int
        How many cells.
    anchor : {'start', 'center'}, default 'start'
        Whether the origin's cell is the first one, or the one behind the middle (number ``size // 2``), by
        which sources of several resolutions are centred on one place.
    wrap : bool, default False
        Whether the axis goes round, as longitudes do.
    along : str, optional
        The dimension of origins that it follows; the axis's own name unless given.
    """

    size: int
    anchor: Literal["start", "center"] = "start"
    wrap: bool = False
    along: str | None = None

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InvalidError(f"wanted a patch of at least one cell, found {self.size}")
        if self.anchor not in ("start", "center"):
            raise InvalidError(f"wanted the anchor 'start' or 'center', found {self.anchor!r}")

    @property
    def before(self) -> int:
        """How many cells lie before the origin's."""
        return self.size // 2 if self.anchor == "center" else 0

    @property
    def draws(self) -> bool:
        """See `Crop.draws`."""
        return False

    def candidates(self, axes: tuple[Axis, ...], stride: int) -> Values:
        """See `Crop.candidates`: patches begin at the first cell, wherever their anchor is."""
        return known(axes[0].values[0 if self.wrap else self.before :: stride])

    def lengths(self, axes: tuple[Axis, ...]) -> tuple[int, ...]:
        """See `Crop.lengths`."""
        return (self.size,)

    def reach(self) -> tuple[Any, Any] | None:
        """See `Crop.reach`."""
        return None

    def refused(self, axes: tuple[Axis, ...], origins: Values) -> Refused:
        """See `Crop.refused`."""
        axis = axes[0]
        if 1 < self.size and not axis.is_monotonic():
            raise InvalidError("wanted coordinates that only rise or only fall, for a patch of neighbours")
        nearest = self._nearest(axis, origins)
        outside = nearest == MISSING
        first = nearest - self.before
        if self.wrap:
            return {"outside": outside | (len(axis) < self.size)}
        return {"outside": outside | (first < 0) | (len(axis) < first + self.size)}

    def indexes(self, axes: tuple[Axis, ...], origins: Values, draws: Draws) -> list[tuple[AxisIndex, ...]]:
        """See `Crop.indexes`."""
        firsts = self._nearest(axes[0], origins) - self.before
        if not self.wrap:
            return [(slice(first, first + self.size),) for first in firsts.tolist()]
        return [(entry,) for entry in as_indexes((firsts[:, None] + np.arange(self.size)) % len(axes[0]))]

    def _nearest(self, axis: Axis, origins: Values) -> Positions:
        if not self.wrap or len(axis) < 2:
            return axis.nearest(origins)
        # Once round: the spacing between the last cell and the first is that between the first two.
        low, high = axis.values.min(), axis.values.max()
        spacing = abs(axis.values[1] - axis.values[0])
        around = (origins - low) % (high - low + spacing) + low
        nearest = axis.nearest(around)
        first = int(np.argmin(axis.values))
        return np.where((nearest == MISSING) & (high < around), first, nearest).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Point(Crop):
    """The one cell nearest to the origin, without an axis in the sample.

    Parameters
    ----------
    along : str, optional
        The dimension of origins that it follows; the axis's own name unless given.
    """

    along: str | None = None

    @property
    def draws(self) -> bool:
        """See `Crop.draws`."""
        return False

    def lengths(self, axes: tuple[Axis, ...]) -> tuple[int, ...]:
        """See `Crop.lengths`."""
        return ()

    def reach(self) -> tuple[Any, Any] | None:
        """See `Crop.reach`."""
        return None

    def refused(self, axes: tuple[Axis, ...], origins: Values) -> Refused:
        """See `Crop.refused`."""
        return {"outside": axes[0].nearest(origins) == MISSING}

    def indexes(self, axes: tuple[Axis, ...], origins: Values, draws: Draws) -> list[tuple[AxisIndex, ...]]:
        """See `Crop.indexes`."""
        return [(position,) for position in axes[0].nearest(origins).tolist()]
