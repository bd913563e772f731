"""Contenders take their passes in turn, and their results are compared."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benches.grib.cases import Decoding
from benches.grib.contenders import CONTENDERS, SWATH, Contender, Running

# Decodings of one pass.
TIMES = 10


@dataclass
class Row:
    """One contender on one case; ``reason`` is why there are no passes, or why they do not count."""

    case: str
    contender: str
    version: str = ""
    reason: str = ""
    count: int = 0
    seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float | None:
        """Return the median of the passes; None where they do not count."""
        return None if self.reason or not self.seconds else statistics.median(self.seconds)

    def times(self, own: Row) -> float | None:
        """Return how many times longer this one took than another, as the median of each pass's share."""
        if self.median is None or own.median is None:
            return None
        return statistics.median(other / one for one, other in zip(own.seconds, self.seconds, strict=True))


def decode(case: Decoding, folder: Path, passes: int) -> list[Row]:
    """Have every contender decode a message; raises where swath's values are not those of ecCodes."""
    rows = {one.name: Row(case.name, one.name) for one in CONTENDERS}
    outs = {one.name: folder / f"values of {one.name}" for one in CONTENDERS}
    with ExitStack() as stack:
        running = start(stack, CONTENDERS, rows)
        for number in range(passes + 1):
            for one in running:
                # The first pass does not count, and leaves values behind.
                out = None if number else str(outs[one.name])
                job = {"do": "decode", "path": str(case.path), "type": case.dtype, "times": TIMES, "out": out}
                take(one, rows[one.name], job, counts=number != 0)
    compare(case, rows, outs)
    return list(rows.values())


def scan(path: Path, passes: int) -> list[Row]:
    """Have every contender list the fields of a file."""
    rows = {one.name: Row("scan", one.name) for one in CONTENDERS}
    with ExitStack() as stack:
        running = start(stack, CONTENDERS, rows)
        for number in range(passes + 1):
            for one in running:
                take(one, rows[one.name], {"do": "scan", "path": str(path)}, counts=number != 0)
    return list(rows.values())


def start(stack: ExitStack, contenders: Sequence[Contender], rows: dict[str, Row]) -> list[Running]:
    """Start those that are here."""
    for one in contenders:
        if not one.is_here:
            rows[one.name].reason = "not installed"
    return [stack.enter_context(Running(one)) for one in contenders if one.is_here]


def take(one: Running, row: Row, job: dict[str, object], *, counts: bool) -> None:
    """Have a contender do a job, unless it failed before."""
    if row.reason:
        return
    answer = one.ask(**job)
    row.reason = answer.get("reason", "")
    row.version = answer.get("version", row.version)
    row.count = answer.get("count", 0)
    if counts and not row.reason:
        row.seconds.append(answer["seconds"])


def compare(case: Decoding, rows: dict[str, Row], outs: dict[str, Path]) -> None:
    """Compare values with swath's: those of 64 bits are to be ecCodes' to the last one.

    Those of 32 bits ecCodes computes in 32 where differences are packed, and swath rounds once.
    """
    wanted = np.fromfile(outs[SWATH.name], case.dtype)
    for name, row in rows.items():
        if row.reason or name == SWATH.name:
            continue
        found = np.fromfile(outs[name], case.dtype)
        same = found.shape == wanted.shape and np.array_equal(found, wanted, equal_nan=True)
        if not same and name == "ecCodes" and case.dtype == "float64":
            # It has no NaN for what is missing.
            present = ~np.isnan(wanted)
            same = found.shape == wanted.shape and np.array_equal(found[present], wanted[present])
            if not same:
                raise SystemExit(f"bench: {case.name}: swath's values are not ecCodes'")
        found = np.where(np.isnan(wanted), np.nan, found) if found.shape == wanted.shape else found
        near = same or (found.shape == wanted.shape and np.allclose(found, wanted, rtol=1e-5, equal_nan=True))
        row.reason = "" if near else "other values"
    for out in outs.values():
        out.unlink(missing_ok=True)
