"""fio as the yardstick of device and kernel: a reader of ranges that does nothing with what it reads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.runner.reader_process import ANSWER_SECONDS_MAX, Pass, ReaderError
from benches.runner.registry import ReaderEntry
from benches.runner.workload import Case

DEPTH = 32
INSTALL = "fio is not installed: apt-get install fio (or your system's way)"


@dataclass(frozen=True)
class FioEngine:
    """One way in which fio reads."""

    engine: str
    direct: bool
    depth: int
    options: tuple[str, ...] = ()


# Submitting and reaping in batches is what any fast user of a ring does; fio's own default is one by one.
BATCHES = ("--iodepth_batch_submit=16", "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=32")
ENGINES = {
    "fio-io_uring": FioEngine("io_uring", False, DEPTH, BATCHES),
    "fio-psync": FioEngine("psync", False, 1),
    "fio-mmap": FioEngine("mmap", False, 1),
    "fio-direct": FioEngine("io_uring", True, DEPTH, BATCHES),
}


def device_entries() -> list[ReaderEntry]:
    """Return fio's engines as readers of ranges: buffered ones warm, io_uring also cold, direct ones cold."""
    states = {"fio-io_uring": ("warm", "cold"), "fio-direct": ("cold",)}
    return [
        ReaderEntry(
            name=name,
            command=("fio",),
            role="device",
            language="c",
            kinds=("ranges",),
            states=states.get(name, ("warm",)),
            quick=name in ("fio-io_uring", "fio-direct"),
        )
        for name in ENGINES
    ]


class FioReader:
    """fio with one engine on a ranges case, in the race like a `ReaderProcess`; it has no checksums."""

    def __init__(self, name: str, case: Case, root: Path) -> None:
        self.engine = ENGINES[name]
        self.file = case.data_folder(root) / "big"
        self.range_len = int(case.workload.read["range_len"])
        self.count = int(case.workload.read["count"])
        self.version = ""
        self.details = f"ioengine {self.engine.engine}, depth {self.engine.depth}, a job for each core"
        self.refusal = self._refusal()
        if self.refusal is None:
            self.version = run_fio(["--version"]).strip().removeprefix("fio-")

    def _refusal(self) -> str | None:
        if shutil.which("fio") is None:
            return INSTALL
        if not self.engine.direct:
            return None
        alignment = direct_alignment(self.file)
        if self.range_len % alignment != 0:
            return f"direct reads need multiples of {alignment} bytes here"
        return None

    def one_pass(self) -> Pass:
        """Run fio once, its jobs together for as many reads as the case has ranges."""
        jobs = os.cpu_count() or 1
        text = run_fio(fio_arguments(self.engine, self.file, self.range_len, self.count, jobs))
        return parse_fio(text)

    def close(self) -> None:
        """Do nothing: each pass is a process of its own."""


def direct_alignment(file: Path) -> int:
    """Return the alignment of direct reads: the device's logical block, or a page where it is unknown."""
    device = file.stat().st_dev
    link = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    for folder in (link, link.resolve().parent):
        block = folder / "queue" / "logical_block_size"
        if block.exists():
            return int(block.read_text())
    return 4096


def fio_arguments(engine: FioEngine, file: Path, range_len: int, count: int, jobs: int) -> list[str]:
    """Return fio's command line: random reads of the whole file, aligned to their length."""
    return [
        "--name=ranges",
        f"--filename={file}",
        "--readonly",
        "--rw=randread",
        f"--bs={range_len}",
        f"--size={file.stat().st_size}",
        f"--number_ios={count // jobs}",
        f"--numjobs={jobs}",
        "--thread",
        f"--ioengine={engine.engine}",
        f"--iodepth={engine.depth}",
        f"--direct={int(engine.direct)}",
        "--norandommap",
        "--randrepeat=1",
        # fio drops the file's pages before it starts, unless told not to.
        "--invalidate=0",
        # No clock is read and no latency noted for each read.
        "--gtod_reduce=1",
        "--output-format=json",
        *engine.options,
    ]


def run_fio(arguments: Sequence[str]) -> str:
    """Run fio and return its output; raise ReaderError where it fails."""
    try:
        done = subprocess.run(
            ["fio", *arguments], capture_output=True, text=True, timeout=ANSWER_SECONDS_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        raise ReaderError(f"fio ran for more than {ANSWER_SECONDS_MAX:.0f} s") from None
    if done.returncode != 0:
        raise ReaderError(f"fio failed: {done.stderr.strip()[-200:]}")
    return done.stdout


def parse_fio(text: str) -> Pass:
    """Return a pass from fio's JSON: the time of its longest job, and the CPU time of all."""
    output: dict[str, Any] = json.loads(text[text.index("{") :])
    jobs = output["jobs"]
    failed = [job["error"] for job in jobs if job["error"] != 0]
    if failed:
        raise ReaderError(f"fio's jobs failed with errors {failed}")
    # fio gives CPU time in per cent of each job's own time.
    user, system = (
        sum(job[field] / 100 * job["job_runtime"] / 1000 for job in jobs) for field in ("usr_cpu", "sys_cpu")
    )
    return Pass(
        seconds=max(job["read"]["runtime"] for job in jobs) / 1000,
        user_seconds=user,
        system_seconds=system,
        checksum="",
    )
