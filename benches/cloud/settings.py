"""What a run of the cloud benches is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """Where the data is, how many passes each reader takes, and whether this is only a look."""

    data: Path
    passes: int
    quick: bool
