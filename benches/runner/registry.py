"""The readers that are raced, as ``benches/readers.toml`` lists them."""

from __future__ import annotations

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from benches.runner.errors import BenchError
from benches.runner.workload import STATES, Case, Kind

ROOT = Path(__file__).parents[2]
FILE = ROOT / "benches" / "readers.toml"
ROLES = ("floor", "swath", "peer", "device")


@dataclass(frozen=True)
class ReaderEntry:
    """A reader: how it is started, and what it is compared as."""

    name: str
    command: tuple[str, ...]
    role: str
    language: str
    kinds: tuple[Kind, ...]
    variant: str = ""
    decodes: bool = True
    fresh: bool = False
    fixed: bool = False
    states: tuple[str, ...] = STATES
    inner_orders: tuple[str, ...] = ("", "morton", "c")
    quick: bool = False

    def full_command(self, case_file: Path) -> list[str]:
        """Return the command line for a case."""
        command = [sys.executable if word == "{python}" else word for word in self.command]
        command += ["--workload", str(case_file.resolve())]
        return [*command, "--variant", self.variant] if self.variant else command

    def reads(self, case: Case, state: str) -> bool:
        """Say whether the reader takes part in a case's race."""
        if state not in self.states or case.workload.kind not in self.kinds:
            return False
        return case.inner_order in self.inner_orders

    def missing(self) -> str | None:
        """Return why the reader's program cannot be started, if so."""
        program = self.command[0]
        if program == "{python}" or (ROOT / program).exists():
            return None
        return f"{program} is not built"


def load_readers(file: Path = FILE) -> dict[str, ReaderEntry]:
    """Read the list of readers; raise BenchError for what is no reader."""
    entries = {}
    for fields in tomllib.loads(file.read_text())["reader"]:
        lists = {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
        try:
            entry = ReaderEntry(**(fields | lists))
        except TypeError as error:
            raise BenchError(f"{file.name}: reader {fields.get('name', '?')}: {error}") from error
        if entry.role not in ROLES or not set(entry.states) <= set(STATES):
            raise BenchError(f"{file.name}: reader {entry.name}: unknown role or state")
        entries[entry.name] = entry
    return entries
