"""Writes `axes.json`: coordinates that ecCodes (PyPI's `eccodes`) gives to rows and columns.

Usage: make_axes.py [SAMPLES]

Of grids made here, each one message in `axes/NAME.grib`; and of the first field of each sample file below
SAMPLES, by the file's name. Of long axes some places only, by their numbers.
"""

import json
import sys
from pathlib import Path

import eccodes
import numpy as np

HERE = Path(__file__).parent

LAT_LON = {
    "plain": {},
    "north": {
        "jScansPositively": 1,
        "latitudeOfFirstGridPointInDegrees": -30,
        "latitudeOfLastGridPointInDegrees": 60,
    },
    "west": {
        "iScansNegatively": 1,
        "longitudeOfFirstGridPointInDegrees": 20,
        "longitudeOfLastGridPointInDegrees": 340,
    },
    "wrapped": {"longitudeOfFirstGridPointInDegrees": 340, "longitudeOfLastGridPointInDegrees": 32},
    "thirds": {"latitudeOfLastGridPointInDegrees": 53.333, "longitudeOfLastGridPointInDegrees": 4.333},
}


def message(edition: int, name: str, keys: dict[str, float]) -> int:
    """Give a message of 14 x 10 points, or of a Gaussian grid."""
    made = eccodes.codes_grib_new_from_samples(f"{name}_grib{edition}")
    if name == "regular_ll_sfc":
        area = {
            "Ni": 14,
            "Nj": 10,
            "latitudeOfFirstGridPointInDegrees": 60,
            "latitudeOfLastGridPointInDegrees": -30,
            "longitudeOfFirstGridPointInDegrees": 0,
            "longitudeOfLastGridPointInDegrees": 52,
        } | keys
        for key, value in area.items():
            eccodes.codes_set(made, key, value)
        steps = {
            "i": abs(
                (area["longitudeOfLastGridPointInDegrees"] - area["longitudeOfFirstGridPointInDegrees"] + 180)
                % 360
                - 180
            )
            / 13,
            "j": abs(area["latitudeOfLastGridPointInDegrees"] - area["latitudeOfFirstGridPointInDegrees"])
            / 9,
        }
        for axis, step in steps.items():
            eccodes.codes_set(made, f"{axis}DirectionIncrementInDegrees", step)
        eccodes.codes_set_values(made, np.full(140, 1.0))
    return made


def axes(made: int) -> dict[str, object] | None:
    """Give the latitudes of rows and the longitudes of columns, in the order of the file."""
    if eccodes.codes_get(made, "gridType") not in ("regular_ll", "regular_gg"):
        return None
    columns, rows = eccodes.codes_get(made, "Ni"), eccodes.codes_get(made, "Nj")
    latitudes, longitudes = (eccodes.codes_get_array(made, key) for key in ("latitudes", "longitudes"))
    if eccodes.codes_get(made, "jPointsAreConsecutive"):
        shape, row, column = (columns, rows), 0, 1
    else:
        shape, row, column = (rows, columns), 1, 0
    latitudes = np.take(latitudes.reshape(shape), 0, axis=row)
    longitudes = np.take(longitudes.reshape(shape), 0, axis=column)
    return {"latitudes": some(latitudes), "longitudes": some(longitudes)}


def some(values: np.ndarray) -> list[list[float]]:
    """Give twenty places of an axis at most, the last among them, by their numbers."""
    places = sorted({*range(0, len(values), max(1, len(values) // 19)), len(values) - 1})
    return [[place, round(float(values[place]), 9)] for place in places]


def main() -> None:
    """Writes the messages and the list."""
    found: dict[str, object] = {}
    (HERE / "axes").mkdir(exist_ok=True)
    kinds = [("regular_ll_sfc", f"lat_lon_{name}", keys) for name, keys in LAT_LON.items()]
    kinds += [(sample, sample, {}) for sample in ("regular_gg_sfc", "regular_gg_ml")]
    for sample, name, keys in kinds:
        for edition in (1, 2):
            made = message(edition, sample, keys)
            if sample != "regular_ll_sfc":
                eccodes.codes_set_values(made, np.full(eccodes.codes_get(made, "numberOfValues"), 1.0))
            (HERE / "axes" / f"{name}{edition}.grib").write_bytes(eccodes.codes_get_message(made))
            found[f"axes/{name}{edition}.grib"] = axes(made)
    samples = Path(sys.argv[1]) if 1 < len(sys.argv) else None
    for path in sorted(samples.glob("grib*/*")) if samples else []:
        with path.open("rb") as file:
            made = eccodes.codes_grib_new_from_file(file) if path.suffix != ".idx" else None
        if made and eccodes.codes_get(made, "numberOfPoints") < 5_000_000 and (axis := axes(made)):
            found[path.relative_to(samples).as_posix()] = axis
    (HERE / "axes.json").write_text(json.dumps(found) + "\n")


main()
