"""What a run of the cloud benches measured, and the JSON that keeps it."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Row:
    """One reader on one case from one server; ``reason`` is why there are no passes.

    ``first`` holds the first pass of each of its processes, ``again`` the second one: each its seconds, CPU
    seconds and checksum, and what the server counted meanwhile.
    """

    section: str
    case: str
    server: str
    reader: str
    version: str = ""
    details: str = ""
    reason: str = ""
    failed: bool = False
    first: list[dict[str, Any]] = field(default_factory=list)
    again: list[dict[str, Any]] = field(default_factory=list)

    def median(self, name: str, turn: str = "first") -> float | None:
        """Return the median of a field of the passes; None where there are none."""
        passes = self.first if turn == "first" else self.again
        values = [one[name] for one in passes]
        return float(statistics.median(values)) if values else None


@dataclass
class CloudRecord:
    """A whole run; ``found`` holds what is no race, by the section that measured it."""

    machine: dict[str, Any]
    settings: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    found: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def find(self, section: str, case: str, server: str, reader: str) -> Row | None:
        """Return one row."""
        wanted = (section, case, server, reader)
        matches = (row for row in self.rows if (row.section, row.case, row.server, row.reader) == wanted)
        return next(matches, None)

    def of(self, section: str) -> list[Row]:
        """Return the rows of a section."""
        return [row for row in self.rows if row.section == section]

    def seconds_of(
        self, section: str, case: str, server: str, reader: str, turn: str = "first"
    ) -> float | None:
        """Return a reader's median seconds; None where it has none, or read what others did not."""
        row = self.find(section, case, server, reader)
        return None if row is None or row.failed else row.median("seconds", turn)

    def failures(self) -> list[str]:
        """Say what did not work although it should have."""
        told = [f"{row.reader} on {row.case}, {row.server}: {row.reason}" for row in self.rows if row.failed]
        return told + [f"{name}: {found['error']}" for name, found in self.found.items() if "error" in found]

    def save(self, path: Path) -> None:
        """Write the record, one row a line."""
        path.parent.mkdir(parents=True, exist_ok=True)
        fields = asdict(self)
        rows = fields.pop("rows")
        head = json.dumps(fields, indent=1).removesuffix("\n}")
        lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        path.write_text(f'{head},\n "rows": [\n{lines}\n ]\n}}\n')

    @staticmethod
    def load(path: Path) -> CloudRecord:
        """Read a record that ``save`` wrote."""
        fields: dict[str, Any] = json.loads(path.read_text())
        return CloudRecord(**{**fields, "rows": [Row(**row) for row in fields["rows"]]})


def compare_checksums(rows: Sequence[Row], wanted: str | None = None) -> None:
    """Mark the rows whose values differ from those wanted, or from what most readers of the case found."""
    found = {id(row): {one["checksum"] for one in row.first + row.again} for row in rows}
    if wanted is None:
        votes = Counter(checksum for checksums in found.values() for checksum in checksums)
        ranked = votes.most_common(2)
        tied = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
        wanted = ranked[0][0] if ranked and not tied else "a majority"
    for row in rows:
        if found[id(row)] - {wanted}:
            row.failed = True
            row.reason = f"its values differ: checksums {', '.join(sorted(found[id(row)]))}, wanted {wanted}"
