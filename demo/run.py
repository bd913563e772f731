"""Reads the same random crops with every reader, compares values and times, prints and draws a table."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import zarr

from demo.crops import chunks_touched, crop_shape, random_crops
from demo.prepare import prepare
from demo.readers import READERS
from demo.report import Row, Work, cells, machine, row, table
from demo.worker import DemoError, Pass, Worker

DEMO_ARRAY = Path(".demo/satellite-v1.zarr")
PASSES_MIN = 5


def arguments() -> argparse.Namespace:
    """Return the command line's settings."""
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--data", type=Path, help="an array of your own (default: one that the demo makes)")
    parser.add_argument(
        "--readers", default=",".join(READERS), help="which ones, by comma (default: %(default)s)"
    )
    parser.add_argument("--count", type=int, default=64, help="crops a pass (default: %(default)s)")
    parser.add_argument(
        "--passes", type=int, default=7, help="timed passes, at least 5 (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the crops' places (default: %(default)s)")
    parser.add_argument("--picture", type=Path, default=Path(".demo/demo.png"), help="default: %(default)s")
    settings = parser.parse_args()
    settings.readers = settings.readers.split(",")
    unknown = [name for name in settings.readers if name not in READERS]
    if unknown:
        parser.error(f"unknown readers {', '.join(unknown)}; there are {', '.join(READERS)}")
    if settings.count < 1:
        parser.error("--count must be at least 1")
    if settings.passes < PASSES_MIN:
        parser.error(f"--passes must be at least {PASSES_MIN}: medians of fewer say little")
    return settings


def open_described(path: Path) -> zarr.Array[Any]:
    """Open an array with zarr-python for its shape; raise DemoError where the demo cannot crop it."""
    if not path.exists():
        raise DemoError(f"there is nothing at {path}")
    try:
        array = zarr.open_array(path, mode="r")
    except Exception as error:
        raise DemoError(f"{path} is not a Zarr array: {error}") from error
    if array.ndim < 2:
        raise DemoError(f"{path} has {array.ndim} axes: the demo crops arrays of at least 2")
    if array.dtype.kind not in "biufc":
        raise DemoError(f"{path} is of {array.dtype}: the demo reads numbers")
    if 0 in array.shape:
        raise DemoError(f"{path} is empty: its shape is {array.shape}")
    return array


def check_equal(workers: Sequence[Worker]) -> list[npt.NDArray[Any]]:
    """Read once with each reader, which also warms the page cache, and compare the values bit for bit."""
    reference = workers[0].values()
    for worker in workers[1:]:
        for index, (wanted, found) in enumerate(zip(reference, worker.values(), strict=True)):
            if wanted.dtype != found.dtype or wanted.shape != found.shape:
                raise DemoError(
                    f"crop {index}: {worker.name} gives {found.dtype} {found.shape}, "
                    f"{workers[0].name} gives {wanted.dtype} {wanted.shape}"
                )
            if wanted.tobytes() != found.tobytes():
                different = np.count_nonzero(wanted != found)
                raise DemoError(
                    f"crop {index}: {different} values of {worker.name} differ from {workers[0].name}'s"
                )
    return reference


def race(workers: Sequence[Worker], passes: int) -> list[Row]:
    """Time the passes of all readers in turn, and check each one's values again by their checksum."""
    timed: dict[str, list[Pass]] = {worker.name: [] for worker in workers}
    for worker in workers:
        worker.reset_peak()
    for number in range(passes):
        for worker in workers:
            show_progress(f"pass {number + 1} of {passes}: {worker.name}")
            timed[worker.name].append(worker.timed_pass())
    show_progress("")
    checksums = {one.checksum for taken in timed.values() for one in taken}
    if len(checksums) != 1:
        raise DemoError("readers gave different values in different passes")
    return [row(worker.name, timed[worker.name], worker.peak_bytes()) for worker in workers]


def show_progress(message: str) -> None:
    """Replace the terminal's current line; say nothing where there is no terminal."""
    if sys.stderr.isatty():
        print(f"\r  {message:<50}\r", end="", file=sys.stderr, flush=True)


def demo(settings: argparse.Namespace) -> None:
    """Run the whole demo."""
    path: Path = settings.data or DEMO_ARRAY
    if settings.data is None:
        prepare(path)
    array = open_described(path)
    crop = crop_shape(array.shape)
    crops = random_crops(array.shape, crop, settings.count, settings.seed)
    item_bytes = array.dtype.itemsize
    work = Work(len(crops), len(crops) * math.prod(crop) * item_bytes, chunks_touched(crops, array.chunks))
    title = (
        f"{len(crops)} random crops of {' x '.join(map(str, crop))} from {' x '.join(map(str, array.shape))} "
        f"{array.dtype} ({work.bytes / 1e6:.0f} MB in {work.chunks:,} chunks)"
    )
    print(title, flush=True)
    with ExitStack() as stack:
        workers = []
        for name in settings.readers:
            worker = Worker(name, path, crops)
            stack.callback(worker.stop)
            workers.append(worker)
        values = check_equal(workers)
        print(
            f"  {len(workers)} readers gave the same values; now {settings.passes} timed passes in turn.",
            flush=True,
        )
        rows = race(workers, settings.passes)
    about = machine()
    print(f"\n{table(rows, work)}\n\nWarm page cache, medians of {settings.passes} passes. {about}")

    # Loaded here and not above, so that the readers' processes, which load this module, do not load it too.
    from demo.picture import draw

    axis_names = [name or f"axis {axis}" for axis, name in enumerate(dimension_names(array))]
    picture_crop = max(values, key=lambda crop: float(np.std(crop[(0,) * (crop.ndim - 2)])))
    draw(settings.picture, picture_crop, axis_names, cells(rows, work), title, about)
    print(f"Picture: {settings.picture}")


def dimension_names(array: zarr.Array[Any]) -> Sequence[str | None]:
    """Return the names of an array's axes; v2 arrays and some v3 arrays have none."""
    names: Sequence[str | None] | None = getattr(array.metadata, "dimension_names", None)
    return names or [None] * array.ndim


def main() -> None:
    """Run the demo; what stops it is one line and a non-zero exit."""
    try:
        demo(arguments())
    except DemoError as error:
        sys.exit(f"demo: {error}")
