"""What xarray's lazy indexing reads from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, override

import numpy as np
import numpy.typing as npt
from xarray.backends import BackendArray
from xarray.core import indexing

from swath._swath import Array
from swath.xarray.batch import Request
from swath.xarray.driven import IS_DRIVEN, Driven
from swath.xarray.points import as_orthogonal
from swath.xarray.prefetch import Prefetch

type Values = npt.NDArray[Any]


class LazyArray(BackendArray):
    """An array as xarray's engines give them: whatever is selected, by slices, lists or points, is one read.

    Pickles by reference, as the array does.
    """

    # Not `array`: xarray takes an attribute of that name for something to index.
    __slots__ = ("_prefetch", "_source", "dtype", "shape")

    def __init__(self, source: Array, prefetch: Prefetch | None = None) -> None:
        self._source = source
        self._prefetch = prefetch
        self.dtype = source.dtype
        self.shape = source.shape

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Values:
        wanted, finished = self._wanted(key)
        read = self._prefetched(wanted)
        return finished(wanted.read() if read is None else read)

    @override
    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Values:
        """Read, together with all else that the loop's tasks ask for in this turn of it."""
        wanted, finished = self._wanted(key)
        read = self._prefetched(wanted)
        if read is None:
            read = await (Driven(wanted) if IS_DRIVEN.get() else wanted.awaited())
        return finished(read)

    def _wanted(self, key: indexing.ExplicitIndexer) -> tuple[Request, Callable[[Values], Values]]:
        """Say what is read for a key, and what is then done to the axes of it."""
        if isinstance(key, indexing.BasicIndexer):
            return Request(self._source, key.tuple, "index"), _as_it_is
        if isinstance(key, indexing.OuterIndexer):
            return Request(self._source, _forwards(key.tuple, self.shape), "orthogonal"), _as_it_is
        grid = as_orthogonal(key.tuple)
        if grid is None:
            return Request(self._source, key.tuple, "coordinate"), _as_it_is
        along, shape, order = grid
        return Request(self._source, along, "orthogonal"), lambda read: read.reshape(shape).transpose(order)

    def _prefetched(self, wanted: Request) -> Values | None:
        return None if self._prefetch is None else self._prefetch.take(wanted)

    @override
    def __repr__(self) -> str:
        return f"<swath.xarray.LazyArray of {self._source!r}>"

    def __getstate__(self) -> tuple[Array, npt.DTypeLike, tuple[int, ...]]:
        return self._source, self.dtype, self.shape

    def __setstate__(self, state: tuple[Array, np.dtype[Any], tuple[int, ...]]) -> None:
        # What was prefetched stays behind. Nothing is opened here: the reader of a pickle may never read.
        self._source, self.dtype, self.shape = state
        self._prefetch = None


def _as_it_is(read: Values) -> Values:
    return read


def _forwards(index: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Write slices that go backwards as lists: along lists swath goes in any order, along slices forwards."""
    return tuple(
        np.arange(*entry.indices(length)) if isinstance(entry, slice) and (entry.step or 1) < 0 else entry
        for entry, length in zip(index, shape, strict=True)
    )
