"""A random order of 0 to n - 1 of which any place is known without the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from swath.errors import InvalidError
from swath.train.arrays import Positions
from swath.train.counter import MASK, key_of, words

ROUNDS = 8

# A network of few bits reaches only some of the orders: so few numbers are sorted by random words instead.
SORTED_MAX = 1024


@dataclass(frozen=True, slots=True)
class Permutation:
    """A permutation of 0 to `length` - 1, in memory that does not grow with it.

    From 1,025 numbers on it is a Feistel network over the next power of four: numbers that leave the range
    walk on along their cycle until they are back in it, which takes four steps on average at most.

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
        found = self._encrypted(places)
        while True:
            outside = np.flatnonzero(self.length <= found)
            if len(outside) == 0:
                return found
            found[outside] = self._encrypted(found[outside])

    def _encrypted(self, values: Positions) -> Positions:
        bits = ((self.length - 1).bit_length() + 1) // 2
        mask, up, down = np.uint64((1 << bits) - 1), np.uint64(bits), np.uint64(64 - bits)
        left, right = values.astype(np.uint64) >> up, values.astype(np.uint64) & mask
        for turn in range(ROUNDS):
            left, right = right, left ^ words(key_of(self.key, turn), right) >> down
        return (left << up | right).astype(np.int64)
