"""Write small files in the native format, and what satpy reads of them.

Run it with satpy 0.60.0 to add cases: python make_fixtures.py. The tests need what it wrote, and neither it
nor satpy.
"""

import gzip
import io
import json
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from nat_file import NAMES, SIZE, Image, Window, file_name, waves, write
from satpy import Scene

HERE = Path(__file__).parent
SOLAR = ("VIS006", "VIS008", "IR_016", "HRV")
CASES = {
    # A part of the disc whose columns are filled up to a multiple of four.
    "part": Image(
        names=("VIS006", "IR_039", "IR_108", "HRV"),
        south=1001,
        lines=8,
        east=1701,
        columns=18,
        hrv_columns=56,
        gsics={"IR_108": (0.2071, -50.6)},
    ),
    # As they were before 2008: spectral radiances, and places that are off.
    "old": Image(
        satellite=321,
        names=tuple(NAMES[:11]),
        south=2001,
        lines=5,
        east=901,
        columns=12,
        earth_model=1,
        radiance_type=1,
        longitude=-3.4,
        start=datetime(2006, 7, 2, 23, 57, 10),
        windows=(),
    ),
    # The whole width of a rapid scan's northernmost lines.
    "rapid": Image(
        satellite=322,
        names=("IR_108", "HRV"),
        south=SIZE - 3,
        lines=4,
        minutes=5,
        longitude=9.5,
        start=datetime(2020, 2, 29, 6, 5, 9),
        windows=(Window(6961, 11136, 2073, 7640),),
    ),
    # The lines between which the broad channel's window moves.
    "split": Image(
        satellite=323,
        names=("HRV",),
        south=2667,
        lines=3,
        windows=(Window(1, 8004, 1961, 7528), Window(8005, 11136, 3301, 8868)),
    ),
}


def steps(image: Image) -> Any:
    """Give counts that compress well, for wide lines."""

    def counts(name: str, first: int, count: int) -> np.ndarray:
        width = image.hrv_columns if name == "HRV" else image.columns + -image.columns % 4
        line, column = np.arange(first, first + count)[:, None], np.arange(width)[None, :]
        return (1 + (line * 37 + column // 29 * 5 + NAMES.index(name)) % 1023).astype("u2")

    return counts


def packed(data: bytes) -> bytes:
    """Compress without a name and a time."""
    return gzip.compress(data, 9, mtime=0)


def milliseconds(time: datetime) -> int:
    """Give a time as milliseconds since 1970."""
    return round((time - datetime(1970, 1, 1)).total_seconds() * 1000)


def described(path: Path, image: Image, values: io.BytesIO) -> dict[str, Any]:
    """Give what satpy says of a file; the values go behind those that are there."""
    arrays = []
    scene = Scene([str(path)], reader="seviri_l1b_native")
    for name in image.names:
        for quantity in ("counts", "radiance", "reflectance" if name in SOLAR else "brightness_temperature"):
            scene.load([name], calibration=quantity, upper_right_corner="NE")
            array = scene[name]
            arrays.append(
                {"channel": name, "quantity": quantity, "shape": array.shape, "at": values.tell() // 4}
            )
            values.write(array.values.astype("<f4").tobytes())
            area, lines = array.attrs["area"], array.acq_time.values.astype("M8[ms]").astype("i8")
            x, y = area.get_proj_vectors()
            if quantity == "counts":
                arrays[-1] |= {"x": [x[0], x[-1]], "y": [y[0], y[-1]], "acquired": lines.tolist()}
                times = array.attrs["time_parameters"]
            del scene[name]
    return {
        "arrays": arrays,
        "times": {name: milliseconds(time) for name, time in times.items()},
        "area": {name: float(area.crs.to_dict()[name]) for name in ("lon_0", "h")},
    }


def main() -> None:
    """Write the files and what is expected of them."""
    expected = {}
    with tempfile.TemporaryDirectory() as folder:
        for case, image in CASES.items():
            path, values = Path(folder) / file_name(image), io.BytesIO()
            counts = steps(image) if image.columns == SIZE else waves(image)
            with path.open("wb") as file:
                write(file, image, counts)
            expected[case] = described(path, image, values)
            (HERE / f"{case}.nat.gz").write_bytes(packed(path.read_bytes()))
            (HERE / f"{case}.f32.gz").write_bytes(packed(values.getvalue()))
            path.unlink()
    cases = (f"{json.dumps(case)}: {json.dumps(told, default=float)}" for case, told in expected.items())
    (HERE / "expected.json").write_text("{" + ",\n".join(cases) + "}\n")


if __name__ == "__main__":
    main()
