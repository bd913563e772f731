"""Writes the data and the case files of workloads, unless they are there."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benches.runner.array_data import write_array
from benches.runner.errors import BenchError
from benches.runner.plain_data import write_big_file, write_files
from benches.runner.selections import file_keys, offsets, workload_corners
from benches.runner.workload import Case

# Beyond the data: what a file system wants to keep free, and the case files.
SPARE_BYTES = 1 << 30
STAMP = "prepared.json"


def prepare(cases: Sequence[Case], root: Path) -> None:
    """Make the data and case files of every case; say what is written, how large and how long."""
    missing = {case.data_folder(root): case for case in cases if not is_prepared(case, root)}
    check_free_space(list(missing.values()), root)
    for folder, case in missing.items():
        print(f"Preparing {folder.name} (once) ...", end=" ", flush=True)
        started = time.perf_counter()
        stored_bytes = write_data(case, folder)
        seconds = time.perf_counter() - started
        print(f"{case.data_bytes() / 1e6:.0f} MB in {stored_bytes / 1e6:.0f} MB, {seconds:.0f} s", flush=True)
    for case in cases:
        write_case_file(case, root)


def is_prepared(case: Case, root: Path) -> bool:
    """Say whether the case's data was written as its workload now describes it."""
    return stamp(case, root).get("hash") == case.data_hash


def stamp(case: Case, root: Path) -> dict[str, Any]:
    """Return what was noted when the case's data was written; empty where it is not there."""
    path = case.data_folder(root) / STAMP
    if not path.exists():
        return {}
    noted: dict[str, Any] = json.loads(path.read_text())
    return noted


def check_free_space(cases: Sequence[Case], root: Path) -> None:
    """Raise BenchError where the data would not fit on the disk."""
    if not cases:
        return
    root.mkdir(parents=True, exist_ok=True)
    needed = sum(case.data_bytes() for case in cases) + SPARE_BYTES
    free = shutil.disk_usage(root).free
    print(
        f"Data to prepare: up to {needed / 1e9:.1f} GB in {root}, which has {free / 1e9:.1f} GB free",
        flush=True,
    )
    if free < needed:
        raise BenchError(f"{root} needs {needed / 1e9:.1f} GB free and has {free / 1e9:.1f} GB: see --data")


def write_data(case: Case, folder: Path) -> int:
    """Write a case's data anew and return its bytes; one that is stopped half-way leaves no stamp behind."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if case.workload.kind == "array":
        write_array(case.workload, case.inner_order, folder / "array.zarr")
    elif case.workload.kind == "files":
        write_files(case.workload, folder)
    else:
        write_big_file(case.workload, folder / "big")
    stored_bytes = sum(file.stat().st_size for file in data_files(folder))
    # Dirty pages would be neither warm nor cold in the passes that follow.
    os.sync()
    (folder / STAMP).write_text(json.dumps({"hash": case.data_hash, "stored_bytes": stored_bytes}))
    return stored_bytes


def data_files(folder: Path) -> list[Path]:
    """List the files that hold data."""
    return sorted(file for file in folder.rglob("*") if file.is_file() and file.name != STAMP)


def write_case_file(case: Case, root: Path) -> None:
    """Write what readers are told of a case."""
    workload = case.workload
    folder = case.data_folder(root).resolve()
    described: dict[str, Any] = {"name": case.name, "kind": workload.kind}
    target = case.case_file(root)
    target.parent.mkdir(parents=True, exist_ok=True)
    if workload.kind == "array":
        described |= {
            "array": str(folder / "array.zarr"),
            "dtype": workload.dtype.name,
            "selection_shape": workload.selection_shape,
            "selections": workload_corners(workload),
            "mode": workload.mode,
        }
    elif workload.kind == "files":
        described |= {"root": str(folder), "keys": file_keys(workload)}
    else:
        read = workload.read
        range_len = int(read["range_len"])
        places = offsets(int(workload.data["file_bytes"]), range_len, int(read["count"]), int(read["seed"]))
        case.offsets_file(root).write_bytes(places.astype("<u8").tobytes())
        described |= {
            "root": str(folder),
            "keys": ["big"],
            "offsets_file": str(case.offsets_file(root).resolve()),
            "range_len": range_len,
        }
    target.write_text(json.dumps(described))
