"""Makes the page cache warm or cold, and says how much of the data it holds."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

DROP_CACHES = Path("/proc/sys/vm/drop_caches")
READ_BYTES = 16 << 20
# Linux 6.5's cachestat(2); the number is the same on every architecture.
CACHESTAT = 451
# Beyond this the passes would measure the page cache, not the device.
COLD_SHARE_MAX = 0.01
# What the page cache must be able to hold beside the data of a warm case: the readers and their outputs.
WARM_SPARE_BYTES = 4 << 30


def why_not_cold() -> str | None:
    """Return why caches cannot be dropped here, if so."""
    if not DROP_CACHES.exists():
        return "this system has no /proc/sys/vm/drop_caches"
    if not os.access(DROP_CACHES, os.W_OK):
        return "only root can drop the page cache"
    return None


def why_not_warm(files: Iterable[Path]) -> str | None:
    """Return why the data cannot be kept in memory, if so."""
    data_bytes = sum(file.stat().st_size for file in files)
    lines = Path("/proc/meminfo").read_text().splitlines()
    fields = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}
    if fields["MemAvailable"] < data_bytes + WARM_SPARE_BYTES:
        return f"{data_bytes / 1e9:.1f} GB of data do not fit the page cache of this machine"
    return None


def drop() -> None:
    """Drop every cached page that no process has mapped, and cached directory entries."""
    DROP_CACHES.write_text("3")


def fill(files: Iterable[Path]) -> None:
    """Read files from start to end, so that their pages are cached."""
    buffer = bytearray(READ_BYTES)
    for file in files:
        with file.open("rb", buffering=0) as opened:
            while opened.readinto(buffer):
                pass


class _Range(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_uint64), ("length", ctypes.c_uint64))


class _Stat(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_uint64) for name in ("cached", "dirty", "writeback", "evicted", "recently_evicted")
    )


def cached_share(files: Iterable[Path]) -> float | None:
    """Return the share of the files' pages that is cached; None where the kernel cannot say."""
    library = ctypes.CDLL(None, use_errno=True)
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    cached = pages = 0
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        try:
            stat = _Stat()
            whole = _Range(0, 0)
            if library.syscall(CACHESTAT, descriptor, ctypes.byref(whole), ctypes.byref(stat), 0) != 0:
                return None
            cached += stat.cached
            pages += -(-os.fstat(descriptor).st_size // page_bytes)
        finally:
            os.close(descriptor)
    return cached / max(pages, 1)
