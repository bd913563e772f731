"""The page of the race of writers."""

from __future__ import annotations

from typing import Any

from benches.runner.tables import machine_table, markdown, number
from benches.writing.race import FLOOR, Row

# What a writer of swath must show.
FLOOR_SHARE_MIN = 0.9
PEER_TIMES_MIN = 1.0
SWATH = "swath"
# The engine's default of bytes in flight, with up to 15 lanes.
BUDGET_BYTES = 256 << 20

HEAD = """# Performance of writing

Written by `make bench-writing`; do not edit. Whole arrays of the workloads `sat_blosc` (int16, 24 x 10 x
1024 x 1024, shards of 1 x 10 x 1024 x 1024, chunks of 1 x 1 x 64 x 64, blosc) and `cube_zstd` (uint16, 512
x 512 x 512, chunks of 256 x 256 x 256, zstd) are written from memory into folders that hold their
documents. Writers took their passes in turn; numbers are medians of {passes}, memory the most of them. What
each wrote last was read back by zarr-python and compared. None syncs its files (TensorStore is told not
to). The floor is the bare codec libraries on as many threads as there are processors, row copies, one write
for each object and a rename.
"""


def page(record: dict[str, Any], rows: list[Row]) -> str:
    """Return the page."""
    parts = [
        HEAD.format(passes=record["passes"]),
        machine_table(record),
        "## What it must show\n",
        bars(rows),
        "## All writers\n",
        table(rows),
    ]
    return "\n".join(parts)


def find(rows: list[Row], case: str, writer: str) -> Row | None:
    """Return a row that has passes and did not fail."""
    found = (
        row for row in rows if (row.case, row.writer) == (case, writer) and row.passes and not row.failed
    )
    return next(found, None)


def bars(rows: list[Row]) -> str:
    """Return the table of what is asked for."""
    lines = []
    for case in dict.fromkeys(row.case for row in rows):
        own = find(rows, case, SWATH)
        seconds = None if own is None else own.median("seconds")
        peers = [row for row in rows if row.case == case and row.writer not in (SWATH, FLOOR)]
        for row in [*(one for one in rows if (one.case, one.writer) == (case, FLOOR)), *peers]:
            other = row.median("seconds") if row.passes and not row.failed else None
            times = None if other is None or not seconds else other / seconds
            least = FLOOR_SHARE_MIN if row.writer == FLOOR else PEER_TIMES_MIN
            what = "share of the floor's rate" if row.writer == FLOOR else f"times {row.writer}"
            lines.append([what, case, number(times), f"≥ {least:g}", verdict(times, least)])
        memory = None if own is None else own.most("memory_bytes")
        share = None if memory is None else memory / BUDGET_BYTES
        passed = "n/a" if share is None else "pass" if share <= 1 else "**fail**"
        lines.append(["peak memory over the byte budget", case, number(share), "≤ 1", passed])
    return markdown(["what", "case", "found", "wanted", ""], lines)


def verdict(found: float | None, least: float) -> str:
    """Say whether a bar is met."""
    return "n/a" if found is None else "pass" if least <= found else "**fail**"


def table(rows: list[Row]) -> str:
    """Return every writer's medians."""
    head = ["case", "writer", "version", "seconds", "CPU s", "peak MB beyond the values", "stored MB", ""]
    lines = []
    for row in rows:
        memory, stored = row.most("memory_bytes"), row.median("stored_bytes")
        lines.append(
            [
                row.case,
                row.writer,
                row.version,
                number(row.median("seconds")),
                number(row.median("cpu_seconds")),
                number(None if memory is None else memory / 1e6),
                number(None if stored is None else stored / 1e6),
                row.reason,
            ]
        )
    return markdown(head, lines)
