"""Reads that coroutines await, on any loop: those of one turn of a loop are one batch of the engine."""

from __future__ import annotations

import asyncio
import sys
import threading
from asyncio import get_running_loop
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, cast

from swath import _swath


class Waiter(Protocol):
    """A coroutine's wait for one result, by the names of asyncio's futures."""

    def __await__(self) -> Generator[Any, Any, Any]:
        """Wait for the result."""

    def set_result(self, result: Any, /) -> None:
        """Give the result, on the loop's thread."""

    def set_exception(self, exception: BaseException, /) -> None:
        """Give what is raised where the result is awaited, on the loop's thread."""

    def done(self) -> bool:
        """Tell whether there is a result, or nobody waits any more."""

    def cancel(self) -> object:
        """Let nobody wait any more."""


class Loop(Protocol):
    """An event loop, as far as reads need it."""

    def soon(self, function: Callable[[], object]) -> None:
        """Call a function once the tasks that are ready now have had their turn."""

    def from_thread(self, function: Callable[[], object]) -> None:
        """Call a function soon, from another thread; nothing where the loop has ended."""

    @property
    def waiter(self) -> Callable[[], Waiter]:
        """What makes a wait for one result."""

    async def in_thread[T](self, function: Callable[[], T]) -> T:
        """Call a function on a thread of its own."""


class _AsyncioLoop:
    """asyncio's loop, or one that is used as it is: uvloop's."""

    __slots__ = ("_loop", "waiter")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.waiter: Callable[[], Waiter] = loop.create_future

    def soon(self, function: Callable[[], object]) -> None:
        self._loop.call_soon(function)

    def from_thread(self, function: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:
            # The loop is closed: nobody waits.
            if not self._loop.is_closed():
                raise

    async def in_thread[T](self, function: Callable[[], T]) -> T:
        return await asyncio.to_thread(function)


class _TrioWaiter:
    """A task of trio that waits until it is rescheduled."""

    __slots__ = ("_exception", "_is_done", "_result", "_task", "_trio")

    def __init__(self, trio: Any) -> None:
        self._trio = trio
        self._task: Any = None
        self._result: Any = None
        self._exception: BaseException | None = None
        self._is_done = False

    def __await__(self) -> Generator[Any, Any, Any]:
        if not self._is_done:
            self._task = self._trio.lowlevel.current_task()
            yield from self._trio.lowlevel.wait_task_rescheduled(self._abort).__await__()
        if self._exception is not None:
            raise self._exception
        return self._result

    def _abort(self, _: Any) -> Any:
        self._is_done = True
        return self._trio.lowlevel.Abort.SUCCEEDED

    def set_result(self, result: Any, /) -> None:
        self._result = result
        self._end()

    def set_exception(self, exception: BaseException, /) -> None:
        self._exception = exception
        self._end()

    def _end(self) -> None:
        self._is_done = True
        if self._task is not None:
            self._trio.lowlevel.reschedule(self._task)

    def done(self) -> bool:
        return self._is_done

    def cancel(self) -> None:
        self._is_done = True


class _TrioLoop:
    """trio's loop."""

    __slots__ = ("_token", "_trio", "waiter")

    def __init__(self, trio: Any, token: Any) -> None:
        self._trio, self._token = trio, token
        self.waiter: Callable[[], Waiter] = partial(_TrioWaiter, trio)

    def soon(self, function: Callable[[], object]) -> None:
        self._token.run_sync_soon(function)

    def from_thread(self, function: Callable[[], object]) -> None:
        with suppress(self._trio.RunFinishedError):
            self._token.run_sync_soon(function)

    async def in_thread[T](self, function: Callable[[], T]) -> T:
        return cast(T, await self._trio.to_thread.run_sync(function))


class _Batch:
    """Reads of one array that coroutines asked for within one turn of a loop."""

    __slots__ = ("_array", "_awaited", "_left", "_loop", "_requests", "_waiters")

    def __init__(self, loop: Loop, array: _swath.Array) -> None:
        self._loop, self._array = loop, array
        self._requests: list[_swath.Request] = []
        self._waiters: list[Waiter] = []
        self._awaited: _swath.Awaited | None = None
        # Coroutines that wait, or have not seen yet that they need not.
        self._left = 0

    def add(self, request: _swath.Request) -> Waiter:
        waiter = self._loop.waiter()
        self._left += 1
        self._requests.append(request)
        self._waiters.append(waiter)
        return waiter

    def start(self, conversion: dict[str, Any]) -> None:
        wanted = [number for number, waiter in enumerate(self._waiters) if not waiter.done()]
        if not wanted:
            return
        if len(wanted) < len(self._waiters):
            self._waiters = [self._waiters[number] for number in wanted]
            self._requests = [self._requests[number] for number in wanted]
        try:
            self._awaited = self._array._start(self._requests, self._deliver, conversion)
        except Exception as failed:
            self._settle([failed] * len(wanted))

    def leave(self) -> None:
        """Count a coroutine that waits no more; what was started is ended once none does."""
        self._left -= 1
        if self._left == 0 and self._awaited is not None:
            self._awaited.cancel()

    def _deliver(self, results: list[Any]) -> None:
        self._loop.from_thread(partial(self._settle, results))

    def _settle(self, results: list[Any]) -> None:
        for waiter, result in zip(self._waiters, results, strict=True):
            if waiter.done():
                continue
            if isinstance(result, BaseException):
                waiter.set_exception(result)
            else:
                waiter.set_result(result)


class _Turn:
    """What a loop is to start once the tasks that are ready have had their turn."""

    __slots__ = ("batches", "key", "loop")

    def __init__(self, key: object, loop: Loop) -> None:
        self.key, self.loop = key, loop
        # By the array's identity: arrays at the same place may have been opened with other options.
        self.batches: dict[int, _Batch] = {}

    def begin(self, array: _swath.Array) -> _Batch:
        """Make the batch of an array that has none in this turn."""
        if not self.batches:
            self.loop.soon(partial(self._start, self.batches))
        batch = self.batches[id(array)] = _Batch(self.loop, array)
        return batch

    def _start(self, batches: dict[int, _Batch]) -> None:
        if self.batches is batches:
            self.batches = {}
        for batch in batches.values():
            batch.start({})


class _Turns(threading.local):
    """That of the loop that each thread runs, or has run last."""

    def __init__(self) -> None:
        self.turn: _Turn | None = None


_turns = _Turns()


def _current() -> _Turn:
    """Give the turn of the loop that runs the caller."""
    try:
        loop = get_running_loop()
    except RuntimeError:
        return _of_trio()
    turn = _turns.turn
    if turn is None or turn.key is not loop:
        # An earlier loop of this thread may go on: what it is to start is in what it is to call.
        turn = _turns.turn = _Turn(loop, _AsyncioLoop(loop))
    return turn


def _of_trio() -> _Turn:
    trio = sys.modules.get("trio")
    if trio is None:
        raise RuntimeError("no running event loop")
    token, turn = trio.lowlevel.current_trio_token(), _turns.turn
    if turn is None or turn.key is not token:
        turn = _turns.turn = _Turn(token, _TrioLoop(trio, token))
    return turn


async def read(array: _swath.Array, request: _swath.Request) -> Any:
    """Read one selection, together with all others that are asked for in this turn of the loop."""
    turn = _current()
    batch = turn.batches.get(id(array)) or turn.begin(array)
    waiter = batch.add(request)
    try:
        return await waiter
    except BaseException:
        batch.leave()
        raise


async def read_together(
    array: _swath.Array, requests: list[_swath.Request], conversion: dict[str, Any]
) -> list[Any]:
    """Read selections as one batch of their own."""
    batch = _Batch(_current().loop, array)
    waiters = [batch.add(request) for request in requests]
    batch.start(conversion)
    results, failed = [], None
    try:
        for waiter in waiters:
            # Each is looked at, so that no loop complains of what nobody looked at.
            try:
                results.append(await waiter)
            except Exception as error:
                failed = failed or error
    except BaseException:
        for waiter in waiters:
            waiter.cancel()
            batch.leave()
        raise
    if failed is not None:
        raise failed
    return results


async def in_thread[T](function: Callable[[], T]) -> T:
    """Call a function that blocks, on a thread."""
    return await _current().loop.in_thread(function)
