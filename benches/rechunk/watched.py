"""Running a contender: its time, the memory of its processes, and the disk that it takes meanwhile."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.runner.registry import ROOT

# Memory is looked at so often, and the scratch folder.
MEMORY_PERIOD_S, DISK_PERIOD_S = 0.005, 0.1

# What a failed contender said last, in characters.
SAID_MAX = 300


@dataclass
class Watched:
    """What one run came to."""

    seconds: float
    cpu_seconds: float
    # Resident bytes of all its processes together, at most.
    memory_bytes: int
    scratch_bytes: int
    answer: dict[str, Any]
    # Why it does not count; empty where it does.
    reason: str = ""


def resident_bytes(root: int) -> int:
    """Return the memory of a process and its children, but for pages of files, which can be dropped."""
    total, left = 0, [root]
    while left:
        process = left.pop()
        try:
            lines = Path(f"/proc/{process}/status").read_text().splitlines()
            for task in Path(f"/proc/{process}/task").iterdir():
                left += map(int, (task / "children").read_text().split())
        except OSError:
            continue
        fields = dict(line.split(":", 1) for line in lines)
        total += sum(int(fields[name].split()[0]) for name in ("RssAnon", "RssShmem") if name in fields)
    return total * 1024


def folder_bytes(folder: Path) -> int:
    """Return the disk that files below a folder take."""
    total = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        total += folder_bytes(Path(entry.path))
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
                except OSError:
                    continue
    except OSError:
        return total
    return total


class Sampler(threading.Thread):
    """Calls a function over and over, and keeps the most that it gave."""

    def __init__(self, period_s: float, sample: Callable[[], int]) -> None:
        super().__init__(daemon=True)
        self.period_s, self.sample = period_s, sample
        self.most = 0
        self.is_over = threading.Event()

    def run(self) -> None:
        """Sample until told to end."""
        while not self.is_over.wait(self.period_s):
            self.most = max(self.most, self.sample())

    def end(self) -> int:
        """Return the most."""
        self.is_over.set()
        self.join()
        return max(self.most, self.sample())


def watch(
    command: Sequence[str], scratch: Path, seconds_max: float, data_bytes_max: int | None = None
) -> Watched:
    """Run a command to its end or until its time is up, held to so much memory where that is said."""

    def limit() -> None:
        if data_bytes_max is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (data_bytes_max, data_bytes_max))

    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
        before, started = os.times(), time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=complained, preexec_fn=limit)
        memory = Sampler(MEMORY_PERIOD_S, lambda: resident_bytes(process.pid))
        disk = Sampler(DISK_PERIOD_S, lambda: folder_bytes(scratch))
        memory.start()
        disk.start()
        reason = ""
        try:
            process.wait(seconds_max)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            reason = f"not done within {seconds_max:.0f} s"
        seconds, after = time.perf_counter() - started, os.times()
        watched = Watched(
            seconds=seconds,
            cpu_seconds=after.children_user
            + after.children_system
            - before.children_user
            - before.children_system,
            memory_bytes=memory.end(),
            scratch_bytes=disk.end(),
            answer={},
            reason=reason,
        )
        said.seek(0)
        complained.seek(0)
        lines = said.read().splitlines()
        if not reason and process.returncode != 0:
            last = complained.read().strip().rpartition("\n")[2][-SAID_MAX:]
            watched.reason = f"it ended with {process.returncode}: {last}"
        if not watched.reason and lines:
            watched.answer = json.loads(lines[-1])
        return watched
