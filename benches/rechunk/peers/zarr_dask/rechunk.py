"""dask over zarr-python: ``from_zarr``, ``rechunk``, ``to_zarr``, in the way that the second argument names.

``tasks`` and ``p2p`` run on a worker with two threads, in this process, that may have what the limit leaves
beside the scheduler and the client; it spills to the scratch folder. ``threads`` is dask without distributed,
which knows no limit of memory.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import dask
import dask.array
import dask.config
import zarr

# The process with its libraries, before any data.
RESERVED_BYTES = 150_000_000
FUSED_PIPELINE = "zarr.core.codec_pipeline.FusedCodecPipeline"
THREADS = 2


def cluster(case: dict[str, Any]) -> AbstractContextManager[Any]:
    """Start a worker in this process."""
    from distributed import Client

    # A worker that holds so little is paused at four fifths of it, and a rechunk by p2p then stands for ever.
    memory = {"distributed.worker.memory.pause": False, "distributed.worker.memory.terminate": False}
    dask.config.set({"temporary-directory": case["scratch"], **memory})
    client: AbstractContextManager[Any] = Client(
        n_workers=1,
        threads_per_worker=THREADS,
        processes=False,
        dashboard_address=None,
        memory_limit=case["memory_bytes"],
        local_directory=case["scratch"],
    )
    return client


def main(case_file: str, method: str) -> None:
    """Rechunk, and say how."""
    case = json.loads(Path(case_file).read_text())
    is_alone = method == "threads"
    zarr.config.set({"codec_pipeline.path": FUSED_PIPELINE, "threading.max_workers": THREADS})
    block_bytes = (case["memory_bytes"] - RESERVED_BYTES) // (4 * THREADS)
    dask.config.set({"array.chunk-size": block_bytes})
    if is_alone:
        dask.config.set(scheduler="threads", num_workers=THREADS)
    with nullcontext() if is_alone else cluster(case):
        source = dask.array.from_zarr(zarr.open_array(case["source"], mode="r"))
        target = zarr.create_array(
            store=case["target"],
            shape=source.shape,
            dtype=source.dtype,
            chunks=tuple(case["chunks"]),
            compressors=case["codec"],
            zarr_format=2,
        )
        way = "tasks" if is_alone else method
        source.rechunk(tuple(case["chunks"]), method=way, block_size_limit=block_bytes).to_zarr(target)
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("dask", "zarr"))
    limit = "no limit" if is_alone else f"memory_limit {case['memory_bytes'] / 1e6:.0f} MB"
    settings = f"{way}, {THREADS} threads, {limit}, blocks of {block_bytes / 1e6:.0f} MB, fused pipeline"
    print(json.dumps({"version": versions, "settings": settings}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
