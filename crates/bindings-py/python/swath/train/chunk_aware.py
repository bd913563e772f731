"""A shuffle that storage likes."""

from __future__ import annotations

from math import comb

import numpy as np

from swath.errors import InvalidError
from swath.train.arrays import Positions
from swath.train.blocks import Blocks
from swath.train.counter import key_of, stream
from swath.train.permutation import Permutation
from swath.train.sampler import Sampler, digest

BLOCKS = stream("blocks")
WITHIN = stream("within")


class ChunkAware(Sampler):
    """Blocks in a random order, and a random order of all samples of some blocks at once.

    Every sample comes once an epoch. At any time samples come from `buffer` blocks only, so that what a cache
    of so many blocks holds is read once an epoch. `distance` says how far that is from a full shuffle.

    Parameters
    ----------
    blocks : Blocks
        See `blocks_of`.
    buffer : int
        How many blocks are shuffled together; all of them is a full shuffle.
    """

    def __init__(self, blocks: Blocks, buffer: int) -> None:
        super().__init__(len(blocks.space))
        if buffer < 1:
            raise InvalidError(f"wanted a buffer of at least one block, found {buffer}")
        self.blocks = blocks
        self.buffer: int = min(buffer, len(blocks))
        self._sizes = blocks.sizes()
        self._digest = digest(*blocks.members, *blocks.firsts)
        self._known: tuple[tuple[int, int], Positions, Positions] | None = None

    def at(self, seed: int, epoch: int, positions: Positions) -> Positions:
        """See `Sampler.at`."""
        order, ends = self._order(seed, epoch)
        # Windows of `buffer` blocks, by where each one's samples end.
        stops = ends[
            np.minimum(np.arange(self.buffer - 1, len(ends) + self.buffer - 1, self.buffer), len(ends) - 1)
        ]
        windows = np.searchsorted(stops, positions, side="right")
        places = np.empty(len(positions), np.int64)
        for window in np.unique(windows):
            chosen = windows == window
            first = int(stops[window - 1]) if window else 0
            within = Permutation(int(stops[window]) - first, key_of(seed, epoch, WITHIN, int(window)))
            places[chosen] = within.at(positions[chosen] - first) + first
        turns = np.searchsorted(ends, places, side="right")
        return self.blocks.numbers(order[turns], places - (ends[turns] - self._sizes[order[turns]]))

    def distance(self, batch: int) -> float:
        """Bound the total variation distance of `batch` samples on end from as many of a full shuffle.

        Where blocks have equally many samples, s each, a sample at any position is any of the dataset alike,
        and what differs is how often two come from one block: with p = (s - 1) / (buffer * s - 1) for two
        that are shuffled together. Batches without such a pair are alike in both, so the distance is at most
        p for each pair: this number, or 1. Where blocks differ in size, the largest s and the least sum of
        `buffer` sizes are taken for the pairs, and a sample of a small block comes a little more often early
        or late.
        """
        sizes = np.sort(self._sizes)
        together = int(sizes[: self._last_window()].sum())
        largest = int(sizes[-1])
        if len(sizes) <= self.buffer or together <= 1:
            return 0.0 if len(sizes) <= self.buffer else 1.0
        return min(1.0, comb(batch, 2) * (largest - 1) / (together - 1))

    def _last_window(self) -> int:
        """Return how many blocks the smallest window has."""
        return len(self._sizes) % self.buffer or self.buffer

    def signature(self) -> str:
        """See `Sampler.signature`."""
        return f"{super().signature()}, {len(self.blocks)} blocks {self._digest}, {self.buffer} at once"

    def _order(self, seed: int, epoch: int) -> tuple[Positions, Positions]:
        known = self._known
        if known is None or known[0] != (seed, epoch):
            order = Permutation(len(self.blocks), key_of(seed, epoch, BLOCKS)).at(np.arange(len(self.blocks)))
            # Set as a whole: other threads see this epoch's or another's, never half.
            known = ((seed, epoch), order, np.cumsum(self._sizes[order]))
            self._known = known
        return known[1], known[2]
