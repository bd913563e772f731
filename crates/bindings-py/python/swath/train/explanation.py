"""What samples need of storage, counted before anything is read."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from swath.errors import InvalidError
from swath.train.arrays import AxisIndex, Positions
from swath.train.counter import key_of
from swath.train.dataset import Dataset
from swath.train.permutation import Permutation
from swath.train.sources import Source


@dataclass(frozen=True, slots=True)
class SourceCost:
    """What one sample needs of a source, on average.

    Attributes
    ----------
    bytes_wanted : float
        Bytes of the elements that are selected, as decoded.
    bytes_decoded : float
        Bytes of the chunks that hold them.
    chunks : float
        How many chunks that is.
    objects : float
        In how many stored objects these lie: shards, or the chunks themselves.
    """

    bytes_wanted: float
    bytes_decoded: float
    chunks: float
    objects: float

    @property
    def amplification(self) -> float:
        """Bytes decoded for each byte that is wanted."""
        return self.bytes_decoded / self.bytes_wanted if self.bytes_wanted else 0.0


def explain(dataset: Dataset, samples: int = 64, seed: int = 0) -> dict[str, SourceCost]:
    """Say what a sample needs of each source, by some samples at random; nothing is read.

    Chunks are counted whole, each as large as the grid says, and for each sample by itself: samples of a
    batch that share some need less.

    Parameters
    ----------
    dataset : Dataset
        Whose samples are counted.
    samples : int, default 64
        How many are looked at.
    seed : int, default 0
        Which.
    """
    if samples < 1 or len(dataset) == 0:
        raise InvalidError(f"wanted samples to look at, found {samples} of {len(dataset)}")
    chosen = Permutation(len(dataset), key_of(seed)).at(np.arange(min(samples, len(dataset))))
    plans = dataset.plan(dataset.samples(chosen, chosen), seed, 0)
    return {name: _cost(dataset.sources[name], indexes) for name, indexes in plans.items()}


def _cost(source: Source, indexes: list[tuple[AxisIndex, ...]]) -> SourceCost:
    array: Any = source.array
    chunks, shards = source.chunks, source.objects
    size = np.dtype(array.dtype).itemsize
    wanted = read = counted = objects = 0
    for index in indexes:
        along = [_positions(entry, extent) for entry, extent in zip(index, array.shape, strict=True)]
        wanted += prod(len(positions) for positions in along) * size
        touched = prod(len(np.unique(at // length)) for at, length in zip(along, chunks, strict=True))
        counted += touched
        read += touched * prod(chunks) * size
        objects += prod(len(np.unique(at // length)) for at, length in zip(along, shards, strict=True))
    count = len(indexes)
    return SourceCost(wanted / count, read / count, counted / count, objects / count)


def _positions(entry: AxisIndex, extent: int) -> Positions:
    if isinstance(entry, slice):
        return np.arange(*entry.indices(extent), dtype=np.int64)
    return np.atleast_1d(np.asarray(entry, np.int64))
