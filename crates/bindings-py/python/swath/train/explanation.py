"""What samples need of storage, counted before anything is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from swath.errors import InvalidError
from swath.train.arrays import AxisIndex
from swath.train.counter import key_of
from swath.train.dataset import Dataset
from swath.train.joined import Joined
from swath.train.labelled import is_labelled
from swath.train.medium import MEDIA, Medium, medium_of
from swath.train.near import Near, Plan
from swath.train.permutation import Permutation
from swath.train.sources import Source
from swath.train.suited import Layout, suited
from swath.train.touched import Index, stored, touched

# What a core is assumed to decode where nothing better is known.
DECODED_PER_S = 1e9


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
        How many chunks that is: requests, where none are merged.
    objects : float
        In how many stored objects these lie: shards, or the chunks themselves.
    layout : Layout
        Chunks and shards that would suit these samples.
    is_evaluated : bool
        Whether xarray computes it anew for each batch, so that what is read for it is not known.
    is_kept : bool
        Whether a loader keeps its decoded chunks for the next batches: each is counted once then.
    """

    bytes_wanted: float
    bytes_decoded: float
    chunks: float
    objects: float
    layout: Layout
    is_evaluated: bool = False
    is_kept: bool = False

    @property
    def amplification(self) -> float:
        """Bytes decoded for each byte that is wanted."""
        return self.bytes_decoded / self.bytes_wanted if self.bytes_wanted else 0.0


@dataclass(frozen=True)
class Explanation(Mapping[str, SourceCost]):
    """What a sample needs, by source, and how many samples a second come of that.

    Attributes
    ----------
    sources : mapping of str to SourceCost
        What one sample needs of each source.
    medium : Medium
        The medium that is counted on: told, calibrated or assumed.
    reads_samples_per_s, decodes_samples_per_s : float
        Samples a second that the medium reads, and that the cores decode.
    kept_bytes : int
        Bytes of decoded chunks that a loader keeps for the next batches; 0 where that is not worth it.
    """

    sources: Mapping[str, SourceCost]
    medium: Medium
    reads_samples_per_s: float
    decodes_samples_per_s: float
    kept_bytes: int = 0

    @property
    def evaluated(self) -> int:
        """How many sources xarray evaluates for each batch, of dask's arrays or other computed ones."""
        return sum(cost.is_evaluated for cost in self.sources.values())

    @property
    def samples_per_s(self) -> float:
        """Samples a second that can be expected."""
        return min(self.reads_samples_per_s, self.decodes_samples_per_s)

    @property
    def bound_by(self) -> str:
        """What bounds it: "reading" or "decoding"."""
        return "reading" if self.reads_samples_per_s < self.decodes_samples_per_s else "decoding"

    def __getitem__(self, name: str) -> SourceCost:
        return self.sources[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.sources)

    def __len__(self) -> int:
        return len(self.sources)

    def __str__(self) -> str:
        """Return a text for people."""
        lines = []
        for name, cost in self.sources.items():
            lines.append(
                f"{name}: {cost.bytes_wanted / 1e6:.3g} MB a sample of {cost.bytes_decoded / 1e6:.3g} MB in "
                f"{cost.chunks:.3g} chunks of {cost.objects:.3g} objects ({cost.amplification:.3g} times); "
                f"{cost.layout} would suit"
                + ("; evaluated by xarray" if cost.is_evaluated else "")
                + ("; kept for the next batches" if cost.is_kept else "")
            )
        if self.kept_bytes:
            lines.append(f"kept for the next batches: {self.kept_bytes / 1e6:.3g} MB of decoded chunks")
        rates = f"{self.samples_per_s:.3g} samples/s from {self.medium.name}, bound by {self.bound_by}"
        evaluated = f"; {self.evaluated} of {len(self)} sources evaluated by xarray" if self.evaluated else ""
        return "\n".join([*lines, f"expected: {rates}{evaluated}"])


def explain(
    dataset: Dataset,
    samples: int = 64,
    seed: int = 0,
    *,
    medium: Medium | str | None = None,
    cores: int = 1,
    decoded_per_s: float = DECODED_PER_S,
    ratio: float = 1.0,
) -> Explanation:
    """Say what a sample needs of each source, by some samples at random; nothing is read.

    Chunks are counted whole, each as large as the grid says, and for each sample by itself: samples of a
    batch that share some need less, as `Loader.explain` counts.

    Parameters
    ----------
    dataset : Dataset
        Whose samples are counted.
    samples : int, default 64
        How many are looked at.
    seed : int, default 0
        Which.
    medium : Medium or str, optional
        What they are read from: a name of `swath.train.MEDIA`, whose figures are assumed, or known ones. By
        default what the device of the first source was calibrated to do, or else "page cache".
    cores : int, default 1
        How many cores decode.
    decoded_per_s : float, default 1e9
        Bytes that each of them decodes a second.
    ratio : float, default 1
        How many times smaller chunks are stored than decoded.
    """
    if samples < 1 or len(dataset) == 0:
        raise InvalidError(f"wanted samples to look at, found {samples} of {len(dataset)}")
    chosen = Permutation(len(dataset), key_of(seed)).at(np.arange(min(samples, len(dataset))))
    plan = dataset.plan(dataset.samples(chosen, chosen), seed, 0)
    plans = [{name: [indexes[place]] for name, indexes in plan.items()} for place in range(len(chosen))]
    return explained(dataset, plans, medium, cores * decoded_per_s, ratio)


def explained(
    dataset: Dataset,
    plans: Sequence[Plan],
    told: Medium | str | None,
    decoded_per_s: float,
    ratio: float,
    near: Near | None = None,
) -> Explanation:
    """Say what samples need that are read in batches as plans have them, and share what is kept."""
    medium = _calibrated(dataset) if told is None else medium_of(told)
    kept = frozenset[str]() if near is None else near.sources
    sources = {
        name: _cost(source, [plan[name] for plan in plans], medium, is_kept=name in kept)
        for name, source in dataset.sources.items()
    }
    chunks = sum(cost.chunks for cost in sources.values())
    size = sum(cost.bytes_decoded for cost in sources.values())
    return Explanation(
        sources,
        medium,
        medium.rate(chunks, size / ratio),
        decoded_per_s / size if size else float("inf"),
        0 if near is None else near.bytes,
    )


def _calibrated(dataset: Dataset) -> Medium:
    """Return what the device of the first source is known to do."""
    native = next(iter(dataset.sources.values())).native
    found = Medium.calibrated(native[0].store_path) if native else None
    return MEDIA["page cache"] if found is None else found


def _cost(source: Source, batches: Sequence[list[Index]], medium: Medium, *, is_kept: bool) -> SourceCost:
    wanted = read = chunks = objects = count = 0
    seen: set[tuple[int, ...]] = set()
    for indexes in batches:
        count += len(indexes)
        if not is_kept:
            seen.clear()
        held: set[tuple[int, ...]] = set()
        for part, of, index in stored(source, indexes):
            shape = of.array.shape
            size = np.dtype(of.array.dtype).itemsize
            wanted += prod(_length(*axis) for axis in zip(index, shape, strict=True)) * size
            found = {(part, *cell) for cell in touched(index, shape, of.chunks)}
            chunks += len(found - seen)
            read += len(found - seen) * prod(of.chunks) * size
            seen |= found
            held |= {(part, *cell) for cell in touched(index, shape, of.objects)}
        objects += len(held)
    return SourceCost(
        wanted / count,
        read / count,
        chunks / count,
        objects / count,
        suited(source, medium),
        _is_evaluated(source),
        is_kept,
    )


def _is_evaluated(source: Source) -> bool:
    parts = source.array.parts if isinstance(source.array, Joined) else (source,)
    return any(is_labelled(part.array) for part in parts)


def _length(entry: AxisIndex, extent: int) -> int:
    if isinstance(entry, int):
        return 1
    return len(range(*entry.indices(extent))) if isinstance(entry, slice) else len(entry)
