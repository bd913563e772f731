"""The command line: it measures, and writes docs/performance-fused-reads.md."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import swath

from benches.converting.cases import CASES, TIMES, Case, crops, is_equal, prepare
from benches.runner import machine
from benches.runner.registry import ROOT
from benches.runner.tables import machine_table, markdown, number

PASSES, PASSES_MIN = 15, 3
# Of a result that is not larger than what it is made of.
TIMES_MAX = 1.1

HEAD = """# Performance of reading with work fused in

Written by `make bench-converting`; do not edit. The 64 crops of the workload `sat_blosc`, 4 x 10 x 128 x 128
elements each, from {times} of its images, stored in three types, are read from the page cache by one
`read_many` into memory that is there: plain, and converted on the way. Both took {passes} passes in turn;
numbers are medians, and the last but one column is the median of each pass's share. Results equal the same
steps in NumPy, floats within one unit in the last place. A conversion may take {most:g} times the plain read
where its result is not larger.
"""


def measure(case: Case, folder: Path, passes: int) -> dict[str, Any]:
    """Time a case; raises where a result is not what NumPy makes of the plain one."""
    array = swath.open_array(prepare(case.dtype, folder))
    selections = crops(case.dtype)
    shape = tuple(one.stop - one.start for one in selections[0])
    plain = np.zeros((len(selections), *shape), case.dtype)
    converted = np.zeros((len(selections), *case.out_shape(shape)), case.out_dtype)

    def both() -> tuple[float, float]:
        first = time.perf_counter()
        array.read_many(selections, out=plain)
        second = time.perf_counter()
        array.read_many(selections, out=converted, **case.steps)
        return second - first, time.perf_counter() - second

    both()
    for found, stored in zip(converted, plain, strict=True):
        if not is_equal(found, case.expected(stored)):
            raise SystemExit(f"bench: {case.name} of {case.dtype} differs from NumPy's")
    seconds = [both() for _ in range(passes)]
    return {
        "case": case,
        "plain": statistics.median(one for one, _ in seconds),
        "converted": statistics.median(other for _, other in seconds),
        "times": statistics.median(other / one for one, other in seconds),
        "size": converted.nbytes / plain.nbytes,
    }


def page(record: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """Return the page."""
    lines = []
    for row in rows:
        case, times = row["case"], row["times"]
        passed = "larger" if 1 < row["size"] else "pass" if times <= TIMES_MAX else "**fail**"
        lines.append([
            f"{case.dtype} to {case.out_dtype}: {case.name}", number(row["size"]), number(row["plain"] * 1e3),
            number(row["converted"] * 1e3), number(times), passed,
        ])  # fmt: skip
    head = ["what", "result's size", "plain ms", "converted ms", "times", f"≤ {TIMES_MAX:g}"]
    text = HEAD.format(passes=record["passes"], times=record["times"], most=TIMES_MAX)
    return "\n".join([text, machine_table(record), markdown(head, lines), ""])


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benches.converting", description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / ".bench", help="folder of the data")
    parser.add_argument("--passes", type=int, default=PASSES, help=f"at least {PASSES_MIN}")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="folder of the page")
    settings = parser.parse_args()
    if settings.passes < PASSES_MIN:
        parser.error(f"--passes must be at least {PASSES_MIN}: medians of fewer say nothing")
    folder = settings.data / "converting"
    folder.mkdir(parents=True, exist_ok=True)
    for dtype in dict.fromkeys(case.dtype for case in CASES):
        prepare(dtype, folder)
    started, found = time.monotonic(), machine.describe(settings.data)
    rows = [measure(case, folder, settings.passes) for case in CASES]
    record = {
        "machine": found,
        "passes": settings.passes,
        "seconds": time.monotonic() - started,
        "times": TIMES,
    }
    (settings.docs / "performance-fused-reads.md").write_text(page(record, rows))
    failed = [row["case"].name for row in rows if row["size"] <= 1 and TIMES_MAX < row["times"]]
    if failed:
        sys.exit(f"bench: slower than {TIMES_MAX:g} times the plain read: {', '.join(failed)}")
