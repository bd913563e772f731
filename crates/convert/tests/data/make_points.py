"""Writes `points.json`: where ecCodes (PyPI's `eccodes`) has points of projected, rotated and reduced grids.

Usage: make_points.py [SAMPLES]

Of grids made here, each one message in `points/NAME.grib`; and of the first field of each sample file below
SAMPLES, by the file's name. Some points of each, by their numbers.
"""

import json
import sys
from pathlib import Path

import eccodes
import numpy as np

HERE = Path(__file__).parent

# Of the shapes of the Earth that ecCodes projects.
SPHERE = {"shapeOfTheEarth": 6}
OBLATE = {
    "shapeOfTheEarth": 7,
    "scaleFactorOfEarthMajorAxis": 0,
    "scaledValueOfEarthMajorAxis": 6_378_137,
    "scaleFactorOfEarthMinorAxis": 1,
    "scaledValueOfEarthMinorAxis": 63_567_523,
}

PLANE = {"Nx": 13, "Ny": 11, "jScansPositively": 1}

LAMBERT = PLANE | {
    "gridType": "lambert",
    "latitudeOfFirstGridPoint": 21_138_000,
    "longitudeOfFirstGridPoint": 237_280_000,
    "LaD": 38_500_000,
    "LoV": 262_500_000,
    "Dx": 300_000_000,
    "Dy": 250_000_000,
    "Latin1": 38_500_000,
    "Latin2": 38_500_000,
}

POLAR = PLANE | {
    "gridType": "polar_stereographic",
    "latitudeOfFirstGridPoint": 40_530_000,
    "longitudeOfFirstGridPoint": 181_429_000,
    "LaD": 60_000_000,
    "orientationOfTheGrid": 210_000_000,
    "Dx": 400_000_000,
    "Dy": 300_000_000,
}

MERCATOR = {
    "gridType": "mercator",
    "Ni": 13,
    "Nj": 11,
    "jScansPositively": 1,
    "latitudeOfFirstGridPoint": 18_073_000,
    "longitudeOfFirstGridPoint": 198_475_000,
    "latitudeOfLastGridPoint": 30_000_000,
    "longitudeOfLastGridPoint": 220_000_000,
    "LaD": 20_000_000,
    "Di": 150_000_000,
    "Dj": 120_000_000,
}

SPACE_VIEW = {
    "gridType": "space_view",
    "Nx": 21,
    "Ny": 19,
    "latitudeOfSubSatellitePoint": 0,
    "longitudeOfSubSatellitePoint": 9_500_000,
    "dx": 22,
    "dy": 20,
    "Xp": 10_000,
    "Yp": 9_000,
    "orientationOfTheGrid": 0,
    "Nr": 6_610_700,
    "Xo": 0,
    "Yo": 0,
}

GRIDS = {
    "lambert_sphere": LAMBERT | SPHERE,
    "lambert_oblate": LAMBERT | OBLATE,
    "lambert_two_parallels": LAMBERT | SPHERE | {"Latin1": 25_000_000, "Latin2": 60_000_000},
    "lambert_two_oblate": LAMBERT | OBLATE | {"Latin1": 25_000_000, "Latin2": 60_000_000},
    "lambert_south": LAMBERT
    | SPHERE
    | {
        "Latin1": -30_000_000,
        "Latin2": -60_000_000,
        "LaD": -30_000_000,
        "latitudeOfFirstGridPoint": -50_000_000,
    },
    "polar_north": POLAR | SPHERE,
    "polar_pole": POLAR | SPHERE | {"LaD": 90_000_000},
    "polar_south": POLAR
    | SPHERE
    | {"LaD": -60_000_000, "latitudeOfFirstGridPoint": -40_530_000, "projectionCentreFlag": 128},
    "mercator_sphere": MERCATOR | SPHERE,
    "mercator_oblate": MERCATOR | OBLATE,
    "space_view_north": SPACE_VIEW | SPHERE | {"iScansNegatively": 0, "jScansPositively": 0},
    "space_view_south": SPACE_VIEW | SPHERE | {"iScansNegatively": 0, "jScansPositively": 1},
    "space_view_west": SPACE_VIEW | OBLATE | {"iScansNegatively": 1, "jScansPositively": 0, "Xo": 2, "Yo": 3},
}

# Samples of ecCodes itself. It does not turn rotated Gaussian grids whose rows are of one length.
SAMPLES = (
    "rotated_ll_sfc_grib1",
    "rotated_ll_sfc_grib2",
    "reduced_gg_pl_32_grib1",
    "reduced_gg_pl_32_grib2",
    "reduced_ll_sfc_grib1",
    "reduced_ll_sfc_grib2",
    "reduced_rotated_gg_sfc_grib2",
    "polar_stereographic_sfc_grib1",
    "polar_stereographic_sfc_grib2",
)


def points(made: int) -> list[list[float]] | None:
    """Give forty points at most, by their numbers; none of grids with axes, or that ecCodes cannot place."""
    if eccodes.codes_get(made, "gridType") in ("regular_ll", "regular_gg", "sh"):
        return None
    try:
        latitudes, longitudes = (eccodes.codes_get_array(made, key) for key in ("latitudes", "longitudes"))
    except eccodes.CodesInternalError:
        return None
    places = sorted({*range(0, len(latitudes), max(1, len(latitudes) // 37)), len(latitudes) - 1})
    return [
        [place, round(float(latitudes[place]), 9), round(float(longitudes[place]), 9)] for place in places
    ]


def main() -> None:
    """Writes the messages and the list."""
    found: dict[str, object] = {}
    (HERE / "points").mkdir(exist_ok=True)
    for name, keys in GRIDS.items():
        made = eccodes.codes_grib_new_from_samples("GRIB2")
        for key, value in keys.items():
            eccodes.codes_set(made, key, value)
        columns, rows = (keys[key] for key in (("Nx", "Ny") if "Nx" in keys else ("Ni", "Nj")))
        eccodes.codes_set_values(made, np.full(columns * rows, 1.0))
        keep(name, made, found)
    for name in SAMPLES:
        made = eccodes.codes_grib_new_from_samples(name)
        eccodes.codes_set_values(made, np.full(eccodes.codes_get(made, "numberOfValues"), 1.0))
        keep(name, made, found)
    samples = Path(sys.argv[1]) if 1 < len(sys.argv) else None
    for path in sorted(samples.glob("grib*/*")) if samples else []:
        with path.open("rb") as file:
            made = eccodes.codes_grib_new_from_file(file) if path.suffix != ".idx" else None
        if made and eccodes.codes_get(made, "numberOfPoints") < 5_000_000 and (listed := points(made)):
            found[path.relative_to(samples).as_posix()] = listed
    (HERE / "points.json").write_text(json.dumps(found) + "\n")


def keep(name: str, made: int, found: dict[str, object]) -> None:
    """Writes one message and notes its points, where ecCodes knows them: on spheroids it does not."""
    if (listed := points(made)) is None:
        return
    (HERE / "points" / f"{name}.grib").write_bytes(eccodes.codes_get_message(made))
    found[f"points/{name}.grib"] = listed


main()
