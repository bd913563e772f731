"""How many stored bytes a case's selections want: those of each chunk once, as the shards' indexes tell."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benches.runner.selections import Corner, workload_corners
from benches.runner.workload import Case

CHECKSUM_BYTES = 4
MISSING = (1 << 64) - 1


def wanted_bytes(case: Case, root: Path) -> int:
    """Return the stored bytes of the chunks that a pass over a sharded array needs."""
    workload = case.workload
    shards = tuple(workload.data["shards"])
    inside = [shard // chunk for shard, chunk in zip(shards, workload.chunks, strict=True)]
    wanted: dict[Corner, set[Corner]] = {}
    for chunk in chunks(workload_corners(workload), workload.selection_shape, workload.chunks):
        shard = tuple(place // count for place, count in zip(chunk, inside, strict=True))
        within = tuple(place % count for place, count in zip(chunk, inside, strict=True))
        wanted.setdefault(shard, set()).add(within)
    array = case.data_folder(root) / "array.zarr"
    total = 0
    for shard, places in wanted.items():
        lengths = shard_lengths(array / "c" / Path(*map(str, shard)), inside)
        total += sum(int(lengths[place]) for place in places)
    return total


def chunks(
    corners: Sequence[Corner], selection_shape: Sequence[int], chunk_shape: Sequence[int]
) -> set[Corner]:
    """Return the chunks that selections touch."""
    found: set[Corner] = set()
    for corner in corners:
        axes = [
            range(start // chunk, (start + length - 1) // chunk + 1)
            for start, length, chunk in zip(corner, selection_shape, chunk_shape, strict=True)
        ]
        found.update(itertools.product(*axes))
    return found


def shard_lengths(path: Path, inside: Sequence[int]) -> npt.NDArray[np.uint64]:
    """Return the stored bytes of each inner chunk, as the index at a shard's end has them, or 0."""
    count = math.prod(inside)
    with path.open("rb") as file:
        file.seek(-(16 * count + CHECKSUM_BYTES), 2)
        index = np.frombuffer(file.read(16 * count), "<u8").reshape(*inside, 2)
    return np.where(index[..., 0] == MISSING, np.uint64(0), index[..., 1])
