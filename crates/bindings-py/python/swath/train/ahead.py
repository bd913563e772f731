"""Work that is done ahead of who takes it, in order and bounded."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from threading import get_ident

from swath.errors import InvalidError

# More batches at once only share the same lanes and the same byte budget.
THREADS_MAX = 4


def ahead[T, R](work: Callable[[T], R], items: Iterable[T], depth: int) -> Generator[R]:
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
        yield from map(work, items)
        return
    left, owner = iter(items), os.getpid()
    idents: set[int] = set()
    pool = ThreadPoolExecutor(
        min(depth, THREADS_MAX),
        thread_name_prefix="swath-train",
        initializer=lambda: idents.add(get_ident()),
    )
    pending: deque[Future[R]] = deque()
    try:
        pending.extend(pool.submit(work, item) for item in islice(left, depth))
        while pending:
            if os.getpid() != owner:
                raise InvalidError("wanted batches in the process that began to read them, found a fork")
            done = [pending.popleft().result()]
            pending.extend(pool.submit(work, item) for item in islice(left, 1))
            yield done.pop()
    finally:
        # A forked process has none of the threads; and one of them, which collects garbage, cannot wait for
        # itself.
        is_waited_for = os.getpid() == owner and get_ident() not in idents
        pool.shutdown(wait=is_waited_for, cancel_futures=True)
