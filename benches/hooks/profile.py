"""Where the time of zarr-python's event loop goes while it reads through swath's pipeline.

Run in a process of its own on a case's file, it prints each part's share. The profiler makes calls of Python
functions dearer than what they call, so shares of code in Python are too large rather than too small.
"""

from __future__ import annotations

import asyncio
import cProfile
import json
import pstats
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from zarr.core.sync import sync

from benches.peers.zarr_python.reader import ZarrReader
from benches.readers.protocol import Case

ZARR, LOOP, PYTHON, NATIVE, OTHER = (
    "zarr-python",
    "asyncio",
    "swath's Python code",
    "swath's native code",
    "NumPy, the bench and others",
)
PARTS = (ZARR, LOOP, PYTHON, NATIVE, OTHER)
FOLDERS = {
    "zarr": ZARR,
    "asyncio": LOOP,
    "concurrent": LOOP,
    "selectors.py": LOOP,
    "threading.py": LOOP,
    "swath": PYTHON,
}

type Function = tuple[str, int, str]


def part_of(function: Function) -> str | None:
    """Return the part that a function belongs to; None of what is built in, which is its callers'."""
    file, _, name = function
    if file == "~":
        return NATIVE if "swath." in name else None
    # The innermost folder that says something: a checkout may lie below a folder of any name. But what is for
    # zarr-python in swath is swath's.
    words = Path(file).parts[::-1]
    for word, outer in zip(words, (*words[1:], ""), strict=True):
        if word in FOLDERS:
            return PYTHON if outer == "swath" else FOLDERS[word]
        if word == "benches":
            return OTHER
    return OTHER


def shares(profile: cProfile.Profile) -> dict[str, float]:
    """Return each part's share of the time."""
    seconds: Counter[str] = Counter()
    statistics: dict[Function, Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    for function, (_, _, own, _, callers) in statistics.items():
        part = part_of(function)
        if part is not None:
            seconds[part] += own
            continue
        for caller, (_, _, spent, _) in callers.items():
            seconds[part_of(caller) or OTHER] += spent
        # Who called it was not profiled.
        if not callers:
            seconds[OTHER] += own
    total = sum(seconds.values())
    return {part: seconds[part] / total for part in PARTS}


def measure(case: Case) -> dict[str, float]:
    """Profile one pass of a case, after one that is not."""
    reader = ZarrReader(case, "swath")
    out = np.zeros((len(case.selections), *case.selection_shape), case.dtype)
    profile = cProfile.Profile()

    async def one(number: int) -> None:
        out[number] = await reader.array.async_array.getitem(case.selections[number])

    async def profiled() -> None:
        profile.enable()
        await asyncio.gather(*map(one, range(len(out))))
        profile.disable()

    reader.read_batch(case.selections, out)
    sync(profiled())
    return shares(profile)


if __name__ == "__main__":
    print(json.dumps(measure(Case.load(Path(sys.argv[1])))))
