"""What Python code on another thread loses to a large read, beyond what any busy program would take from it.

Run as ``python crates/bindings-py/benches/gil.py`` with the wheel, zarr and a C compiler installed, on a
machine with nothing else to do. The page cache is warm. Two things are measured, each beside each of these:

- a C program, `busy.c`, in a process of its own, which decodes in as many threads as swath used, all the
  time: it takes processor time, caches and memory bandwidth, but never the GIL;
- a large read, again and again, on the main thread, which looks for signals meanwhile, and on another thread;
  into new arrays, whose memory Python gives back in between, and into one that is kept.

The speed is how many turns a loop of pure Python takes in a second. Bar: beside each way to read at least
95 % of that beside the C program, the median of passes that each take all in turn. The processors that swath
and the C program used beside the loop are printed, to show that they were equally busy.

The wait is how long a thread that gave up the GIL needs to have it back (`gil_wait.c`: without the time that
it takes the kernel to wake a thread). Bar: the 99th percentile under 1 ms.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import swath
import zarr

SHAPE, SHARD, CHUNK = (24, 4096, 4096), (1, 4096, 4096), (1, 512, 512)
PASSES, SECONDS, SETTLE_SECONDS = 7, 2.0, 0.3
SLEEP_NS = 200_000
HERE = Path(__file__).parent


def prepare(path: str) -> None:
    """Write smooth values with noise in the low bits: 800 MB once read."""
    rng = np.random.default_rng(1)
    y, x = np.mgrid[0:4096, 0:4096].astype("float32")
    plane = (500 + 300 * np.sin(y / 97) * np.cos(x / 71)).astype("int16")
    plane += rng.integers(0, 8, y.shape, "int16")
    array = zarr.create_array(path, shape=SHAPE, shards=SHARD, chunks=CHUNK, dtype="int16",
                              compressors=zarr.codecs.BloscCodec(cname="lz4", shuffle="shuffle"))  # fmt: skip
    for time_step in range(SHAPE[0]):
        array[time_step] = plane


def built(folder: Path, source: str, *options: str) -> Path:
    """Compile a C file of this folder."""
    made = folder / f"{source}.built"
    command = ["cc", "-O2", "-pthread", *options, "-o", str(made), str(HERE / source)]
    subprocess.run(command, check=True)
    return made


def turns_per_second(seconds: float) -> float:
    """Run pure Python for so long; no call of it gives up the GIL by itself."""
    clock, turns, start = time.perf_counter, 0, time.perf_counter()
    end = start + seconds
    while clock() < end:
        for number in range(1000):
            turns += number & 1
    return turns * 2 / (clock() - start)


def waits_ns(wait: Callable[[int], int], seconds: float) -> list[int]:
    """Ask for the GIL again and again for so long."""
    waits, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        waits.append(wait(SLEEP_NS))
    return waits


def used_by_threads() -> dict[str, int]:
    """Tell the processor time of each thread of this process, in clock ticks."""
    used = {}
    for task in Path("/proc/self/task").iterdir():
        try:
            fields = (task / "stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            continue
        used[task.name] = int(fields[11]) + int(fields[12])
    return used


def beside(way: Reading, work: Callable[[float], Any]) -> tuple[Any, float]:
    """Do work on a thread beside something else; gives its result and the processors that the other used."""
    result: list[Any] = []
    done = threading.Event()

    def timed() -> None:
        time.sleep(SETTLE_SECONDS)
        before, own, start = time.process_time(), time.thread_time(), time.perf_counter()
        result.append(work(SECONDS))
        used = time.process_time() - before - (time.thread_time() - own)
        result.append(used / (time.perf_counter() - start))
        done.set()

    worker = threading.Thread(target=timed)
    worker.start()
    way(done)
    worker.join()
    return result[0], result[1]


type Reading = Callable[[threading.Event], None]


def on_main(read: Callable[[], Any]) -> Reading:
    """Read on this thread until done."""

    def way(done: threading.Event) -> None:
        while not done.is_set():
            read()

    return way


def on_thread(read: Callable[[], Any]) -> Reading:
    """Read on a thread that is not the main one until done."""

    def way(done: threading.Event) -> None:
        reader = threading.Thread(target=on_main(read), args=(done,))
        reader.start()
        reader.join()

    return way


@contextmanager
def busy(program: Path, threads: int) -> Iterator[dict[str, float]]:
    """Run the C program meanwhile; tells the processors that it used."""
    told: dict[str, float] = {}
    start = time.perf_counter()
    running = subprocess.Popen(
        [program, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield told
    finally:
        seconds = time.perf_counter() - start
        told["processors"] = float(running.communicate()[0]) / seconds


def threads_of(read: Callable[[], Any]) -> int:
    """Count the threads that do a read's work: those that take at least a tenth of what the busiest takes."""
    before, end = used_by_threads(), time.perf_counter() + 2
    while time.perf_counter() < end:
        read()
    used = sorted(ticks - before.get(task, 0) for task, ticks in used_by_threads().items())
    return sum(used[-1] / 10 <= ticks for ticks in used)


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        prepare(f"{folder}/array.zarr")
        program = built(Path(folder), "busy.c")
        library = ctypes.PyDLL(str(built(Path(folder), "gil_wait.c", "-shared", "-fPIC")))
        wait = library.wait_for_gil
        wait.argtypes, wait.restype = [ctypes.c_int64], ctypes.c_int64
        measure(swath.open_array(f"{folder}/array.zarr"), program, wait)


def measure(array: swath.Array, program: Path, wait: Callable[[int], int]) -> None:
    """Take all ways in turn, and print what came of them."""
    out = np.ones(array.shape, array.dtype)
    reads: dict[str, Callable[[], Any]] = {
        "new arrays": lambda: array[...],
        "one array": lambda: array.read(..., out=out),
    }
    np.testing.assert_array_equal(array[...], reads["one array"]())
    threads = threads_of(reads["one array"])
    places = {"main": on_main, "another": on_thread}
    ways = {
        f"{kind}, {place} thread": make(read)
        for kind, read in reads.items()
        for place, make in places.items()
    }
    works: dict[str, Callable[[float], Any]] = {
        "speed": turns_per_second,
        "wait": lambda seconds: waits_ns(wait, seconds),
    }
    found: dict[tuple[str, str], list[tuple[Any, float]]] = {}
    for number in range(PASSES + 1):
        for name, work in works.items():
            with busy(program, threads) as told:
                result, _ = beside(threading.Event.wait, work)
            passed = {"C program": (result, told["processors"])}
            passed |= {way: beside(reading, work) for way, reading in ways.items()}
            passed["nothing"] = beside(threading.Event.wait, work)
            for way, measured in passed.items() if number else ():
                found.setdefault((name, way), []).append(measured)
    print(f"swath's reads and the C program: {threads} threads each, {os.cpu_count()} processors\n")
    report(found)


def report(found: dict[tuple[str, str], list[tuple[Any, float]]]) -> None:
    """Print a line for each thing that Python ran beside."""
    columns = [("turns/s", 9), ("of C", 6), ("processors", 10), ("wait p50", 9), ("p99", 9), ("longest", 9)]
    print(f"{'beside':30} " + " ".join(f"{name:>{width}}" for name, width in columns))
    of_c = [speed for speed, _ in found["speed", "C program"]]
    for name, way in found:
        if name != "speed":
            continue
        speeds = [speed for speed, _ in found["speed", way]]
        share = statistics.median(speed / beside_c for speed, beside_c in zip(speeds, of_c, strict=True))
        processors = statistics.median(used for _, used in found["speed", way])
        waits = sorted(wait for waits, _ in found["wait", way] for wait in waits)
        at = [waits[len(waits) // 2], waits[len(waits) * 99 // 100], waits[-1]]
        print(
            f"{way:30} {statistics.median(speeds) / 1e6:8.1f}M {share:6.3f} {processors:10.2f} "
            + " ".join(f"{nanoseconds / 1e3:6.1f} us" for nanoseconds in at)
        )
    print("\nbars: 0.95 of the speed beside the C program; p99 of the wait under 1000 us")


if __name__ == "__main__":
    main()
