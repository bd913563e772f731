"""How far a long read or write is, for people."""

from __future__ import annotations

import importlib
import os
import sys
import time
from typing import Any, Protocol, TextIO

# Lines are read by people, or kept in logs: they come seldom.
LINE_SECONDS = 5.0


class Bar(Protocol):
    """What shows how far something is."""

    def update(self, done: int) -> None:
        """Show that so much is done."""

    def close(self) -> None:
        """Show no more."""


def bar(what: str, name: str, total: int, unit: str) -> Bar:
    """Show what is done to something, of so much in all: by tqdm, by rich, or where neither can in lines."""
    title = f"{what} {name.rstrip('/').rpartition('/')[2]}"
    for make in (Tqdm, Rich):
        try:
            return make(title, total, unit)
        except Exception:
            # Not installed, or it cannot draw here: rich has one bar at a time, tqdm wants a stream.
            continue
    return Lines(title, total, unit)


class Tqdm:
    """A bar of tqdm's, in terminals and notebooks."""

    def __init__(self, title: str, total: int, unit: str) -> None:
        tqdm = importlib.import_module("tqdm.auto").tqdm
        self._bar = tqdm(desc=title, total=total, unit=unit, unit_scale=True, leave=False)

    def update(self, done: int) -> None:
        """Show that so much is done."""
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """Take the bar away."""
        self._bar.close()


class Rich:
    """A bar of rich's, on stderr."""

    def __init__(self, title: str, total: int, unit: str) -> None:
        if sys.stderr is None or (not sys.stderr.isatty() and "FORCE_COLOR" not in os.environ):
            raise ImportError("rich draws on terminals only")
        rich: Any = importlib.import_module("rich.progress")
        console = importlib.import_module("rich.console").Console(stderr=True)
        columns: list[Any] = [rich.TextColumn("{task.description}"), rich.BarColumn()]
        columns += [rich.DownloadColumn() if unit == "B" else rich.MofNCompleteColumn()]
        columns += [rich.TimeRemainingColumn()]
        self._bar = rich.Progress(*columns, console=console, transient=True)
        self._task = self._bar.add_task(title, total=total)
        self._bar.start()

    def update(self, done: int) -> None:
        """Show that so much is done."""
        self._bar.update(self._task, completed=done)

    def close(self) -> None:
        """Take the bar away."""
        self._bar.stop()


class Lines:
    """Lines on stderr, every five seconds; none where a program has no stderr."""

    def __init__(self, title: str, total: int, unit: str, file: TextIO | None = None) -> None:
        self._title, self._total, self._unit = title, total, unit
        self._file = file
        self._next = time.monotonic()

    def update(self, done: int) -> None:
        """Show that so much is done, if it is time to."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + LINE_SECONDS
        file = self._file or sys.stderr
        if file is None:
            return
        percent = 100 * done // max(self._total, 1)
        amount = f"{self._text(done)} of {self._text(self._total)}"
        print(f"swath: {self._title}: {percent} % ({amount})", file=file, flush=True)

    def close(self) -> None:
        """Leave the lines as they are."""

    def _text(self, amount: int) -> str:
        return f"{amount / 1e6:,.1f} MB" if self._unit == "B" else f"{amount:,} {self._unit}"
