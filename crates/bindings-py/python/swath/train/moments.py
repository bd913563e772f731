"""Means and standard deviations that samples are normalised by."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from swath.errors import InvalidError
from swath.train.arrays import Draws, Positions
from swath.train.counter import key_of
from swath.train.dataset import Dataset
from swath.train.permutation import Permutation
from swath.train.sources import Source
from swath.train.splits import Splits

SAMPLES_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class Statistics:
    """What `source` takes as `mean` and `std`, and of how many elements that are not NaN.

    Each has one number for each index of the array along `per`, NaN where nothing was seen of it; or a single
    one.
    """

    mean: Draws
    std: Draws
    count: Positions

    def save(self, path: str | PathLike[str]) -> None:
        """Write it as JSON, exactly; NaN as null."""
        told = {
            "mean": [None if np.isnan(value) else float(value) for value in self.mean],
            "std": [None if np.isnan(value) else float(value) for value in self.std],
            "count": [int(value) for value in self.count],
        }
        Path(path).write_text(json.dumps(told), encoding="utf-8")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Statistics:
        """Read what `save` wrote.

        Raises
        ------
        InvalidError
            The file holds something else.
        """
        try:
            told = json.loads(Path(path).read_text(encoding="utf-8"))
            mean, std = (np.array(told[name], np.float64) for name in ("mean", "std"))
            count = np.array(told["count"], np.int64)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidError(f"wanted statistics in {path}, found other content: {error}") from error
        if not mean.shape == std.shape == count.shape or mean.ndim != 1:
            raise InvalidError(f"wanted as many means, deviations and counts in {path}, found others")
        return cls(mean, std, count)


def statistics(
    dataset: Dataset,
    name: str,
    *,
    per: str | None = None,
    split: tuple[Splits, str] | None = None,
    samples: int = 1024,
    seed: int = 0,
) -> Statistics:
    """Compute what normalising a source needs, from random samples of a dataset, or of one split of it.

    Give it the training split: what is seen of the other splits then is nothing.

    Parameters
    ----------
    dataset : Dataset
        Whose samples count: each element as often as samples show it, decoded but not normalised. What a
        dropout withholds does not count.
    name : str
        The source.
    per : str, optional
        The dimension whose every index has numbers of its own; it must not be cut.
    split : (Splits, str), optional
        The split whose samples count, as of `Dataset.split`.
    samples : int, default 1024
        How many samples are read, all of them where the dataset has fewer.
    seed : int, default 0
        Which.
    """
    dataset = dataset if split is None else dataset.split(*split)
    if samples < 1 or len(dataset) == 0:
        raise InvalidError(f"wanted samples to read, found {samples} of {len(dataset)}")
    told = dataset.sources[name]
    plain_dataset = dataset.of({name: told.plain()})
    axis, indexes = _axis(told, per)
    chosen = Permutation(len(dataset), key_of(seed)).at(np.arange(min(samples, len(dataset))))
    count, mean, squares = np.zeros(len(indexes)), np.zeros(len(indexes)), np.zeros(len(indexes))
    for start in range(0, len(chosen), SAMPLES_AT_ONCE):
        numbers = chosen[start : start + SAMPLES_AT_ONCE]
        values = plain_dataset.read(plain_dataset.samples(numbers, numbers), seed, 0)[name]
        rows = (
            values.reshape(1, -1) if axis is None else np.moveaxis(values, axis, 0).reshape(len(indexes), -1)
        )
        count, mean, squares = _merged(count, mean, squares, rows)
    extent = 1 if per is None else told.array.shape[told.dims.index(per)]
    found = [np.full(extent, np.nan), np.full(extent, np.nan), np.zeros(extent, np.int64)]
    with np.errstate(all="ignore"):
        for whole, part in zip(
            found, (np.where(count, mean, np.nan), np.sqrt(squares / count), count), strict=True
        ):
            whole[indexes] = part
    return Statistics(found[0], found[1], found[2])


def _axis(source: Source, per: str | None) -> tuple[int | None, Positions]:
    """Return the axis of a batch that has numbers of its own, and which indexes of the array it has."""
    if per is None:
        return None, np.zeros(1, np.int64)
    if per not in source.sample_dims or any(per in dims for dims in source.crops):
        raise InvalidError(f"wanted an axis of samples that is not cut as per=, found {per!r}")
    every = np.arange(source.array.shape[source.dims.index(per)])
    return 1 + source.sample_dims.index(per), every[source.select.get(per, slice(None))]


def _merged(count: Draws, mean: Draws, squares: Draws, rows: Draws) -> tuple[Draws, Draws, Draws]:
    """Add values to counts, means and sums of squared differences (Chan, Golub and LeVeque, 1979)."""
    seen = ~np.isnan(rows)
    added = seen.sum(axis=1).astype(np.float64)
    with np.errstate(all="ignore"):
        its = np.where(added, np.where(seen, rows, 0).sum(axis=1) / added, 0)
        apart = np.where(seen, rows - its[:, None], 0)
        total = count + added
        between = its - mean
        share = np.where(total, added / total, 0)
        return total, mean + between * share, squares + (apart**2).sum(axis=1) + between**2 * count * share
