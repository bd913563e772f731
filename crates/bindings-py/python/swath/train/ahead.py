"""Work that is done ahead of who takes it, in order and bounded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice

# More batches at once only share the same lanes and the same byte budget.
THREADS_MAX = 4


def ahead[T, R](work: Callable[[T], R], items: Iterable[T], depth: int) -> Generator[R]:
    """Give what `work` makes of items, in their order, with up to `depth` of them under way or ready.

    An error of `work` is raised where its result would have come. Whoever stops early waits for what is under
    way. With a depth of 0 there is no thread, and each item is worked on as it is asked for.
    """
    if depth == 0:
        yield from map(work, items)
        return
    left = iter(items)
    pool = ThreadPoolExecutor(min(depth, THREADS_MAX), thread_name_prefix="swath-train")
    pending: deque[Future[R]] = deque()
    try:
        pending.extend(pool.submit(work, item) for item in islice(left, depth))
        while pending:
            done = pending.popleft().result()
            pending.extend(pool.submit(work, item) for item in islice(left, 1))
            yield done
            # What the caller no longer holds is not held here either while it trains.
            del done
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
