"""Contenders take their passes in turn."""

from __future__ import annotations

import os
import shutil
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benches.rechunk.cases import RechunkCase
from benches.rechunk.contenders import CONTENDERS, SWATH, Contender
from benches.rechunk.watched import folder_bytes, watch

# A pass that takes longer does not count, nor does its contender take another.
SECONDS_MAX = 240.0


@dataclass
class Row:
    """One contender on one case; ``reason`` is why there are no passes, or why they do not count."""

    case: str
    contender: str
    version: str = ""
    settings: str = ""
    reason: str = ""
    stored_bytes: int = 0
    passes: list[dict[str, Any]] = field(default_factory=list)

    def median(self, name: str) -> float | None:
        """Return the median of a field; None where there are no passes that count."""
        values = [] if self.reason else [one[name] for one in self.passes]
        return float(statistics.median(values)) if values else None

    def most(self, name: str) -> float | None:
        """Return the largest of a field; None where there are no passes that count."""
        values = [] if self.reason else [one[name] for one in self.passes]
        return float(max(values)) if values else None


def race(case: RechunkCase, folder: Path, memory_bytes: int, passes: int) -> list[Row]:
    """Have every contender rechunk the case, in turn; what each writes last is read back and compared."""
    case.prepare()
    read_all(case.source)
    rows = {one.name: Row(case.name, one.name) for one in CONTENDERS}
    for number in range(passes):
        for contender in CONTENDERS:
            row = rows[contender.name]
            if not row.reason:
                one_pass(case, contender, row, (folder, memory_bytes), checks=number + 1 == passes)
    return list(rows.values())


def one_pass(
    case: RechunkCase, contender: Contender, row: Row, where: tuple[Path, int], *, checks: bool
) -> None:
    """Have a contender rechunk once, from an empty folder."""
    folder, memory_bytes = where
    if not contender.program.exists():
        row.reason = "not installed"
        return
    place = folder / "made"
    shutil.rmtree(place, ignore_errors=True)
    target, scratch, case_path = place / "target.zarr", place / "scratch", place / "case.json"
    scratch.mkdir(parents=True)
    case.describe(target, scratch, memory_bytes, case_path)
    # What others wrote must not be on its way to the device still.
    os.sync()
    held = memory_bytes if contender.is_held else None
    watched = watch(contender.command(case_path), scratch, SECONDS_MAX, held)
    row.reason = watched.reason
    row.version = watched.answer.pop("version", row.version)
    row.settings = watched.answer.pop("settings", row.settings)
    if contender.name == SWATH:
        row.settings = f"--memory {memory_bytes / 1e6:.0f}MB"
    if not row.reason:
        row.passes.append(asdict(watched))
        row.stored_bytes = folder_bytes(target)
        row.reason = case.wrong(target) if checks else ""
    shutil.rmtree(place, ignore_errors=True)


def read_all(folder: Path) -> None:
    """Read every file, so that all contenders find them in the page cache."""
    for path in folder.rglob("*"):
        if path.is_file():
            path.read_bytes()


def names(rows: Sequence[Row]) -> list[str]:
    """Return the contenders of some rows, in the order of the list."""
    seen = {row.contender for row in rows}
    return [one.name for one in CONTENDERS if one.name in seen]
