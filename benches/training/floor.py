"""The floor: what reading, decoding, copying and converting crops takes on all cores, and no more."""

from __future__ import annotations

import json
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from benches.runner.reader_process import ReaderError, ReaderProcess
from benches.runner.registry import load_readers
from benches.training.cases import CHANNELS, Case

READER = "floor-pread"


def seconds_a_batch(case: Case, folder: Path, passes: int) -> tuple[float | None, float]:
    """Return what a batch of crops takes: pread, decode and copy by the floor program, and then the cast.

    The first is None where the program is not built.
    """
    entry = load_readers()[READER]
    if entry.missing():
        return None, converting(case, passes)
    file = folder / "cases" / "training.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    chosen = [number for batch in case.batches[:20] for number in batch]
    described = {
        "name": "training",
        "kind": "array",
        "array": str(case.paths[0].resolve()),
        "dtype": "int16",
        "selection_shape": case.shape,
        "selections": [case.corners[number] for number in chosen],
        "mode": "batch",
    }
    file.write_text(json.dumps(described))
    process = ReaderProcess(entry.full_command(file))
    try:
        if process.refusal:
            raise ReaderError(process.refusal)
        process.one_pass()
        taken = [process.one_pass().seconds for _ in range(passes)]
    finally:
        process.close()
    return statistics.median(taken) * case.batch_size / len(chosen), converting(case, passes)


def converting(case: Case, passes: int) -> float:
    """Return what NumPy takes to cast and normalise a batch that is in memory, on all cores."""
    random = np.random.default_rng(0)
    stored = random.integers(0, 4096, (case.batch_size, *case.shape)).astype(np.int16)
    target = np.empty(stored.shape, np.float32)
    shape = (CHANNELS, 1, 1)
    mean = np.asarray(case.mean, np.float32).reshape(shape)
    share = (1 / np.asarray(case.std, np.float64)).astype(np.float32).reshape(shape)

    def convert(part: int) -> None:
        np.subtract(stored[part], mean, out=target[part])
        np.multiply(target[part], share, out=target[part])

    taken = []
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for _ in range(passes + 1):
            started = time.perf_counter()
            list(pool.map(convert, range(case.batch_size)))
            taken.append(time.perf_counter() - started)
    return statistics.median(taken[1:])
