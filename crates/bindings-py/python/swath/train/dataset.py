"""Sources that are sampled together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from swath._swath import Landing
from swath.errors import InvalidError
from swath.train.arrays import AxisIndex, Draws, Flags, Positions, Values
from swath.train.axis import Axis
from swath.train.batch import Batch, Fetched, Samples
from swath.train.counter import key_of, stream, uniform
from swath.train.crop import Crop
from swath.train.memory import NewArrays, Outputs
from swath.train.reading import Read, read_all, withhold
from swath.train.shared_epoch import SharedEpoch
from swath.train.sources import Source
from swath.train.space import OriginGroup, Space
from swath.train.splits import Splits

# Origins are looked at so many at once, which bounds the memory of their windows.
ORIGINS_AT_ONCE = 65_536


class Dataset:
    """Every sample that sources can give: one for each origin at which all of them can be cut.

    A sample is a dict of arrays by the sources' names. Works as a map-style dataset of torch: it has a
    length, ``dataset[i]``, and ``__getitems__``, which reads all samples of a batch at once; it can be
    pickled, and read by workers that were started in any way.

    Parameters
    ----------
    sources : mapping of str to Source
        What is sampled.
    origins : mapping of str or tuple of str to array_like, optional
        Coordinates that may be origins, by dimension; of several that belong together, such as ("y", "x") of
        stations, an array of shape (n, 2). By default every coordinate of the first source that is cut
        along the dimension.
    stride : mapping of str to int, optional
        Of those by default, every how many are taken.
    masks : mapping of str or tuple of str to array_like of bool, optional
        Which of these candidates may be sampled, along one dimension or several together.
    seed : int, default 0
        What dropout of ``dataset[i]`` is drawn by, together with the epoch; a `Loader` has its own.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        *,
        origins: Mapping[str | tuple[str, ...], npt.ArrayLike] | None = None,
        stride: Mapping[str, int] | None = None,
        masks: Mapping[str | tuple[str, ...], npt.ArrayLike] | None = None,
        seed: int = 0,
    ) -> None:
        if not sources:
            raise InvalidError("wanted sources, found none")
        self.sources: dict[str, Source] = dict(sources)
        self.seed = seed
        self._epoch = SharedEpoch(0)
        self.refused: dict[str, int] = {}
        space = Space(tuple(self._groups(origins or {}, stride or {})))
        valid = [self._valid(group) for group in space.groups]
        # Masks count candidates, so they come before what cannot be cut is left out.
        joint: list[tuple[tuple[str, ...], Flags]] = []
        for dims, allowed in (masks or {}).items():
            joint.append(((dims,) if isinstance(dims, str) else tuple(dims), np.asarray(allowed)))
        self.space: Space = _restricted(space, valid, joint)

    def _groups(
        self, origins: Mapping[str | tuple[str, ...], npt.ArrayLike], stride: Mapping[str, int]
    ) -> list[OriginGroup]:
        followed: dict[tuple[str, ...], tuple[tuple[Axis, ...], Crop]] = {}
        for source in self.sources.values():
            for together, crops in source.followed().items():
                followed.setdefault(together, crops[0])
        groups, told = [], set()
        for dims, values in origins.items():
            group = _told(dims, np.asarray(values))
            groups.append(group)
            told |= set(group.dims)
        known = list(dict.fromkeys(dim for together in followed for dim in together))
        if told - set(known):
            raise InvalidError(f"wanted origins along {', '.join(known)}, found {', '.join(sorted(told))}")
        # What follows several dimensions together takes the origins that others give them.
        for together, (axes, crop) in sorted(followed.items(), key=lambda item: len(item[0])):
            if told.isdisjoint(together):
                groups.append(_candidates(together, axes, crop, stride))
                told |= set(together)
        if set(known) - told:
            missing = ", ".join(dim for dim in known if dim not in told)
            raise InvalidError(
                f"wanted origins along all that is followed together, found none along {missing}"
            )
        return groups

    def _valid(self, group: OriginGroup) -> Flags:
        valid = np.ones(len(group), bool)
        for name, source in self.sources.items():
            for dims, crops in source.followed().items():
                if not set(dims) <= set(group.dims):
                    apart = [dim for dim in dims if dim in group.values]
                    if apart and any(crop.may_refuse for _, crop in crops):
                        raise InvalidError(f"wanted origins along {dims} together, found them apart")
                    for dim, (_, crop) in product(apart, crops):
                        for reason, refused in crop.refused_apart(dim, group.values[dim]).items():
                            valid &= ~refused
                            self._count(f"{name}: {reason} along {dim}", refused)
                    continue
                for start in range(0, len(group), ORIGINS_AT_ONCE):
                    part = slice(start, start + ORIGINS_AT_ONCE)
                    origins = {dim: group.values[dim][part] for dim in dims}
                    for reason, refused in source.refused(dims, origins).items():
                        valid[part] &= ~refused
                        self._count(f"{name}: {reason} along {', '.join(dims)}", refused)
        return valid

    def _count(self, place: str, refused: Flags) -> None:
        if refused.any():
            self.refused[place] = self.refused.get(place, 0) + int(refused.sum())

    def split(self, splits: Splits, name: str) -> Dataset:
        """Return the samples whose windows lie within one split, all steps of all sources."""
        place = self.space.group_of(splits.along)
        values = self.space.groups[place].values[splits.along]
        firsts, lasts = [values], [values]
        for called, source in self.sources.items():
            for _, crop in source.followed().get((splits.along,), ()):
                reach = crop.reach()
                if reach is None:
                    found = f"a {type(crop).__name__} of {called}"
                    raise InvalidError(f"wanted a Window along {splits.along}, which is split, found {found}")
                firsts.append(values + reach[0])
                lasts.append(values + reach[1])
        held = splits.holds(name, np.min(firsts, axis=0), np.max(lasts, axis=0))
        part = self.__copy__()
        part.space = self.space.kept(place, held)
        return part

    def shortened(self, forecast: int) -> Dataset:
        """Return the same samples with at most so many steps of each window behind the origin.

        Samples keep their numbers, as origins stay those at which the whole windows are there: a rollout
        grows from epoch to epoch by giving the loader another of these as its `dataset`.
        """
        return self.of({name: source.shortened(forecast) for name, source in self.sources.items()})

    def of(self, sources: Mapping[str, Source]) -> Dataset:
        """Return the same samples of other sources, which must be cut at the same origins.

        They are not looked at: an origin that one of them cannot be cut at fails when it is read.
        """
        part = self.__copy__()
        part.sources = dict(sources)
        return part

    @property
    def epoch(self) -> int:
        """The epoch that ``dataset[i]`` draws dropout for; 0 until `set_epoch` says another."""
        return self._epoch.value

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch ``dataset[i]`` draws dropout for, here and in all workers started with it.

        Workers that stay from epoch to epoch (``persistent_workers=True``) are told, too, however they were
        started. It counts from the next batch that is read, so it is for between two loops.

        Raises
        ------
        InvalidError
            It is not from 0 to 2**63 - 1.
        """
        self._epoch.value = epoch

    def __copy__(self) -> Dataset:
        """Return a dataset of the same sources and samples, whose epoch is its own."""
        part = object.__new__(type(self))
        part.__dict__ |= self.__dict__ | {"_epoch": self._epoch.copied()}
        return part

    def __len__(self) -> int:
        return len(self.space)

    def __getitem__(self, number: int) -> dict[str, Values]:
        """Read one sample."""
        return self.__getitems__([number])[0]

    def __getitems__(self, numbers: Sequence[int]) -> list[dict[str, Values]]:
        """Read samples together: what torch's DataLoader calls for a batch."""
        asked = np.asarray(numbers, np.int64)
        asked = np.where(asked < 0, asked + len(self), asked)
        if asked.size and not (0 <= int(asked.min()) and int(asked.max()) < len(self)):
            # IndexError is how Python's iteration over what has no __iter__ ends.
            raise IndexError(f"wanted samples below {len(self)}, found {list(numbers)}")
        return Fetched(self.read(self.samples(asked, asked), self.seed, self.epoch), len(asked))

    def dataloader(self, **options: Any) -> Any:
        """Return a torch DataLoader of the samples, which takes batches as they were read.

        Parameters
        ----------
        **options
            As ``torch.utils.data.DataLoader`` has them; ``collate_fn`` is `swath.train.collate` by default.
        """
        from torch.utils.data import DataLoader

        from swath.train.tensors import collate

        # Torch's own class of datasets would have to be a base for its types; it wants no more than methods.
        samples: Any = self
        return DataLoader(samples, **{"collate_fn": collate, **options})

    def samples(self, numbers: Positions, positions: Positions, padding: Flags | None = None) -> Samples:
        """Say which samples numbers stand for, at positions of an epoch."""
        none = np.zeros(len(numbers), bool)
        return Samples(positions, numbers, self.space.at(numbers), none if padding is None else padding)

    def plan(self, samples: Samples, seed: int, epoch: int) -> dict[str, list[tuple[AxisIndex, ...]]]:
        """Return what is read of each source: an index for each sample. Nothing is read."""
        return {name: indexes for name, indexes, _ in self._planned(samples, seed, epoch)}

    def _planned(
        self, samples: Samples, seed: int, epoch: int
    ) -> Iterator[tuple[str, list[tuple[AxisIndex, ...]], list[tuple[int, Flags]]]]:
        """Give the name of each source, what is read of it, and what of that does not count."""
        for name, source in self.sources.items():
            draws = _draws(name, samples, seed, epoch) if source.draws else np.zeros(len(samples))
            origins = samples.origins
            yield name, source.indexes(origins, draws), source.absent(origins, draws)

    def read(
        self,
        samples: Samples,
        seed: int,
        epoch: int,
        outputs: Mapping[str, Outputs] | None = None,
        place: int = 0,
        begun: Callable[[Batch], Landing] | None = None,
    ) -> Batch:
        """Read samples, all sources at once.

        Parameters
        ----------
        samples : Samples
            Which.
        seed, epoch : int
            What dropout is drawn by.
        outputs : mapping of str to Outputs, optional
            Where to, by source; new NumPy arrays by default.
        place : int, default 0
            How many batches are wanted before this one.
        begun : callable, optional
            Called with the batch before it is read, where nothing is done to it later; what it returns is
            told once all was read.

        Raises
        ------
        SwathError
            Something could not be read: as `swath.Array.read_many`; a note names the source.
        """
        batch = Batch({}, samples)
        reads, absent = [], []
        for name, indexes, flags in self._planned(samples, seed, epoch):
            source = self.sources[name]
            output = NewArrays() if outputs is None else outputs[name]
            array, batch[name] = output.take(
                (len(samples), *source.sample_shape), np.dtype(source.decoding.dtype)
            )
            reads.append(Read(name, source, indexes, array))
            absent.append(flags)
        is_last = begun is not None and not any(absent)
        read_all(reads, place, partial(begun, batch) if begun is not None and is_last else None)
        for read, flags in zip(reads, absent, strict=True):
            withhold(read.out, flags, read.source.decoding.fill)
        return batch


def _draws(name: str, samples: Samples, seed: int, epoch: int) -> Draws:
    return uniform(key_of(seed, epoch, stream(f"dropout of {name}")), samples.positions)


def _told(dims: str | tuple[str, ...], values: Values) -> OriginGroup:
    if isinstance(dims, str):
        dims, values = (dims,), values[..., None]
    if values.ndim != 2 or values.shape[1] != len(dims):
        raise InvalidError(f"wanted origins of shape (n, {len(dims)}) along {dims}, found {values.shape}")
    return OriginGroup({dim: values[:, place] for place, dim in enumerate(dims)})


def _candidates(
    dims: tuple[str, ...], axes: tuple[Axis, ...], crop: Crop, stride: Mapping[str, int]
) -> OriginGroup:
    every = [stride.get(dim, 1) for dim in dims]
    if min(every) < 1:
        raise InvalidError(f"wanted a stride of at least 1, found {min(every)}")
    return _told(dims[0] if len(dims) == 1 else dims, crop.candidates(axes, max(every)))


def _restricted(space: Space, valid: list[Flags], masks: list[tuple[tuple[str, ...], Flags]]) -> Space:
    """Leave out what is not valid and what masks forbid, each of which counts its candidates."""
    allowed = dict(enumerate(valid))
    several = []
    for dims, mask in masks:
        places = list(dict.fromkeys(space.group_of(dim) for dim in dims))
        if 1 < len(places):
            several.append((dims, places, mask))
            continue
        space.masked(dims, mask)
        allowed[places[0]] = allowed[places[0]] & mask
    joined: set[int] = set()
    for dims, places, mask in several:
        if joined & set(places):
            raise InvalidError(f"wanted one mask for dimensions together, found a second one along {dims}")
        joined |= set(places)
        space.masked(dims, mask)
    for place, flags in allowed.items():
        space = space.kept(place, flags)
    for dims, places, mask in several:
        left = mask[np.ix_(*(allowed[place] for place in places))]
        space = space.masked(dims, left)
    return space
