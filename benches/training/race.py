"""Processes of loaders, one after the other, in turns."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benches.runner.registry import ROOT

# The slowest loader's slowest pass takes minutes; this is a hang.
SECONDS_MAX = 1800.0


@dataclass(frozen=True)
class Contender:
    """A loader with settings, as `benches.training.loaders` has them."""

    name: str
    loader: str
    settings: dict[str, Any]

    @property
    def told(self) -> str:
        """The settings, for people."""
        return ", ".join(f"{name}={value}" for name, value in self.settings.items())


@dataclass
class Row:
    """What a contender did, pass by pass; ``reason`` is why there is nothing."""

    contender: str
    told: str
    reason: str = ""
    passes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def batch_s(self) -> float | None:
        """The median time from one batch to the next."""
        found = [one["seconds"] / len(one["waits"]) for one in self.passes]
        return statistics.median(found) if found else None

    @property
    def first_s(self) -> float | None:
        """The median time of the first batch."""
        return statistics.median(one["first_s"] for one in self.passes) if self.passes else None


def contenders(case: str) -> list[Contender]:
    """Return who takes part."""
    forked = {"start": "forkserver", "prefetch": 2}
    found = [
        Contender("swath", "swath", {"prefetch": 4}),
        *(
            Contender(f"TensorStore, {workers} workers", "tensorstore", {"workers": workers, **forked})
            for workers in (0, 1, 2, 4)
        ),
        Contender("zarr-python, 0 workers", "zarr-python", {"workers": 0}),
        Contender("zarr-python, 2 workers", "zarr-python", {"workers": 2, **forked}),
    ]
    if case == "grid":
        tuned = {"start": "forkserver", "prefetch": 3, "dask": "synchronous"}
        found += [
            Contender("xbatcher and dask, untuned", "xbatcher", {"workers": 0}),
            *(
                Contender(
                    f"xbatcher and dask, tuned, {workers} workers", "xbatcher", {"workers": workers, **tuned}
                )
                for workers in (2, 8)
            ),
        ]
    return found


def once(
    contender: Contender, data: Path, case: str, step: str, batches: int, **options: Any
) -> dict[str, Any]:
    """Run one process, and return what it says."""
    told = {
        "data": str(data.resolve()),
        "case": case,
        "loader": contender.loader,
        "settings": contender.settings,
        "step": step,
        "batches": batches,
        "samples": 32 * 40,
        "memory": False,
        **options,
    }
    return process("benches.training.contender", told)


def process(module: str, told: dict[str, Any]) -> dict[str, Any]:
    """Run a module as a process of its own, and return the line of JSON that it prints, or its error."""
    command = [sys.executable, "-m", module, json.dumps(told)]
    try:
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return {"error": f"said nothing for {SECONDS_MAX:.0f} s"}
    lines = ended.stdout.strip().splitlines()
    if ended.returncode or not lines:
        said = ended.stderr.strip().splitlines()
        return {"error": said[-1] if said else f"ended with {ended.returncode}"}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """Return what the waits and steps of one process come to, or its error."""
    if "error" in found:
        return found
    p50, p99, p999 = (float(np.percentile(found["waits"], share)) for share in (50, 99, 99.9))
    return {
        "first_s": found["first_s"],
        "step_s": float(np.median(found["steps"])),
        "p50_s": p50,
        "p99_s": p99,
        "p999_s": p999,
        "longest_s": max(found["waits"]),
    }


def race(taking_part: Sequence[Contender], data: Path, case: str, batches: int, passes: int) -> list[Row]:
    """Have contenders take passes in turn, without a step of training."""
    rows = [Row(contender.name, contender.told) for contender in taking_part]
    for turn in range(passes):
        for contender, row in zip(taking_part, rows, strict=True):
            if row.reason:
                continue
            found = once(contender, data, case, "nothing", batches)
            if "error" in found:
                row.reason, row.passes = found["error"], []
            else:
                row.passes.append(found)
            print(f"{case} {turn + 1}/{passes} {contender.name}: {row.reason or row.batch_s}", flush=True)
    return rows
