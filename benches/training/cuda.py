"""What a card is fed with: copies from the loader's pinned memory, and steps that take a gigabyte a second.

``python -m benches.training.cuda JSON`` is the process that measures; it prints one line of JSON.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benches.training.cases import Case, crops
from benches.training.contender import differs
from benches.training.loaders import swath
from benches.training.race import process, summary

MODULE = "benches.training.cuda"
PREFETCH = 4
SAMPLES = 32 * 40
# Batches that are copied again and again: more than any cache holds, and little enough to be held twice.
HELD = 4
COPIES = 20
# Steps ask for a little more than what has to be sustained, which waits are a part of.
WANTED_BYTES_PER_S, STEP_BYTES_PER_S = 1.0e9, 1.05e9


def cuda(folder: Path, steps: int, passes: int) -> dict[str, Any]:
    """Measure in a process of its own; where there is no card, only say so."""
    reason = missing()
    if reason:
        print(f"cuda: skipped, {reason}", flush=True)
        return {"skipped": reason}
    told = {"data": str(folder.resolve()), "device": "cuda", "steps": steps, "passes": passes}
    found = process(MODULE, told)
    print(f"cuda: {found}", flush=True)
    return found


def missing() -> str:
    """Return why there is no card to measure; empty where there is one."""
    if find_spec("torch") is None:
        return "torch is not installed"
    import torch

    return "" if torch.cuda.is_available() else f"torch {torch.__version__} finds no CUDA"


def measure(case: Case, device: str, steps: int, passes: int) -> dict[str, Any]:
    """Measure copies and steps on a device; the CPU stands for a card in tests, and shows nothing."""
    import torch

    target = torch.device(device)
    is_card = target.type == "cuda"
    copies = transfers(case, target, passes)
    if "error" in copies:
        return copies
    fed = sustained(case, target, steps)
    if "error" in fed:
        return fed
    name = torch.cuda.get_device_name(target) if is_card else "CPU"
    return {"device": name, "torch": torch.__version__, "copies": copies, "steps": fed}


def transfers(case: Case, device: Any, passes: int) -> dict[str, Any]:
    """Copy batches as the loader gives them, and torch's own memory of the same bytes, in turn.

    Returns
    -------
    dict
        Bytes a second of both (`loader`, `torch`), medians of `passes`; or an `error`.
    """
    import torch

    is_card = device.type == "cuda"
    loaded = swath(case, {"prefetch": PREFETCH, "to": "torch"})
    batches = [next(loaded) for _ in range(HELD)]
    wrong = differs(case, batches[0])
    if wrong:
        return {"error": f"the first batch differs from what is stored: {wrong}"}
    theirs = [tensor for batch in batches for tensor in batch.values()]
    if is_card and not all(tensor.is_pinned() for tensor in theirs):
        return {"error": "batches are not in pinned memory"}
    own = []
    for tensor in theirs:
        copy = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=is_card)
        own.append(copy.copy_(tensor))
    targets = [torch.empty_like(tensor, device=device) for tensor in theirs]
    taken: dict[str, list[float]] = {"loader": [], "torch": []}
    for turn in range(passes + 1):
        for name, sources in (("loader", theirs), ("torch", own)):
            for tensor in targets:
                tensor.zero_()
            seconds = copied_s(sources, targets, device)
            if not all(
                torch.equal(target.cpu(), source) for target, source in zip(targets, own, strict=True)
            ):
                return {"error": f"what was copied from memory of {name} differs"}
            # The first turn maps memory and starts the device.
            if turn:
                taken[name].append(seconds)
    size = sum(tensor.nbytes for tensor in theirs) * COPIES
    return {"bytes": size, "passes": passes} | {
        name: size / statistics.median(seconds) for name, seconds in taken.items()
    }


def copied_s(sources: list[Any], targets: list[Any], device: Any) -> float:
    """Return how long copies of all of them take, `COPIES` times over, until the device has them."""
    synchronize = synchronizer(device)
    synchronize()
    started = time.perf_counter()
    for _ in range(COPIES):
        for source, target in zip(sources, targets, strict=True):
            target.copy_(source, non_blocking=True)
    synchronize()
    return time.perf_counter() - started


def sustained(case: Case, device: Any, steps: int) -> dict[str, Any]:
    """Feed steps on a device, each as long as its batch's bytes take at `STEP_BYTES_PER_S`.

    A step sums the bits of its batch on the device, waits for that, and sleeps for what is left of it. Sums
    are those of batches in host memory, read without the device and without reading ahead.

    Returns
    -------
    dict
        `bytes_per_s` with all waits, and the waits as `summary` has them; or an `error`.
    """
    wanted = [bits(batch) for batch in one_epoch(case)]
    started = time.perf_counter()
    batches = swath(case, {"prefetch": PREFETCH, "to": str(device)})
    first = next(batches)
    first_s = time.perf_counter() - started
    if any(tensor.device.type != device.type for tensor in first.values()):
        return {"error": "batches are not on the device"}
    sums = [bits(first)]
    wrong = differs(case, first)
    if wrong:
        return {"error": f"the first batch differs from what is stored: {wrong}"}
    del first
    synchronize = synchronizer(device)
    step_s, waits, taken = case.batch_bytes / STEP_BYTES_PER_S, [], []
    synchronize()
    begun = time.perf_counter()
    for _ in range(steps):
        asked = time.perf_counter()
        batch = next(batches)
        came = time.perf_counter()
        sums.append(bits(batch))
        synchronize()
        time.sleep(max(0.0, came + step_s - time.perf_counter()))
        waits.append(came - asked)
        taken.append(time.perf_counter() - came)
    seconds = time.perf_counter() - begun
    for number, found in enumerate(sums):
        if not found.cpu().equal(wanted[number % len(wanted)]):
            return {"error": f"batch {number} differs on the device"}
    told = summary({"first_s": first_s, "waits": waits, "steps": taken})
    return told | {"count": steps, "bytes_per_s": case.batch_bytes * steps / seconds}


def one_epoch(case: Case) -> Iterator[Any]:
    """Give each batch of the case once, in host memory, each read as it is asked for."""
    from torch import from_numpy

    batches = swath(case, {"prefetch": 0, "to": "numpy"})
    for _ in case.batches:
        yield {name: from_numpy(array) for name, array in next(batches).items()}


def bits(batch: Any) -> Any:
    """Return a sum over the bits of each sample, which is the same in any order: int64, on their device."""
    import torch

    sums = [tensor.view(torch.int32).flatten(1).sum(1, dtype=torch.int64) for tensor in batch.values()]
    return torch.stack(sums)


def synchronizer(device: Any) -> Callable[[], None]:
    """Return what waits for all that a device was given."""
    import torch

    return (lambda: torch.cuda.synchronize(device)) if device.type == "cuda" else (lambda: None)


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    done = measure(crops(Path(asked["data"]), SAMPLES), asked["device"], asked["steps"], asked["passes"])
    print(json.dumps(done), flush=True)
