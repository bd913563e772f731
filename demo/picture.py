"""Draws one crop and the table into a PNG."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from matplotlib.figure import SubFigure

from demo.report import HEADINGS

PLANES_MAX = 5


def planes(crop: npt.NDArray[Any], names: Sequence[str]) -> list[tuple[str, npt.NDArray[Any]]]:
    """Return up to five titled images of a crop: its channels, or its times where it has no channels."""
    leading = crop.shape[:-2]
    varying = len(leading) - 1
    indexes = [index for index in itertools.product(*map(range, leading)) if not any(index[:varying])]
    spread = np.unique(np.linspace(0, len(indexes) - 1, min(PLANES_MAX, len(indexes))).astype(int))
    chosen = [indexes[place] for place in spread]
    return [
        (", ".join(f"{name} {place}" for name, place in zip(names, index, strict=False)), crop[index])
        for index in chosen
    ]


def draw(
    target: Path,
    crop: npt.NDArray[Any],
    axis_names: Sequence[str],
    lines: Sequence[tuple[str, ...]],
    title: str,
    footnote: str,
) -> None:
    """Write a PNG of the crop's planes above the table."""
    mpl.use("agg")
    images = planes(crop, axis_names)
    figure = plt.figure(figsize=(13, 5.0), dpi=110, layout="constrained")
    upper, lower = cast("Sequence[SubFigure]", figure.subfigures(2, 1, height_ratios=[1.6, 1.0]))
    upper.suptitle(title, fontsize=12)
    for axes, (name, image) in zip(np.atleast_1d(upper.subplots(1, len(images))), images, strict=True):
        axes.imshow(image, cmap="gray", interpolation="nearest")
        axes.set_title(name, fontsize=9)
        axes.set_axis_off()
    axes = lower.subplots()
    axes.set_axis_off()
    table = axes.table(
        cellText=[list(line) for line in lines], colLabels=HEADINGS, loc="upper center", cellLoc="right"
    )
    table.auto_set_font_size(False)
    table.set_fontsize(9)
    table.scale(1.0, 1.35)
    table.auto_set_column_width(list(range(len(HEADINGS))))
    for (line, _), cell in table.get_celld().items():
        cell.set_linewidth(0.4)
        if line <= 1:
            cell.set_text_props(weight="bold")
    axes.text(0.5, -0.02, footnote, ha="center", va="top", fontsize=7, transform=axes.transAxes)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target)
    plt.close(figure)
