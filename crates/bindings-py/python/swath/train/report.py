"""A page that shows how long training waited for its batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

# One batch: when it was asked for, when it came, and when the next was asked for; in seconds.
type Turn = tuple[float, float, float]

WIDTH = 960
ROW = 28
BATCHES_SHOWN = 200
WAITED, TRAINED = "#c0392b", "#2e86c1"


def page(turns: Sequence[Turn], counts: Mapping[str, Any]) -> str:
    """Return a page of HTML: counts, a timeline of the last batches, and a histogram of waits.

    Parameters
    ----------
    turns : sequence of (float, float, float)
        The last batches, oldest first.
    counts : mapping
        What `swath.train.Loader.stats` says.
    """
    rows = "".join(
        f"<tr><td>{escape(name.replace('_', ' '))}</td><td>{_number(value)}</td></tr>"
        for name, value in counts.items()
        if not isinstance(value, list)
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>swath: waits of training</title>'
        "<style>body{font:14px sans-serif;margin:2em}td{padding:0 1em 0 0}svg{display:block}</style>"
        f"<h1>Waits of training</h1><table>{rows}</table>"
        f"<h2>The last batches: waited (red), trained (blue)</h2>{timeline(turns[-BATCHES_SHOWN:])}"
        f"<h2>Batches by wait</h2>{histogram(counts.get('waits', []))}</html>\n"
    )


def timeline(turns: Sequence[Turn]) -> str:
    """Return a picture of batches, one behind the other: how long each was waited for, and trained on."""
    if not turns:
        return "<p>No batch came yet.</p>"
    begin, end = turns[0][0], turns[-1][2]
    scale = WIDTH / max(end - begin, 1e-9)
    bars = []
    for asked, came, left in turns:
        bars.append(_bar((asked - begin) * scale, 0, (came - asked) * scale, WAITED, came - asked))
        bars.append(_bar((came - begin) * scale, ROW, (left - came) * scale, TRAINED, left - came))
    return f'<svg width="{WIDTH}" height="{2 * ROW}">{"".join(bars)}</svg><p>{end - begin:.3g} s</p>'


def histogram(waits: Sequence[int]) -> str:
    """Return a picture of how many waits were below 1, 2, 4, ... microseconds."""
    most = max(waits, default=0)
    if most == 0:
        return "<p>No batch came yet.</p>"
    lines = []
    for power, count in enumerate(waits):
        top = power * ROW
        lines.append(f'<text x="0" y="{top + ROW // 2}">below {_duration(1 << power)}: {count}</text>')
        width = count / most * (WIDTH - 240)
        lines.append(f'<rect x="240" y="{top}" width="{width:.1f}" height="{ROW - 8}" fill="{WAITED}"/>')
    return f'<svg width="{WIDTH}" height="{len(waits) * ROW}">{"".join(lines)}</svg>'


def _bar(left: float, top: int, width: float, fill: str, seconds: float) -> str:
    title = f"<title>{_duration(seconds * 1e6)}</title>"
    place = f'x="{left:.2f}" y="{top}" width="{width:.2f}" height="{ROW - 4}"'
    return f'<rect {place} fill="{fill}">{title}</rect>'


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _duration(microseconds: float) -> str:
    for unit, length in (("s", 1e6), ("ms", 1e3)):
        if length <= microseconds:
            return f"{microseconds / length:.3g} {unit}"
    return f"{microseconds:.3g} us"
