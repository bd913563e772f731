"""A loader's process: ``python -m benches.training.contender JSON`` prints one line of JSON.

It gives how long the first batch took, from before anything was opened, and the waits and steps of those
after.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benches.training.cases import Case, crops, grid
from benches.training.loaders import LOADERS
from benches.training.steps import STEPS


def run(told: dict[str, Any]) -> dict[str, Any]:
    """Load batches, and check the first one against zarr-python's reads."""
    folder = Path(told["data"])
    case = grid(folder) if told["case"] == "grid" else crops(folder, told["samples"])
    # What training needs anyway is imported before the clock starts, and what the check needs.
    __import__("torch")
    for name in ("swath", "swath.train", "zarr"):
        __import__(name)
    step, imported = STEPS[told["step"]](), resident()
    started = time.perf_counter()
    batches = LOADERS[told["loader"]](case, told["settings"])
    first = next(batches)
    first_s = time.perf_counter() - started
    wrong = differs(case, first)
    if wrong:
        return {"error": f"the first batch differs from what is stored: {wrong}"}
    del first
    if told["step"] == "nothing":
        # What was read ahead while the first batch came would count as read in no time.
        for _ in range(told["settings"].get("prefetch", 0) * max(1, told["settings"].get("workers", 1))):
            next(batches)
    waits, steps, memory = [], [], []
    begun = time.perf_counter()
    for number in range(told["batches"]):
        asked = time.perf_counter()
        batch = next(batches)
        came = time.perf_counter()
        step(batch)
        steps.append(time.perf_counter() - came)
        waits.append(came - asked)
        if told["memory"] and number % 100 == 0:
            memory.append(resident())
    return {
        "first_s": first_s,
        "seconds": time.perf_counter() - begun,
        "waits": waits,
        "steps": steps,
        "memory": memory,
        "imported": imported,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "batch_bytes": case.batch_bytes,
        "batch_size": case.batch_size,
    }


def differs(case: Case, batch: Any) -> str:
    """Return where a batch is not what zarr-python reads, normalised by NumPy; empty where it is."""
    import zarr

    for path in case.paths:
        array = zarr.open_array(path, mode="r")
        for place, number in enumerate(case.batches[0]):
            wanted = case.finished(np.asarray(array[case.index(number)]))
            found = batch[path.name][place].cpu().numpy()
            if found.shape != wanted.shape or not np.allclose(found, wanted, rtol=2e-7, atol=0):
                return f"{path.name}, sample {number}"
    return ""


def resident() -> int:
    """Return the bytes that this process has in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))), flush=True)
    # Workers that read ahead need not be waited for.
    sys.stdout.flush()
    __import__("os")._exit(0)
