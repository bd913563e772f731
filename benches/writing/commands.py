"""The command line of the race of writers: it measures, and writes docs/performance-writing.md."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benches.runner import machine
from benches.runner.registry import ROOT
from benches.writing.cases import cases
from benches.writing.race import Row, race
from benches.writing.report import page

PASSES, PASSES_MIN = 7, 3


def arguments() -> argparse.Namespace:
    """Return the command line's settings."""
    parser = argparse.ArgumentParser(prog="python -m benches.writing", description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / ".bench", help="folder of the data")
    parser.add_argument("--passes", type=int, default=PASSES, help=f"at least {PASSES_MIN}")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="folder of the page")
    parser.add_argument("--record", type=Path, help="the record to write, or, with --report, to report on")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    settings = parser.parse_args()
    if settings.passes < PASSES_MIN:
        parser.error(f"--passes must be at least {PASSES_MIN}: medians of fewer say nothing")
    if settings.report and settings.record is None:
        parser.error("--report needs --record")
    return settings


def run(settings: argparse.Namespace) -> dict[str, Any]:
    """Measure all cases."""
    folder = settings.data / "writing"
    folder.mkdir(parents=True, exist_ok=True)
    started, rows = time.monotonic(), list[Row]()
    found = machine.describe(settings.data)
    for case in cases(folder):
        rows += race(case, folder, settings.passes)
    shutil.rmtree(folder / "written", ignore_errors=True)
    return {
        "machine": found,
        "passes": settings.passes,
        "seconds": time.monotonic() - started,
        "rows": [asdict(row) for row in rows],
    }


def main() -> None:
    """Do what the command line says."""
    settings = arguments()
    if settings.report:
        record = json.loads(settings.record.read_text())
    else:
        record = run(settings)
        path: Path = settings.record or machine.record_path(record["machine"], "writing")
        path.write_text(json.dumps(record, indent=1) + "\n")
        print(f"Record: {path}, {record['seconds']:.0f} s, load before {record['machine']['load']}")
    rows = [Row(**row) for row in record["rows"]]
    (settings.docs / "performance-writing.md").write_text(page(record, rows))
    failures = [f"{row.writer} on {row.case}: {row.reason}" for row in rows if row.failed]
    if failures:
        sys.exit("bench: " + "; ".join(failures))
