"""Races readers on one case from one server: each pass a new process, all readers in turn."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benches.cloud.readers.location import Location, Scheme
from benches.cloud.record import Row
from benches.cloud.server import Server
from benches.runner.race import show_progress
from benches.runner.reader_process import ReaderError, ReaderProcess
from benches.runner.registry import ROOT

ZARR_PYTHON = "benches/cloud/peers/zarr_obstore/.venv/bin/python"


@dataclass(frozen=True)
class Entry:
    """A reader: how it is started, its limit of connections (0: its default), and what only it is told."""

    name: str
    command: tuple[str, ...]
    connections: int = 0
    more: dict[str, Any] = field(default_factory=dict)
    # Whether each process reads a second time, when connections are open and indexes may be known.
    again: bool = False

    def full_command(self, case_file: Path, location: Location) -> list[str]:
        """Return the command line for a case."""
        command = [sys.executable if word == "{python}" else word for word in self.command]
        return [*command, "--workload", str(case_file.resolve()), "--variant", location.text()]

    def missing(self) -> str | None:
        """Return why the reader's program cannot be started, if so."""
        program = self.command[0]
        return None if program == "{python}" or (ROOT / program).exists() else f"{program} is not built"


def swath(name: str, connections: int) -> Entry:
    """Return swath from Python with a limit of requests at a time."""
    return Entry(name, ("{python}", "-m", "benches.cloud.readers.swath_array"), connections, again=True)


def tensorstore(connections: int) -> Entry:
    """Return TensorStore with a limit of requests at a time."""
    command = ("benches/peers/tensorstore/.venv/bin/python", "-m", "benches.cloud.readers.tensorstore_array")
    return Entry(f"tensorstore-{connections}", command, connections, again=True)


def zarr(pipeline: str) -> Entry:
    """Return zarr-python over obstore with the settings that were fastest of those tried.

    Tried, 20 ms away: ``async.concurrency`` of 10 and 256, 16 and 64 threads.
    """
    more = {"pipeline": pipeline, "concurrency": 10 if pipeline == "default" else 256, "threads": 16}
    return Entry(f"zarr-{pipeline}", (ZARR_PYTHON, "-m", "benches.cloud.readers.zarr_array"), more=more)


@dataclass(frozen=True)
class Race:
    """One case from one server that has its link set."""

    section: str
    case: str
    case_file: Path
    scheme: Scheme
    server: Server
    bucket: str
    key: str

    def run(self, entries: Sequence[Entry], passes: int) -> list[Row]:
        """Race the readers, and return a row for each."""
        rows = [Row(self.section, self.case, self.scheme, entry.name) for entry in entries]
        for number in range(passes):
            for entry, row in zip(entries, rows, strict=True):
                show_progress(f"{self.section}, {self.case}, {self.scheme}: pass {number + 1}, {entry.name}")
                if not row.reason:
                    self._turn(entry, row)
        show_progress("")
        return rows

    def _turn(self, entry: Entry, row: Row) -> None:
        reason = entry.missing()
        if reason is not None:
            row.reason = reason
            return
        location = Location(
            self.scheme, self.server.endpoint, self.bucket, self.key, entry.connections, dict(entry.more)
        )
        reader = None
        try:
            reader = ReaderProcess(entry.full_command(self.case_file, location))
            row.version, row.details = reader.version, reader.details
            if reader.refusal is not None:
                row.reason = reader.refusal
                return
            row.first.append(self._pass(reader))
            if entry.again:
                row.again.append(self._pass(reader))
        except ReaderError as error:
            row.reason, row.failed = str(error), True
        finally:
            if reader is not None:
                reader.close()

    def _pass(self, reader: ReaderProcess) -> dict[str, Any]:
        self.server.take()
        taken = reader.one_pass()
        counts = asdict(self.server.take())
        return {
            "seconds": taken.seconds,
            "cpu_seconds": taken.cpu_seconds,
            "checksum": taken.checksum,
            **counts,
        }
