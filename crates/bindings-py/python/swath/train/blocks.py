"""Which samples lie in the same stored objects."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from swath.errors import InvalidError
from swath.train.arrays import Positions, Values
from swath.train.dataset import ORIGINS_AT_ONCE, Dataset
from swath.train.sources import Source
from swath.train.space import OriginGroup, Space, together


@dataclass(frozen=True)
class Blocks:
    """Samples of a dataset, by the chunk in which they begin: the product of blocks of each group of origins.

    Attributes
    ----------
    space : Space
        The dataset's origins.
    members : tuple of numpy.ndarray
        Of each group its origins, sorted by block.
    firsts : tuple of numpy.ndarray
        Of each group where each block begins among its members, and the end.
    """

    space: Space
    members: tuple[Positions, ...]
    firsts: tuple[Positions, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """How many blocks each group has."""
        return tuple(len(firsts) - 1 for firsts in self.firsts)

    def __len__(self) -> int:
        return prod(self.counts)

    def sizes(self) -> Positions:
        """Return how many samples each block has: 8 bytes a block."""
        sizes = np.ones(1, np.int64)
        for firsts in self.firsts:
            sizes = (sizes[:, None] * np.diff(firsts)).reshape(-1)
        return sizes

    def numbers(self, blocks: Positions, places: Positions) -> Positions:
        """Return the dataset's numbers of samples that are told as places in blocks."""
        found: list[Positions] = []
        for members, firsts in zip(reversed(self.members), reversed(self.firsts), strict=True):
            count = len(firsts) - 1
            block, blocks = blocks % count, blocks // count
            size = firsts[block + 1] - firsts[block]
            place, places = places % size, places // size
            found.append(members[firsts[block] + place])
        return self.space.number(reversed(found))


def blocks_of(dataset: Dataset, name: str | None = None) -> Blocks:
    """Sort a dataset's samples by the shard, or else the chunk, of a source in which they begin.

    Parameters
    ----------
    dataset : Dataset
        Whose samples are sorted.
    name : str, optional
        The source whose storage counts; the first by default.
    """
    if len(dataset) == 0:
        raise InvalidError("wanted a dataset with samples, found none")
    source = dataset.sources[name if name is not None else next(iter(dataset.sources))]
    members, firsts = [], []
    for group in dataset.space.groups:
        _, labels, sizes = np.unique(_labels(source, group), axis=0, return_inverse=True, return_counts=True)
        members.append(np.argsort(labels.reshape(-1), kind="stable").astype(np.int64))
        firsts.append(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
    return Blocks(dataset.space, tuple(members), tuple(firsts))


def _labels(source: Source, group: OriginGroup) -> Values:
    """Return the index of the object, along each axis that follows the group, for each origin."""
    lengths = dict(zip(source.dims, source.objects, strict=True))
    found = [np.zeros(len(group), np.int64)]
    for dims, crop in source.crops.items():
        follows = crop.follows(dims)
        if not set(follows) <= set(group.dims):
            continue
        axes = source.axes_of(dims)
        for start in range(0, len(group), ORIGINS_AT_ONCE):
            looked_at = slice(start, start + ORIGINS_AT_ONCE)
            origins = together(follows, {dim: group.values[dim][looked_at] for dim in follows})
            indexes = crop.indexes(axes, origins, np.ones(len(origins)))
            part = np.array([[_begin(entry) for entry in index] for index in indexes], np.int64)
            if start == 0:
                found += [np.empty(len(group), np.int64) for _ in dims]
            for place, dim in enumerate(dims):
                found[len(found) - len(dims) + place][start : start + len(origins)] = (
                    part[:, place] // lengths[dim]
                )
    return np.stack(found, axis=1)


def _begin(entry: int | slice | list[int]) -> int:
    if isinstance(entry, list):
        return entry[0]
    return entry if isinstance(entry, int) else int(entry.start)
