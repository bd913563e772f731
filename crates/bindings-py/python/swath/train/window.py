"""Steps around an origin, told as coordinate values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from swath.errors import InvalidError
from swath.train.arrays import AxisIndex, Draws, Flags, Positions, Values, as_indexes
from swath.train.axis import MISSING, REPEATED, Axis, span
from swath.train.crop import Crop, Refused
from swath.train.dropout import Dropout


@dataclass(frozen=True, slots=True)
class Window(Crop):
    """The origin's own step, steps before it, and steps behind it, each there at its spacing.

    An origin is valid where every step's value is in the axis once: a gap or a repeated time refuses it.

    Parameters
    ----------
    step : timedelta, str or number
        The spacing, such as "5min"; 1 along an axis without coordinates.
    history : int, default 1
        Steps up to the origin, the origin's own included; 0 begins behind it.
    forecast : int, default 0
        Steps behind the origin.
    along : str, optional
        The dimension of origins that it follows; the axis's own name unless given.
    dropout : Dropout, optional
        How often the newest steps of the history are withheld: they come as NaN, or as `fill` says.
    """

    step: Any
    history: int = 1
    forecast: int = 0
    along: str | None = None
    dropout: Dropout | None = None

    def __post_init__(self) -> None:
        if self.history < 0 or self.forecast < 0 or self.history + self.forecast == 0:
            raise InvalidError(f"wanted steps, found history={self.history} and forecast={self.forecast}")
        if not 0 * span(self.step) < span(self.step):
            raise InvalidError(f"wanted a step above zero, found {self.step!r}")

    def offsets_of(self, count: int) -> Values:
        """Return the first `count` offsets from the origin."""
        offsets: Values = (np.arange(count) - self.history + 1) * span(self.step)
        return offsets

    @property
    def offsets(self) -> Values:
        """How far each step is from the origin, as values of the axis."""
        return self.offsets_of(self.history + self.forecast)

    @property
    def draws(self) -> bool:
        """See `Crop.draws`."""
        return self.dropout is not None

    def lengths(self, axes: tuple[Axis, ...]) -> tuple[int, ...]:
        """See `Crop.lengths`."""
        return (self.history + self.forecast,)

    def reach(self) -> tuple[Any, Any]:
        """See `Crop.reach`."""
        return self.offsets[0], self.offsets[-1]

    def refused(self, axes: tuple[Axis, ...], origins: Values) -> Refused:
        """See `Crop.refused`."""
        found = self._found(axes[0], origins)
        repeated = np.any(found == REPEATED, axis=1)
        return {"gap": np.any(found == MISSING, axis=1) & ~repeated, "repeated": repeated}

    def indexes(self, axes: tuple[Axis, ...], origins: Values, draws: Draws) -> list[tuple[AxisIndex, ...]]:
        """See `Crop.indexes`."""
        return [(entry,) for entry in as_indexes(self._found(axes[0], origins))]

    def present(self, axes: tuple[Axis, ...], origins: Values, draws: Draws) -> Flags | None:
        """See `Crop.present`."""
        if self.dropout is None:
            return None
        offsets, delays = self.offsets, self.dropout.delays(draws)
        withheld = (offsets <= 0 * span(self.step)) & (-delays[:, None] < offsets)
        present: Flags = ~(withheld & self.dropout.happens(draws)[:, None])
        return present

    def shortened(self, forecast: int) -> Window:
        """See `Crop.shortened`."""
        return replace(self, forecast=min(self.forecast, forecast))

    def _found(self, axis: Axis, origins: Values) -> Positions:
        axis.length(self.step)
        return axis.find(origins[:, None] + self.offsets)
