"""Where a workload reads: the first corners of its selections, or the offsets of its ranges."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from benches.runner.errors import BenchError
from benches.runner.workload import Workload

type Corner = tuple[int, ...]


def corners(shape: Sequence[int], selection_shape: Sequence[int], count: int, seed: int) -> list[Corner]:
    """Return the first corners of random selections, every place equally likely; the same for the same seed.

    Raises BenchError where a selection is larger than the array.
    """
    room = [length - part for length, part in zip(shape, selection_shape, strict=True)]
    if min(room) < 0:
        raise BenchError(f"selections of {tuple(selection_shape)} do not fit an array of {tuple(shape)}")
    random = np.random.default_rng(seed)
    places = random.integers(0, np.array(room) + 1, size=(count, len(room)))
    return [tuple(map(int, place)) for place in places]


def workload_corners(workload: Workload) -> list[Corner]:
    """Return the corners that an array workload reads."""
    read = workload.read
    return corners(workload.shape, workload.selection_shape, int(read["count"]), int(read["seed"]))


def offsets(file_bytes: int, range_len: int, count: int, seed: int) -> npt.NDArray[np.uint64]:
    """Return random offsets of ranges within a file, multiples of the ranges' length as fio's are."""
    random = np.random.default_rng(seed)
    places = random.integers(0, file_bytes // range_len, size=count, dtype=np.uint64)
    return places * np.uint64(range_len)


def chunks_touched(
    corners: Iterable[Corner], selection_shape: Sequence[int], chunks: Sequence[int], once: bool
) -> int:
    """Count the chunks that selections need: each ``once``, or anew for every selection."""
    total = 0
    seen: set[Corner] = set()
    several = list(corners)
    for corner in several:
        axes = [
            range(start // chunk, (start + length - 1) // chunk + 1)
            for start, length, chunk in zip(corner, selection_shape, chunks, strict=True)
        ]
        if once and 1 < len(several):
            seen.update(itertools.product(*axes))
        else:
            total += math.prod(map(len, axes))
    return total + len(seen)


def workload_chunks(workload: Workload) -> int:
    """Return how many chunks a pass needs: one that selections share counts once in a batch."""
    once = workload.mode == "batch"
    return chunks_touched(workload_corners(workload), workload.selection_shape, workload.chunks, once)


def output_bytes(workload: Workload) -> int:
    """Return the bytes that a pass gives."""
    count = int(workload.read.get("count", 0))
    if workload.kind == "array":
        return count * math.prod(workload.selection_shape) * workload.dtype.itemsize
    if workload.kind == "ranges":
        return count * int(workload.read["range_len"])
    return int(file_lengths(workload).sum())


def file_lengths(workload: Workload) -> npt.NDArray[np.int64]:
    """Return the length of each file, all lengths between the workload's bounds equally likely."""
    data = workload.data
    random = np.random.default_rng(int(data["seed"]))
    return random.integers(int(data["bytes_min"]), int(data["bytes_max"]) + 1, size=int(data["count"]))


def file_keys(workload: Workload) -> list[str]:
    """Return the files' keys, some in each folder."""
    per_folder = int(workload.data["files_per_folder"])
    count = int(workload.data["count"])
    return [f"{index // per_folder:04}/{index:06}" for index in range(count)]
