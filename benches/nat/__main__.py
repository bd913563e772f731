"""`python -m benches.nat`: time the conversion of a full-disc .nat file to Zarr, beside its floor and satpy.

It needs `cargo build --release -p swath-cli`, and the example `nat_floor` of swath-convert built so as well.
satpy runs where `--satpy` names a Python that has python/requirements-satpy.txt. It writes
docs/performance-nat.md.
"""

from __future__ import annotations

import argparse
import importlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benches.runner import machine
from benches.runner.tables import machine_table, markdown, number

ROOT = Path(__file__).resolve().parents[2]
FLOOR_TIMES_MAX, SATPY_TIMES_MIN = 1.3, 10.0
PASSES, PASSES_MIN, SATPY_PASSES = 7, 3, 3
# What swath writes beyond the floor's chunks: their indexes, coordinates, descriptions of lines.
BYTES_TIMES_MAX = 1.05

HEAD = """# Performance of converting SEVIRI images

Written by `make bench-nat`; do not edit. A file of the whole disc, {megabytes:.0f} MB with eleven channels
of 3712 x 3712 counts and HRV in 5568 x 11136, is converted to sharded Zarr by `swath convert`, from the
start of the process to its end. The floor reads the same file, unpacks ten bits, compresses the same chunks
by the same codec on as many threads, and writes a file for each shard, without indexes, checks or metadata.
satpy loads the counts of all channels and xarray writes them in chunks of as many rows, with zarr-python's
default codec; its time counts from its imports on. The file is in the page cache, nothing is synchronised.
Floor and swath took {passes} passes in turn, satpy {satpy}; numbers are medians, and the times those of
each pass's share. swath may take {most:g} times the floor, and satpy must take {least:g} times swath. The
values of a channel are compared with what the file was made from.
"""

SATPY = """
import sys, time, warnings
warnings.simplefilter("ignore")
begun = time.perf_counter()
import numpy as np, xarray as xr
from satpy import Scene
names = "VIS006 VIS008 IR_016 IR_039 WV_062 WV_073 IR_087 IR_097 IR_108 IR_120 IR_134 HRV".split()
scene = Scene([sys.argv[1]], reader="seviri_l1b_native", reader_kwargs={"fill_disk": True})
scene.load(names, calibration="counts", upper_right_corner="NE")
arrays = {}
for name in names:
    array = scene[name].fillna(0).astype("u2").drop_vars(["crs", "acq_time", "x", "y"], errors="ignore")
    array.attrs.clear()
    arrays[name] = array.rename({"y": "y_hrv", "x": "x_hrv"}) if name == "HRV" else array
xr.Dataset(arrays).chunk({"y": 232, "x": 3712, "y_hrv": 232, "x_hrv": 11136}).to_zarr(sys.argv[2], mode="w")
print(time.perf_counter() - begun)
"""


def written_file(folder: Path) -> tuple[Path, np.ndarray]:
    """Write a full disc, and give its first channel as it should be."""
    sys.path.insert(0, str(ROOT / "crates" / "convert" / "tests" / "nat"))
    writer: Any = importlib.import_module("nat_file")
    image = writer.Image()
    return writer.made(folder, image), writer.waves(image)("VIS006", 0, writer.SIZE)[::-1, ::-1]


@dataclass
class Contender:
    """Somebody who converts, and what its passes took."""

    name: str
    command: list[str | Path]
    target: Path
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    written_bytes: int = 0

    def run(self, is_counted: bool) -> None:
        """Convert once. The floor prints its seconds first, and satpy last."""
        before, begun = cpu_seconds(), time.perf_counter()
        done = subprocess.run(self.command, check=True, capture_output=True)
        taken, used = time.perf_counter() - begun, cpu_seconds() - before
        if self.name != "swath":
            taken = float(done.stdout.split()[-1 if self.name == "satpy" else 0])
        self.written_bytes = sum(path.stat().st_size for path in self.target.rglob("*") if path.is_file())
        if is_counted:
            self.seconds.append(taken)
            self.cpu_seconds.append(used)

    def row(self, least: Contender) -> list[str]:
        """Return a row of the page's table, with the times of another one."""
        seconds, cpu = statistics.median(self.seconds), statistics.median(self.cpu_seconds)
        megabytes = f"{self.written_bytes / 1e6:.1f}"
        return [self.name, number(seconds), number(cpu), megabytes, number(times(self, least))]


def times(one: Contender, other: Contender) -> float:
    """Return how many times as long as another one it took: the median of the passes' shares."""
    return statistics.median(mine / its for mine, its in zip(one.seconds, other.seconds, strict=False))


def cpu_seconds() -> float:
    """Return the processor time of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def check(binary: Path, target: Path, wanted: np.ndarray) -> None:
    """Raise where the first channel is not what the file was made from."""
    values = target.with_suffix(".npy")
    command: list[str | Path] = [binary, "read", target / "counts", "0, 0", "-o", values]
    subprocess.run(command, check=True, capture_output=True)
    if not np.array_equal(np.load(values), wanted):
        raise SystemExit("bench: the counts that were written are not those of the file")


def race(settings: argparse.Namespace, folder: Path) -> tuple[list[Contender], int]:
    """Give what each contender took, and the bytes of the file."""
    path, wanted = written_file(folder)
    built: Path = settings.built
    targets = [folder / name for name in ("floor", "out.zarr", "satpy.zarr")]
    floor = Contender("floor", [built / "examples" / "nat_floor", path, targets[0]], targets[0])
    swath = Contender("swath", [built / "swath", "convert", path, targets[1]], targets[1])
    contenders = [floor, swath]
    if settings.satpy:
        contenders.append(Contender("satpy", [settings.satpy, "-c", SATPY, path, targets[2]], targets[2]))
    # The first pass brings the file into the page cache, and is not counted.
    for turn in range(settings.passes + 1):
        for contender in contenders:
            if contender.name == "satpy" and SATPY_PASSES < turn:
                continue
            contender.run(is_counted=turn != 0)
            if contender is swath and turn == 0:
                check(built / "swath", swath.target, wanted)
            for made in (contender.target, folder / "out.zarr.journal"):
                shutil.rmtree(made, ignore_errors=True)
    if not floor.written_bytes <= swath.written_bytes <= BYTES_TIMES_MAX * floor.written_bytes:
        bytes_of = [contender.written_bytes for contender in contenders]
        raise SystemExit(f"bench: the floor does another job: bytes written {bytes_of}")
    return contenders, path.stat().st_size


def main() -> None:
    """Time the passes and write what came of them; exit with 1 where a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m benches.nat", description=__doc__)
    parser.add_argument("--passes", type=int, default=PASSES, help=f"at least {PASSES_MIN}")
    parser.add_argument("--built", type=Path, default=ROOT / "target" / "release")
    parser.add_argument("--satpy", type=Path, help="a Python that has satpy")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="folder of the page")
    settings = parser.parse_args()
    if settings.passes < PASSES_MIN:
        parser.error(f"--passes must be at least {PASSES_MIN}: medians of fewer say nothing")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        record: dict[str, Any] = {"machine": machine.describe(Path(name)), "passes": settings.passes}
        contenders, size = race(settings, Path(name))
    record["seconds"] = time.monotonic() - begun
    floor, swath, *others = contenders
    bars = [(times(swath, floor) <= FLOOR_TIMES_MAX, f"swath within {FLOOR_TIMES_MAX:g} times its floor")]
    for satpy in others:
        is_met = SATPY_TIMES_MIN <= times(satpy, swath)
        bars.append((is_met, f"satpy {SATPY_TIMES_MIN:g} times swath: {number(times(satpy, swath))}"))
    rows = [contender.row(floor) for contender in contenders]
    head = ["who", "seconds", "processor seconds", "MB written", "times the floor"]
    text = HEAD.format(
        megabytes=size / 1e6,
        passes=settings.passes,
        satpy=min(SATPY_PASSES, settings.passes) if others else "was not run",
        most=FLOOR_TIMES_MAX,
        least=SATPY_TIMES_MIN,
    )
    verdicts = markdown(["bar", "met"], [[what, "pass" if is_met else "**fail**"] for is_met, what in bars])
    page = "\n".join([text, machine_table(record), markdown(head, rows), "", verdicts, ""])
    (settings.docs / "performance-nat.md").write_text(page)
    print(markdown(head, rows))
    sys.exit(0 if all(is_met for is_met, _ in bars) else 1)


if __name__ == "__main__":
    main()
