"""Decoded chunks that batches near each other share, kept until none of those to come needs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from math import prod
from threading import Lock

import numpy as np

from swath._swath import Array, _decoded_bytes, _decoded_counts, _drop_decoded, _with_decoded_cache
from swath.train.dataset import Dataset
from swath.train.joined import Joined
from swath.train.sources import Source
from swath.train.touched import Index, stored, touched
from swath.train.view import View

# What a batch reads: of each source an index for each sample.
type Plan = Mapping[str, list[Index]]
# The number of an array, and a chunk's index along each of its axes.
type Chunk = tuple[int, ...]

# Batches behind one that are looked at, at least: as many as are read ahead by default.
NEAR_BATCHES_MIN = 4

# Kept chunks are decoded into memory of their own and copied from there, where others are decoded, converted
# and stitched in one go. Below this share of decodes that it saves, that is not worth it.
SAVED_SHARE_MIN = 0.25

# More chunks a batch than this take longer to be kept track of than most of them to decode.
CHUNKS_MAX = 1 << 14

# What of a cache is there for chunks: the rest is for names, and for keys beside each chunk.
ROOM_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class Near:
    """What is worth keeping.

    Attributes
    ----------
    sources : frozenset of str
        Of which sources.
    batches : int
        For how many batches behind the one that is read.
    bytes : int
        Bytes of the chunks of these and of that one.
    """

    sources: frozenset[str]
    batches: int
    bytes: int


def worth_keeping(dataset: Dataset, plans: Iterable[Plan], prefetch: int, bytes_max: int) -> Near | None:
    """Say what is worth keeping from one batch to those behind it; None where nothing is.

    Parameters
    ----------
    dataset : Dataset
        What is read. Sources whose arrays were opened with ``decoded_cache_bytes=`` keep chunks by
        themselves, and are left alone, as are those that are not swath's to read, or have nothing to decode.
    plans : iterable
        What each batch reads, from the first one on. So many are looked at as are read ahead and one, and
        `NEAR_BATCHES_MIN` and one at least.
    prefetch : int
        How many batches are read ahead.
    bytes_max : int
        Bytes that are kept at most.
    """
    sources = {name: source for name, source in dataset.sources.items() if bytes_max and _keeps(source)}
    if not sources:
        return None
    numbers = _numbers(sources)
    batches: list[set[Chunk]] = []
    for _, plan in zip(range(1 + max(prefetch, NEAR_BATCHES_MIN)), plans, strict=False):
        found = _chunks(sources, numbers, plan)
        if found is None:
            return None
        batches.append(found)
    sizes = {
        numbers[id(array)]: _chunk_bytes(array) for source in sources.values() for array in source.native
    }
    # Kept at a time are chunks of a batch and of those behind it: of fewer of these, where that is too much.
    for count in range(len(batches), 1, -1):
        needed = Counter(chunk[0] for batch in batches[:count] for chunk in batch)
        once = Counter(chunk[0] for chunk in set[Chunk]().union(*batches[:count]))
        shared = {number for number in once if once[number] <= (1 - SAVED_SHARE_MIN) * needed[number]}
        if not shared:
            return None
        names = frozenset(
            name
            for name, source in sources.items()
            if any(numbers[id(array)] in shared for array in source.native)
        )
        kept = {numbers[id(array)] for name in names for array in sources[name].native}
        size = sum(once[number] * sizes[number] for number in kept)
        if size <= ROOM_SHARE * bytes_max:
            return Near(names, count - 1, size)
    return None


class Keeping:
    """Keeps chunks from one batch to those behind it, and drops them once none of these needs them.

    Batches are read by several threads, none of which waits for another: what batches share that are read at
    the same time may be decoded by each. Where the loop does not wait for batches, it is kept by then.

    Parameters
    ----------
    dataset : Dataset
        What is read.
    near : Near
        What is kept of it.
    bytes_max : int
        Bytes that are kept at most.
    plan : callable
        Returns what a batch reads, by its number from 0 on, or None behind the last one. Any thread calls it,
        one at a time.
    """

    def __init__(
        self, dataset: Dataset, near: Near, bytes_max: int, plan: Callable[[int], Plan | None]
    ) -> None:
        self._near = near
        self._plan = plan
        self._plain = dataset
        self._sources = {name: dataset.sources[name] for name in near.sources}
        self._numbers = _numbers(self._sources)
        native = [array for source in self._sources.values() for array in source.native]
        # One cache for all: what one source keeps is there for another one of the same array.
        self.arrays: list[Array] = _with_decoded_cache(native, bytes_max) or native
        # Who uses a cache first says into how many parts it is divided: the largest chunk is to fit each.
        _drop_decoded(max(self.arrays, key=_chunk_bytes), [])
        self._arrays: dict[int, Array] = {}
        replaced: dict[int, Array] = {}
        for array, kept in zip(native, self.arrays, strict=True):
            replaced[id(array)] = self._arrays[self._numbers[id(array)]] = kept
        sources = {name: _replaced(source, replaced) for name, source in self._sources.items()}
        self._kept = dataset.of({**dataset.sources, **sources})
        self._changing = Lock()
        self._planned = 0
        self._chunks: dict[int, set[Chunk]] = {}
        self._needed: Counter[Chunk] = Counter()

    def counts(self) -> tuple[int, int]:
        """Return how many chunks were kept when they were needed, and how many were decoded."""
        return _decoded_counts(self.arrays)

    def begin(self, number: int) -> Dataset:
        """Return what a batch, by its number, is to be read from; `end` is to be called in any case."""
        with self._changing:
            for planned in range(self._planned, number + self._near.batches + 1):
                self._planned = planned + 1
                self._look_at(planned)
            return self._kept if number in self._chunks else self._plain

    def end(self, number: int) -> None:
        """Drop what no batch that is near needs any more, now that one was read, or was not."""
        dropped: dict[int, list[int]] = {}
        with self._changing:
            for chunk in self._chunks.pop(number, ()):
                self._needed[chunk] -= 1
                if self._needed[chunk] == 0:
                    del self._needed[chunk]
                    dropped.setdefault(chunk[0], []).extend(chunk[1:])
            for array, cells in dropped.items():
                _drop_decoded(self._arrays[array], cells)

    def _look_at(self, number: int) -> None:
        try:
            plan = self._plan(number)
        except Exception:
            # It fails again when it is read, which is when it is due.
            return
        chunks = None if plan is None else _chunks(self._sources, self._numbers, plan)
        if chunks is not None:
            self._chunks[number] = chunks
            self._needed.update(chunks)


def _keeps(source: Source) -> bool:
    """Whether decoded chunks of a source can be kept, and are not by somebody else."""
    native = list(source.native)
    parts = len(source.array.parts) if isinstance(source.array, Joined) else 1
    if len(native) != parts or any(0 < _decoded_bytes(array)[0] for array in native):
        return False
    return _with_decoded_cache(native, 1) is not None


def _chunk_bytes(array: Array) -> int:
    return prod(array.chunks) * np.dtype(array.dtype).itemsize


def _numbers(sources: Mapping[str, Source]) -> dict[int, int]:
    """Return a number for each array of sources, by its identity: one for those stored in the same place."""
    places: dict[str, int] = {}
    return {
        id(array): places.setdefault(str(array.store_path), len(places))
        for source in sources.values()
        for array in source.native
    }


def _chunks(sources: Mapping[str, Source], numbers: Mapping[int, int], plan: Plan) -> set[Chunk] | None:
    """Return the chunks of sources that a batch reads; None where they are too many."""
    found: set[Chunk] = set()
    for name, source in sources.items():
        for _, part, index in stored(source, plan[name]):
            number = numbers[id(part.array)]
            cells = touched(index, part.array.shape, part.array.chunks)
            found.update((number, *cell) for cell in islice(cells, CHUNKS_MAX + 1))
            if CHUNKS_MAX < len(found):
                return None
    return found


def _replaced(source: Source, arrays: Mapping[int, Array]) -> Source:
    """Return a source of other arrays, by the identities of those that it has."""
    array = source.array
    if isinstance(array, Joined):
        parts = tuple(_replaced(part, arrays) for part in array.parts)
        return replace(source, array=replace(array, parts=parts))
    if isinstance(array, View):
        return replace(source, array=replace(array, array=arrays[id(array.array)]))
    return replace(source, array=arrays[id(array)])
