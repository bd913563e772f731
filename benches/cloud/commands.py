"""The command line of the cloud benches: ``run`` and ``report``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benches.cloud.arrays import bandwidth, latency
from benches.cloud.engine import adaptation, memory, starvation
from benches.cloud.epochs import epochs
from benches.cloud.ranges import ranges
from benches.cloud.record import CloudRecord
from benches.cloud.round_trips import round_trips
from benches.cloud.settings import Settings
from benches.runner import machine
from benches.runner.errors import BenchError
from benches.runner.registry import ROOT

DATA = ROOT / ".bench"
PASSES, QUICK_PASSES, PASSES_MIN = 5, 3, 3

type Section = Callable[[CloudRecord, Settings], None]

SECTIONS: dict[str, Section] = {
    "latency": latency,
    "bandwidth": bandwidth,
    "ranges": ranges,
    "round_trips": round_trips,
    "epochs": epochs,
    "memory": memory,
    "starvation": starvation,
    "adaptation": adaptation,
}


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line's settings."""
    parser = argparse.ArgumentParser(prog="python -m benches.cloud", description=__doc__)
    parser.add_argument("command", choices=["run", "report"])
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data (default: .bench)")
    parser.add_argument(
        "--quick", action="store_true", help="the web server only, fewer readers, three passes"
    )
    parser.add_argument("--only", help=f"only these, by comma: {', '.join(SECTIONS)}")
    parser.add_argument(
        "--passes", type=int, help=f"at least {PASSES_MIN} (default: {PASSES}, quick: {QUICK_PASSES})"
    )
    parser.add_argument("--record", type=Path, help="the record to write, or to report on")
    parser.add_argument("--docs", type=Path, help="folder to write performance-cloud.md into (default: docs)")
    settings = parser.parse_args(words)
    settings.passes = settings.passes or (QUICK_PASSES if settings.quick else PASSES)
    settings.only = settings.only.split(",") if settings.only else list(SECTIONS)
    if settings.passes < PASSES_MIN:
        parser.error(f"--passes must be at least {PASSES_MIN}: medians of fewer say nothing")
    if not set(settings.only) <= set(SECTIONS):
        parser.error(f"--only is of {', '.join(SECTIONS)}")
    if settings.command == "report" and settings.record is None:
        parser.error("report needs --record")
    return settings


def run(settings: argparse.Namespace) -> CloudRecord:
    """Measure everything that was asked for."""
    settings.data.mkdir(parents=True, exist_ok=True)
    asked = Settings(settings.data, settings.passes, settings.quick)
    record = CloudRecord(
        machine=machine.describe(settings.data),
        settings={"quick": settings.quick, "passes": settings.passes, "only": settings.only},
    )
    started = time.monotonic()
    for name in settings.only:
        section_started = time.monotonic()
        SECTIONS[name](record, asked)
        print(f"{name}: {time.monotonic() - section_started:.0f} s", flush=True)
    record.seconds = time.monotonic() - started
    return record


def bench(settings: argparse.Namespace) -> None:
    """Do what the command line says."""
    # Loaded here, so that a run that is stopped early needs no matplotlib.
    from benches.cloud.report import write_report

    partial = settings.quick or set(settings.only) != set(SECTIONS)
    if settings.command == "report":
        record = CloudRecord.load(settings.record)
    else:
        record = run(settings)
        name = f"cloud-{record.machine['date']}-{machine.short_name(record.machine)}.json"
        kept = settings.data / "cloud-last.json" if partial else ROOT / "benches" / "records" / name
        path: Path = settings.record or kept
        record.save(path)
        print(f"Record: {path}, {record.seconds:.0f} s, load {os.getloadavg()[0]:.1f}")
        # A quick run is a look, not a measurement to keep: it writes beside the data.
        settings.docs = settings.docs or (settings.data / "report" if partial else None)
    docs: Path = settings.docs or ROOT / "docs"
    write_report(record, docs)
    print(f"Report: {docs / 'performance-cloud.md'}")
    if record.failures():
        raise BenchError("; ".join(record.failures()))


def main() -> None:
    """Run the command line; what stops it is one line and a non-zero exit."""
    try:
        bench(arguments())
    except BenchError as error:
        sys.exit(f"bench: {error}")
