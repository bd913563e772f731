"""Batches for a training loop."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import Any, Literal

import numpy as np

from swath._swath import Landing, _decoded_counts
from swath.errors import InvalidError, SwathError
from swath.train.ahead import Flight, ahead
from swath.train.batch import Batch, Samples
from swath.train.dataset import Dataset
from swath.train.explanation import DECODED_PER_S, Explanation, explained
from swath.train.medium import Medium
from swath.train.memory import Outputs
from swath.train.near import Keeping, Near, Plan, worth_keeping
from swath.train.progress import Line
from swath.train.report import page
from swath.train.sampler import Random, Sampler, Sequential
from swath.train.share import Share
from swath.train.tensors import chosen
from swath.train.waits import Waits

STATE_VERSION = 1
ERRORS_KEPT = 100
DECODED_CACHE_BYTES = 256 << 20

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


@dataclass(frozen=True, slots=True)
class _Course:
    """The batches of an epoch from a position on, and those of the epochs behind it.

    Attributes
    ----------
    epoch, start : int
        Which epoch, and from where on.
    first, later : int
        How many batches it has from there, and each epoch behind it; 0 where there is none.
    """

    epoch: int
    start: int
    first: int
    later: int

    def at(self, number: int) -> _Place | None:
        """Return the place of a batch by its number, from 0 on; None behind the last one."""
        if number < self.first:
            return _Place(number, self.epoch, self.start, number, self.first)
        if self.later == 0:
            return None
        epochs, batch = divmod(number - self.first, self.later)
        return _Place(number, self.epoch + 1 + epochs, 0, batch, self.later)

    def __iter__(self) -> Iterator[_Place]:
        for number in count():
            place = self.at(number)
            if place is None:
                return
            yield place


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
    decoded_cache_bytes : int, default 268435456
        Bytes of decoded chunks that are kept for the next batches at most, beside the memory of batches; 0
        keeps none. Where so many of the first batches as are read ahead, and five at least, would decode a
        quarter of an array's chunks more than once, its chunks are kept for as long as one of so many next
        batches needs them; of random crops of a large archive nothing is. `explain` says what is. Batches
        that are read at the same time may each decode what they share. Arrays that were opened with
        ``decoded_cache_bytes=`` keep chunks as they were told to there.
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
        decoded_cache_bytes: int = DECODED_CACHE_BYTES,
    ) -> None:
        if batch_size < 1 or prefetch < 0:
            raise InvalidError(f"wanted 1 <= batch_size and 0 <= prefetch, found {batch_size} and {prefetch}")
        if decoded_cache_bytes < 0:
            raise InvalidError(f"wanted 0 <= decoded_cache_bytes, found {decoded_cache_bytes}")
        if on_error not in ("raise", "skip"):
            raise InvalidError(f"wanted on_error 'raise' or 'skip', found {on_error!r}")
        self.dataset = dataset
        self.batch_size = batch_size
        self.sampler: Sampler = _sampler(sampler, len(dataset))
        self.seed: int = seed
        self.drop_last = drop_last
        self.share: Share = Share.found() if share is None else share
        self.prefetch = prefetch
        self.decoded_cache_bytes = decoded_cache_bytes
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
        # What iterations keep that are under way, and chunks that it had, and had not, of those that ended.
        self._keepings: list[Keeping] = []
        self._had = (0, 0)
        self._counted = self._decoded()

    def __len__(self) -> int:
        """Return how many batches the next iteration has."""
        return self.share.batches(len(self.sampler), self._start, self.batch_size, self.drop_last)

    def __iter__(self) -> Generator[Any]:
        epoch = self.epoch
        yield from self._given(is_endless=False)
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
        return self._given(is_endless=True)

    def _given(self, *, is_endless: bool) -> Generator[Any]:
        """Give the batches of this epoch, or of all from this one on."""
        if len(self.dataset) != self.sampler.count:
            raise InvalidError(f"wanted a dataset of {self.sampler.count} samples, found {len(self.dataset)}")
        for name in self.dataset.sources:
            self._outputs.setdefault(name, self._new_outputs())
        total, dataset, seed, epoch_now = len(self.sampler), self.dataset, self.seed, self.epoch
        course = self._course(is_endless=is_endless)
        keeping = self._keeping(dataset, seed, course)
        self._received, self._start = self._start, 0
        results = ahead(partial(self._read, dataset, seed, keeping), course, self.prefetch)
        try:
            for place in course:
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
            if keeping is not None:
                self._keepings.remove(keeping)
                self._had = _sum(self._had, keeping.counts())

    def _course(self, *, is_endless: bool) -> _Course:
        """Say which batches this epoch has from where it is, and those behind it."""
        total = len(self.sampler)
        first, later = (
            self.share.batches(total, start, self.batch_size, self.drop_last) for start in (self._start, 0)
        )
        return _Course(self.epoch, self._start, first, later if is_endless else 0)

    def _samples(self, dataset: Dataset, seed: int, place: _Place) -> Samples:
        """Say which samples the batch at a place has."""
        positions, padding = self.share.positions(
            len(self.sampler), place.start, self.batch_size, place.batch, self.drop_last
        )
        return dataset.samples(self.sampler.at(seed, place.epoch, positions), positions, padding)

    def _plan(self, dataset: Dataset, seed: int, place: _Place) -> Plan:
        return dataset.plan(self._samples(dataset, seed, place), seed, place.epoch)

    def _near(self, dataset: Dataset, seed: int, course: _Course) -> Near | None:
        plans = (self._plan(dataset, seed, place) for place in course)
        try:
            return worth_keeping(dataset, plans, self.prefetch, self.decoded_cache_bytes)
        except Exception:
            # A batch that cannot be planned fails when it is read, which is when it is due.
            return None

    def _keeping(self, dataset: Dataset, seed: int, course: _Course) -> Keeping | None:
        """Begin to keep what is worth it; what is returned belongs to one iteration."""
        near = self._near(dataset, seed, course)
        if near is None:
            return None

        def plan(number: int) -> Plan | None:
            place = course.at(number)
            return None if place is None else self._plan(dataset, seed, place)

        keeping = Keeping(dataset, near, self.decoded_cache_bytes, plan)
        self._keepings.append(keeping)
        return keeping

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

        As `swath.train.explain`, but a chunk that several samples of a batch share counts once, and so does
        one that the next batches share, where ``decoded_cache_bytes=`` keeps it: `SourceCost.is_kept` says of
        which sources, and `Explanation.kept_bytes` how much.
        """
        course = self._course(is_endless=False)
        plans = [self._plan(self.dataset, self.seed, place) for place in islice(course, batches)]
        if not plans:
            raise InvalidError("wanted batches to look at, found none")
        near = self._near(self.dataset, self.seed, course)
        return explained(self.dataset, plans, medium, cores * decoded_per_s, ratio, near)

    def stats(self) -> dict[str, Any]:
        """Return what came so far, all rates and times of this process by its own clock.

        `batches`, `samples` and `bytes` that came, samples `skipped`, seconds `waited_s` for batches and
        `trained_s` on them, `longest_wait_s`, `p99_wait_s` of the last 1,000 batches, `samples_per_s` and
        `bytes_per_s` over both together, and `waits`, how many took less than 1, 2, 4, ... microseconds.
        `cache_hits` and `cache_misses` are chunks that were kept decoded, and that had to be decoded, since
        the loader was made: of sources whose chunks it keeps for the next batches, and of those whose arrays
        were opened with ``decoded_cache_bytes=``, by whoever shares that.
        """
        hits, misses = _sum(self._decoded(), self._had, *(keeping.counts() for keeping in self._keepings))
        found = {"cache_hits": hits - self._counted[0], "cache_misses": misses - self._counted[1]}
        return self._waits.told() | found

    def _decoded(self) -> tuple[int, int]:
        """Return the chunks that caches of the sources' arrays had and had not so far."""
        return _decoded_counts([array for source in self.dataset.sources.values() for array in source.native])

    def report(self, path: str | PathLike[str]) -> None:
        """Write a page of HTML that shows when the last batches were waited for, and how long waits were."""
        Path(path).write_text(page(self._waits.turns(), self.stats()), encoding="utf-8")

    def _read(
        self,
        dataset: Dataset,
        seed: int,
        keeping: Keeping | None,
        place: _Place,
        flight: Flight[Received] | None,
    ) -> Received:
        begun = None if flight is None or not self._is_plain else partial(_announced, flight)
        if keeping is None:
            read = self._batch(dataset, seed, place, begun)
        else:
            try:
                read = self._batch(keeping.begin(place.number), seed, place, begun)
            finally:
                keeping.end(place.number)
        held, size, result = _received(read)
        result = result if self.transform is None else self.transform(result)
        return held, size, result if self._device is None else self._device.send(result)

    def _batch(
        self, dataset: Dataset, seed: int, place: _Place, begun: Callable[[Batch], Landing] | None
    ) -> Batch:
        epoch = place.epoch
        samples = self._samples(dataset, seed, place)
        try:
            return dataset.read(samples, seed, epoch, self._outputs, place.number, begun)
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
            return dataset.read(samples.taken(kept), seed, epoch, self._outputs)

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


def _sum(*counts: tuple[int, int]) -> tuple[int, int]:
    return sum(hits for hits, _ in counts), sum(misses for _, misses in counts)


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
