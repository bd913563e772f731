"""What stops the runner."""

from __future__ import annotations


class BenchError(Exception):
    """What the runner says, in one line, when it cannot go on."""
