"""Whether samples are the same, bit for bit, however they are loaded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import swath
from swath import train

from benches.training.cases import PATCH, STEPS, VARIABLES, grid

SEED = 7


def same(folder: Path) -> dict[str, bool]:
    """Compare every sample of an epoch with those of a loader without threads: by way of loading."""
    dataset = grid_dataset(folder)
    wanted = digests(train.Loader(dataset, 4, seed=SEED, prefetch=0))
    ranks: dict[int, str] = {}
    for rank in range(4):
        share = train.Share(rank, 4)
        ranks |= digests(train.Loader(dataset, 4, seed=SEED, share=share, prefetch=2))
    plain = dict(zip(numbers(dataset), wanted.values(), strict=True))
    return {
        "read ahead, 4 batches": digests(train.Loader(dataset, 4, seed=SEED, prefetch=4)) == wanted,
        "after a resume in mid-epoch": resumed(dataset) == wanted,
        "4 ranks together": ranks == wanted,
        "DataLoader of 0 workers": worked(dataset, 0) == plain,
        "DataLoader of 4 workers": worked(dataset, 4) == plain,
    }


def grid_dataset(folder: Path) -> train.Dataset:
    """Return the samples of the grid, made as users make them."""
    group = swath.open_group(grid(folder).paths[0].parent)
    crops: dict[str | tuple[str, ...], train.Crop] = {
        "time": train.Window(1, history=STEPS),
        "latitude": train.Patch(PATCH),
        "longitude": train.Patch(PATCH),
    }
    sources = {name: train.source(group, name, crops=crops) for name in VARIABLES}
    return train.Dataset(sources, stride={"time": STEPS, "latitude": 16, "longitude": 16})


def digests(batches: Iterable[Any]) -> dict[int, str]:
    """Return a digest of each sample, by its position in the epoch, without those that fill up."""
    found = {}
    for batch in batches:
        for place, position in enumerate(batch.samples.positions):
            if not batch.samples.padding[place]:
                found[int(position)] = digest_of(batch, place)
    return dict(sorted(found.items()))


def digest_of(batch: Any, place: int) -> str:
    """Return a digest of one sample."""
    digested = hashlib.sha256()
    for name in VARIABLES:
        digested.update(np.ascontiguousarray(batch[name][place]).data)
    return digested.hexdigest()


def numbers(dataset: train.Dataset) -> list[int]:
    """Return the samples of the epoch, by position."""
    order = train.Random(len(dataset)).at(SEED, 0, np.arange(len(dataset)))
    return [int(number) for number in order]


def resumed(dataset: train.Dataset) -> dict[int, str]:
    """Return the samples of a loader that is stopped, saved, and loaded with other batches and ranks."""
    first = train.Loader(dataset, 4, seed=SEED, prefetch=3)
    batches = iter(first)
    found = digests(next(batches) for _ in range(len(first) // 3))
    state = first.state_dict()
    batches.close()
    for rank in range(2):
        second = train.Loader(dataset, 3, share=train.Share(rank, 2), prefetch=2)
        second.load_state_dict(state)
        found |= digests(second)
    return dict(sorted(found.items()))


def worked(dataset: train.Dataset, workers: int) -> dict[int, str]:
    """Return the samples of torch's DataLoader, by number."""
    options = {"multiprocessing_context": "forkserver"} if workers else {}
    found = {}
    for batch in dataset.dataloader(batch_size=8, num_workers=workers, **options):
        for place, number in enumerate(batch.samples.numbers):
            found[int(number)] = digest_of(batch, place)
    return found
