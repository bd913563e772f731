"""What goes to zarr-python's own pipeline: warned of, counted, or refused."""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from dataclasses import dataclass, field

import zarr

from swath._swath import QuickReads
from swath.errors import SwathWarning, UnsupportedError


class FallbackWarning(SwathWarning):
    """An array is read and written by zarr-python's own pipeline."""


@dataclass(frozen=True)
class Report:
    """What swath's pipeline has done in this process; ``print`` it to see it at a glance.

    Attributes
    ----------
    native_reads : int
        Batches of chunks that swath read from storage by itself: one for each selection that was read.
    decoded : int
        Chunks that came through a store's own methods and were decoded by swath.
    encoded : int
        Chunks that were encoded by swath.
    fallbacks : dict
        How many batches zarr-python's own pipeline read and wrote, by the reason why.
    """

    native_reads: int = 0
    decoded: int = 0
    encoded: int = 0
    fallbacks: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [
            f"native reads:    {self.native_reads} batches",
            f"native decoding: {self.decoded} chunks decoded, {self.encoded} encoded",
            f"zarr-python:     {sum(self.fallbacks.values())} batches",
        ]
        lines += [f"  {count} x {reason}" for reason, count in self.fallbacks.items()]
        return "\n".join(lines)


COUNTS: Counter[str] = Counter()
FALLBACKS: Counter[str] = Counter()
LOCK = threading.Lock()


def count(what: str, number: int = 1) -> None:
    """Count what was done."""
    with LOCK:
        COUNTS[what] += number


def report() -> Report:
    """Say what swath's pipeline has done in this process so far.

    Returns
    -------
    Report

    Examples
    --------
    >>> print(swath.zarr.report())
    native reads:    0 batches
    native decoding: 0 chunks decoded, 0 encoded
    zarr-python:     0 batches
    """
    with LOCK:
        counts = COUNTS + Counter(native_reads=QuickReads.count())
        return Report(**counts, fallbacks=dict(FALLBACKS.most_common()))


def fall_back(name: str, reason: str, detail: str = "", *, is_known: bool) -> None:
    """Note that a batch of an array goes to zarr-python's own pipeline.

    It is warned of unless the array is known to do so. With ``strict``, an `UnsupportedError` is raised
    instead.
    """
    message = f"{name}: {NOT_NATIVE}: {reason}{': ' if detail else ''}{detail}"
    note(reason, message)
    if not is_known:
        warnings.warn(message, FallbackWarning, stacklevel=2)


NOT_NATIVE = "not read and written by swath but by zarr-python's own pipeline"


def note(reason: str, message: str) -> None:
    """Count what goes to zarr-python's own pipeline; with ``strict``, raise an `UnsupportedError`."""
    if zarr.config.get("codec_pipeline.strict", False):
        raise UnsupportedError(message)
    with LOCK:
        FALLBACKS[reason] += 1
