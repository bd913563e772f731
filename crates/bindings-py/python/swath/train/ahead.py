"""Work that is done ahead of who takes it, in order and bounded."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from itertools import count, islice
from time import monotonic
from weakref import WeakSet

from swath._swath import Landing, Turns
from swath.errors import InvalidError

# Threads that wait for storage cost little. Those of work that does not wait share the cores.
THREADS_MAX = 32

# Whoever takes a result that was there goes on with it in less than this, and lets go of the last one: each
# tensor of torch's that is let go of gives the GIL away, and has to wait where another thread takes it.
TURN_HELD_BACK_S = 0.001

# Reads want the cores. Of a step that has the GIL a read is planned as soon as it gives that up, which may be
# milliseconds before it ends and the next batch is asked for.
READ_HELD_BACK_S = 0.010

# But nothing waits for longer than this share of a step: a loop of short ones needs its batches sooner.
STEP_SHARE = 0.1

_numbers = count()


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

    __slots__ = ("_early", "_error", "_landing", "_late")

    def __init__(self, held_back_s: float) -> None:
        self._landing = Landing(held_back_s)
        self._early: list[R] = []
        self._late: list[R] = []
        self._error: BaseException | None = None

    @property
    def is_there(self) -> bool:
        """Whether `result` would not wait."""
        return self._landing.is_there

    def announce(self, result: R) -> Landing:
        """Say what the result is once its reads have ended, which are to tell what is returned."""
        self._early.append(result)
        return self._landing

    def fly[T](self, work: Callable[[T, Flight[R]], R], item: T) -> None:
        """Do the work."""
        try:
            self._late.append(work(item, self))
        except BaseException as error:
            self._error = error
        finally:
            self._landing.end()

    def result(self) -> R:
        """Wait for the result, or raise what went wrong; once."""
        if self._landing.wait() and self._early:
            return self._early.pop()
        if self._error is not None:
            try:
                raise self._error
            finally:
                # Its traceback has this frame, which has the flight.
                self._error = None
        return self._late.pop()


class Crew[T, R]:
    """Threads that work on items in the order in which they were added.

    Parameters
    ----------
    work : callable
        Called with each item and its flight.
    size : int
        How many threads there are at most.
    """

    def __init__(self, work: Callable[[T, Flight[R]], R], size: int) -> None:
        self._work = work
        self._size = size
        self._owner = os.getpid()
        self._turns = Turns()
        self._waiting: deque[tuple[T, Flight[R]]] = deque()
        self._threads: list[threading.Thread] = []
        _at_exit(self._turns)

    def check(self) -> None:
        """Raise where this process was forked from the one that has the threads."""
        if os.getpid() != self._owner:
            raise InvalidError("wanted batches in the process that began to read them, found a fork")

    def add(self, items: Iterable[T], bearable_s: float = 0.0) -> list[Flight[R]]:
        """Begin to work on items, and to read what was planned, each up to so many seconds later."""
        flights = []
        for item in items:
            flight = Flight[R](min(READ_HELD_BACK_S, bearable_s))
            self._waiting.append((item, flight))
            flights.append(flight)
        if not self._turns.give(len(flights), min(TURN_HELD_BACK_S, bearable_s)):
            raise InvalidError("wanted batches before Python ends, found it ending")
        while len(self._threads) < min(len(flights), self._size):
            self._start()
        return flights

    def end(self) -> None:
        """Begin nothing more, and wait for what is under way."""
        # A forked process has none of the threads, and whatever they held then is held for ever.
        if os.getpid() != self._owner:
            return
        self._waiting.clear()
        self._turns.end()
        # One of them, which collects garbage, cannot wait for itself.
        if threading.current_thread() not in self._threads:
            for thread in self._threads:
                thread.join()

    def _start(self) -> None:
        told = (self._turns, self._waiting, self._work)
        thread = threading.Thread(target=_run, args=told, name=f"swath-train-{next(_numbers)}", daemon=False)
        thread.start()
        self._threads.append(thread)


def _run[T, R](turns: Turns, waiting: deque[tuple[T, Flight[R]]], work: Callable[[T, Flight[R]], R]) -> None:
    """Work, on a thread, which does not hold the crew: it ends where nobody else holds that."""
    give_way()
    while turns.take():
        try:
            item, flight = waiting.popleft()
        except IndexError:
            return
        flight.fly(work, item)
        # What was made of it is the taker's alone.
        del item, flight


_open: WeakSet[Turns] = WeakSet()


def _at_exit(turns: Turns) -> None:
    """End turns that nobody ended when Python ends, which waits for threads first."""
    _open.add(turns)


def _end_all() -> None:
    for turns in list(_open):
        turns.end()


# What Python's own pools of threads use; `atexit` comes after threads were waited for.
threading._register_atexit(_end_all)  # type: ignore[attr-defined]
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open.clear)


def ahead[T, R](work: Callable[[T, Flight[R] | None], R], items: Iterable[T], depth: int) -> Generator[R]:
    """Give what `work` makes of items, in their order, with up to `depth` of them under way or ready.

    An error of `work` is raised where its result would have come. Whoever stops early waits for what is under
    way. With a depth of 0 there is no thread, and each item is worked on as it is asked for. What was given
    is not held here. Where a result was there when it was asked for, the next item is begun a little later,
    and read later still: until then no thread of these wants the GIL, or a core.

    Raises
    ------
    InvalidError
        It was begun by the process that this one was forked from, which has the threads.
    """
    if depth == 0:
        yield from (work(item, None) for item in items)
        return
    left = iter(items)
    crew = Crew[T, R](work, min(depth, THREADS_MAX))
    try:
        pending = deque(crew.add(islice(left, depth)))
        step_s = 0.0
        while pending:
            crew.check()
            flight = pending.popleft()
            bearable_s = STEP_SHARE * step_s if flight.is_there else 0.0
            done = [flight.result()]
            del flight
            pending.extend(crew.add(islice(left, 1), bearable_s))
            given_s = monotonic()
            yield done.pop()
            step_s = monotonic() - given_s
    finally:
        crew.end()
