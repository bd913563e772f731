"""`python -m benches.nat`: time the conversion of a full-disc .nat file to Zarr, beside its floor and satpy.

It needs `cargo build --release -p swath-cli`, and the example `nat_floor` of swath-convert built so as well.
satpy runs where `--satpy` names a Python that has python/requirements-satpy.txt.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import swath

ROOT = Path(__file__).resolve().parents[2]
FLOOR_TIMES_MAX, SATPY_TIMES_MIN = 1.3, 10.0

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


def floor(built: Path, path: Path, target: Path) -> float:
    """Seconds of the least that has to be done."""
    run = subprocess.run([built / "examples" / "nat_floor", path, target], check=True, capture_output=True)
    return float(run.stdout.split()[0])


def ours(built: Path, path: Path, target: Path) -> float:
    """Seconds of `swath convert`, from its start to its end."""
    begun = time.perf_counter()
    subprocess.run([built / "swath", "convert", path, target], check=True, capture_output=True)
    return time.perf_counter() - begun


def satpys(python: Path, path: Path, target: Path) -> float:
    """Seconds of satpy and xarray, from their imports on."""
    run = subprocess.run([python, "-c", SATPY, path, target], check=True, capture_output=True)
    return float(run.stdout.split()[-1])


def main() -> None:
    """Time the passes and print what came of them; exit with 1 where a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m benches.nat", description=__doc__)
    parser.add_argument("--passes", type=int, default=7)
    parser.add_argument("--built", type=Path, default=ROOT / "target" / "release")
    parser.add_argument("--satpy", type=Path, help="a Python that has satpy")
    arguments = parser.parse_args()
    floors: list[float] = []
    seconds: list[float] = []
    satpy: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, wanted = written_file(folder)
        # The first pass brings the file into the page cache, and is not counted.
        for number in range(arguments.passes + 1):
            target = folder / "out.zarr"
            times = [floor(arguments.built, path, folder / "floor"), ours(arguments.built, path, target)]
            if number == 0 and not np.array_equal(swath.open_array(f"{target}/counts")[0, 0], wanted):
                raise SystemExit("bench: the counts that were written are not those of the file")
            shutil.rmtree(target)
            shutil.rmtree(folder / "floor")
            if arguments.satpy and number <= 3:
                times.append(satpys(arguments.satpy, path, folder / "satpy.zarr"))
            if number:
                for kept, one in zip((floors, seconds, satpy), times, strict=False):
                    kept.append(one)
    shares = statistics.median(one / least for one, least in zip(seconds, floors, strict=True))
    least, taken = statistics.median(floors), statistics.median(seconds)
    print(f"floor {least:.2f} s, swath {taken:.2f} s: {shares:.2f} times")
    is_met = shares <= FLOOR_TIMES_MAX
    if satpy:
        share = statistics.median(satpy) / taken
        print(f"satpy {statistics.median(satpy):.2f} s: {share:.1f} times swath")
        is_met = is_met and SATPY_TIMES_MIN <= share
    sys.exit(0 if is_met else 1)


if __name__ == "__main__":
    main()
