"""Writes docs/performance.md and its plots from a record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benches.runner import tables
from benches.runner.plots import draw
from benches.runner.record import Record

NOTES = "performance-notes.md"
STATE_TITLES = {"warm": "Warm page cache", "cold": "Cold: the page cache dropped before every pass"}

HEAD = f"""# Performance

Written by `make bench`; do not edit. What the numbers mean, and where the time goes, is in
[{NOTES}]({NOTES}); how it is measured in [benches/README.md](../benches/README.md); every
pass is in benches/records.
"""

METHOD = """\
Every number is the median of {passes} passes (fewer where it says n=), after one pass that does not count.
The readers of a case took their passes in turn, each in a process of its own, and agreed on the checksum of
what they read. The time is that of the read into an output that was there before, without the checksum for
arrays and with it for files and ranges (fio has none)."""


def write_report(record: Record, docs: Path) -> None:
    """Write the page and the plots into a folder."""
    docs.mkdir(parents=True, exist_ok=True)
    parts = [HEAD, failures(record), machine_section(record)]
    parts += ["## What it must show\n", tables.bar_table(record)]
    for state, title in STATE_TITLES.items():
        if any(one.state == state for one in record.results):
            parts += state_section(record, state, title, docs)
    parts += ["## Versions\n", tables.versions(record)]
    (docs / "performance.md").write_text("\n".join(part.rstrip() + "\n" for part in parts if part))


def failures(record: Record) -> str:
    """Return a warning where readers failed."""
    lines = [f"- {one.reader} on {one.case}, {one.state}: {one.reason}" for one in record.failures()]
    return "\n".join(["**This run failed:**\n", *lines]) if lines else ""


def machine_section(record: Record) -> str:
    """Return what the numbers depend on."""
    facts = record.machine
    quick = " **A quick run: a look, not a measurement.**" if record.settings["quick"] else ""
    device = [f"{facts['device']}, {facts['file_system']}"]
    for name in ("logical_block_size", "scheduler", "rotational", "read_ahead_kb", "max_sectors_kb"):
        device += [f"{name} {facts[name]}"] if name in facts else []
    rows = [
        ["date", f"{facts['date']} {facts['time']}, {record.seconds / 60:.1f} minutes"],
        ["commit", str(facts["commit"])],
        ["processor", f"{facts['cpu']}, {facts['cores']} cores"],
        ["memory", f"{facts['memory_bytes'] / 2**30:.0f} GiB"],
        ["system", f"{facts['system']}, kernel {facts['kernel']}, Python {facts['python']}"],
        ["storage", ", ".join(device)],
        ["load before", str(facts["load"])],
    ]
    lines = ["| | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows)]
    method = METHOD.format(passes=record.settings["passes"])
    return "\n".join([*lines, "", method + quick])


def state_section(record: Record, state: str, title: str, docs: Path) -> list[str]:
    """Return all tables of one state of the page cache, and draw its plots."""
    raced = {one.case for one in record.results if one.state == state}

    def cases(kinds: Sequence[str], mode: str) -> list[str]:
        named = record.cases.items()
        return [name for name, case in named if name in raced and case.kind in kinds and case.mode == mode]

    batches, calls = cases(["array"], "batch"), cases(["array"], "one_by_one")
    plain = cases(["files", "ranges"], "batch")
    parts = [f"## {title}\n"]
    if batches:
        draw(record, batches, state, title, docs / "performance" / f"arrays-{state}.svg")
        parts += [f"![times](performance/arrays-{state}.svg)\n", tables.times(record, batches, state)]
        parts += ["### Ratios\n", tables.ratios(record, batches, state)]
        parts += ["### CPU time\n", tables.processor(record, batches, state)]
    if calls:
        parts += ["### One crop a call\n", tables.latencies(record, calls, state)]
    if plain:
        draw(record, plain, state, title, docs / "performance" / f"reads-{state}.svg")
        parts += ["### Files and ranges\n", f"![times](performance/reads-{state}.svg)\n"]
        parts += [tables.reads(record, plain, state)]
    missing = tables.absences(record, state)
    return [*parts, f"Not measured:\n\n{missing}"] if missing else parts
