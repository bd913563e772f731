"""Archives of forecasts: by the time they were begun at, and by how far they look ahead."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from swath.train.arrays import AxisIndex, Draws, Positions, Values, as_indexes
from swath.train.axis import MISSING, REPEATED, Axis, span
from swath.train.crop import Crop, Refused
from swath.train.dropout import Dropout
from swath.train.window import Window


@dataclass(frozen=True, slots=True)
class Forecast(Crop):
    """Steps of the newest forecast that was there at the origin: axes (init_time, step), in this order.

    Of the origin t0 it is the newest init_time <= t0 - delay, and of that the steps whose valid time,
    init_time + step, is each time of the window. An origin is refused where that forecast lacks a step;
    neither an older nor a newer one takes its place, nor a time close by.

    Parameters
    ----------
    window : Window
        The valid times, from the origin. Its own `along` and `dropout` do not count.
    delay : timedelta, str or number, optional
        How long a forecast takes from its init_time until it can be used; by default it is there at once.
    along : str, default "time"
        The dimension of origins that it follows.
    dropout : Dropout, optional
        How often it comes later than `delay`, and by how much more. Origins are valid only where every delay
        finds its steps.
    """

    window: Window
    delay: Any = None
    along: str | None = "time"
    dropout: Dropout | None = None

    @property
    def draws(self) -> bool:
        """See `Crop.draws`."""
        return self.dropout is not None

    def lengths(self, axes: tuple[Axis, ...]) -> tuple[int, ...]:
        """See `Crop.lengths`: the axis of init_time is gone."""
        return self.window.lengths(axes)

    def reach(self) -> tuple[Any, Any]:
        """See `Crop.reach`: that of the valid times; init_time may lie before it."""
        return self.window.reach()

    def refused(self, axes: tuple[Axis, ...], origins: Values) -> Refused:
        """See `Crop.refused`."""
        late = [] if self.dropout is None else [span(one) for one in self.dropout.late]
        none = np.zeros(len(origins), bool)
        early, repeated, gap = none.copy(), none.copy(), none.copy()
        for delay in [self._delay, *(self._delay + one for one in late)]:
            inits, steps = self._found(axes, origins, np.full(len(origins), delay))
            early |= inits == MISSING
            repeated |= (inits == REPEATED) | np.any(steps == REPEATED, axis=1)
            gap |= np.any(steps == MISSING, axis=1)
        return {"no forecast": early, "repeated": repeated & ~early, "gap": gap & ~early & ~repeated}

    def indexes(self, axes: tuple[Axis, ...], origins: Values, draws: Draws) -> list[tuple[AxisIndex, ...]]:
        """See `Crop.indexes`."""
        delays = np.full(len(origins), self._delay)
        if self.dropout is not None:
            late = self.dropout.happens(draws)
            delays = np.where(late, delays + self.dropout.delays(draws), delays)
        inits, steps = self._found(axes, origins, delays)
        return list(zip(inits.tolist(), as_indexes(steps), strict=True))

    def shortened(self, forecast: int) -> Forecast:
        """See `Crop.shortened`."""
        return replace(self, window=self.window.shortened(forecast))

    @property
    def _delay(self) -> Any:
        return 0 * span(self.window.step) if self.delay is None else span(self.delay)

    def _found(self, axes: tuple[Axis, ...], origins: Values, delays: Values) -> tuple[Positions, Positions]:
        axes[1].length(self.window.step)
        inits = axes[0].newest(origins - delays)
        begun = axes[0].values[np.maximum(inits, 0)] if len(axes[0]) else origins
        steps = axes[1].find(origins[:, None] + self.window.offsets - begun[:, None])
        return inits, np.where((inits < 0)[:, None], MISSING, steps)
