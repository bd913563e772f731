"""The report's plots, as SVG that stays the same for the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from benches.runner.record import Record
from benches.runner.tables import readers_of

COLOURS = {"swath": "#c8553d", "peer": "#8d99ae", "floor": "#2b2d42", "device": "#588157"}
COLUMNS = 3


def draw(record: Record, cases: Sequence[str], state: str, title: str, target: Path) -> None:
    """Draw the median times of every reader, one panel a case; a shorter bar is a faster reader."""
    mpl.rcParams["svg.hashsalt"] = "swath"
    mpl.rcParams["svg.fonttype"] = "none"
    shown = [case for case in cases if readers_of(record, [case], state)]
    if not shown:
        return
    rows = -(-len(shown) // COLUMNS)
    figure = Figure(figsize=(12, 2.6 * rows + 0.6), layout="constrained")
    figure.suptitle(title)
    for place, case in enumerate(shown):
        axes = figure.add_subplot(rows, COLUMNS, place + 1)
        readers = readers_of(record, [case], state)[::-1]
        seconds = [record.seconds_of(case, state, reader) or 0.0 for reader in readers]
        colours = [COLOURS[record.roles[reader]["role"]] for reader in readers]
        axes.barh(readers, [1e3 * second for second in seconds], color=colours)
        axes.set_xscale("log")
        axes.set_title(case, fontsize=9)
        axes.set_xlabel("ms a pass, logarithmic", fontsize=7)
        axes.tick_params(labelsize=7)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
