"""The command line of the race of rechunkers: it measures, and writes docs/performance-rechunk.md."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benches.rechunk.cases import SHAPE, cases
from benches.rechunk.contenders import SWATH
from benches.rechunk.race import Row, race
from benches.rechunk.report import page
from benches.runner import machine
from benches.runner.registry import ROOT

PASSES = 3
MEMORY_BYTES = 512_000_000


def arguments() -> argparse.Namespace:
    """Return the command line's settings."""
    parser = argparse.ArgumentParser(prog="python -m benches.rechunk", description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / ".bench", help="folder of the data")
    parser.add_argument("--passes", type=int, default=PASSES)
    parser.add_argument(
        "--cases",
        help="some of them, separated by commas; a record of the same commit keeps its other rows",
    )
    parser.add_argument("--prepare", action="store_true", help="write the data, and measure nothing")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="folder of the page")
    parser.add_argument("--record", type=Path, help="the record to write, or, with --report, to report on")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    settings = parser.parse_args()
    if settings.report and settings.record is None:
        parser.error("--report needs --record")
    return settings


def run(settings: argparse.Namespace) -> dict[str, Any]:
    """Measure the cases."""
    folder = settings.data / "rechunk"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = settings.cases.split(",") if settings.cases else None
    found, started, rows = machine.describe(settings.data), time.monotonic(), list[Row]()
    measured = [case for case in cases(folder) if wanted is None or case.name in wanted]
    for case in measured:
        rows += race(case, folder, MEMORY_BYTES, settings.passes)
    return {
        "machine": found,
        "passes": settings.passes,
        "memory_bytes": MEMORY_BYTES,
        "shape": list(SHAPE),
        "cases": {case.name: case.text() for case in measured},
        "seconds": time.monotonic() - started,
        "rows": [asdict(row) for row in rows],
    }


def joined(before: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    """Put what was measured into an older record of the same commit."""
    if before["machine"]["commit"] != record["machine"]["commit"]:
        return record
    kept = [row for row in before["rows"] if row["case"] not in record["cases"]]
    return {
        **record,
        "cases": {**before["cases"], **record["cases"]},
        "seconds": before["seconds"] + record["seconds"],
        "rows": kept + record["rows"],
    }


def main() -> None:
    """Do what the command line says."""
    settings = arguments()
    if settings.prepare:
        folder = settings.data / "rechunk"
        folder.mkdir(parents=True, exist_ok=True)
        for case in cases(folder):
            case.prepare()
        return
    if settings.report:
        record = json.loads(settings.record.read_text())
    else:
        record = run(settings)
        path: Path = settings.record or machine.record_path(record["machine"], "rechunk")
        if settings.cases and path.exists():
            record = joined(json.loads(path.read_text()), record)
        path.write_text(json.dumps(record, indent=1) + "\n")
        print(f"Record: {path}, {record['seconds']:.0f} s, load before {record['machine']['load']}")
    rows = [Row(**row) for row in record["rows"]]
    (settings.docs / "performance-rechunk.md").write_text(page(record, rows))
    failures = [f"{row.contender} on {row.case}: {row.reason}" for row in rows if row.reason]
    print("\n".join(failures), file=sys.stderr)
    if any(row.reason for row in rows if row.contender == SWATH):
        sys.exit("bench: swath failed")
