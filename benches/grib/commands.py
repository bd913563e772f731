"""The command line of the race of GRIB readers: it measures, and writes docs/performance-grib.md."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benches.grib.cases import decodings, many, prepare
from benches.grib.contenders import ECCODES, SWATH
from benches.grib.race import Row, decode, scan
from benches.grib.report import failures, page
from benches.runner import machine
from benches.runner.registry import ROOT

PASSES, PASSES_MIN = 7, 3


def arguments() -> argparse.Namespace:
    """Return the command line's settings."""
    parser = argparse.ArgumentParser(prog="python -m benches.grib", description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / ".bench", help="folder of the data")
    parser.add_argument("--passes", type=int, default=PASSES, help=f"at least {PASSES_MIN}")
    parser.add_argument("--prepare", action="store_true", help="write the data, and measure nothing")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="folder of the page")
    parser.add_argument("--record", type=Path, help="the record to write, or, with --report, to report on")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    settings = parser.parse_args()
    if settings.passes < PASSES_MIN:
        parser.error(f"--passes must be at least {PASSES_MIN}: medians of fewer say nothing")
    if settings.report and settings.record is None:
        parser.error("--report needs --record")
    for one in (SWATH, ECCODES):
        if not settings.report and not one.is_here:
            parser.error(f"{one.name} is not here: `make bench-grib` builds and installs it")
    return settings


def run(settings: argparse.Namespace) -> dict[str, Any]:
    """Measure everything."""
    folder = settings.data / "grib"
    found, started = machine.describe(settings.data), time.monotonic()
    many(folder).read_bytes()
    rows = [row for case in decodings(folder) for row in decode(case, folder, settings.passes)]
    scans = scan(many(folder), settings.passes)
    return {
        "machine": found,
        "passes": settings.passes,
        "seconds": time.monotonic() - started,
        "decodings": [asdict(row) for row in rows],
        "scans": [asdict(row) for row in scans],
    }


def main() -> None:
    """Do what the command line says."""
    settings = arguments()
    if settings.report:
        record = json.loads(settings.record.read_text())
    else:
        settings.data.mkdir(parents=True, exist_ok=True)
        prepare(settings.data / "grib")
        if settings.prepare:
            return
        record = run(settings)
        path: Path = settings.record or machine.record_path(record["machine"], "grib")
        path.write_text(json.dumps(record, indent=1) + "\n")
        print(f"Record: {path}, {record['seconds']:.0f} s, load before {record['machine']['load']}")
    decoded, scanned = ([Row(**row) for row in record[name]] for name in ("decodings", "scans"))
    (settings.docs / "performance-grib.md").write_text(page(record, decoded, scanned))
    if missed := failures(decoded, scanned):
        sys.exit("bench: slower than asked for: " + "; ".join(missed))
