"""The command line of the race of converters: it measures, and writes docs/performance-convert.md."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benches.grib.cases import ERA5_MESSAGES, era5
from benches.grib.conversion.contenders import ALONE, SWATH, TIMES_MIN
from benches.grib.conversion.race import Row, floor_seconds, race
from benches.runner import machine
from benches.runner.registry import ROOT
from benches.runner.tables import NOTHING, machine_table, markdown, number

PASSES = 3
FLOOR_TIMES_MAX = 1.3

HEAD = """# Performance of converting GRIB

Written by `make bench-convert`; do not edit. A file of {messages} messages of 1440 x 721 points, {size} GB,
packed as ERA5's are (simple packing of 16 bits; temperatures of a real field, changed from message to
message), is converted to a Zarr group by `swath convert`, by cfgrib and xarray's `to_zarr`, and by
gribberish's backend and `to_zarr`: each a process of its own, told to write chunks of a field, in shards,
behind the codec that swath chooses for them (zstd of level 1 behind blosc's bitshuffle). Converters took
their {passes} passes in turn; numbers are medians. The source was in the page cache, and nobody synced what
they wrote; swath writes past the page cache. The fields that each wrote last were compared.

The floor is what is longer: reading and writing the bytes, or decoding and compressing them, both measured
on one thread and divided by {cores} cores. It and swath took {floor_passes} passes in turn before the
others came: a program that has used much memory leaves work to a virtual machine's host when it has ended.
"stolen" are the seconds of all processors that the host took.
"""


def arguments() -> argparse.Namespace:
    """Return the command line's settings."""
    parser = argparse.ArgumentParser(prog="python -m benches.grib.conversion", description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / ".bench", help="folder of the data")
    parser.add_argument("--passes", type=int, default=PASSES)
    parser.add_argument("--messages", type=int, default=ERA5_MESSAGES, help="of 2 MB each")
    parser.add_argument("--prepare", action="store_true", help="write the data, and measure nothing")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="folder of the page")
    parser.add_argument("--record", type=Path, help="the record to write, or, with --report, to report on")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    settings = parser.parse_args()
    if settings.report and settings.record is None:
        parser.error("--report needs --record")
    return settings


def run(settings: argparse.Namespace, source: Path) -> dict[str, Any]:
    """Measure everything."""
    found, started = machine.describe(settings.data), time.monotonic()
    rows, floors = race(source, source.parent, settings.passes)
    return {
        "machine": found,
        "passes": settings.passes,
        "messages": settings.messages,
        "source_bytes": source.stat().st_size,
        "cores": os.cpu_count(),
        "floors": floors,
        "rows": [asdict(row) for row in rows],
        "seconds": time.monotonic() - started,
    }


def bars(record: dict[str, Any], rows: list[Row]) -> list[tuple[str, float | None, str, bool | None]]:
    """Return what swath must show: what, what was found, what is wanted, and whether it was shown."""
    own, alone = (next(row for row in rows if row.contender == name).median for name in (SWATH, ALONE))
    found: list[tuple[str, float | None, str, bool | None]] = []
    for row in rows:
        if row.contender in TIMES_MIN:
            wanted = TIMES_MIN[row.contender]
            times = None if own is None or row.median is None else row.median / own
            passed = None if times is None else wanted <= times
            found.append((f"times as fast as {row.contender}", times, f"≥ {wanted:g}", passed))
    floor = floor_seconds(record["floors"], record["cores"])
    times = None if alone is None else alone / floor
    passed = None if times is None else times <= FLOOR_TIMES_MAX
    found.append(("times the floor, in turn with it", times, f"≤ {FLOOR_TIMES_MAX:g}", passed))
    return [
        *found,
        ("times the floor, in turn with the others", None if own is None else own / floor, NOTHING, None),
    ]


def page(record: dict[str, Any], rows: list[Row]) -> str:
    """Return the page."""
    size = record["source_bytes"] / 1e9
    words = {True: "pass", False: "**fail**", None: NOTHING}
    lines = [
        [what, number(found), wanted, words[passed]] for what, found, wanted, passed in bars(record, rows)
    ]
    table = [
        [
            row.contender, number(row.median), number(row.median_cpu), number(row.median_stolen),
            number(None if row.median is None else size / row.median),
            number(row.stored_bytes / 1e9) if row.stored_bytes else NOTHING, row.reason,
        ]
        for row in rows
    ]  # fmt: skip
    floor = floor_seconds(record["floors"], record["cores"])
    table.append(["floor", number(floor), NOTHING, NOTHING, number(size / floor), NOTHING, ""])
    head = HEAD.format(
        messages=f"{record['messages']:,}",
        size=number(size),
        passes=record["passes"],
        floor_passes=len(record["floors"]),
        cores=record["cores"],
    )
    parts = [
        head,
        machine_table(record),
        markdown(["what", "found", "wanted", ""], lines),
        "",
        markdown(["", "seconds", "CPU s", "stolen s", "GB/s of the source", "stored GB", ""], table),
    ]
    return "\n".join(parts) + "\n"


def main() -> None:
    """Do what the command line says."""
    settings = arguments()
    if settings.report:
        record = json.loads(settings.record.read_text())
    else:
        settings.data.mkdir(parents=True, exist_ok=True)
        source = era5(settings.data / "grib-era5", settings.messages)
        if settings.prepare:
            return
        record = run(settings, source)
        path: Path = settings.record or machine.record_path(record["machine"], "convert")
        path.write_text(json.dumps(record, indent=1) + "\n")
        print(f"Record: {path}, {record['seconds']:.0f} s, load before {record['machine']['load']}")
    rows = [Row(**row) for row in record["rows"]]
    (settings.docs / "performance-convert.md").write_text(page(record, rows))
    if missed := [what for what, _, _, passed in bars(record, rows) if passed is False]:
        sys.exit(f"bench: not shown: {', '.join(missed)}")
