"""Coordinates that are read together, because xarray is about to ask for one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

import numpy.typing as npt

from swath._swath import Array
from swath.xarray.batch import Request, read_batch

BYTES_MAX = 16 << 20
"""How much is read ahead and waits to be asked for; what is larger is read when it is."""


class Prefetch:
    """What opening reads of several arrays: of all of them, as soon as it is asked for of one.

    xarray looks at the first and the last element of whatever counts time, and makes an index of each
    dimension's coordinate, one after the other. Each array is read ahead once at most, and given away whole
    once, unless it is its own ends: later reads see what is stored by then.
    """

    def __init__(self, arrays: Iterable[Array]) -> None:
        self._lock = Lock()
        self._ahead = [array for array in arrays if array.nbytes <= BYTES_MAX]
        self._read: dict[Array, npt.NDArray[Any]] = {}

    def take(self, wanted: Request) -> npt.NDArray[Any] | None:
        """Return a whole array, or an element at its end, after a read of all that wait if need be.

        Returns
        -------
        numpy.ndarray or None
            None where something else is wanted, or it was taken before, or could not be read.
        """
        is_whole = selects(wanted, lambda length: [(0, length, 1)])
        if not is_whole and not selects(wanted, lambda length: [(0, 1, 1), (length - 1, length, 1)]):
            return None
        with self._lock:
            if wanted.array not in self._read and wanted.array in self._ahead:
                self._read_ahead(wanted.array)
            if is_whole and 1 < wanted.array.size:
                return self._read.pop(wanted.array, None)
            read = self._read.get(wanted.array)
        return None if read is None else read[wanted.index].copy()

    def _read_ahead(self, first: Array) -> None:
        """Read an array and as many others as there is room for."""
        room = BYTES_MAX - first.nbytes - sum(read.nbytes for read in self._read.values())
        arrays, left = [first], []
        for array in self._ahead:
            if array == first:
                continue
            if array.nbytes <= room:
                room -= array.nbytes
                arrays.append(array)
            else:
                left.append(array)
        self._ahead = left
        results = read_batch([Request(array, ..., "index") for array in arrays])
        for array, result in zip(arrays, results, strict=True):
            # An error is met again, and raised, by whoever asks for the array.
            if not isinstance(result, Exception):
                self._read[array] = result


def selects(wanted: Request, ranges: Callable[[int], list[tuple[int, int, int]]]) -> bool:
    """Return whether slices select, along each axis, one of the ranges that are told for its length."""
    shape = wanted.array.shape
    return (
        wanted.way == "index"
        and isinstance(wanted.index, tuple)
        and len(wanted.index) == len(shape)
        and all(
            isinstance(entry, slice) and entry.indices(length) in ranges(length)
            for entry, length in zip(wanted.index, shape, strict=True)
        )
    )
