"""Sources that come late in some samples, as they do where a forecast is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from swath.errors import InvalidError
from swath.train.arrays import Draws, Flags, Values
from swath.train.axis import span


@dataclass(frozen=True, slots=True)
class Dropout:
    """How often a source is late, and by how much.

    Parameters
    ----------
    probability : float
        The share of samples in which it is late, from 0 to 1.
    late : sequence of timedelta or str
        How late it may be; each as likely. The newest that is seen is then the origin less this.
    """

    probability: float
    late: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise InvalidError(f"wanted a probability from 0 to 1, found {self.probability}")
        if not self.late:
            raise InvalidError("wanted how late a source may be, found nothing")

    def happens(self, draws: Draws) -> Flags:
        """Return in which samples the source is late."""
        return draws < self.probability

    def delays(self, draws: Draws) -> Values:
        """Return how late the source would be in each sample."""
        late = np.array([span(one) for one in self.late])
        share = np.clip(draws / self.probability if self.probability else draws, 0, 1)
        return late[np.minimum((share * len(late)).astype(np.int64), len(late) - 1)]
