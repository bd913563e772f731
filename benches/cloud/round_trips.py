"""Opening a group of 200 arrays: its requests, and how many of them wait for others."""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from benches.cloud.programs import last_line
from benches.cloud.race import ZARR_PYTHON
from benches.cloud.readers.location import Location
from benches.cloud.record import CloudRecord
from benches.cloud.server import Link, Server
from benches.cloud.settings import Settings
from benches.runner.errors import BenchError

ARRAYS = 200
LATENCY_MS = 20.0
# swath and zarr-python, each with its program.
READERS = {"swath": (sys.executable, "group-swath"), "zarr": (ZARR_PYTHON, "group-zarr")}
KINDS = ("consolidated", "plain")


def prepare_groups(folder: Path) -> None:
    """Write the group with and without consolidated metadata, unless both are there."""
    if all((folder / kind / "zarr.json").exists() for kind in KINDS):
        return
    shutil.rmtree(folder, ignore_errors=True)
    group = zarr.open_group(folder / "writing", mode="w")
    for number in range(ARRAYS):
        group.create_array(f"variable_{number:03}", shape=(64, 64), chunks=(32, 32), dtype=np.float32)
    shutil.copytree(folder / "writing", folder / "consolidated")
    zarr.consolidate_metadata(folder / "consolidated")
    (folder / "writing").rename(folder / "plain")


def round_trips(record: CloudRecord, settings: Settings) -> None:
    """Open each group in new processes, and keep what each opening took."""
    folder = settings.data / "data" / "cloud-group"
    prepare_groups(folder)
    found: dict[str, Any] = {"arrays": ARRAYS, "latency_ms": LATENCY_MS, "openings": []}
    record.found["round_trips"] = found
    with Server({"groups": folder}) as server:
        server.set(Link(latency_ms=LATENCY_MS))
        for reader, (python, thing) in READERS.items():
            for kind in KINDS:
                location = Location("s3", server.endpoint, "groups", kind)
                command = [python, "-m", "benches.cloud.readers.once", thing, location.text()]
                opening: dict[str, Any] = {"reader": reader, "kind": kind, "passes": []}
                found["openings"].append(opening)
                try:
                    for _ in range(settings.passes):
                        server.take()
                        answer = last_line(command)
                        opening["passes"].append({**answer, **asdict(server.take())})
                        if answer["arrays"] != ARRAYS:
                            raise BenchError(f"wanted {ARRAYS} arrays, found {answer['arrays']}")
                except BenchError as error:
                    opening["reason"] = str(error)
                    if reader == "swath":
                        found["error"] = f"{reader}, {kind}: {error}"
