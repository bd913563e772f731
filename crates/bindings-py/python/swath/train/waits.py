"""How long training waited for its batches."""

from __future__ import annotations

import threading
from collections import Counter, deque
from typing import Any

from swath.train.report import Turn

# Batches whose times are kept, for a picture of them.
TURNS_KEPT = 1000


class Waits:
    """Counts of what a loader gave, and of how long it was waited for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._batches = self._samples = self._bytes = self._skipped = 0
        self._waited_s = self._trained_s = self._longest_s = 0.0
        self._histogram: Counter[int] = Counter()
        self._turns: deque[Turn] = deque(maxlen=TURNS_KEPT)

    def received(self, samples: int, size: int, asked_s: float, came_s: float) -> None:
        """Count a batch, by when it was asked for and when it came."""
        waited_s = came_s - asked_s
        with self._lock:
            self._batches += 1
            self._samples += samples
            self._bytes += size
            self._waited_s += waited_s
            self._longest_s = max(self._longest_s, waited_s)
            self._histogram[int(waited_s * 1e6).bit_length()] += 1
            self._turns.append((asked_s, came_s, came_s))

    def returned(self, now_s: float) -> None:
        """Count how long the last batch was trained on, until now."""
        with self._lock:
            asked_s, came_s, _ = self._turns[-1]
            self._trained_s += now_s - came_s
            self._turns[-1] = (asked_s, came_s, now_s)

    def skipped(self, samples: int) -> None:
        """Count samples that could not be read."""
        with self._lock:
            self._skipped += samples

    def turns(self) -> list[Turn]:
        """Return the times of the last batches, oldest first."""
        with self._lock:
            return list(self._turns)

    def told(self) -> dict[str, Any]:
        """Return the counts; `waits` counts those below 1, 2, 4, ... microseconds."""
        with self._lock:
            longest = max(self._histogram, default=-1)
            passed_s = self._waited_s + self._trained_s
            return {
                "batches": self._batches,
                "samples": self._samples,
                "bytes": self._bytes,
                "skipped": self._skipped,
                "waited_s": self._waited_s,
                "trained_s": self._trained_s,
                "longest_wait_s": self._longest_s,
                "p99_wait_s": _p99([came_s - asked_s for asked_s, came_s, _ in self._turns]),
                "samples_per_s": self._samples / passed_s if passed_s else 0.0,
                "bytes_per_s": self._bytes / passed_s if passed_s else 0.0,
                "waits": [self._histogram[power] for power in range(longest + 1)],
            }


def _p99(waits: list[float]) -> float:
    """Return what 99 of 100 waits were not longer than; 0 of none."""
    return sorted(waits)[-(-99 * len(waits) // 100) - 1] if waits else 0.0
