"""Reads of several arrays at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from swath import _swath
from swath._swath import Array

type Way = Literal["index", "orthogonal", "coordinate"]


@dataclass(frozen=True, slots=True)
class Request:
    """What is wanted of one array: an index, and how it is read, as `Array.read` has it."""

    array: Array
    index: Any
    way: Way

    def read(self) -> npt.NDArray[Any]:
        """Read it alone, and wait for it."""
        return self.array.read(self.index, by=self.way)

    async def awaited(self) -> npt.NDArray[Any]:
        """Read it with all else that the loop's tasks ask for in this turn."""
        return await self.array.async_array.read(self.index, by=self.way)


def read_batch(requests: Sequence[Request]) -> list[npt.NDArray[Any] | Exception]:
    """Read all that is wanted: whatever is of one array together, and of all arrays at once.

    Returns
    -------
    list of numpy.ndarray or Exception
        One for each request, in their order; an error stands in the place of what it kept from being read.
    """
    if len(requests) == 1:
        return [_result_of(requests[0].read)]
    batch = _Batch(len(requests))
    try:
        batch.start(requests)
        return batch.finish()
    except BaseException:
        # Ctrl-C: nobody waits any more.
        batch.cancel()
        raise


class _Batch:
    """Reads that were started, and what they came to."""

    def __init__(self, count: int) -> None:
        self._results: list[npt.NDArray[Any] | Exception] = [np.empty(0)] * count
        self._delivered: SimpleQueue[tuple[list[int], list[Any]]] = SimpleQueue()
        self._started: list[_swath.Awaited] = []

    def start(self, requests: Sequence[Request]) -> None:
        """Start what can be started, and read what cannot, which blocks."""
        blocking: list[int] = []
        parts: dict[int, tuple[Array, list[int], list[_swath.Request]]] = {}
        for number, request in enumerate(requests):
            try:
                checked = request.array._request(request.way, request.index)
            except Exception as error:
                self._results[number] = error
                continue
            if checked is None:
                blocking.append(number)
                continue
            # By the array's identity: arrays at the same place may have been opened with other options.
            part = parts.setdefault(id(request.array), (request.array, [], []))
            part[1].append(number)
            part[2].append(checked)
        for array, numbers, wanted in parts.values():
            self._started.append(array._start(wanted, self._deliverer(numbers), {}))
        for number in blocking:
            self._results[number] = _result_of(requests[number].read)

    def _deliverer(self, numbers: list[int]) -> Callable[[list[Any]], None]:
        return lambda results: self._delivered.put((numbers, results))

    def finish(self) -> list[npt.NDArray[Any] | Exception]:
        """Wait for all that was started."""
        for _ in self._started:
            numbers, results = self._delivered.get()
            for number, result in zip(numbers, results, strict=True):
                self._results[number] = result if isinstance(result, Exception) else np.asarray(result)
        return self._results

    def cancel(self) -> None:
        """End all that was started."""
        for awaited in self._started:
            awaited.cancel()


def _result_of(read: Callable[[], npt.NDArray[Any]]) -> npt.NDArray[Any] | Exception:
    try:
        return read()
    except Exception as error:
        return error
