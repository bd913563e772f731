"""A random order of 0 to n - 1 of which any place is known without the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from swath.errors import InvalidError
from swath.train.arrays import Positions
from swath.train.counter import MASK, key_of, mixed, words

ROUNDS = 8

# A network of few bits reaches only some of the orders: so few numbers are sorted by random words instead.
SORTED_MAX = 1024


@dataclass(frozen=True, slots=True)
class Permutation:
    """A permutation of 0 to `length` - 1, in memory that does not grow with it.

    From 1,025 numbers on it is a Feistel network over the next power of two: numbers that leave the range
    walk on along their cycle until they are back in it, which takes two steps on average at most.

    Parameters
    ----------
    length : int
        How many numbers are put in order, up to 2**62.
    key : int
        Which of the orders; see `swath.train.counter.key_of`.
    """

    length: int
    key: int

    def __post_init__(self) -> None:
        if not 0 <= self.length <= 1 << 62:
            raise InvalidError(f"wanted a length from 0 to 2**62, found {self.length}")
        if not 0 <= self.key <= MASK:
            raise InvalidError(f"wanted a key of 64 bits, found {self.key}")

    def at(self, positions: Positions) -> Positions:
        """Return which numbers stand at positions, each from 0 to below `length`."""
        places = np.atleast_1d(np.asarray(positions, np.int64))
        if len(places) and not (0 <= int(places.min()) and int(places.max()) < self.length):
            raise InvalidError(
                f"wanted positions below {self.length}, found {places.min()} to {places.max()}"
            )
        if self.length <= SORTED_MAX:
            order = np.argsort(words(self.key, np.arange(self.length)), kind="stable")
            return order.astype(np.int64)[places]
        keys = [np.uint64(key_of(self.key, turn)) for turn in range(ROUNDS)]
        found = self._encrypted(places, keys)
        while True:
            outside = np.flatnonzero(self.length <= found)
            if len(outside) == 0:
                return found
            found[outside] = self._encrypted(found[outside], keys)

    def _encrypted(self, values: Positions, keys: list[np.uint64]) -> Positions:
        """Return what the network makes of numbers, by a key for each of an even number of rounds."""
        bits = (self.length - 1).bit_length()
        lower = bits // 2
        upper = bits - lower
        left = values.astype(np.uint64) >> np.uint64(lower)
        right = values.astype(np.uint64) & np.uint64((1 << lower) - 1)
        for key in keys:
            left, right = right, left ^ mixed(right + key) >> np.uint64(64 - upper)
            # Halves of an odd number of bits differ by one, and change places with each round.
            upper, lower = lower, upper
        return (left << np.uint64(lower) | right).astype(np.int64)
