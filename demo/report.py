"""What the demo measured, as rows and as a table of text."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from demo.readers import LABELS
from demo.worker import Pass

HEADINGS = ("", "ms a pass", "crops/s", "GB/s", "chunks/s", "CPU s", "peak MB", "relative time")


@dataclass(frozen=True)
class Work:
    """What every reader read in one pass."""

    crops: int
    bytes: int
    chunks: int


@dataclass(frozen=True)
class Row:
    """One reader's medians over the passes."""

    name: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int | None


def row(name: str, passes: Sequence[Pass], peak_bytes: int | None) -> Row:
    """Return the medians of a reader's passes."""
    return Row(
        name,
        seconds=statistics.median(timed.seconds for timed in passes),
        cpu_seconds=statistics.median(timed.cpu_seconds for timed in passes),
        peak_bytes=peak_bytes,
    )


def cells(rows: Sequence[Row], work: Work) -> list[tuple[str, ...]]:
    """Return the table's text, a tuple for each reader; times are also given in those of the first row."""
    return [
        (
            LABELS[row.name],
            f"{row.seconds * 1e3:,.1f}",
            f"{work.crops / row.seconds:,.0f}",
            f"{work.bytes / row.seconds / 1e9:.3f}",
            f"{work.chunks / row.seconds:,.0f}",
            f"{row.cpu_seconds:.3f}",
            f"{row.peak_bytes / 1e6:.0f}" if row.peak_bytes is not None else "-",
            relative(row.seconds / rows[0].seconds),
        )
        for row in rows
    ]


def relative(ratio: float) -> str:
    """Return a ratio with two digits or more."""
    return f"{ratio:.1f} x" if 1 <= ratio else f"{ratio:.2f} x"


def table(rows: Sequence[Row], work: Work) -> str:
    """Return the table, which is also Markdown."""
    lines = [HEADINGS, *cells(rows, work)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    text = [
        "| "
        + " | ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        + " |"
        for line in lines
    ]
    rule = "| " + " | ".join(
        "-" * width if column == 0 else "-" * (width - 1) + ":" for column, width in enumerate(widths)
    )
    return "\n".join([text[0], rule + " |", *text[1:]])


def processor() -> str:
    """Return the processor's name and how many of its cores this process may use."""
    name = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            line.partition(":")[2].strip()
            for line in cpuinfo.read_text().splitlines()
            if "model name" in line
        ]
        name = names[0] if names else name
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{name}, {cores} cores"


def machine() -> str:
    """Return one line on the machine and the versions that were compared."""
    versions = []
    for package in ("swath", "tensorstore", "zarr", "numcodecs", "numpy"):
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    release = ".".join(platform.release().split(".")[:2])
    system = f"{platform.system()} {release}, Python {platform.python_version()}"
    return f"{processor()}; {system}; {', '.join(versions)}"
