"""What a crop of one or several axes must tell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from swath.train.arrays import AxisIndex, Draws, Flags, Values
from swath.train.axis import Axis

# Which origins are refused, by reason; an origin has at most one.
type Refused = dict[str, Flags]


class Crop(ABC):
    """How axes of an array are cut for a sample, from the coordinate of the sample's origin.

    Crops are values: they hold no array and no axis, and any number of sources may share one.

    Attributes
    ----------
    along : str or None
        The dimension of origins that it follows; None for the name of its (first) axis.
    """

    along: str | None

    @property
    def draws(self) -> bool:
        """Whether `indexes` or `present` look at what they are given as `draws`, which is nothing else."""
        return True

    @abstractmethod
    def lengths(self, axes: tuple[Axis, ...]) -> tuple[int, ...]:
        """Return how many elements a sample has along each axis that it keeps."""

    @abstractmethod
    def reach(self) -> tuple[Any, Any] | None:
        """Return the first and the last offset from the origin that it uses; None where there is none.

        Splits hold a sample's whole reach within their bounds.
        """

    @abstractmethod
    def refused(self, axes: tuple[Axis, ...], origins: Values) -> Refused:
        """Return which origins cannot be cut, by reason."""

    @abstractmethod
    def indexes(self, axes: tuple[Axis, ...], origins: Values, draws: Draws) -> list[tuple[AxisIndex, ...]]:
        """Return the index of each axis, for each of some valid origins.

        Parameters
        ----------
        axes : tuple of Axis
            Those that it cuts.
        origins : numpy.ndarray
            One coordinate for each sample.
        draws : numpy.ndarray
            One number from 0 to below 1 for each sample, its own for this source.
        """

    def shortened(self, forecast: int) -> Crop:
        """Return the crop with at most so many steps behind the origin; itself where it has none."""
        return self

    def present(self, axes: tuple[Axis, ...], origins: Values, draws: Draws) -> Flags | None:
        """Return which steps of each sample count, (samples, steps); None where all do.

        What does not count is read all the same, so that samples have equal shapes, and is replaced.
        """
        return None
