"""A writer's process: holds the values, and writes them to each folder that is named to it.

Each folder has the array's document already. Opening it is part of the time; a line of JSON answers.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Values = np.ndarray[Any, Any]


def swath(target: Path, values: Values) -> None:
    """Write by swath."""
    import swath

    swath.open_array(target, mode="r+")[...] = values


def zarr_python(target: Path, values: Values) -> None:
    """Write by zarr-python's default pipeline."""
    import zarr

    zarr.open_array(target, mode="r+")[...] = values


def zarr_fused(target: Path, values: Values) -> None:
    """Write by zarr-python's fused pipeline."""
    import zarr

    from demo.readers import FUSED_PIPELINE

    with zarr.config.set({"codec_pipeline.path": FUSED_PIPELINE}):
        zarr.open_array(target, mode="r+")[...] = values


def tensorstore(target: Path, values: Values) -> None:
    """Write by TensorStore, which syncs no file either when told not to."""
    import tensorstore

    spec = {
        "driver": "zarr3",
        "kvstore": {"driver": "file", "path": str(target)},
        "context": {"file_io_sync": False},
    }
    tensorstore.open(spec).result().write(values).result()


def zarrista(target: Path, values: Values) -> None:
    """Write by zarrs, through zarrista."""
    from zarrista import Array
    from zarrista.store import FilesystemStore

    Array.open(FilesystemStore(str(target))).store_array_subset(..., values)


WRITERS: dict[str, tuple[str, Callable[[Path, Values], None]]] = {
    "swath": ("swath", swath),
    "zarr-default": ("zarr", zarr_python),
    "zarr-fused": ("zarr", zarr_fused),
    "tensorstore": ("tensorstore", tensorstore),
    "zarrista": ("zarrista", zarrista),
}


def memory_bytes(name: str) -> int:
    """Return what /proc says of this process's memory: ``VmRSS``, or its peak, ``VmHWM``."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"wanted {name} in /proc/self/status, found none")


def cpu_seconds() -> float:
    """Return what all threads of the process have taken."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main(name: str, case_file: str) -> None:
    """Answer each line until there are no more."""
    package, write = WRITERS[name]
    case = json.loads(Path(case_file).read_text())
    values = np.fromfile(case["values"], case["dtype"]).reshape(case["shape"])
    print(json.dumps({"ready": True, "version": importlib.metadata.version(package)}), flush=True)
    for line in sys.stdin:
        # The peak begins anew here (Linux: proc(5), clear_refs).
        Path("/proc/self/clear_refs").write_text("5")
        before, cpu, started = memory_bytes("VmRSS"), cpu_seconds(), time.perf_counter()
        write(Path(line.strip()), values)
        seconds = time.perf_counter() - started
        answer = {
            "seconds": seconds,
            "cpu_seconds": cpu_seconds() - cpu,
            "memory_bytes": memory_bytes("VmHWM") - before,
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
    # Runtimes of some libraries take their time to end.
    os._exit(0)
