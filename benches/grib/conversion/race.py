"""Converters take their passes in turn; what each wrote last is compared with what the others wrote."""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import time
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import zarr

from benches.grib.contenders import SWATH as READER
from benches.grib.contenders import Running
from benches.grib.conversion.contenders import ALONE, CONVERTERS, SWATH, Converter

# A pass that takes longer does not count, nor does its contender take another.
SECONDS_MAX = 300.0
# More passes than of the others: they are short, and what is found is near what is wanted.
FLOOR_PASSES_MORE = 2


@dataclass
class Row:
    """One converter; ``reason`` is why there are no passes, or why they do not count."""

    contender: str
    reason: str = ""
    stored_bytes: int = 0
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    # What a virtual machine's host took of all its processors meanwhile.
    stolen_seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float | None:
        """Return the median of the passes; None where they do not count."""
        return None if self.reason or not self.seconds else statistics.median(self.seconds)

    @property
    def median_cpu(self) -> float | None:
        """Return the median of the processor's seconds; None where passes do not count."""
        return None if self.reason or not self.cpu_seconds else statistics.median(self.cpu_seconds)

    @property
    def median_stolen(self) -> float | None:
        """Return the median of the seconds that the host took; None where passes do not count."""
        return None if self.reason or not self.stolen_seconds else statistics.median(self.stolen_seconds)


def race(source: Path, folder: Path, passes: int) -> tuple[list[Row], list[dict[str, float]]]:
    """Have the floor done and swath convert the file, in turn; then every converter, in turn."""
    source.read_bytes()
    target = folder / "converted.zarr"
    own = next(one for one in CONVERTERS if one.name == SWATH)
    alone, floors = Row(ALONE), list[dict[str, float]]()
    # By themselves, as memory that a large program gave back keeps the host busy when it has long ended.
    for _ in range(passes + FLOOR_PASSES_MORE):
        floors.append(floor(source, folder / "floor"))
        convert(own, alone, source, target)
        require(alone)
        remove(target)
    rows = {one.name: Row(one.name) for one in CONVERTERS}
    fields = dict[str, Counter[int]]()
    for number in range(passes):
        for one in CONVERTERS:
            row = rows[one.name]
            if row.reason:
                continue
            convert(one, row, source, target)
            if one.name == SWATH:
                require(row)
            if not row.reason and number + 1 == passes:
                row.stored_bytes = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
                fields[one.name] = checksums(target)
            remove(target)
    for name, found in fields.items():
        if found != fields.get(SWATH):
            rows[name].reason = "other values than swath's"
    return [alone, *rows.values()], floors


def require(row: Row) -> None:
    """End the race at once where swath's own passes do not count."""
    if row.reason:
        raise SystemExit(f"bench: {row.contender}: {row.reason}")


def convert(one: Converter, row: Row, source: Path, target: Path) -> None:
    """Have a converter make the group once."""
    if not one.is_here:
        row.reason = "not installed"
        return
    remove(target)
    # What others wrote must not be on its way to the device still.
    os.sync()
    taken = stolen()
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    try:
        done = subprocess.run(
            one.command(source, target), capture_output=True, text=True, check=False, timeout=SECONDS_MAX
        )
    except subprocess.TimeoutExpired:
        row.reason = f"longer than {SECONDS_MAX:g} s"
        return
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        row.reason = (done.stderr or done.stdout).strip()[-300:] or f"ended with {done.returncode}"
        return
    row.seconds.append(seconds)
    row.cpu_seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    row.stolen_seconds.append(stolen() - taken)


def stolen() -> float:
    """Return the seconds of all processors that a virtual machine's host took: proc_stat(5), `steal`."""
    return int(Path("/proc/stat").read_text().split()[8]) / os.sysconf("SC_CLK_TCK")


def remove(target: Path) -> None:
    """Remove what was converted, and the journal that swath keeps beside it."""
    for made in (target, target.with_name(f"{target.name}.journal")):
        shutil.rmtree(made, ignore_errors=True)


def floor(source: Path, target: Path) -> dict[str, float]:
    """Have the file read, decoded, encoded and written on one thread, each step timed."""
    os.sync()
    with Running(READER) as running:
        answer = running.ask(do="floor", path=str(source), out=str(target))
    target.unlink(missing_ok=True)
    if "reason" in answer:
        raise SystemExit(f"bench: the floor: {answer['reason']}")
    return answer


def floor_seconds(floors: list[dict[str, float]], cores: int) -> float:
    """Return the least that a conversion can take: what is longer of the disk's part and the processors'."""
    return statistics.median(
        max(one["read_s"] + one["write_s"], (one["decode_s"] + one["encode_s"]) / cores) for one in floors
    )


def checksums(target: Path) -> Counter[int]:
    """Return the checksums of all fields of a group, whatever the order of its outer dimensions."""
    found: Counter[int] = Counter()
    for _, array in sorted(zarr.open_group(target, mode="r").arrays()):
        if array.ndim < 2 or array.shape[-2:] == (1, 1):
            continue
        for place in np.ndindex(array.shape[:-2]):
            values = np.ascontiguousarray(array[place], dtype="<f4")
            found[zlib.crc32(values)] += 1
    return found
