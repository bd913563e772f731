"""What a crop of one or several axes must tell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from swath.train.arrays import AxisIndex, Draws, Flags, Values
from swath.train.axis import Axis, known

# Which origins are refused, by reason; an origin has at most one.
type Refused = dict[str, Flags]


class Crop(ABC):
    """How axes of an array are cut for a sample, from the coordinate of the sample's origin.

    Crops are values: they hold no array and no axis, and any number of sources may share one.

    Attributes
    ----------
    along : str, tuple of str or None
        The dimension of origins that it follows, or those whose values it takes together; None for the name
        of its (first) axis.
    """

    along: str | tuple[str, ...] | None

    def follows(self, dims: tuple[str, ...]) -> tuple[str, ...]:
        """Return the dimensions of origins that it follows, cutting the axes `dims`."""
        if isinstance(self.along, tuple):
            return self.along
        return (self.along or dims[0],)

    @property
    def may_refuse(self) -> bool:
        """Whether `refused` refuses any origin for its coordinates together.

        Where these are given apart, each along a dimension of its own, only `refused_apart` is asked, and a
        crop that may refuse is an error.
        """
        return True

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates that it is given as `axes`, in place of those of the axes that it cuts."""
        return ()

    def candidates(self, axes: tuple[Axis, ...], stride: int) -> Values:
        """Return what may be an origin where nothing else is told: every known value, by default.

        Parameters
        ----------
        axes : tuple of Axis
            As of `indexes`.
        stride : int
            Every how many are taken.

        Returns
        -------
        numpy.ndarray
            As `origins` of `indexes`.
        """
        return known(axes[0].values[::stride])

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

    def refused_apart(self, dim: str, values: Values) -> Refused:
        """Return which coordinates along one of its dimensions cannot be cut, whatever the others are.

        Asked where origins are given along each dimension apart; by default none are refused.
        """
        return {}

    @abstractmethod
    def indexes(self, axes: tuple[Axis, ...], origins: Values, draws: Draws) -> list[tuple[AxisIndex, ...]]:
        """Return the index of each axis, for each of some valid origins.

        Parameters
        ----------
        axes : tuple of Axis
            Those that it cuts, or its `coordinates`.
        origins : numpy.ndarray
            One coordinate for each sample; of several dimensions together of shape (samples, dimensions).
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
