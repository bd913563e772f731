"""rechunker over zarr 2, run by dask; the second argument is how many threads."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from pathlib import Path

import numcodecs
import zarr
from rechunker import rechunk

# The process with its libraries, before any data.
RESERVED_BYTES = 110_000_000


def main(case_file: str, threads: int) -> None:
    """Rechunk, and say how."""
    case = json.loads(Path(case_file).read_text())
    # What is allowed is a task's copy; the stored forms of it come on top.
    max_mem = (case["memory_bytes"] - RESERVED_BYTES) // (2 * threads)
    plan = rechunk(
        zarr.open_array(case["source"], mode="r"),
        tuple(case["chunks"]),
        max_mem,
        case["target"],
        target_options={"compressor": numcodecs.get_codec(case["codec"])},
        temp_store=str(Path(case["scratch"]) / "temp.zarr"),
        temp_options={"compressor": None},
        executor="dask",
    )
    plan.execute(scheduler="threads", num_workers=threads)
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("rechunker", "zarr"))
    settings = f"{threads} threads, max_mem {max_mem / 1e6:.0f} MB each, temporary array without codecs"
    print(json.dumps({"version": versions, "settings": settings}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
