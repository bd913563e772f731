"""A line that says how training goes, over and over."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

# More often is not read.
SECONDS_BETWEEN = 1.0


class Line:
    """Tells of a loop about once a second, and when it ends.

    Parameters
    ----------
    told : bool or callable
        Whether a line is written to stderr, over the one before; or what is called with each text.
    """

    def __init__(self, told: bool | Callable[[str], object]) -> None:
        self._write = told if callable(told) else _written if told else None
        self._next_s = monotonic()

    def tell(self, epoch: int, batch: int, batches: int, stats: Callable[[], Mapping[str, Any]]) -> None:
        """Say that so many batches of an epoch came, if it is time again or it was the last one."""
        now_s = monotonic()
        if self._write is None or (now_s < self._next_s and batch < batches):
            return
        self._next_s = now_s + SECONDS_BETWEEN
        self._write(line(epoch, batch, batches, stats()))


def line(epoch: int, batch: int, batches: int, stats: Mapping[str, Any]) -> str:
    """Return the text of `Loader.stats` in a line."""
    passed_s, p99_ms = stats["waited_s"] + stats["trained_s"], stats["p99_wait_s"] * 1e3
    waited = 100 * stats["waited_s"] / passed_s if passed_s else 0.0
    return (
        f"epoch {epoch}: batch {batch}/{batches}, {stats['samples_per_s']:.4g} samples/s, "
        f"{stats['bytes_per_s'] / 1e9:.3g} GB/s, waited {waited:.1f} %, p99 {p99_ms:.3g} ms"
    )


def _written(text: str) -> None:
    print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)
