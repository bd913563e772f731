"""The command line of the race of training loaders: it measures, and writes docs/performance-training.md."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import swath

from benches.runner import machine
from benches.runner.registry import ROOT
from benches.training.cases import TIMES, crops, grid, prepare
from benches.training.floor import seconds_a_batch
from benches.training.race import Contender, Row, contenders, once, race
from benches.training.report import bars, page
from benches.training.same import same

PASSES, STEPS, BATCHES = 3, 1000, {"grid": 100, "crops": 20}
MEMORY_BATCHES = 10_000
PREFETCH = 2
# What docs/configuration.md says of an engine that was told nothing.
ENGINE_BYTES, LANE_BYTES = (256 + 16) << 20, 4 << 20
OWN = Contender("swath", "swath", {"prefetch": PREFETCH})


def arguments() -> argparse.Namespace:
    """Return the command line's settings."""
    parser = argparse.ArgumentParser(prog="python -m benches.training", description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / ".bench", help="folder of the data")
    parser.add_argument("--passes", type=int, default=PASSES)
    parser.add_argument("--steps", type=int, default=STEPS, help="steps of each kind (1000)")
    parser.add_argument("--batches", type=int, default=MEMORY_BATCHES, help="of the look at memory (10000)")
    parser.add_argument("--quick", action="store_true", help="a tenth of all that: to see that it works")
    parser.add_argument("--prepare", action="store_true", help="write the data, and measure nothing")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="folder of the page")
    parser.add_argument("--record", type=Path, help="the record to write, or, with --report, to report on")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    settings = parser.parse_args()
    if settings.report and settings.record is None:
        parser.error("--report needs --record")
    return settings


def run(settings: argparse.Namespace) -> dict[str, Any]:
    """Measure everything."""
    share = 10 if settings.quick else 1
    found, started = machine.describe(settings.data), time.monotonic()
    case = crops(settings.data, 32 * 40)
    rows = {
        name: race(
            contenders(name), settings.data, name, count // share, 1 if settings.quick else settings.passes
        )
        for name, count in BATCHES.items()
    }
    read_s, convert_s = seconds_a_batch(case, settings.data, settings.passes)
    kinds = ("sleeps", "trains", "holds the GIL")
    return {
        "machine": found,
        "passes": settings.passes,
        "steps": settings.steps // share,
        "times": TIMES,
        "batch_bytes": {"grid": grid(settings.data).batch_bytes, "crops": case.batch_bytes},
        "rows": {name: [asdict(row) for row in of_case] for name, of_case in rows.items()},
        "floor": {"read_s": read_s, "convert_s": convert_s},
        "waits": {kind: waits(settings.data, kind, settings.steps // share) for kind in kinds},
        "same": same(settings.data),
        "memory": memory(settings.data, settings.batches // share),
        "seconds": time.monotonic() - started,
    }


def waits(data: Path, kind: str, steps: int) -> dict[str, Any]:
    """Have swath's loader feed steps of a kind."""
    found = once(OWN, data, "grid", kind, steps)
    print(f"step that {kind}: {found.get('error', 'done')}", flush=True)
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


def memory(data: Path, batches: int) -> dict[str, Any]:
    """Load batches without a step, and look at the memory of the process every hundred of them."""
    found = once(OWN, data, "grid", "nothing", batches, memory=True)
    if "error" in found:
        raise SystemExit(f"bench: memory: {found['error']}")
    sizes = found["memory"]
    later = sizes[len(sizes) // 10 :]
    engine = ENGINE_BYTES + LANE_BYTES * swath.stats()["lanes"]
    print(f"memory: {sizes[0] / 1e6:.0f} to {max(sizes) / 1e6:.0f} MB", flush=True)
    return {
        "batches": batches,
        "begun": sizes[min(1, len(sizes) - 1)],
        "growth": sizes[-1] / later[0] - 1,
        "held": max(0, found["peak"] - found["imported"]),
        "bound": (PREFETCH + 3) * found["batch_bytes"] + engine,
        "peak": found["peak"],
    }


def main() -> None:
    """Do what the command line says."""
    settings = arguments()
    if settings.report:
        record = json.loads(settings.record.read_text())
    else:
        prepare(settings.data)
        if settings.prepare:
            return
        record = run(settings)
        name = f"training-{record['machine']['date']}-{machine.short_name(record['machine'])}.json"
        path: Path = settings.record or ROOT / "benches" / "records" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(_short(record), indent=1) + "\n")
        print(f"Record: {path}, {record['seconds']:.0f} s, load before {record['machine']['load']}")
    (settings.docs / "performance-training.md").write_text(page(record))
    rows = {case: [Row(**row) for row in of_case] for case, of_case in record["rows"].items()}
    failed = [line[0] for line in bars(record, rows) if line[-1] == "**fail**"]
    if failed:
        sys.exit(f"bench: not met: {'; '.join(failed)}")


def _short(record: dict[str, Any]) -> dict[str, Any]:
    """Leave out each single wait: a record is read by people."""
    for rows in record["rows"].values():
        for row in rows:
            for one in row["passes"]:
                one["waits"] = [round(wait, 5) for wait in one["waits"]]
                one["steps"], one["memory"] = [], []
    return record
