"""Writes the files and ranges workloads' data: bytes that differ everywhere, fast."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benches.runner.selections import file_keys, file_lengths
from benches.runner.workload import Workload

BLOCK_BYTES = 64 << 20
# Every sector starts with its number, so that no two places of a file hold the same bytes.
SECTOR_BYTES = 512


def write_files(workload: Workload, root: Path) -> None:
    """Write many small files: each a part of one random block, at a place of its own."""
    random = np.random.default_rng(int(workload.data["seed"]))
    lengths = file_lengths(workload)
    block = random.bytes(BLOCK_BYTES)
    starts = random.integers(0, BLOCK_BYTES - int(lengths.max()), size=lengths.size)
    for key, start, length in zip(file_keys(workload), starts, lengths, strict=True):
        target = root / key
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(block[start : start + length])


def write_big_file(workload: Workload, target: Path) -> None:
    """Write one large file: one random block again and again, every sector with its own number."""
    file_bytes = int(workload.data["file_bytes"])
    random = np.random.default_rng(int(workload.data["seed"]))
    block = np.frombuffer(bytearray(random.bytes(min(BLOCK_BYTES, file_bytes))), dtype="<u8")
    sectors = block.reshape(-1, SECTOR_BYTES // 8)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb", buffering=0) as file:
        for start in range(0, file_bytes, BLOCK_BYTES):
            sectors[:, 0] = np.arange(sectors.shape[0], dtype=np.uint64) + np.uint64(start // SECTOR_BYTES)
            view = memoryview(block).cast("B")[: file_bytes - start]
            while view:
                view = view[file.write(view) :]
