"""The page of the race of rechunkers."""

from __future__ import annotations

from typing import Any

from benches.rechunk.contenders import SWATH
from benches.rechunk.race import Row, names
from benches.runner.tables import machine_table, markdown, number

# What swath must show.
PEER_TIMES_MIN = 1.0

HEAD = """# Performance of rechunking

Written by `make bench-rechunk`; do not edit. An int16 array of {shape} (time, channel, y, x),
{total} GB, is copied into other chunks by `swath copy` and by what others do that with, each a process of
its own that is told to stay within {memory} MB:

{cases}

Contenders took their passes in turn; times are medians of {passes}, from the start of the process to its
end, memory and transient disk the most of them. The source was in the page cache, and nobody synced what they
wrote. What each wrote last was read back by zarr-python and compared with the source. Memory is what the
processes held that is no page of a file, looked at every 5 ms. swath ran under that limit (`RLIMIT_DATA`,
which counts what is reserved too); the others under none, so that those that took more have a time as well.
Transient disk is what lay in the folder that contenders were given for intermediate data, looked at every
0.1 s. All arrays are v2: rechunker needs zarr 2, which reads no other.
"""


def page(record: dict[str, Any], rows: list[Row]) -> str:
    """Return the page."""
    shape = record["shape"]
    total = 2.0
    for length in shape:
        total *= length
    head = HEAD.format(
        shape=" x ".join(map(str, shape)),
        total=number(total / 1e9),
        memory=f"{record['memory_bytes'] / 1e6:.0f}",
        cases="\n".join(f"- `{name}`: {text}" for name, text in record["cases"].items()),
        passes=record["passes"],
    )
    parts = [
        head,
        machine_table(record),
        "## What it must show\n",
        bars(record, rows),
        "\n## All contenders\n",
        table(record, rows),
        "\n## How they were set up\n",
        settings(rows),
    ]
    return "\n".join(parts) + "\n"


def bars(record: dict[str, Any], rows: list[Row]) -> str:
    """Return the table of what is asked for."""
    lines = []
    for case in record["cases"]:
        of_case = {row.contender: row for row in rows if row.case == case}
        own = of_case.get(SWATH)
        seconds = None if own is None else own.median("seconds")
        for name, row in of_case.items():
            other = row.median("seconds")
            if name != SWATH:
                times = None if other is None or not seconds else other / seconds
                passed = "n/a" if times is None else "pass" if PEER_TIMES_MIN < times else "**fail**"
                lines.append(
                    [f"times as fast as {name}", case, number(times), f"> {PEER_TIMES_MIN:g}", passed]
                )
        memory = None if own is None else own.most("memory_bytes")
        share = None if memory is None else memory / record["memory_bytes"]
        passed = "n/a" if share is None else "pass" if share <= 1 else "**fail**"
        lines.append(["peak memory over the limit", case, number(share), "≤ 1", passed])
    return markdown(["what", "case", "found", "wanted", ""], lines)


def table(record: dict[str, Any], rows: list[Row]) -> str:
    """Return every contender's numbers."""
    head = ["case", "contender", "seconds", "CPU s", "peak MB", "transient disk MB", "stored MB", ""]
    lines = []
    for row in rows:
        memory, scratch = row.most("memory_bytes"), row.most("scratch_bytes")
        is_over = memory is not None and record["memory_bytes"] < memory
        lines.append(
            [
                row.case,
                row.contender,
                number(row.median("seconds")),
                number(row.median("cpu_seconds")),
                number(None if memory is None else memory / 1e6),
                number(None if scratch is None else scratch / 1e6) if scratch else "0",
                number(row.stored_bytes / 1e6) if row.passes else number(None),
                row.reason or ("**over the limit**" if is_over else ""),
            ]
        )
    return markdown(head, lines)


def settings(rows: list[Row]) -> str:
    """Return versions and settings, which are the same in all cases."""
    lines = []
    for name in names(rows):
        told = [row for row in rows if row.contender == name and row.settings]
        if told:
            lines.append([name, told[0].version or "this commit", told[0].settings])
    return markdown(["contender", "version", "settings"], lines)
