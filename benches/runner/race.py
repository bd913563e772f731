"""Races all readers of a case: one pass each in turn, warm or cold, their checksums compared."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from benches.runner import page_cache
from benches.runner.budget import Budget
from benches.runner.device import FioReader
from benches.runner.prepare import data_files
from benches.runner.reader_process import Pass, ReaderError, ReaderProcess
from benches.runner.record import Result
from benches.runner.registry import ReaderEntry
from benches.runner.workload import Case


class StartedReader(Protocol):
    """A reader that is ready to read, or says why not."""

    version: str
    details: str
    refusal: str | None

    def one_pass(self) -> Pass:
        """Read once."""

    def close(self) -> None:
        """End it."""


type Start = Callable[[ReaderEntry, Case], StartedReader]


def start_reader(entry: ReaderEntry, case: Case, root: Path) -> StartedReader:
    """Start a reader on a case; raise ReaderError where it does not even say that it cannot."""
    if entry.role == "device":
        return FioReader(entry.name, case, root)
    return ReaderProcess(entry.full_command(case.case_file(root)))


@dataclass(eq=False)
class Runner:
    """One reader in a race: its process, what it has measured, and how many passes it may take."""

    entry: ReaderEntry
    result: Result
    reader: StartedReader | None = None
    passes: list[Pass] = field(default_factory=list)
    allowed: int = 0
    seconds_a_pass: float = 0.0

    def stop(self, reason: str, failed: bool = False) -> None:
        """Take the reader out of the race."""
        self.result.reason = reason
        self.result.failed = failed
        self.close()
        self.allowed = 0

    def close(self) -> None:
        """End the process."""
        if self.reader is not None:
            self.reader.close()
            self.reader = None


class Race:
    """All readers of one case."""

    def __init__(
        self, case: Case, root: Path, budget: Budget, passes: int, start: Start | None = None
    ) -> None:
        self.case = case
        self.files = data_files(case.data_folder(root))
        self.budget = budget
        self.wanted = passes
        self.start: Start = start or (lambda entry, case: start_reader(entry, case, root))

    def run(self, entries: Sequence[ReaderEntry], state: str) -> list[Result]:
        """Race the readers in one state of the page cache and return a result for each."""
        runners = [Runner(entry, Result(entry.name, self.case.name, state)) for entry in entries]
        cold = state == "cold"
        reason = page_cache.why_not_cold() if cold else page_cache.why_not_warm(self.files)
        try:
            if not cold and reason is None:
                page_cache.fill(self.files)
            for runner in runners:
                self._enter(runner, cold, reason)
                self.budget.spend()
            self._take_turns(runners, cold)
        finally:
            self.budget.settle()
            for runner in runners:
                runner.close()
        for runner in runners:
            runner.result.take(runner.passes)
        compare_checksums(runners)
        return [runner.result for runner in runners]

    def _enter(self, runner: Runner, cold: bool, reason: str | None) -> None:
        """Start a reader, and take its uncounted pass: it warms what a reader keeps, and tells its speed."""
        entry = runner.entry
        if cold and not entry.decodes:
            reason = "keeps decoded chunks in memory between passes"
        reason = entry.missing() if reason is None and entry.role != "device" else reason
        if reason is not None:
            runner.stop(reason)
            return
        started = time.monotonic()
        self._open(runner)
        if runner.reader is None:
            return
        opened = time.monotonic()
        self._attempt(runner, cold and not entry.fresh, counts=False)
        # Dropping caches and checksums take time too, and a process that is started for each pass does.
        runner.seconds_a_pass = time.monotonic() - (started if cold and entry.fresh else opened)
        if runner.reader is None:
            return
        runner.allowed = self.budget.passes(runner.seconds_a_pass, self.wanted)
        if runner.allowed == 0:
            runner.stop("left out: the time for this run was up")
        elif cold and entry.fresh:
            runner.close()

    def _open(self, runner: Runner) -> None:
        try:
            runner.reader = self.start(runner.entry, self.case)
        except ReaderError as error:
            runner.stop(f"did not start: {error}", failed=True)
            return
        runner.result.version = runner.reader.version
        runner.result.details = runner.reader.details
        if runner.reader.refusal is not None:
            runner.stop(runner.reader.refusal)

    def _take_turns(self, runners: Sequence[Runner], cold: bool) -> None:
        for number in range(self.wanted):
            for runner in runners:
                if number < runner.allowed:
                    show_progress(f"{self.case.name}: pass {number + 1}, {runner.entry.name}")
                    self._turn(runner, cold)
        show_progress("")

    def _turn(self, runner: Runner, cold: bool) -> None:
        fresh = cold and runner.entry.fresh
        if fresh:
            self._open(runner)
        if runner.reader is not None:
            self._attempt(runner, cold, counts=True)
        if fresh:
            runner.close()

    def _attempt(self, runner: Runner, cold: bool, counts: bool) -> None:
        """Take one pass; one that fails takes the reader out of the race."""
        assert runner.reader is not None
        if cold:
            page_cache.drop()
            share = page_cache.cached_share(self.files) if not runner.passes else 0.0
            if share is not None and page_cache.COLD_SHARE_MAX < share:
                runner.stop(f"{share:.0%} of the data stayed in the page cache")
                return
        try:
            taken = runner.reader.one_pass()
        except ReaderError as error:
            runner.stop(str(error), failed=True)
            return
        if counts:
            runner.passes.append(taken)


def compare_checksums(runners: Sequence[Runner]) -> None:
    """Mark the readers whose values differ from what most readers found, or from pass to pass."""
    found = {runner: {one.checksum for one in runner.passes if one.checksum} for runner in runners}
    votes = Counter(next(iter(checksums)) for checksums in found.values() if len(checksums) == 1)
    ranked = votes.most_common(2)
    tied = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
    agreed = {checksum for checksum, _ in ranked[:1] if not tied}
    wanted = "no checksum has a majority" if tied else f"most readers found {', '.join(agreed)}"
    for runner, checksums in found.items():
        listed = ", ".join(sorted(checksums))
        if 1 < len(checksums):
            runner.result.failed = True
            runner.result.reason = f"its values change from pass to pass: checksums {listed}"
        elif not checksums <= agreed:
            runner.result.failed = True
            runner.result.reason = f"its values differ from other readers': checksum {listed}, {wanted}"


def show_progress(message: str) -> None:
    """Replace the terminal's current line; say nothing where there is no terminal."""
    if sys.stderr.isatty():
        print(f"\r  {message:<60}\r", end="", file=sys.stderr, flush=True)
