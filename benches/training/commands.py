"""The command line of the race of training loaders: it measures, and writes docs/performance-training.md."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import swath

from benches.runner import machine
from benches.runner.registry import ROOT
from benches.training.cases import TIMES, crops, grid, prepare
from benches.training.cloud import cloud
from benches.training.cuda import cuda
from benches.training.floor import seconds_a_batch
from benches.training.race import Contender, Row, contenders, once, race, summary
from benches.training.report import bars, page
from benches.training.same import same

PASSES, STEPS, CLOUD_STEPS, BATCHES = 3, 1000, 2000, {"grid": 100, "crops": 20}
MEMORY_BATCHES = 10_000
PARTS = ("waits", "cloud", "race", "same", "memory", "cuda")
PREFETCH = 4
# What docs/configuration.md says of an engine that was told nothing.
ENGINE_BYTES, LANE_BYTES = (256 + 16) << 20, 4 << 20
KINDS = ("sleeps", "trains", "holds the GIL")
OWN = Contender("swath", "swath", {"prefetch": PREFETCH})


def arguments() -> argparse.Namespace:
    """Return the command line's settings."""
    parser = argparse.ArgumentParser(prog="python -m benches.training", description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / ".bench", help="folder of the data")
    parser.add_argument("--passes", type=int, default=PASSES)
    parser.add_argument("--steps", type=int, default=STEPS, help="steps of each kind (1000)")
    parser.add_argument("--cloud-steps", type=int, default=CLOUD_STEPS, help="steps far from a server (2000)")
    parser.add_argument("--batches", type=int, default=MEMORY_BATCHES, help="of the look at memory (10000)")
    parser.add_argument("--only", help=f"parts of {', '.join(PARTS)}; the others are those of the record")
    parser.add_argument("--quick", action="store_true", help="a tenth of all that: to see that it works")
    parser.add_argument("--prepare", action="store_true", help="write the data, and measure nothing")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="folder of the page")
    parser.add_argument("--record", type=Path, help="the record to write, or, with --report, to report on")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    settings = parser.parse_args()
    settings.parts = PARTS if settings.only is None else tuple(settings.only.split(","))
    if set(settings.parts) - set(PARTS):
        parser.error(f"wanted parts of {', '.join(PARTS)}, found {settings.only}")
    if (settings.report or settings.only) and settings.record is None:
        parser.error("--report and --only need --record")
    return settings


def run(settings: argparse.Namespace, known: dict[str, Any]) -> dict[str, Any]:
    """Measure the parts that are asked for, and keep what is known of the others."""
    share = 10 if settings.quick else 1
    found, started = machine.describe(settings.data), time.monotonic()
    measured: dict[str, Callable[[], dict[str, Any]]] = {
        "waits": lambda: {
            "steps": settings.steps // share,
            "waits": {kind: waits(settings.data, kind, settings.steps // share) for kind in KINDS},
        },
        "cloud": lambda: {"cloud": cloud(settings.data, settings.cloud_steps // share)},
        "race": lambda: raced(settings, share),
        "same": lambda: {"same": same(settings.data)},
        "memory": lambda: {"memory": memory(settings.data, settings.batches // share)},
        "cuda": lambda: {"cuda": cuda(settings.data, settings.steps // share, settings.passes)},
    }
    record = known | {
        "machine": found,
        "times": TIMES,
        "batch_bytes": {
            "grid": grid(settings.data).batch_bytes,
            "crops": crops(settings.data, 32).batch_bytes,
        },
    }
    for part in settings.parts:
        record |= measured[part]()
    return record | {"seconds": time.monotonic() - started}


def raced(settings: argparse.Namespace, share: int) -> dict[str, Any]:
    """Have all loaders give batches as fast as they can."""
    passes = 1 if settings.quick else settings.passes
    rows = {
        name: race(contenders(name), settings.data, name, count // share, passes)
        for name, count in BATCHES.items()
    }
    read_s, convert_s = seconds_a_batch(crops(settings.data, 32 * 40), settings.data, settings.passes)
    return {
        "passes": passes,
        "rows": {name: [asdict(row) for row in of_case] for name, of_case in rows.items()},
        "floor": {"read_s": read_s, "convert_s": convert_s},
    }


def waits(data: Path, kind: str, steps: int) -> dict[str, Any]:
    """Have swath's loader feed steps of a kind."""
    found = once(OWN, data, "grid", kind, steps)
    told = summary(found)
    print(f"step that {kind}: {told}", flush=True)
    return told


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
        known = json.loads(settings.record.read_text()) if settings.only and settings.record.exists() else {}
        record = run(settings, known)
        path: Path = settings.record or machine.record_path(record["machine"], "training")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(_short(record), indent=1) + "\n")
        print(f"Record: {path}, {record['seconds']:.0f} s, load before {record['machine']['load']}")
    missing = [key for key in ("waits", "cloud", "rows", "same", "memory") if key not in record]
    if missing:
        print(f"no page: {', '.join(missing)} not measured yet")
        return
    (settings.docs / "performance-training.md").write_text(page(record))
    rows = {case: [Row(**row) for row in of_case] for case, of_case in record["rows"].items()}
    failed = [line[0] for line in bars(record, rows) if line[-1] == "**fail**"]
    if failed:
        sys.exit(f"bench: not met: {'; '.join(failed)}")


def _short(record: dict[str, Any]) -> dict[str, Any]:
    """Leave out each single wait: a record is read by people."""
    for rows in record.get("rows", {}).values():
        for row in rows:
            for one in row["passes"]:
                one["waits"] = [round(wait, 5) for wait in one["waits"]]
                one["steps"], one["memory"] = [], []
    return record
