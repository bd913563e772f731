"""What a run measured: results of readers on cases, medians of them, and the JSON that keeps them."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benches.runner.reader_process import Pass

PERCENTILES = (50.0, 90.0, 99.0, 99.9)


@dataclass
class Result:
    """One reader on one case in one state of the page cache; ``reason`` is why there are no passes."""

    reader: str
    case: str
    state: str
    version: str = ""
    details: str = ""
    reason: str = ""
    failed: bool = False
    passes: list[dict[str, Any]] = field(default_factory=list)
    latency_ns: dict[str, float] = field(default_factory=dict)

    def take(self, passes: Sequence[Pass]) -> None:
        """Keep passes, and the percentiles of the latencies of all of them together."""
        self.passes = [one.record() for one in passes]
        self.latency_ns = percentiles([latency for one in passes for latency in one.latencies_ns])

    @property
    def seconds(self) -> float | None:
        """The median time of a pass; None where there are none."""
        return self.median("seconds")

    @property
    def cpu_seconds(self) -> float | None:
        """The median CPU time of a pass."""
        if not self.passes:
            return None
        return float(statistics.median(one["user_seconds"] + one["system_seconds"] for one in self.passes))

    def median(self, name: str) -> float | None:
        """Return the median of a field of the passes; None where some pass has none."""
        values = [one[name] for one in self.passes]
        return None if not values or None in values else float(statistics.median(values))


def percentiles(latencies_ns: Sequence[int]) -> dict[str, float]:
    """Return percentiles by name, "50" to "99.9"; empty without latencies."""
    if not latencies_ns:
        return {}
    ordered = sorted(latencies_ns)
    places = {
        f"{percent:g}": min(int(percent / 100 * len(ordered)), len(ordered) - 1) for percent in PERCENTILES
    }
    return {name: float(ordered[place]) for name, place in places.items()}


@dataclass
class CaseFacts:
    """What one pass over a case amounts to."""

    workload: str
    inner_order: str
    kind: str
    about: str
    mode: str
    output_bytes: int
    stored_bytes: int
    data_bytes: int
    chunks: int
    range_len: int = 0
    reads: int = 0


@dataclass
class Record:
    """A whole run."""

    machine: dict[str, Any]
    settings: dict[str, Any]
    roles: dict[str, dict[str, Any]]
    cases: dict[str, CaseFacts] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    seconds: float = 0.0

    def find(self, case: str, state: str, reader: str) -> Result | None:
        """Return one result."""
        matches = (one for one in self.results if (one.case, one.state, one.reader) == (case, state, reader))
        return next(matches, None)

    def seconds_of(self, case: str, state: str, reader: str) -> float | None:
        """Return a reader's median seconds; None where it has none."""
        result = self.find(case, state, reader)
        return None if result is None else result.seconds

    def failures(self) -> list[Result]:
        """Return what did not work although it should have."""
        return [one for one in self.results if one.failed]

    def save(self, path: Path) -> None:
        """Write the record, one result a line."""
        path.parent.mkdir(parents=True, exist_ok=True)
        fields = asdict(self)
        results = fields.pop("results")
        head = json.dumps(fields, indent=1).removesuffix("\n}")
        lines = ",\n".join(f"  {json.dumps(one)}" for one in results)
        path.write_text(f'{head},\n "results": [\n{lines}\n ]\n}}\n')

    @staticmethod
    def load(path: Path) -> Record:
        """Read a record that `save` wrote."""
        fields: Mapping[str, Any] = json.loads(path.read_text())
        return Record(
            **{
                **fields,
                "cases": {name: CaseFacts(**facts) for name, facts in fields["cases"].items()},
                "results": [Result(**one) for one in fields["results"]],
            }
        )
