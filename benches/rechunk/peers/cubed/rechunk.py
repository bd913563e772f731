"""cubed over zarr-python: ``from_zarr``, ``rechunk``, ``store``; the second argument is how many threads."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from pathlib import Path
from typing import Any

import cubed
import zarr
from cubed.runtime.create import create_executor

# The process with its libraries, before any data.
RESERVED_BYTES = 110_000_000
FUSED_PIPELINE = "zarr.core.codec_pipeline.FusedCodecPipeline"


def main(case_file: str, threads: int) -> None:
    """Rechunk, and say how."""
    case = json.loads(Path(case_file).read_text())
    try:
        allowed = rechunk(case, threads)
    except ValueError as error:
        # Tasks that run beside others get too little memory for a chunk: one at a time, with all of it.
        if threads == 1 or "exceeds max_mem" not in str(error):
            raise
        threads = 1
        allowed = rechunk(case, threads)
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("cubed", "zarr"))
    settings = (
        f"{threads} threads of {allowed / 1e6:.0f} MB and {RESERVED_BYTES / 1e6:.0f} MB reserved, "
        "intermediate arrays without codecs, fused pipeline"
    )
    print(json.dumps({"version": versions, "settings": settings}), flush=True)


def rechunk(case: dict[str, Any], threads: int) -> int:
    """Rechunk by so many tasks at a time; return the memory that each was allowed, in bytes."""
    zarr.config.set({"codec_pipeline.path": FUSED_PIPELINE, "threading.max_workers": threads})
    # What is allowed is of one task, with what the process has anyway.
    allowed: int = (case["memory_bytes"] - RESERVED_BYTES) // threads
    spec = cubed.Spec(
        work_dir=case["scratch"],
        allowed_mem=allowed + RESERVED_BYTES,
        reserved_mem=RESERVED_BYTES,
        zarr_compressor=None,
    )
    executor = (
        create_executor("single-threaded")
        if threads == 1
        else create_executor("threads", {"max_workers": threads})
    )
    source = cubed.from_zarr(case["source"], spec=spec)
    # Planned before anything is written: what does not fit leaves nothing behind.
    copied = source.rechunk(tuple(case["chunks"]))
    target = zarr.create_array(
        store=case["target"],
        shape=source.shape,
        dtype=source.dtype,
        chunks=tuple(case["chunks"]),
        compressors=case["codec"],
        zarr_format=2,
    )
    cubed.store(copied, target, executor=executor)
    return allowed


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
