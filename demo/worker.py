"""One process for each reader, so that CPU time and memory are its own.

The process opens the array once and then obeys commands over a pipe, so that passes of several readers can
alternate on a machine that is otherwise idle.
"""

from __future__ import annotations

import gc
import multiprocessing
import resource
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from demo.crops import Selection
from demo.readers import READERS, Crops


class DemoError(Exception):
    """What the demo says, in one line, when it cannot go on."""


@dataclass(frozen=True)
class Pass:
    """What one pass over all crops took."""

    seconds: float
    cpu_seconds: float
    checksum: int


def native_crops(crops: Crops) -> list[npt.NDArray[Any]]:
    """Return the crops contiguous and in this machine's byte order, so that equal values are equal bytes."""
    return [np.ascontiguousarray(crop, dtype=crop.dtype.newbyteorder("=")) for crop in crops]


def checksum(crops: Crops) -> int:
    """Return a CRC-32 of all values in order."""
    crc = 0
    for crop in native_crops(crops):
        crc = zlib.crc32(crop.view(np.uint8), crc)
    return crc


def memory_bytes(field: str) -> int | None:
    """Return this process's memory, ``VmRSS`` now or ``VmHWM`` at its highest, where Linux tells it."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return None


def reset_highest_memory() -> bool:
    """Start ``VmHWM`` anew from what is resident now; say whether the system lets us."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def cpu_seconds() -> float:
    """Return the CPU time of this process and all its threads, in user space and in the kernel."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


class Server:
    """The worker's side: an open array and the commands on it."""

    def __init__(self, name: str, path: Path, crops: Sequence[Selection]) -> None:
        self.reader = READERS[name](path)
        self.crops = crops
        self.resident_at_start = memory_bytes("VmRSS")
        self.measures_peak = False

    def values(self) -> list[npt.NDArray[Any]]:
        """Return the crops' values, for comparison."""
        return native_crops(self.reader.read(self.crops))

    def reset_peak(self) -> None:
        """Start the account of peak memory anew."""
        gc.collect()
        self.measures_peak = reset_highest_memory()

    def timed_pass(self) -> Pass:
        """Read all crops once."""
        cpu_before = cpu_seconds()
        started = time.perf_counter()
        crops = self.reader.read(self.crops)
        seconds = time.perf_counter() - started
        cpu = cpu_seconds() - cpu_before
        return Pass(seconds, cpu, checksum(crops))

    def peak_bytes(self) -> int | None:
        """Return the peak memory since the reset, less what the imports and the open array held."""
        highest = memory_bytes("VmHWM")
        if not self.measures_peak or highest is None or self.resident_at_start is None:
            return None
        return highest - self.resident_at_start


def serve(pipe: Connection, name: str, path: Path, crops: Sequence[Selection]) -> None:
    """Open the array, say so, and answer commands until the pipe closes, each with a value or an error."""
    try:
        server = Server(name, path, crops)
        commands: dict[str, Callable[[], object]] = {
            "values": server.values,
            "reset_peak": server.reset_peak,
            "timed_pass": server.timed_pass,
            "peak_bytes": server.peak_bytes,
        }
        pipe.send((None, None))
        while True:
            pipe.send((commands[pipe.recv()](), None))
    except EOFError:
        return
    except Exception as error:
        pipe.send((None, f"{type(error).__name__}: {error}"))


class Worker:
    """The parent's side of one reader's process."""

    def __init__(self, name: str, path: Path, crops: Sequence[Selection]) -> None:
        self.name = name
        context = multiprocessing.get_context("spawn")
        self.pipe, child_pipe = context.Pipe()
        self.process = context.Process(target=serve, args=(child_pipe, name, path, crops), daemon=True)
        self.process.start()
        child_pipe.close()
        self._answer()

    def _answer(self) -> Any:
        try:
            result, error = self.pipe.recv()
        except EOFError:
            self.process.join()
            raise DemoError(f"{self.name} died with exit code {self.process.exitcode}") from None
        if error is not None:
            raise DemoError(f"{self.name} failed: {error}")
        return result

    def _ask(self, command: str) -> Any:
        self.pipe.send(command)
        return self._answer()

    def values(self) -> list[npt.NDArray[Any]]:
        """Return the crops as the reader read them."""
        values: list[npt.NDArray[Any]] = self._ask("values")
        return values

    def reset_peak(self) -> None:
        """Start the reader's account of peak memory anew."""
        self._ask("reset_peak")

    def timed_pass(self) -> Pass:
        """Time one pass over all crops."""
        timed: Pass = self._ask("timed_pass")
        return timed

    def peak_bytes(self) -> int | None:
        """Return the reader's peak memory since ``reset_peak``, where the system tells."""
        peak: int | None = self._ask("peak_bytes")
        return peak

    def stop(self) -> None:
        """End the process."""
        self.pipe.close()
        self.process.join(timeout=10)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
