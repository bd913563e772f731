"""Counting: the program is run under callgrind for some rounds, and for twice as many."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

# The status by which the program says that this machine cannot run a path.
UNAVAILABLE = 3
# valgrind counts each byte that `rep movsb` moves; with vector loops a copy counts as what it costs.
TUNABLES = ":".join(f"glibc.cpu.x86_rep_{name}_threshold={1 << 30}" for name in ("movsb", "stosb"))


class UnavailableError(Exception):
    """A path that this machine cannot run."""


class MeasureError(Exception):
    """A run that counted nothing."""


def instructions_per_operation(program: Path, path: str, rounds: int, data: Path, profiles: Path) -> float:
    """Return what one operation takes, leaving the run of more rounds behind as ``profiles/PATH.callgrind``.

    Raises
    ------
    UnavailableError
        Where this machine cannot run the path.
    MeasureError
        Where the program fails or counts nothing.
    """
    profile = profiles / f"{path}.callgrind"
    instructions, operations = _run(program, path, rounds, data, profile)
    more_instructions, more_operations = _run(program, path, 2 * rounds, data, profile)
    return (more_instructions - instructions) / (more_operations - operations)


def _run(program: Path, path: str, rounds: int, data: Path, profile: Path) -> tuple[int, int]:
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
    command += [str(program), path, str(rounds), str(data)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "GLIBC_TUNABLES": TUNABLES}
    )
    if done.returncode == UNAVAILABLE:
        raise UnavailableError(_program_lines(done.stderr))
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or collected is None:
        raise MeasureError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return int(collected[1]), int(done.stdout)


def _program_lines(stderr: str) -> str:
    return "\n".join(line for line in stderr.splitlines() if not line.startswith("=="))
