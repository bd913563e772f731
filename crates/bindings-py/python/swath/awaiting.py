"""Reads that coroutines await, on any loop: those of one turn of a loop are one batch of the engine."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, cast

from swath import _swath


class Waiter(Protocol):
    """A coroutine's wait for one result."""

    def wait(self) -> Any:
        """Give what is to be awaited: the result, or what is raised."""

    def settle(self, result: Any) -> None:
        """Give the result, on the loop's thread; an exception is raised where it is awaited."""

    def is_over(self) -> bool:
        """Tell whether nobody waits any more."""


class Loop(Protocol):
    """An event loop, as far as reads need it."""

    def soon(self, function: Callable[[], object]) -> None:
        """Call a function once the tasks that are ready now have had their turn."""

    def from_thread(self, function: Callable[[], object]) -> None:
        """Call a function soon, from another thread; nothing where the loop has ended."""

    def waiter(self) -> Waiter:
        """Make a wait for one result."""

    async def in_thread[T](self, function: Callable[[], T]) -> T:
        """Call a function on a thread of its own."""


class _AsyncioWaiter:
    __slots__ = ("_future",)

    def __init__(self, future: asyncio.Future[Any]) -> None:
        self._future = future

    def wait(self) -> asyncio.Future[Any]:
        return self._future

    def settle(self, result: Any) -> None:
        if self._future.done():
            return
        if isinstance(result, BaseException):
            self._future.set_exception(result)
        else:
            self._future.set_result(result)

    def is_over(self) -> bool:
        return self._future.done()


class _AsyncioLoop:
    """asyncio's loop, or one that is used as it is: uvloop's."""

    __slots__ = ("_loop",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def soon(self, function: Callable[[], object]) -> None:
        self._loop.call_soon(function)

    def from_thread(self, function: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:
            # The loop is closed: nobody waits.
            if not self._loop.is_closed():
                raise

    def waiter(self) -> _AsyncioWaiter:
        return _AsyncioWaiter(self._loop.create_future())

    async def in_thread[T](self, function: Callable[[], T]) -> T:
        return await asyncio.to_thread(function)


class _TrioWaiter:
    """A task of trio that waits until it is rescheduled."""

    __slots__ = ("_is_over", "_result", "_task", "_trio")

    def __init__(self, trio: Any) -> None:
        self._trio = trio
        self._task: Any = None
        self._result: Any = None
        self._is_over = False

    async def wait(self) -> Any:
        if not self._is_over:
            self._task = self._trio.lowlevel.current_task()
            await self._trio.lowlevel.wait_task_rescheduled(self._abort)
        if isinstance(self._result, BaseException):
            raise self._result
        return self._result

    def _abort(self, _: Any) -> Any:
        self._is_over = True
        return self._trio.lowlevel.Abort.SUCCEEDED

    def settle(self, result: Any) -> None:
        if self._is_over:
            return
        self._result, self._is_over = result, True
        if self._task is not None:
            self._trio.lowlevel.reschedule(self._task)

    def is_over(self) -> bool:
        return self._is_over


class _TrioLoop:
    """trio's loop."""

    __slots__ = ("_token", "_trio")

    def __init__(self, trio: Any, token: Any) -> None:
        self._trio, self._token = trio, token

    def soon(self, function: Callable[[], object]) -> None:
        self._token.run_sync_soon(function)

    def from_thread(self, function: Callable[[], object]) -> None:
        with suppress(self._trio.RunFinishedError):
            self._token.run_sync_soon(function)

    def waiter(self) -> _TrioWaiter:
        return _TrioWaiter(self._trio)

    async def in_thread[T](self, function: Callable[[], T]) -> T:
        return cast(T, await self._trio.to_thread.run_sync(function))


def _running() -> tuple[object, Callable[[], Loop]]:
    """Tell the loop that runs the caller, and how to use it."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        trio = sys.modules.get("trio")
        if trio is None:
            raise
        token = trio.lowlevel.current_trio_token()
        return token, lambda: _TrioLoop(trio, token)
    return loop, lambda: _AsyncioLoop(loop)


class _Batch:
    """Reads of one array that coroutines asked for within one turn of a loop."""

    __slots__ = ("_array", "_awaited", "_left", "_loop", "_requests", "_waiters")

    def __init__(self, loop: Loop, array: _swath.Array) -> None:
        self._loop, self._array = loop, array
        self._requests: list[_swath.Request] = []
        self._waiters: list[Waiter] = []
        self._awaited: _swath.Awaited | None = None
        self._left = 0

    def add(self, request: _swath.Request) -> Waiter:
        waiter = self._loop.waiter()
        self._requests.append(request)
        self._waiters.append(waiter)
        self._left += 1
        return waiter

    def start(self, conversion: dict[str, Any]) -> None:
        wanted = [number for number, waiter in enumerate(self._waiters) if not waiter.is_over()]
        if not wanted:
            return
        self._waiters = [self._waiters[number] for number in wanted]
        requests = [self._requests[number] for number in wanted]
        try:
            self._awaited = self._array._start(requests, self._deliver, conversion)
        except Exception as failed:
            self._settle([failed] * len(wanted))

    def leave(self) -> None:
        """Count a coroutine that waits no more; the reads are ended once none does."""
        self._left -= 1
        if self._left == 0 and self._awaited is not None:
            self._awaited.cancel()

    def _deliver(self, results: list[Any]) -> None:
        self._loop.from_thread(lambda: self._settle(results))

    def _settle(self, results: list[Any]) -> None:
        for waiter, result in zip(self._waiters, results, strict=True):
            waiter.settle(result)


class _Turns(threading.local):
    """What the loop of a thread is to start once the tasks that are ready have had their turn."""

    def __init__(self) -> None:
        self.key: object = None
        self.loop: Loop | None = None
        # By the array's identity: arrays at the same place may have been opened with other options.
        self.batches: dict[int, _Batch] = {}

    def current(self) -> Loop:
        key, make = _running()
        if self.key is not key or self.loop is None:
            # An earlier loop of this thread may go on: what it is to start is in what it is to call.
            self.key, self.loop, self.batches = key, make(), {}
        return self.loop

    def batch(self, array: _swath.Array) -> _Batch:
        loop = self.current()
        batch = self.batches.get(id(array))
        if batch is None:
            if not self.batches:
                loop.soon(partial(self._start, self.batches))
            batch = self.batches[id(array)] = _Batch(loop, array)
        return batch

    def _start(self, batches: dict[int, _Batch]) -> None:
        if self.batches is batches:
            self.batches = {}
        for batch in batches.values():
            batch.start({})


_turns = _Turns()


async def read(array: _swath.Array, request: _swath.Request) -> Any:
    """Read one selection, together with all others that are asked for in this turn of the loop."""
    batch = _turns.batch(array)
    waiter = batch.add(request)
    try:
        return await waiter.wait()
    finally:
        batch.leave()


async def read_together(
    array: _swath.Array, requests: list[_swath.Request], conversion: dict[str, Any]
) -> list[Any]:
    """Read selections as one batch of their own."""
    batch = _Batch(_turns.current(), array)
    waiters = [batch.add(request) for request in requests]
    batch.start(conversion)
    results, failed = [], None
    try:
        for waiter in waiters:
            # Each is looked at, so that no loop complains of what nobody looked at.
            try:
                results.append(await waiter.wait())
            except Exception as error:
                failed = failed or error
    finally:
        for _ in waiters:
            batch.leave()
    if failed is not None:
        raise failed
    return results


async def in_thread[T](function: Callable[[], T]) -> T:
    """Call a function that blocks, on a thread."""
    return await _turns.current().in_thread(function)
