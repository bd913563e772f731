"""The cloud report's plots, as SVG that stays the same for the same numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from benches.cloud.record import CloudRecord
from benches.runner.plots import COLOURS


def save(figure: Figure, target: Path) -> None:
    """Write a figure without anything that changes from run to run."""
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})


def set_up() -> None:
    """Make plots of equal numbers equal."""
    mpl.rcParams["svg.hashsalt"] = "swath"
    mpl.rcParams["svg.fonttype"] = "none"


def draw_times(record: CloudRecord, target: Path) -> None:
    """Draw the median times of all readers of arrays, one panel a case and server."""
    set_up()
    rows = [row for row in record.of("latency") + record.of("bandwidth") if row.first and not row.failed]
    panels = list(dict.fromkeys((row.section, row.case, row.server) for row in rows))
    figure = Figure(figsize=(4 * max(len(panels), 1), 3), layout="constrained")
    for place, panel in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), place + 1)
        shown = [row for row in rows if (row.section, row.case, row.server) == panel][::-1]
        seconds = [row.median("seconds") or 0.0 for row in shown]
        colours = [COLOURS["swath" if row.reader.startswith("swath") else "peer"] for row in shown]
        axes.barh([row.reader for row in shown], [1e3 * second for second in seconds], color=colours)
        axes.set_xscale("log")
        axes.set_title(", ".join(panel), fontsize=9)
        axes.set_xlabel("ms a pass, logarithmic", fontsize=7)
        axes.tick_params(labelsize=7)
    save(figure, target)


def draw_adaptation(found: dict[str, Any], target: Path) -> None:
    """Draw the limit of concurrency over time, and when the server turned requests away."""
    set_up()
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    axes = figure.add_subplot()
    history = found["history"]
    times = [at for at, _ in history] + [found["seconds"]]
    limits = [limit for _, limit in history] + [history[-1][1] if history else 0]
    axes.step(times, limits, where="post", color=COLOURS["swath"], label="requests allowed at once")
    start, end, above = found["throttle_from"], found["throttle_to"], found["throttle_above"]
    axes.axvspan(start, end, color=COLOURS["peer"], alpha=0.25, label=f"503 for all above {above} at once")
    axes.axhline(above, xmin=0, xmax=1, color=COLOURS["floor"], linewidth=0.8, linestyle="dotted")
    axes.set_yscale("log", base=2)
    axes.set_xlabel("seconds", fontsize=8)
    axes.set_ylabel("requests", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.legend(fontsize=7)
    save(figure, target)
