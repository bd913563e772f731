"""What is rechunked: one array of 2 GB in several layouts, and the check of what came of it."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from benches.runner.fields import Values
from benches.runner.workload import Workload, load_workloads
from demo.readers import FUSED_PIPELINE

# Whose law the values follow: counts of a 12-bit sensor.
VALUES_OF = "sat_blosc"

BLOSC = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 2, "blocksize": 0}
ZSTD = {"id": "zstd", "level": 1}

# Time, channel, y, x: 2.01 GB of int16.
SHAPE = (96, 10, 1024, 1024)


@dataclass(frozen=True)
class RechunkCase:
    """An array and the chunks that it is to have, v2: zarr 2, which rechunker needs, reads no other."""

    name: str
    shape: tuple[int, ...]
    source_chunks: tuple[int, ...]
    target_chunks: tuple[int, ...]
    codec: Mapping[str, Any]
    folder: Path

    @property
    def source(self) -> Path:
        """Where the array lies."""
        return self.folder / f"{self.name}.zarr"

    @property
    def total_bytes(self) -> int:
        """Return the size of all elements."""
        return math.prod(self.shape) * np.dtype(np.int16).itemsize

    def text(self) -> str:
        """Say what is to become what."""
        chunks = [" x ".join(map(str, one)) for one in (self.source_chunks, self.target_chunks)]
        return f"chunks {chunks[0]} to {chunks[1]}, {self.codec['id']}"

    def prepare(self) -> None:
        """Write the array, unless it is there."""
        if self.source.exists():
            return
        partial = self.source.with_suffix(".new")
        shutil.rmtree(partial, ignore_errors=True)
        array = zarr.create_array(
            store=partial,
            shape=self.shape,
            dtype="int16",
            chunks=self.source_chunks,
            compressors=self.codec,
            zarr_format=2,
        )
        workload: Workload = load_workloads()[VALUES_OF]
        data = workload.data
        made = Values(self.shape, np.dtype(np.int16), int(data["seed"]), data["values"])
        for block, content in made.blocks(self.source_chunks):
            array[block] = content
        partial.rename(self.source)

    def describe(self, target: Path, scratch: Path, memory_bytes: int, case_path: Path) -> None:
        """Write the case as contenders read it."""
        case = {
            "source": str(self.source),
            "target": str(target),
            "scratch": str(scratch),
            "memory_bytes": memory_bytes,
            "chunks": list(self.target_chunks),
            "codec": dict(self.codec),
        }
        case_path.write_text(json.dumps(case))

    def wrong(self, target: Path) -> str:
        """Say what is wrong with a copy as zarr-python reads it; nothing where it is what was wanted."""
        try:
            copy = zarr.open_array(target, mode="r")
        except (FileNotFoundError, ValueError) as error:
            return f"it wrote no array: {error}"
        if (copy.shape, copy.chunks) != (self.shape, self.target_chunks):
            return f"it wrote {copy.shape} in chunks of {copy.chunks}"
        source = zarr.open_array(self.source, mode="r")
        # Boxes that are whole chunks of both along the first axis, and everything along the others.
        rows = math.lcm(self.source_chunks[0], self.target_chunks[0])
        for start in range(0, self.shape[0], rows):
            part = slice(start, start + rows)
            with zarr.config.set({"codec_pipeline.path": FUSED_PIPELINE}):
                is_equal = np.array_equal(np.asarray(source[part]), np.asarray(copy[part]))
            if not is_equal:
                return f"its elements differ from the source's between {start} and {start + rows}"
        return ""


def cases(folder: Path, shape: tuple[int, ...] = SHAPE) -> list[RechunkCase]:
    """Give the cases, with their data in a folder; chunks are no longer than a smaller ``shape``."""

    def case(
        name: str, source: tuple[int, ...], target: tuple[int, ...], codec: Mapping[str, Any]
    ) -> RechunkCase:
        clipped = [
            tuple(min(pair) for pair in zip(chunks, shape, strict=True)) for chunks in (source, target)
        ]
        return RechunkCase(name, shape, clipped[0], clipped[1], codec, folder)

    return [
        case("channels_blosc", (24, 1, 1024, 1024), (1, 10, 1024, 1024), BLOSC),
        case("tiles_zstd", (24, 1, 256, 256), (1, 10, 256, 256), ZSTD),
        case("series_blosc", (1, 10, 1024, 1024), (96, 1, 64, 64), BLOSC),
    ]
