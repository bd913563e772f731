"""Write docs/compatibility.md; with `-v`, say why libraries refuse what they refuse."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from compatibility.table import render, rows

PAGE = Path(__file__).parents[4] / "docs" / "compatibility.md"

with tempfile.TemporaryDirectory() as folder:
    found = list(rows(Path(folder)))
if "-v" in sys.argv[1:]:
    for feature, answers in found:
        for what, why in answers.reasons.items():
            print(f"{feature.section}, {feature.name}: {what}: {why}", file=sys.stderr)
PAGE.write_text(render(found))
