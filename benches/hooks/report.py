"""The page of a record: what was wanted and found, every time, and where the hook's goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benches.hooks.profile import PARTS
from benches.runner import tables
from benches.runner.bars import Bar, times_faster
from benches.runner.record import Record
from benches.runner.report import failures, machine_section
from benches.runner.tables import markdown, number

HOOK, DIRECT, EACH, PLANNING = "hook", "direct", "direct-each", "planning"
DEFAULT, FUSED, ZARRS = "zarr-python", "fused", "zarrs-python"
XARRAY_HOOK, XARRAY = "xarray-swath", "xarray-zarr"

SMALL_CHUNKS = ("sat_", "tiny")
TIMES_DEFAULT_MIN = 5.0
TIMES_XARRAY_MIN = 5.0
TIMES_PARTS_MAX = 1.2

HEAD = """# Performance under zarr-python and xarray

Written by `make bench-hooks`; do not edit. The workloads of [performance.md](performance.md) are read through
zarr-python 3 by its default pipeline (`zarr-python`), its fused one, zarrs-python's and swath's (`hook`), and
through xarray by its engines `zarr` and `swath`. `planning` is zarr-python with a pipeline that does nothing,
`direct` is swath without zarr-python: one `read_many`; `direct-each` is one `read` a crop. Each reads the
selections of a pass in the way that suits it best: on a thread for each core (zarr-python's default
pipeline, xarray's engine `zarr`), gathered on zarr-python's event loop (the other pipelines), by one call
(`direct`, and xarray's engine `swath`: `swath.xarray.load`), or one after the other (`direct-each`). All read
`one_crop_*` one call after the other. Those that return new arrays copy them to the output, within the time.
"""


def write_report(record: Record, docs: Path) -> None:
    """Write the page into a folder."""
    docs.mkdir(parents=True, exist_ok=True)
    cases = list(record.cases)
    parts = [HEAD, failures(record), machine_section(record), "## What it must show\n", bar_table(record)]
    parts += ["## Times\n", tables.times(record, cases, "warm")]
    parts += ["## Processor time\n", tables.processor(record, cases, "warm")]
    parts += ["## What is swath's of the hook's time\n", SHARES, part_table(record)]
    profiles = record.settings["profiles"]
    if profiles:
        parts += [PROFILES, profile_table(profiles)]
    absent = tables.absences(record, "warm")
    parts += [f"Not measured:\n\n{absent}"] if absent else []
    parts += ["## Versions\n", tables.versions(record)]
    text = "\n".join(part.rstrip() + "\n" for part in parts if part)
    (docs / "performance-hooks.md").write_text(text)


SHARES = """Milliseconds a pass, and the hook's over the sum of zarr-python's planning and swath's direct
read, of all crops at once and crop by crop. zarr-python asks for them crop by crop, so that the
hook cannot share among them what one `read_many` does, such as looking whether a file has changed.
"""

PROFILES = """
The same by a profile of zarr-python's event loop, whose thread plans all reads, and does those of swath's
that are small: shares of its time. The profiler makes calls of Python functions dearer than native code.
"""


def bar_table(record: Record) -> str:
    """Return every bar with its number."""
    head = ["what", "case", "found", "wanted", ""]
    rows = [
        [bar.what, bar.case, number(bar.found), f"{'≤' if bar.below else '≥'} {bar.wanted:g}", bar.verdict]
        for bar in bars(record)
    ]
    return markdown(head, rows)


def bars(record: Record) -> Iterator[Bar]:
    """Yield what is asked for, with what was found."""

    def times(case: str, slow: str, fast: str) -> float | None:
        return times_faster(record, case, "warm", slow, fast)

    item = "3"
    for case in record.cases:
        if case.startswith("sat_"):
            yield Bar(
                item, "hook, times the default pipeline", case, times(case, DEFAULT, HOOK), TIMES_DEFAULT_MIN
            )
    for peer in (FUSED, ZARRS):
        for case in record.cases:
            yield Bar(item, f"hook, times {peer}", case, times(case, peer, HOOK), 1.0)
    for case in record.cases:
        if case.startswith("tiny"):
            found = over_parts(record, case)
            yield Bar(item, "hook, over planning and direct", case, found, TIMES_PARTS_MAX, below=True)
    for case in record.cases:
        if case.startswith(SMALL_CHUNKS):
            found = times(case, XARRAY, XARRAY_HOOK)
            yield Bar(item, "xarray-swath, times xarray-zarr", case, found, TIMES_XARRAY_MIN)


def over_parts(record: Record, case: str, own: str = DIRECT) -> float | None:
    """Return the hook's time over the sum of what it is made of; `own` is how swath reads by itself."""
    hook, planning, direct = (record.seconds_of(case, "warm", name) for name in (HOOK, PLANNING, own))
    return None if hook is None or planning is None or direct is None else hook / (planning + direct)


def part_table(record: Record) -> str:
    """Return the hook's time of each case, and what it is made of."""
    rows = []
    for case in record.cases:
        found = (record.seconds_of(case, "warm", name) for name in (HOOK, PLANNING, DIRECT, EACH))
        cells = [number(None if seconds is None else seconds * 1e3) for seconds in found]
        over = [number(over_parts(record, case, own)) for own in (DIRECT, EACH)]
        rows.append([case, *cells, *over])
    head = ["", HOOK, PLANNING, DIRECT, EACH, "hook over planning + direct", "over planning + direct-each"]
    return markdown(head, rows)


def profile_table(profiles: dict[str, dict[str, float]]) -> str:
    """Return each part's share of the profiled time."""
    rows = [[case, *(f"{found[part]:.0%}" for part in PARTS)] for case, found in profiles.items()]
    return markdown(["", *PARTS], rows)
