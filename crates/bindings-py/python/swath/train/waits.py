"""How long training waited for its batches."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any


class Waits:
    """Counts of what a loader gave, and of how long it was waited for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._batches = self._samples = self._bytes = self._skipped = 0
        self._waited_s = self._longest_s = 0.0
        self._histogram: Counter[int] = Counter()

    def received(self, samples: int, size: int, waited_s: float) -> None:
        """Count a batch."""
        with self._lock:
            self._batches += 1
            self._samples += samples
            self._bytes += size
            self._waited_s += waited_s
            self._longest_s = max(self._longest_s, waited_s)
            self._histogram[int(waited_s * 1e6).bit_length()] += 1

    def skipped(self, samples: int) -> None:
        """Count samples that could not be read."""
        with self._lock:
            self._skipped += samples

    def told(self) -> dict[str, Any]:
        """Return the counts; `waits` counts those below 1, 2, 4, ... microseconds."""
        with self._lock:
            longest = max(self._histogram, default=-1)
            return {
                "batches": self._batches,
                "samples": self._samples,
                "bytes": self._bytes,
                "skipped": self._skipped,
                "waited_s": self._waited_s,
                "longest_wait_s": self._longest_s,
                "waits": [self._histogram[power] for power in range(longest + 1)],
            }
