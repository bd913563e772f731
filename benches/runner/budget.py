"""Shares the time that a run may take among its passes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

# Fewer passes have no median worth the name.
PASSES_MIN = 3
# Most readers need far less than an equal share of the time, so each may take two.
SHARES_MAX = 2.0


@dataclass
class Budget:
    """The time left, and among how many the time is to be shared: one share a reader, case and state."""

    seconds: float
    shares_left: int
    clock: Callable[[], float] = time.monotonic
    started: float = field(default_factory=time.monotonic)
    # What readers of the race that is being started have been promised.
    promised: float = 0.0

    def seconds_left(self) -> float:
        """Return the time left; less than none where the run is late."""
        return self.seconds - (self.clock() - self.started) - self.promised

    def passes(self, seconds_a_pass: float, wanted: int) -> int:
        """Return how many passes a reader may take, by what its uncounted pass took.

        At least `PASSES_MIN` as long as there is time at all, and then none.
        """
        left = self.seconds_left()
        if left <= PASSES_MIN * seconds_a_pass:
            return 0
        allowance = SHARES_MAX * left / max(self.shares_left, 1)
        affordable = int(allowance / max(seconds_a_pass, 1e-6))
        passes = max(min(wanted, affordable), min(wanted, PASSES_MIN))
        self.promised += passes * seconds_a_pass
        return passes

    def settle(self) -> None:
        """Forget the promises: the race is over, and the clock has counted what it took."""
        self.promised = 0.0

    def spend(self) -> None:
        """Take one share away: a reader is done with a case."""
        self.shares_left -= 1
