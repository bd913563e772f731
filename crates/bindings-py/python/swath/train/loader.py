"""Batches for a training loop."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, count, tee
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import Any, Literal

import numpy as np

from swath._swath import Landing, _decoded_counts
from swath.errors import InvalidError, SwathError
from swath.train.ahead import Flight, ahead
from swath.train.batch import Batch
from swath.train.dataset import Dataset
from swath.train.explanation import DECODED_PER_S, Explanation, explained
from swath.train.medium import Medium
from swath.train.memory import Outputs
from swath.train.progress import Line
from swath.train.report import page
from swath.train.sampler import Random, Sampler, Sequential
from swath.train.share import Share
from swath.train.tensors import chosen
from swath.train.waits import Waits

STATE_VERSION = 1
ERRORS_KEPT = 100

# Samples, bytes, and the batch or what was made of it.
type Received = tuple[int, int, Any]


@dataclass(frozen=True, slots=True)
class _Place:
    """Which batch: the how manieth in all, and of how many that an epoch has from a position on."""

    number: int
    epoch: int
    start: int
    batch: int
    batches: int


class Loader:
    """Batches of a dataset, read ahead on threads of this process.

    Iterating gives the batches of one epoch, and then the next epoch is due. Each sample is a pure function
    of seed, epoch and position: neither `prefetch` nor a resume nor the number of ranks changes it. Two
    iterators at once count as one: the last one started says where the loader is.

    Parameters
    ----------
    dataset : Dataset
        What is sampled.
    batch_size : int
        Samples a batch, of each rank.
    sampler : Sampler or {'random', 'sequential'}, default 'random'
        The order of samples.
    seed : int, default 0
        From which every order and every draw comes.
    drop_last : bool, default False
        Whether what does not fill a batch on every rank is left out; else the last batch may be smaller, and
        ranks that have nothing left repeat samples of the epoch's beginning, which `Batch.samples` flags as
        padding.
    share : Share, optional
        Which rank this is; by default what torch.distributed or the environment says.
    prefetch : int, default 4
        How many batches are read ahead; 0 reads each as it is asked for. Memory is that of so many batches
        and two more, and of those beyond that the caller holds.
    transform : callable, optional
        Called with each `Batch`, on the threads that read; what it returns is what comes.
    to : 'auto', 'numpy', 'torch' or a device, default 'auto'
        What batches hold: NumPy arrays; tensors, which are in pinned memory where CUDA is there; or tensors
        on a device, such as "cuda" or "cuda:1", copied ahead of the loop on a stream of their own, once
        `transform` was called. 'auto' is tensors where torch is installed, and arrays else. Memory is used
        again once nobody holds an array or tensor of it, nor a view.
    on_error : {'raise', 'skip'}, default 'raise'
        Whether a sample that cannot be read ends the epoch, or is left out of its batch and counted: see
        `errors` and `stats`.
    progress : bool or callable, default False
        Whether a line on stderr says about once a second how it goes; or what is called with that line.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        *,
        sampler: Sampler | Literal["random", "sequential"] = "random",
        seed: int = 0,
        drop_last: bool = False,
        share: Share | None = None,
        prefetch: int = 4,
        transform: Callable[[Batch], Any] | None = None,
        to: Any = "auto",
        on_error: Literal["raise", "skip"] = "raise",
        progress: bool | Callable[[str], object] = False,
    ) -> None:
        if batch_size < 1 or prefetch < 0:
            raise InvalidError(f"wanted 1 <= batch_size and 0 <= prefetch, found {batch_size} and {prefetch}")
        if on_error not in ("raise", "skip"):
            raise InvalidError(f"wanted on_error 'raise' or 'skip', found {on_error!r}")
        self.dataset = dataset
        self.batch_size = batch_size
        self.sampler: Sampler = _sampler(sampler, len(dataset))
        self.seed: int = seed
        self.drop_last = drop_last
        self.share: Share = Share.found() if share is None else share
        self.prefetch = prefetch
        self.transform = transform
        # Those of the batches that are read ahead, and two that the loop holds.
        self._new_outputs, self._device = chosen(to, prefetch + 2)
        self._outputs: dict[str, Outputs] = {}
        self.on_error = on_error
        self.epoch: int = 0
        self.errors: list[tuple[dict[str, Any], SwathError]] = []
        self._start = 0
        self._received = 0
        self._waits = Waits()
        self._line = Line(progress)
        self._counted = self._decoded()

    def __len__(self) -> int:
        """Return how many batches the next iteration has."""
        return self.share.batches(len(self.sampler), self._start, self.batch_size, self.drop_last)

    def __iter__(self) -> Generator[Any]:
        epoch = self.epoch
        yield from self._given(iter([(epoch, self._start)]))
        if self.epoch == epoch:
            self.set_epoch(epoch + 1)

    def endless(self) -> Generator[Any]:
        """Give the batches of this epoch, of the next one, and so on, until the caller stops.

        The first batches of an epoch are read ahead while the last ones of the epoch before are trained on,
        where loops over the loader itself wait for them. What is set meanwhile, such as `dataset`, does not
        count. `epoch` and `state_dict` are those of the batch that was received last.
        """
        if self.share.batches(len(self.sampler), 0, self.batch_size, self.drop_last) == 0:
            raise InvalidError(f"wanted epochs of a batch at least, found {len(self.sampler)} samples")
        return self._given(
            chain([(self.epoch, self._start)], ((epoch, 0) for epoch in count(self.epoch + 1)))
        )

    def _given(self, epochs: Iterator[tuple[int, int]]) -> Generator[Any]:
        """Give the batches of epochs, each from a position on."""
        if len(self.dataset) != self.sampler.count:
            raise InvalidError(f"wanted a dataset of {self.sampler.count} samples, found {len(self.dataset)}")
        for name in self.dataset.sources:
            self._outputs.setdefault(name, self._new_outputs())
        total, dataset, seed = len(self.sampler), self.dataset, self.seed
        numbers, epoch_now = count(), self.epoch
        places = (
            _Place(next(numbers), epoch, start, batch, batches)
            for epoch, start in epochs
            for batches in (self.share.batches(total, start, self.batch_size, self.drop_last),)
            for batch in range(batches)
        )
        # One copy says what is read, the other one what comes.
        read, come = tee(places)
        self._received, self._start = self._start, 0
        results = ahead(partial(self._read, dataset, seed), read, self.prefetch)
        try:
            for place in come:
                asked_s = monotonic()
                samples, size, result = next(results)
                self._waits.received(samples, size, asked_s, monotonic())
                if place.epoch != epoch_now:
                    epoch_now = place.epoch
                    self.set_epoch(epoch_now)
                self._received = self.share.received(total, place.start, self.batch_size, place.batch + 1)
                self._line.tell(place.epoch, place.batch + 1, place.batches, self.stats)
                given = [result if self._device is None else result.received()]
                del result
                # The frame of a generator that waits holds nothing of what it gave.
                yield given.pop()
                self._waits.returned(monotonic())
        finally:
            results.close()

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch the next iteration is of, from its beginning, unless it is this one already."""
        if epoch != self.epoch:
            self.epoch, self._start, self._received = epoch, 0, 0

    def state_dict(self) -> dict[str, Any]:
        """Return where training is, counted by the batches that were received, not by those read ahead."""
        return {
            "version": STATE_VERSION,
            "seed": self.seed,
            "epoch": self.epoch,
            "received": self._received,
            "order": self.sampler.signature(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where a state was saved, with any batch size, number of ranks and `prefetch`.

        Raises
        ------
        InvalidError
            The state is of another order of samples.
        """
        if state.get("version") != STATE_VERSION or state.get("order") != self.sampler.signature():
            found = f"version {state.get('version')}, {state.get('order')}"
            wanted = f"version {STATE_VERSION}, {self.sampler.signature()}"
            raise InvalidError(f"wanted a state of {wanted}, found {found}")
        self.seed, self.epoch = int(state["seed"]), int(state["epoch"])
        self._start = self._received = int(state["received"])
        if len(self) == 0:
            self.set_epoch(self.epoch + 1)

    def explain(
        self,
        batches: int = 4,
        *,
        medium: Medium | str | None = None,
        cores: int = 1,
        decoded_per_s: float = DECODED_PER_S,
        ratio: float = 1.0,
    ) -> Explanation:
        """Say what a sample needs of each source in this order and in batches of this size; nothing is read.

        As `swath.train.explain`, but a chunk that several samples of a batch share counts once.
        """
        plans = []
        for batch in range(min(batches, len(self))):
            positions, padding = self.share.positions(
                len(self.sampler), self._start, self.batch_size, batch, self.drop_last
            )
            numbers = self.sampler.at(self.seed, self.epoch, positions)
            samples = self.dataset.samples(numbers, positions, padding)
            plans.append(self.dataset.plan(samples, self.seed, self.epoch))
        if not plans:
            raise InvalidError("wanted batches to look at, found none")
        return explained(self.dataset, plans, medium, cores * decoded_per_s, ratio)

    def stats(self) -> dict[str, Any]:
        """Return what came so far, all rates and times of this process by its own clock.

        `batches`, `samples` and `bytes` that came, samples `skipped`, seconds `waited_s` for batches and
        `trained_s` on them, `longest_wait_s`, `p99_wait_s` of the last 1,000 batches, `samples_per_s` and
        `bytes_per_s` over both together, and `waits`, how many took less than 1, 2, 4, ... microseconds.
        `cache_hits` and `cache_misses` are chunks that came out of ``decoded_cache_bytes=`` of the sources'
        arrays, and that were decoded in spite of it, by whoever shares it, since the loader was made.
        """
        (hits, misses), (hits_before, misses_before) = self._decoded(), self._counted
        found = {"cache_hits": hits - hits_before, "cache_misses": misses - misses_before}
        return self._waits.told() | found

    def _decoded(self) -> tuple[int, int]:
        """Return the chunks that caches of the sources' arrays had and had not so far."""
        return _decoded_counts([array for source in self.dataset.sources.values() for array in source.native])

    def report(self, path: str | PathLike[str]) -> None:
        """Write a page of HTML that shows when the last batches were waited for, and how long waits were."""
        Path(path).write_text(page(self._waits.turns(), self.stats()), encoding="utf-8")

    def _read(self, dataset: Dataset, seed: int, place: _Place, flight: Flight[Received] | None) -> Received:
        epoch = place.epoch
        positions, padding = self.share.positions(
            len(self.sampler), place.start, self.batch_size, place.batch, self.drop_last
        )
        numbers = self.sampler.at(seed, epoch, positions)
        samples = dataset.samples(numbers, positions, padding)
        begun = None if flight is None or not self._is_plain else partial(_announced, flight)
        try:
            read = dataset.read(samples, seed, epoch, self._outputs, place.number, begun)
        except SwathError:
            if self.on_error == "raise":
                raise
            kept = np.array(
                [place for place in range(len(samples)) if self._reads(dataset, seed, epoch, samples, place)],
                np.int64,
            )
            if len(kept) == 0:
                raise
            self._waits.skipped(len(samples) - len(kept))
            read = dataset.read(samples.taken(kept), seed, epoch, self._outputs)
        held, size, result = _received(read)
        result = result if self.transform is None else self.transform(result)
        return held, size, result if self._device is None else self._device.send(result)

    @property
    def _is_plain(self) -> bool:
        """Whether nothing is done to a batch once it was read."""
        return self.transform is None and self._device is None

    def _reads(self, dataset: Dataset, seed: int, epoch: int, samples: Any, place: int) -> bool:
        alone = samples.taken(np.array([place]))
        try:
            dataset.read(alone, seed, epoch)
        except SwathError as error:
            if len(self.errors) < ERRORS_KEPT:
                origin = {dim: values[0] for dim, values in alone.origins.items()}
                self.errors.append((origin, error))
            return False
        return True


def _received(batch: Batch) -> Received:
    return 0 if batch.samples is None else len(batch.samples), batch.nbytes, batch


def _announced(flight: Flight[Received], batch: Batch) -> Landing:
    return flight.announce(_received(batch))


def _sampler(sampler: Sampler | str, count: int) -> Sampler:
    if isinstance(sampler, Sampler):
        if sampler.count != count:
            raise InvalidError(f"wanted a sampler of {count} samples, found one of {sampler.count}")
        return sampler
    if sampler not in ("random", "sequential"):
        raise InvalidError(f"wanted the sampler 'random' or 'sequential', found {sampler!r}")
    return Random(count) if sampler == "random" else Sequential(count)
