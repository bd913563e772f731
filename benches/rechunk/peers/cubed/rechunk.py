"""cubed over zarr-python: ``from_zarr``, ``rechunk``, ``store``; the second argument is how many threads."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from pathlib import Path

import cubed
import zarr
from cubed.runtime.create import create_executor

# The process with its libraries, before any data.
RESERVED_BYTES = 110_000_000
FUSED_PIPELINE = "zarr.core.codec_pipeline.FusedCodecPipeline"


def main(case_file: str, threads: int) -> None:
    """Rechunk, and say how."""
    case = json.loads(Path(case_file).read_text())
    zarr.config.set({"codec_pipeline.path": FUSED_PIPELINE, "threading.max_workers": threads})
    # What is allowed is of one task, with what the process has anyway.
    allowed = (case["memory_bytes"] - RESERVED_BYTES) // threads
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
    target = zarr.create_array(
        store=case["target"],
        shape=source.shape,
        dtype=source.dtype,
        chunks=tuple(case["chunks"]),
        compressors=case["codec"],
        zarr_format=2,
    )
    cubed.store(source.rechunk(tuple(case["chunks"])), target, executor=executor)
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("cubed", "zarr"))
    settings = (
        f"{threads} threads of {allowed / 1e6:.0f} MB and {RESERVED_BYTES / 1e6:.0f} MB reserved, "
        "intermediate arrays without codecs, fused pipeline"
    )
    print(json.dumps({"version": versions, "settings": settings}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
