"""TensorStore: all reads of a pass in one ``ts.Batch``.

The variant is the size of its cache of decoded chunks in bytes: 0, its default, or for example 256000000.
"""

from __future__ import annotations

import importlib.metadata
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, override

import tensorstore as ts

from benches.readers.protocol import ArrayReader, Case, Selection, Values, main

# From this size of a chunk on, TensorStore copies into the output faster than NumPy does afterwards: in half
# the time with chunks of 4 MB, but more slowly with chunks of 1 KiB.
COPY_CHUNK_BYTES_MIN = 256 << 10


class TensorStoreReader(ArrayReader):
    """An array opened with a cache of decoded chunks of so many bytes."""

    def __init__(self, case: Case, cache_bytes: int) -> None:
        self.version = importlib.metadata.version("tensorstore")
        self.details = f"ts.Batch, cache_pool {cache_bytes} bytes"
        spec: dict[str, Any] = {
            "driver": "zarr3" if (case.array / "zarr.json").exists() else "zarr",
            "kvstore": {"driver": "file", "path": f"{Path(case.array).resolve()}/"},
            "context": {"cache_pool": {"total_bytes_limit": cache_bytes}},
            # Else every read looks at the metadata and, where there is a cache, at each file again.
            "recheck_cached_metadata": "open",
            "recheck_cached_data": "open",
        }
        self.array: Any = ts.open(spec, open=True, read=True).result()
        chunk: Any = self.array.chunk_layout.read_chunk.shape
        self.copies = COPY_CHUNK_BYTES_MIN <= math.prod(chunk) * case.dtype.itemsize

    @override
    def read_batch(self, selections: Sequence[Selection], out: Values) -> None:
        if self.copies:
            with ts.Batch() as batch:
                sources = [self.array[selection] for selection in selections]
                copies = [
                    ts.array(target).write(source, batch=batch)
                    for target, source in zip(out, sources, strict=True)
                ]
            for copy in copies:
                copy.result()
            return
        with ts.Batch() as batch:
            pending = [self.array[selection].read(batch=batch) for selection in selections]
        for target, future in zip(out, pending, strict=True):
            target[...] = future.result()

    @override
    def read_one(self, selection: Selection, out: Values) -> None:
        out[...] = self.array[selection].read().result()


def open_array(case: Case, variant: str) -> ArrayReader:
    """Open a case's array with the variant's cache."""
    return TensorStoreReader(case, int(variant or 0))


if __name__ == "__main__":
    main(open_array)
