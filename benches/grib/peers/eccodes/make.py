"""Writes the messages that are read, of fields of the shared test data.

`python make.py SAMPLES OUT` writes a folder of messages in several packings, and a file of many; `python
make.py SAMPLES OUT MESSAGES` a file as ERA5's are packed.

Fields of 1440 x 721 points are a temperature at 500 hPa, as its model wrote it, packed by ecCodes in
several ways; and one on a surface of potential vorticity, with gaps, as NCEP packs it. The file of many
messages has the temperature's every eighth row and column.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import eccodes
import numpy as np

TEMPERATURE = "grib2/aifs-single-t500.grib2"
VORTICITY = "grib2/gfs.t12z.pgrb2.0p25.f023-PV-TMP-missing.grib2"
MESSAGES = 10_000
EVERY = 8
LEVELS = 10

# Names of files: packing, bits of a number, and further keys.
PACKINGS: dict[str, tuple[str, int, dict[str, int]]] = {
    "simple 8": ("grid_simple", 8, {}),
    "simple 12": ("grid_simple", 12, {}),
    "simple 16": ("grid_simple", 16, {}),
    "simple 24": ("grid_simple", 24, {}),
    "CCSDS 12": ("grid_ccsds", 12, {}),
    "CCSDS 16": ("grid_ccsds", 16, {}),
    "CCSDS 24": ("grid_ccsds", 24, {}),
    "complex 16": ("grid_complex", 16, {}),
    "differences 1 16": ("grid_complex_spatial_differencing", 16, {"orderOfSpatialDifferencing": 1}),
    "differences 2 16": ("grid_complex_spatial_differencing", 16, {"orderOfSpatialDifferencing": 2}),
}


def opened(path: Path) -> Any:
    """Return the first message of a file."""
    with path.open("rb") as file:
        return eccodes.codes_grib_new_from_file(file)


def packed(source: Any, values: Any, packing: str, bits: int, keys: dict[str, int]) -> bytes:
    """Return the message with values in another packing."""
    message = eccodes.codes_clone(source)
    eccodes.codes_set(message, "packingType", "grid_simple")
    eccodes.codes_set(message, "bitsPerValue", bits)
    eccodes.codes_set_values(message, values)
    if packing != "grid_simple":
        eccodes.codes_set(message, "packingType", packing)
        for key, value in keys.items():
            eccodes.codes_set(message, key, value)
        eccodes.codes_set_values(message, values)
    found = eccodes.codes_get(message, "packingType"), eccodes.codes_get(message, "bitsPerValue")
    # Of differences the bits are those of the groups' references.
    if found != (packing, found[1] if keys else bits):
        raise SystemExit(f"wanted {packing} of {bits} bits, and ecCodes made {found}")
    return bytes(eccodes.codes_get_message(message))


def write_fields(samples: Path, out: Path) -> None:
    """Write a message for each packing, and those that others packed."""
    source = opened(samples / TEMPERATURE)
    values = eccodes.codes_get_values(source)
    for name, (packing, bits, keys) in PACKINGS.items():
        (out / f"{name}.grib").write_bytes(packed(source, values, packing, bits, keys))
    (out / "CCSDS, AIFS's.grib").write_bytes((samples / TEMPERATURE).read_bytes())
    (out / "differences, GFS's.grib").write_bytes((samples / VORTICITY).read_bytes())


def write_many(samples: Path, out: Path) -> None:
    """Write a file of many messages: steps, levels, days and two parameters."""
    source = opened(samples / TEMPERATURE)
    values = eccodes.codes_get_values(source).reshape(721, 1440)[::EVERY, ::EVERY]
    message = eccodes.codes_clone(source)
    steps = {"iDirectionIncrementInDegrees": 0.25 * EVERY, "jDirectionIncrementInDegrees": 0.25 * EVERY}
    last = {"longitudeOfLastGridPointInDegrees": 360 - 0.25 * EVERY}
    eccodes.codes_set(message, "packingType", "grid_simple")
    for key, value in {"Ni": values.shape[1], "Nj": values.shape[0], **steps, **last}.items():
        eccodes.codes_set(message, key, value)
    eccodes.codes_set(message, "bitsPerValue", 16)
    eccodes.codes_set_values(message, np.ascontiguousarray(values).ravel())
    with (out / "many.grib").open("wb") as file:
        for number in range(MESSAGES):
            day, rest = divmod(number, 400)
            step, rest = divmod(rest, 20)
            level, parameter = divmod(rest, 2)
            eccodes.codes_set(message, "dataDate", 20240101 + day)
            eccodes.codes_set(message, "step", 6 * step)
            eccodes.codes_set(message, "level", 100 * (level + 1))
            eccodes.codes_set(message, "shortName", ("t", "q")[parameter])
            eccodes.codes_write(message, file)


def write_era5(samples: Path, out: Path, count: int) -> None:
    """Write temperatures at ten levels: the real field, shifted, with a ripple of each its own."""
    message = opened(samples / TEMPERATURE)
    values = eccodes.codes_get_values(message)
    chance = np.random.default_rng(5)
    eccodes.codes_set(message, "packingType", "grid_simple")
    eccodes.codes_set(message, "bitsPerValue", 16)
    eccodes.codes_set(message, "step", 0)
    with out.open("wb") as file:
        for number in range(count):
            time, level = divmod(number, LEVELS)
            day, hour = divmod(time, 24)
            eccodes.codes_set(message, "dataDate", 20240101 + day)
            eccodes.codes_set(message, "dataTime", 100 * hour)
            eccodes.codes_set(message, "level", 100 * (level + 1))
            ripple = chance.normal(0, 0.05, len(values))
            eccodes.codes_set_values(message, np.roll(values, number * 7) - level + ripple)
            eccodes.codes_write(message, file)


def main() -> None:
    """Write everything."""
    samples, out, *count = sys.argv[1:]
    if count:
        write_era5(Path(samples), Path(out), int(count[0]))
        return
    Path(out).mkdir(parents=True, exist_ok=True)
    write_fields(Path(samples), Path(out))
    write_many(Path(samples), Path(out))


if __name__ == "__main__":
    main()
