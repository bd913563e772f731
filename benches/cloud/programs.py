"""Programs that do one thing and say what it took in a line of JSON."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from benches.runner.errors import BenchError
from benches.runner.registry import ROOT

SECONDS_MAX = 90.0
RUST = "benches/cloud/target/release"


def last_line(command: Sequence[str]) -> dict[str, Any]:
    """Run a program to its end, and return the JSON of its last line; raise BenchError where it fails."""
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        raise BenchError(f"{command[0]} said nothing for {SECONDS_MAX:.0f} s") from None
    except OSError as error:
        raise BenchError(f"{command[0]}: {error.strerror}") from None
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        said = done.stderr.strip().splitlines()[-1:] or ["nothing"]
        raise BenchError(f"{command[0]} ended with code {done.returncode}: {said[0]}")
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer
