"""The order in which the samples of a dataset come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.errors import InvalidError
from swath.train.arrays import Draws, Positions
from swath.train.counter import key_of, stream, uniform, words
from swath.train.permutation import Permutation

ORDER = stream("order")
STRATUM = stream("stratum")


class Sampler(ABC):
    """Which sample stands at each position of an epoch: a pure function of seed, epoch and position.

    Parameters
    ----------
    count : int
        How many samples the dataset has.
    samples : int, optional
        How many an epoch has; by default `count`.
    """

    def __init__(self, count: int, samples: int | None = None) -> None:
        if count < 1:
            raise InvalidError(f"wanted a dataset with samples, found {count}")
        self.count = count
        self.samples: int = count if samples is None else samples

    def __len__(self) -> int:
        return self.samples

    @abstractmethod
    def at(self, seed: int, epoch: int, positions: Positions) -> Positions:
        """Return the numbers of the samples at positions, of which any may be asked for alone."""

    def signature(self) -> str:
        """Say what a saved state belongs to: a state of another order is refused.

        Orders that are drawn by arrays, of weights for one, say which by `digest`.
        """
        return f"{type(self).__name__} of {self.count}, {self.samples} an epoch"


def digest(*arrays: npt.NDArray[Any]) -> str:
    """Return a short text that tells arrays apart by their values."""
    digested = blake2b(digest_size=8)
    for array in arrays:
        digested.update(np.ascontiguousarray(array).data)
    return digested.hexdigest()


class Sequential(Sampler):
    """Samples in the dataset's order, again from the first where an epoch has more."""

    def at(self, seed: int, epoch: int, positions: Positions) -> Positions:
        """See `Sampler.at`."""
        return positions % self.count


class Random(Sampler):
    """Every sample once in a random order, another one each epoch; memory does not grow with the dataset.

    Where an epoch has more samples than the dataset, they come in several such orders, one behind the other.
    """

    def at(self, seed: int, epoch: int, positions: Positions) -> Positions:
        """See `Sampler.at`."""
        found = np.empty(len(positions), np.int64)
        turns = positions // self.count
        for turn in np.unique(turns):
            chosen = turns == turn
            order = Permutation(self.count, key_of(seed, epoch, ORDER, int(turn)))
            found[chosen] = order.at(positions[chosen] % self.count)
        return found


class Weighted(Sampler):
    """Each position is drawn by itself, by weights: samples may come more than once, or never.

    Parameters
    ----------
    weights : array_like
        One for each sample, of any sum, none below 0.
    samples : int, optional
        How many an epoch has; by default as many as there are weights.
    """

    def __init__(self, weights: npt.ArrayLike, samples: int | None = None) -> None:
        told: Draws = np.asarray(weights, np.float64)
        super().__init__(len(told), samples)
        if not (bool(np.all(0 <= told)) and 0 < told.sum() < np.inf):
            raise InvalidError("wanted finite weights, none below 0 and one above, found others")
        self._sums = np.cumsum(told)
        self._digest = digest(told)

    def at(self, seed: int, epoch: int, positions: Positions) -> Positions:
        """See `Sampler.at`."""
        drawn = uniform(key_of(seed, epoch, ORDER), positions) * self._sums[-1]
        found = np.searchsorted(self._sums, drawn, side="right")
        # A product may be rounded up to the sum: the last sample with a weight is meant.
        last = int(np.searchsorted(self._sums, self._sums[-1]))
        numbers: Positions = np.minimum(found, last).astype(np.int64)
        return numbers

    def signature(self) -> str:
        """See `Sampler.signature`."""
        return f"{super().signature()}, weights {self._digest}"


class Stratified(Sampler):
    """Strata take turns by their shares, and within its stratum each position is drawn by itself.

    Of any `n` positions on end a stratum has ``share * n`` to within a few, whatever the batch size; samples
    may come more than once.

    Parameters
    ----------
    strata : array_like of int
        The stratum of each sample, from 0.
    shares : sequence of float, optional
        The share of each stratum, of any sum; equal ones by default.
    samples : int, optional
        How many an epoch has; by default as many as the dataset.
    """

    def __init__(
        self, strata: npt.ArrayLike, shares: npt.ArrayLike | None = None, samples: int | None = None
    ) -> None:
        told: Positions = np.asarray(strata, np.int64)
        super().__init__(len(told), samples)
        if int(told.min()) < 0:
            raise InvalidError(f"wanted strata from 0, found {told.min()}")
        self._sizes = np.bincount(told)
        wanted = (0 < self._sizes).astype(np.float64) if shares is None else np.asarray(shares, np.float64)
        if wanted.shape != self._sizes.shape or not (bool(np.all(0 <= wanted)) and 0 < wanted.sum() < np.inf):
            raise InvalidError(f"wanted {len(self._sizes)} shares, none below 0, found {wanted}")
        if bool(np.any((0 < wanted) & (self._sizes == 0))):
            raise InvalidError("wanted samples in every stratum with a share, found an empty one")
        self._bounds = np.cumsum(wanted) / wanted.sum()
        self._members = np.argsort(told, kind="stable").astype(np.int64)
        self._firsts = np.cumsum(self._sizes) - self._sizes
        self._digest = digest(told, self._bounds)

    def at(self, seed: int, epoch: int, positions: Positions) -> Positions:
        """See `Sampler.at`."""
        begin = uniform(key_of(seed, epoch, STRATUM), np.zeros(1, np.int64))
        # Multiples of the golden ratio, whose fractions fill the unit interval evenly.
        turns = (begin + positions * 0.618_033_988_749_894_9) % 1.0
        last = int(np.flatnonzero(0 < np.diff(self._bounds, prepend=0.0))[-1])
        stratum = np.minimum(np.searchsorted(self._bounds, turns, side="right"), last)
        drawn = words(key_of(seed, epoch, ORDER), positions) % self._sizes[stratum].astype(np.uint64)
        numbers: Positions = self._members[self._firsts[stratum] + drawn.astype(np.int64)]
        return numbers

    def signature(self) -> str:
        """See `Sampler.signature`."""
        return f"{super().signature()}, strata {self._digest}"
