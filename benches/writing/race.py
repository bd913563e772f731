"""Writers take their passes in turn."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benches.runner.registry import ROOT
from benches.writing.cases import WriteCase
from benches.writing.writer import WRITERS

FLOOR = "floor"
FLOOR_PROGRAM = ROOT / "benches" / "target" / "release" / "write-floor"


@dataclass
class Row:
    """One writer on one case; ``reason`` is why there are no passes."""

    case: str
    writer: str
    version: str = ""
    reason: str = ""
    failed: bool = False
    passes: list[dict[str, Any]] = field(default_factory=list)

    def median(self, name: str) -> float | None:
        """Return the median of a field; None where passes lack it."""
        values = [one[name] for one in self.passes if name in one]
        return float(statistics.median(values)) if values else None

    def most(self, name: str) -> float | None:
        """Return the largest of a field; None where passes lack it."""
        values = [one[name] for one in self.passes if name in one]
        return float(max(values)) if values else None


class Writer:
    """A writer's process."""

    def __init__(self, name: str, case: WriteCase) -> None:
        self.row = Row(case.name, name)
        program = (
            [str(FLOOR_PROGRAM)] if name == FLOOR else [sys.executable, "-m", "benches.writing.writer", name]
        )
        self.process = subprocess.Popen(
            [*program, str(case.case_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )
        answer = self._answer()
        self.row.version = str(answer.get("version", ""))

    def write(self, target: Path) -> None:
        """Have it write once."""
        if self.row.reason:
            return
        assert self.process.stdin is not None
        self.process.stdin.write(f"{target}\n")
        self.process.stdin.flush()
        answer = self._answer()
        if "seconds" in answer:
            self.row.passes.append(answer)

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "it ended"}
        if "error" in answer:
            self.row.reason, self.row.failed = str(answer["error"]), True
        return answer


def race(case: WriteCase, folder: Path, passes: int) -> list[Row]:
    """Have every writer write the case, in turn; what each wrote last is read back and compared."""
    case.prepare()
    writers = [Writer(name, case) for name in (FLOOR, *WRITERS)]
    for _ in range(passes):
        for writer in writers:
            target = folder / "written" / writer.row.writer
            case.make_empty(target)
            writer.write(target)
    for writer in writers:
        writer.close()
        row, target = writer.row, folder / "written" / writer.row.writer
        if row.passes and not case.is_written(target, checks_indexes=row.writer != FLOOR):
            row.failed, row.reason = True, "zarr-python reads other values than were to be written"
        stored = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
        row.passes = [{**one, "stored_bytes": stored} for one in row.passes]
    return [writer.row for writer in writers]
