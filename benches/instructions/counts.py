"""The committed counts, ``counts.toml``: reading and writing them, and judging new ones by them."""

from __future__ import annotations

import datetime
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

GROWTH_MAX = 0.05
# Counts of one program repeat within 0.7 % where two threads take turns, 0.3 % elsewhere.
NOISE = 0.01

HEADER = """\
# Instructions of one operation of each hot path, under valgrind: written by `make instructions-update`.
#
# The last entry of a history counts. `make instructions` fails where a path takes over 5 % more. An entry
# over 5 % above the one before it has a note that says why.
"""


@dataclass(frozen=True)
class Entry:
    """A count, since when it holds, and why it is what it is."""

    count: float
    date: datetime.date
    note: str


@dataclass(frozen=True)
class Counted:
    """A path: what one operation is, the rounds of a run, and its counts, oldest first."""

    about: str
    rounds: int
    history: tuple[Entry, ...]

    @property
    def count(self) -> float | None:
        """The count that holds; None before the first."""
        return self.history[-1].count if self.history else None


@dataclass(frozen=True)
class Counts:
    """The file: the compiler that the counts were taken with, and the paths by name."""

    rustc: str
    paths: Mapping[str, Counted]

    @staticmethod
    def parse(text: str) -> Counts:
        """Read what `text` wrote, or a person."""
        fields = tomllib.loads(text)
        rustc = fields.pop("rustc")
        paths = {
            name: Counted(path["about"], path["rounds"], tuple(Entry(**entry) for entry in path["history"]))
            for name, path in fields.items()
        }
        return Counts(rustc, paths)

    @staticmethod
    def load(path: Path) -> Counts:
        """Read a file."""
        return Counts.parse(path.read_text())

    def text(self) -> str:
        """Return the file's text."""
        # JSON's strings are TOML's, as long as nothing but ASCII is left in them.
        lines = [f"{HEADER}\nrustc = {json.dumps(self.rustc)}\n"]
        for name, path in self.paths.items():
            lines += [f"\n[{name}]\n", f"about = {json.dumps(path.about)}\n", f"rounds = {path.rounds}\n"]
            entries = [
                f"    {{ count = {entry.count}, date = {entry.date}, note = {json.dumps(entry.note)} }},\n"
                for entry in path.history
            ]
            lines += ["history = [\n", *entries, "]\n"]
        return "".join(lines)

    def unexplained(self) -> list[str]:
        """Return a sentence for each rise over 5 % in a history that has no note."""
        return [
            f"{name}: the count of {later.date} is over 5 % above the one before it and has no note"
            for name, path in self.paths.items()
            for earlier, later in zip(path.history, path.history[1:], strict=False)
            if GROWTH_MAX < growth(earlier.count, later.count) and not later.note.strip()
        ]

    def updated(self, measured: Mapping[str, float], rustc: str, today: datetime.date, note: str) -> Counts:
        """Return the counts with new ones where they differ.

        A rise within 5 % changes nothing: many small ones add up until they have to be explained.

        Raises
        ------
        ValueError
            Where a path takes over 5 % more and there is no note.
        """
        changed = {name: _updated(self.paths[name], count, today, note) for name, count in measured.items()}
        counts = Counts(rustc, {**self.paths, **changed})
        if unexplained := counts.unexplained():
            raise ValueError("\n".join(unexplained))
        return counts


def _updated(path: Counted, count: float, today: datetime.date, note: str) -> Counted:
    entry = Entry(round(count, 1), today, note)
    if path.count is None:
        return replace(path, history=(entry,))
    by = growth(path.count, count)
    if GROWTH_MAX < abs(by):
        return replace(path, history=(*path.history, entry))
    if by < -NOISE:
        # What was gained is kept, under the note that was there.
        kept = replace(path.history[-1], count=entry.count, date=today)
        return replace(path, history=(*path.history[:-1], kept))
    return path


def growth(old: float, new: float) -> float:
    """Return by which part of ``old`` the new count is larger."""
    return new / old - 1


@dataclass(frozen=True)
class Verdict:
    """Lines to print, and whether the check fails."""

    lines: list[str]
    has_failed: bool


def judge(counts: Counts, measured: Mapping[str, float]) -> Verdict:
    """Compare new counts with those that hold; a path that was not measured is none of this verdict's."""
    lines = [f"{'path':<24}{'counted':>12}{'committed':>12}{'change':>10}"]
    failed, lower, new = [], [], []
    for name, count in measured.items():
        committed = counts.paths[name].count
        if committed is None:
            lines.append(f"{name:<24}{count:>12,.1f}")
            new.append(name)
            continue
        by = growth(committed, count)
        lines.append(f"{name:<24}{count:>12,.1f}{committed:>12,.1f}{by:>+10.1%}")
        if GROWTH_MAX < by:
            failed.append(f"{name} takes {by:.1%} more instructions than committed")
        elif by < -GROWTH_MAX:
            lower.append(name)
    if lower:
        lines.append(f"Fewer instructions: keep it by `make instructions-update`: {', '.join(lower)}.")
    if new:
        failed.append(f"no count is committed of {', '.join(new)}")
    failed += counts.unexplained()
    return Verdict([*lines, *failed], bool(failed))
