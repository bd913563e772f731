"""Work that is done ahead of who takes it, in order and bounded."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from threading import get_ident

from swath._swath import Landing
from swath.errors import InvalidError

# Threads that wait for storage cost little. Those of work that does not wait share the cores.
THREADS_MAX = 32


def give_way() -> None:
    """Have this thread push no other off its core when it is woken; on Linux, and its share stays what it is.

    Whoever takes a batch wakes a thread to read another, and shall not wait for that one first. Threads that
    it starts are not concerned.
    """
    if hasattr(os, "SCHED_BATCH"):
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH | os.SCHED_RESET_ON_FORK, os.sched_param(0))


class Flight[R]:
    """A result on its way.

    Whoever waits for it needs it no later than its last read has ended: the thread that began it may have to
    wait for the GIL then, which a step of training can hold for its whole length.
    """

    __slots__ = ("_early", "_future", "_landing")

    def __init__(self) -> None:
        self._landing = Landing()
        self._early: list[R] = []
        self._future: Future[R] | None = None

    def announce(self, result: R) -> Landing:
        """Say what the result is once its reads have ended, which are to tell what is returned."""
        self._early.append(result)
        return self._landing

    def begin[T](self, pool: ThreadPoolExecutor, work: Callable[[T, Flight[R]], R], item: T) -> Flight[R]:
        """Have a thread do the work."""
        self._future = pool.submit(self._work, work, item)
        return self

    def _work[T](self, work: Callable[[T, Flight[R]], R], item: T) -> R:
        try:
            return work(item, self)
        finally:
            self._landing.end()

    def result(self) -> R:
        """Wait for the result, or raise what went wrong."""
        if self._landing.wait() and self._early:
            return self._early.pop()
        assert self._future is not None, "it was begun before it was asked for"
        return self._future.result()


def ahead[T, R](work: Callable[[T, Flight[R] | None], R], items: Iterable[T], depth: int) -> Generator[R]:
    """Give what `work` makes of items, in their order, with up to `depth` of them under way or ready.

    An error of `work` is raised where its result would have come. Whoever stops early waits for what is under
    way. With a depth of 0 there is no thread, and each item is worked on as it is asked for. What was given
    is not held here.

    Raises
    ------
    InvalidError
        It was begun by the process that this one was forked from, which has the threads.
    """
    if depth == 0:
        yield from (work(item, None) for item in items)
        return
    left, owner = iter(items), os.getpid()
    idents: set[int] = set()

    def start() -> None:
        idents.add(get_ident())
        give_way()

    pool = ThreadPoolExecutor(
        min(depth, THREADS_MAX),
        thread_name_prefix="swath-train",
        initializer=start,
    )
    pending: deque[Flight[R]] = deque()

    def begin(count: int) -> None:
        pending.extend(Flight[R]().begin(pool, work, item) for item in islice(left, count))

    try:
        begin(depth)
        while pending:
            if os.getpid() != owner:
                raise InvalidError("wanted batches in the process that began to read them, found a fork")
            done = [pending.popleft().result()]
            begin(1)
            yield done.pop()
    finally:
        # A forked process has none of the threads; and one of them, which collects garbage, cannot wait for
        # itself.
        is_waited_for = os.getpid() == owner and get_ident() not in idents
        pool.shutdown(wait=is_waited_for, cancel_futures=True)
