"""10,000 crops of (1, 1, 128, 128), awaited one by one at once, against one `read_many` of the same.

Run as ``python crates/bindings-py/benches/awaits.py`` with the wheel and zarr installed. Each takes its
passes in turn in one process, the page cache is warm, and results are compared. The bar: the time of
`read_many` and a tenth of it, plus 15 microseconds for each await; as many physical reads as `read_many`.
"""

from __future__ import annotations

import asyncio
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import swath
import zarr

COUNT, PASSES = 10_000, 7
SHAPE, SHARD, CHUNK = (8, 10, 1024, 1024), (1, 10, 1024, 1024), (1, 1, 64, 64)


def prepare(path: str) -> None:
    """Write smooth values with noise in the low bits."""
    rng = np.random.default_rng(1)
    y, x = np.mgrid[0:1024, 0:1024].astype("float32")
    plane = (500 + 300 * np.sin(y / 97) * np.cos(x / 71)).astype("int16")
    array = zarr.create_array(path, shape=SHAPE, shards=SHARD, chunks=CHUNK, dtype="int16",
                              compressors=zarr.codecs.BloscCodec(cname="lz4", shuffle="shuffle"))  # fmt: skip
    for time_step in range(SHAPE[0]):
        array[time_step] = plane + rng.integers(0, 8, (10, 1024, 1024), "int16")


def selections() -> list[Any]:
    """Give crops from anywhere."""
    rng = np.random.default_rng(2)
    starts = zip(*(rng.integers(0, end, COUNT) for end in (8, 10, 897, 897)), strict=True)
    return [np.s_[t : t + 1, c : c + 1, y : y + 128, x : x + 128] for t, c, y, x in starts]


def measured(read: Callable[[], Any]) -> tuple[float, int, Any]:
    """Return seconds, physical reads and the result of one pass."""
    before, start = swath.stats()["physical_reads"], time.perf_counter()
    result = read()
    return time.perf_counter() - start, swath.stats()["physical_reads"] - before, result


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        prepare(folder)
        array, crops = swath.open_array(folder), selections()

        async def awaits() -> list[Any]:
            return await asyncio.gather(*map(array.async_array.getitem, crops))

        ways: dict[str, Callable[[], Any]] = {
            "read_many": lambda: array.read_many(crops),
            "awaits": lambda: asyncio.run(awaits()),
        }
        times: dict[str, list[float]] = {way: [] for way in ways}
        reads: dict[str, int] = {}
        for number in range(PASSES + 1):
            results = {}
            for way, read in ways.items():
                seconds, reads[way], results[way] = measured(read)
                if number:
                    times[way].append(seconds)
            np.testing.assert_array_equal(np.stack(results["awaits"]), results["read_many"])
        many, each = (statistics.median(times[way]) for way in ways)
        print(f"read_many {many * 1e3:.1f} ms, {reads['read_many']} physical reads")
        print(f"awaits    {each * 1e3:.1f} ms, {reads['awaits']} physical reads")
        print(
            f"beyond 1.1 read_many: {(each - 1.1 * many) / COUNT * 1e6:.1f} microseconds an await (bar: 15)"
        )
        print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
