"""What one 32 x 32 crop of a sharded array costs from Python, over the bare read, decode and copy.

Run as ``python crates/bindings-py/benches/one_crop.py`` with the wheel and zarr installed, from anywhere in
the repository; it builds the floor, ``crates/swath/examples/one_crop_floor.rs``, with cargo. The page cache
is warm and every crop is read once before it counts. The bar for the last column is 20 microseconds.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import swath
import zarr

ROOT = Path(__file__).parents[3]
LENGTH, SHARD, CHUNK, CROP = 8192, 1024, 32, 32
COUNT = 4000
COMPRESSORS: dict[str, Any] = {
    "raw": None,
    "blosc lz4": zarr.codecs.BloscCodec(cname="lz4", clevel=5, shuffle="shuffle", typesize=1),
    "blosc zstd": zarr.codecs.BloscCodec(cname="zstd", clevel=5, shuffle="shuffle", typesize=1),
}


def prepare(path: Path, compressors: Any) -> None:
    """Write an array of smooth values with noise in the low bits."""
    rng = np.random.default_rng(1)
    y, x = np.mgrid[0:LENGTH, 0:LENGTH].astype("float32")
    data = (100 + 60 * np.sin(y / 97) * np.cos(x / 71)).astype("uint8") + rng.integers(0, 4, y.shape, "uint8")
    zarr.create_array(path, data=data, chunks=(CHUNK, CHUNK), shards=(SHARD, SHARD), compressors=compressors)


def median_ns(read: Callable[[Any], Any], selections: list[Any]) -> float:
    """Return the median time of one call, after one pass that does not count."""
    for selection in selections:
        read(selection)
    times = np.empty(len(selections))
    for number, selection in enumerate(selections):
        start = time.perf_counter_ns()
        read(selection)
        times[number] = time.perf_counter_ns() - start
    return float(np.median(times))


def main() -> None:
    """Print a line for each compressor."""
    build = ["cargo", "build", "--quiet", "--release", "-p", "swath", "--example", "one_crop_floor"]
    subprocess.run(build, cwd=ROOT, check=True)
    metadata = ["cargo", "metadata", "--format-version", "1", "--no-deps"]
    described = subprocess.run(metadata, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    target = described.split('"target_directory":"')[1].split('"')[0]
    floor = Path(target) / "release" / "examples" / "one_crop_floor"

    rng = np.random.default_rng(2)
    origins = rng.integers(0, LENGTH - CROP + 1, (COUNT, 2))
    selections = [np.s_[y : y + CROP, x : x + CROP] for y, x in origins.tolist()]
    print(f"{'':<12}{'floor':>9}{'Rust':>9}{'Python':>9}{'out=':>9}{'Python over floor':>20}   (us, medians)")
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "origins"
        listed.write_text("".join(f"{y} {x}\n" for y, x in origins))
        for name, compressors in COMPRESSORS.items():
            path = Path(folder) / f"{name}.zarr"
            prepare(path, compressors)
            # Shard indexes of files that changed within the last 2 s are not kept.
            time.sleep(2.5)
            array = swath.open_array(path)
            out = np.empty((CROP, CROP), array.dtype)
            python = median_ns(array.__getitem__, selections)
            into = median_ns(lambda selection: array.read(selection, out), selections)  # noqa: B023
            line = subprocess.run(
                [floor, path, str(CROP), listed], check=True, capture_output=True, text=True
            )
            _, bare, _, rust = line.stdout.split()
            cells = [int(bare), int(rust), python, into]
            row = "".join(f"{nanoseconds / 1000:>9.2f}" for nanoseconds in cells)
            print(f"{name:<12}{row}{(python - int(bare)) / 1000:>20.2f}", flush=True)


if __name__ == "__main__":
    main()
