"""How training would wait for an archive and a medium that are not here."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from swath.errors import InvalidError
from swath.train.medium import Medium, medium_of

# What happens at an instant, in the order in which it counts where instants are equal.
ARRIVES, TAKES = 0, 1


class Described:
    """An array that is not there: what `source` takes to count and simulate reads of it.

    Parameters
    ----------
    shape, chunks : tuple of int
        Its elements and those of a chunk, along each axis.
    shards : tuple of int, optional
        Those of a shard.
    dtype : numpy dtype, default float32
        The type of its elements.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        chunks: tuple[int, ...],
        shards: tuple[int, ...] | None = None,
        dtype: npt.DTypeLike = "float32",
    ) -> None:
        if not len(shape) == len(chunks) == len(shards or chunks):
            raise InvalidError(f"wanted as many axes, found {shape}, {chunks} and {shards}")
        self.shape: tuple[int, ...] = shape
        self.chunks: tuple[int, ...] = chunks
        self.shards: tuple[int, ...] | None = shards
        self.dtype: np.dtype[Any] = np.dtype(dtype)

    def __getitem__(self, index: Any) -> Any:
        raise InvalidError("wanted an array that is stored, found one that is only described")


@dataclass(frozen=True, slots=True)
class Simulated:
    """How loaders that share a medium waited for their batches, in simulated seconds.

    Attributes
    ----------
    loaders : int
        How many there were.
    first_batch_s : float
        The longest that one of them waited for its first batch.
    mean_wait_s, p99_wait_s, longest_wait_s : float
        Of all waits after the first.
    samples_per_s : float
        Of all of them together.
    bytes_per_s : float
        Read from the medium, by all of them together.
    """

    loaders: int
    first_batch_s: float
    mean_wait_s: float
    p99_wait_s: float
    longest_wait_s: float
    samples_per_s: float
    bytes_per_s: float


def simulate(
    explanation: Any,
    *,
    batch_size: int,
    step_s: float,
    medium: Medium | str | None = None,
    loaders: int = 1,
    prefetch: int = 4,
    cores: int = 1,
    decoded_per_s: float = 1e9,
    ratio: float = 1.0,
    steps: int = 50,
    seed: int = 0,
) -> Simulated:
    """Simulate loaders, each with its own cores, that share a medium. Nothing is read and nothing sleeps.

    Every chunk is one read: it waits for one of the loader's places, takes the medium's latency there, passes
    the medium one after the other, and is decoded by one of the loader's cores. A step of training takes
    `step_s` and asks for the next batch.

    Parameters
    ----------
    explanation : Explanation
        What samples need: of `explain`, of a dataset whose arrays may be `Described`.
    batch_size : int
        Samples a batch.
    step_s : float
        How long a batch is trained on.
    medium : Medium or str, optional
        What is read from; that of the explanation by default.
    loaders : int, default 1
        How many read at once, as 1 to 64 ranks do.
    prefetch, cores, decoded_per_s, ratio
        As of `Loader` and `explain`, for each loader.
    steps : int, default 50
        Batches of each loader.
    seed : int, default 0
        From which slow reads are drawn.
    """
    if batch_size < 1 or loaders < 1 or steps < 2 or cores < 1:
        raise InvalidError(
            f"wanted batches, loaders, cores and 2 steps, found {batch_size}, {loaders}, {cores} and {steps}"
        )
    costs = explanation.sources.values()
    reads = max(1, round(batch_size * sum(cost.chunks for cost in costs)))
    decoded = batch_size * sum(cost.bytes_decoded for cost in costs)
    world = _World(
        medium_of(explanation.medium if medium is None else medium),
        reads,
        decoded / reads / ratio,
        decoded / reads / decoded_per_s,
        Random(seed),
    )
    each = [_Loader(world, number, cores, max(prefetch, 1), step_s, steps) for number in range(loaders)]
    world.run(each)
    waits = np.array([loader.waits for loader in each])
    later = waits[:, 1:]
    passed_s = max(loader.ended_s for loader in each)
    return Simulated(
        loaders,
        float(waits[:, 0].max()),
        float(later.mean()),
        float(np.percentile(later, 99)),
        float(later.max()),
        loaders * steps * batch_size / passed_s,
        loaders * steps * decoded / ratio / passed_s,
    )


class _World:
    """The medium, and what is to happen."""

    def __init__(self, medium: Medium, reads: int, size: float, decode_s: float, random: Random) -> None:
        self.medium, self.reads, self.size, self.decode_s = medium, reads, size, decode_s
        self.random = random
        self.events: list[tuple[float, int, int, int]] = []
        self.service_s = max(1 / medium.reads_per_s, size / medium.bytes_per_s)
        self.free_s = 0.0

    def latency_s(self) -> float:
        is_slow = self.random.random() < self.medium.slow_share
        return self.medium.slow_s if is_slow else self.medium.latency_s

    def passed(self, now_s: float) -> float:
        """Return when a read that arrives now has passed the medium."""
        self.free_s = max(self.free_s, now_s) + self.service_s
        return self.free_s

    def run(self, loaders: list[_Loader]) -> None:
        for loader in loaders:
            loader.issue(0.0)
        while self.events:
            now_s, kind, number, batch = heappop(self.events)
            if kind == ARRIVES:
                loaders[number].arrived(now_s, batch)
            else:
                loaders[number].took(now_s)


class _Loader:
    """One loader: places for reads in flight, cores that decode, and the loop that takes batches."""

    def __init__(
        self, world: _World, number: int, cores: int, prefetch: int, step_s: float, steps: int
    ) -> None:
        self.world, self.number, self.prefetch, self.step_s, self.steps = (
            world,
            number,
            prefetch,
            step_s,
            steps,
        )
        self.cores = [0.0] * cores
        heapify(self.cores)
        self.places, self.issued, self.taken = world.medium.parallel_reads, 0, 0
        self.left = [world.reads] * steps
        self.ready_s = [0.0] * steps
        self.asked_s = self.ended_s = 0.0
        self.waits: list[float] = []

    def issue(self, now_s: float) -> None:
        """Begin reads for as long as there are places and batches that may be read ahead."""
        until = min(self.taken + self.prefetch, self.steps) * self.world.reads
        while 0 < self.places and self.issued < until:
            at_s = now_s + self.world.latency_s()
            heappush(self.world.events, (at_s, ARRIVES, self.number, self.issued // self.world.reads))
            self.places -= 1
            self.issued += 1

    def arrived(self, now_s: float, batch: int) -> None:
        """Decode a read of a batch, and begin another."""
        decoded_s = max(heappop(self.cores), self.world.passed(now_s)) + self.world.decode_s
        heappush(self.cores, decoded_s)
        self.ready_s[batch] = max(self.ready_s[batch], decoded_s)
        self.left[batch] -= 1
        if self.left[batch] == 0 and batch == self.taken:
            self._take()
        self.places += 1
        self.issue(now_s)

    def _take(self) -> None:
        at_s = max(self.asked_s, self.ready_s[self.taken])
        heappush(self.world.events, (at_s, TAKES, self.number, self.taken))

    def took(self, now_s: float) -> None:
        """Train on the next batch, and ask for the one after it."""
        self.waits.append(now_s - self.asked_s)
        self.taken += 1
        self.asked_s = self.ended_s = now_s + self.step_s
        if self.taken < self.steps and self.left[self.taken] == 0:
            self._take()
        self.issue(now_s)
