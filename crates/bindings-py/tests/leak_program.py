"""Reads, opens, cancels and errors in one way again and again, as a program.

Run as ``python leak_program.py WAY TURNS FOLDER``, it prints one line of JSON: what the process held after a
warm-up, and what it held after so many turns more.
"""

import asyncio
import ctypes
import gc
import json
import os
import re
import signal
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import swath
import swath.fsspec
import swath.zarr
import zarr

SHAPE = (8, 32, 32)
INDEXES = [np.s_[t, :, x : x + 16] for t in range(8) for x in (0, 7, 16)]
# Caches and pools are full after as many turns: each way does all that it does dozens of times.
WARM_UP = 600
# A wait that a signal ends takes milliseconds, so they are few. Every third turn is an error or an open.
CANCELS_EVERY = 50


class RangError(Exception):
    """A signal has come."""


def ring(*_):
    raise RangError


class Sync:
    """Reads that block, and opens."""

    def __init__(self, folder):
        self.path, self.damaged = folder / "sound.zarr", folder / "damaged.zarr"
        self.array, self.bad = swath.open_array(self.path), swath.open_array(self.damaged)
        self.out = np.empty((32, 16), "i4")
        signal.signal(signal.SIGALRM, ring)

    def read(self, number):
        index = INDEXES[number % len(INDEXES)]
        self.array[index]
        self.array.read(index, out=self.out, dtype="i4")
        self.array.read_many(INDEXES[:6], stack=False)

    def open(self, number):
        swath.open(self.path)[0, 0, 0]

    def cancel(self, number):
        with suppress(RangError):
            signal.setitimer(signal.ITIMER_REAL, 1e-3)
            while True:
                self.array.read_many(INDEXES)

    def error(self, number):
        for read in (lambda: self.array[99], lambda: self.bad[0], lambda: swath.open(self.path / "gone")):
            with suppress(swath.SwathError):
                read()
                raise AssertionError("no error")

    def turn(self, number):
        self.read(number)
        if number % CANCELS_EVERY == 0:
            self.cancel(number)
        elif number % 6 == 0:
            self.open(number)
        elif number % 6 == 3:
            self.error(number)

    def run(self, numbers):
        for number in numbers:
            self.turn(number)


class Async(Sync):
    """The same, awaited."""

    async def awaits(self, numbers):
        array, bad = self.array.async_array, self.bad.async_array
        for number in numbers:
            index = INDEXES[number % len(INDEXES)]
            await asyncio.gather(array.getitem(index), array.read(index, dtype="f4"))
            if number % 3 == 0:
                tasks = [asyncio.create_task(array.getitem(index)) for _ in range(2)]
                for _ in range(number % 4):
                    await asyncio.sleep(0)
                tasks[0].cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            elif number % 3 == 1:
                failed = await asyncio.gather(
                    array.getitem(99), bad.getitem(0), bad.getitem((0, 0)), return_exceptions=True
                )
                assert all(isinstance(error, swath.SwathError) for error in failed), failed
            elif number % 30 == 2:
                opened = await swath.api.asynchronous.open_array(self.path)
                await opened.getitem((0, 0, 0))

    def run(self, numbers):
        # A loop for some of them, as programs have that call asyncio.run.
        for start in range(numbers.start, numbers.stop, 100):
            asyncio.run(self.awaits(range(start, min(start + 100, numbers.stop))))


class Fsspec(Sync):
    """Ranges and files by fsspec's names, and `swath.io`."""

    def __init__(self, folder):
        super().__init__(folder)
        self.system = swath.fsspec.file_system("file")()
        self.file = str(self.path / "c" / "0" / "0" / "0")

    def read(self, number):
        self.system.cat_ranges([self.file] * 3, [0, 5, 9], [4, 8, 12], on_error="raise")
        swath.io.get_ranges(self.file, starts=[0, 6], lengths=[2, 2])

    def open(self, number):
        with self.system.open(self.file) as opened:
            opened.read(3)
        self.system.info(self.file)
        swath.fsspec.file_system("file")(skip_instance_cache=True).cat_file(self.file)

    def cancel(self, number):
        with suppress(RangError):
            signal.setitimer(signal.ITIMER_REAL, 1e-3)
            while True:
                self.system.cat_ranges([self.file] * 20, 0, 100)

    def error(self, number):
        for read in (
            lambda: self.system.cat_file(self.file + "x"),
            lambda: swath.io.get_ranges(self.file, starts=[1 << 40], lengths=[5]),
        ):
            with suppress(swath.SwathError, FileNotFoundError):
                read()
                raise AssertionError("no error")


class Zarr(Sync):
    """zarr-python with swath's store and swath's pipeline."""

    def __init__(self, folder):
        super().__init__(folder)
        swath.zarr.enable()
        self.array, self.bad = self.opened(self.path), self.opened(self.damaged)

    def opened(self, path):
        return zarr.open_array(swath.zarr.Store(path, read_only=True), mode="r")

    def read(self, number):
        self.array[INDEXES[number % len(INDEXES)]]

    def open(self, number):
        self.opened(self.path)[0, 0, 0]

    def cancel(self, number):
        async def cancelled():
            task = asyncio.create_task(self.array.async_array.getitem(...))
            for _ in range(number // CANCELS_EVERY % 5):
                await asyncio.sleep(0)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

        asyncio.run(cancelled())

    def error(self, number):
        with suppress(ValueError):
            self.bad[0]
            raise AssertionError("no error")
        with suppress(FileNotFoundError):
            self.opened(self.path / "gone")
            raise AssertionError("no error")


WAYS = {"sync": Sync, "async": Async, "fsspec": Fsspec, "zarr": Zarr}


# The members of the C library's `struct mallinfo2`.
COUNTS = [
    "arena",
    "ordblks",
    "smblks",
    "hblks",
    "hblkhd",
    "usmblks",
    "fsmblks",
    "uordblks",
    "fordblks",
    "keepcost",
]


def heap_bytes():
    """Bytes that the C library has given out and not taken back; None where it does not tell."""

    class Counts(ctypes.Structure):
        _fields_ = tuple((name, ctypes.c_size_t) for name in COUNTS)

    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        return None
    library.mallinfo2.restype = Counts
    counts = library.mallinfo2()
    return counts.uordblks + counts.hblkhd


def descriptors():
    """What the open descriptors are of, and how many each."""
    found = Counter()
    for descriptor in Path("/proc/self/fd").iterdir():
        # That of the listing itself is closed by now.
        with suppress(FileNotFoundError):
            found[re.sub(r"[0-9]+", "N", str(descriptor.readlink()))] += 1
    return dict(found)


def held():
    """What the process holds, once what can be collected is."""
    for _ in range(3):
        gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    kinds = Counter(type(thing).__name__ for thing in gc.get_objects())
    return {
        "resident": pages * os.sysconf("SC_PAGE_SIZE"),
        "heap": heap_bytes(),
        "blocks": sys.getallocatedblocks(),
        "descriptors": descriptors(),
        "threads": len(list(Path("/proc/self/task").iterdir())),
        # Not compared: they are shown where something else grew.
        "kinds": dict(kinds.most_common(12)),
    }


def main(way, turns, folder):
    ways = WAYS[way](Path(folder))
    ways.run(range(WARM_UP))
    before = held()
    ways.run(range(turns))
    print(json.dumps({"before": before, "after": held()}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
