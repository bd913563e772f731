"""Writes the messages of this folder and what they decode to, with ecCodes (PyPI's `eccodes`).

Each NAME.grib is one message, each NAME.f64 its values as little-endian 64-bit numbers in the order of the
file, missing ones NaN.
"""

from pathlib import Path

import eccodes
import numpy as np

HERE = Path(__file__).parent
COLUMNS, ROWS = 24, 11


def field(kind: str) -> np.ndarray:
    """Values of a field: waves with noise, or with gaps, steps or a constant."""
    random = np.random.default_rng(20190301)
    y, x = np.mgrid[0:ROWS, 0:COLUMNS]
    waves = 280 + 15 * np.sin(x / 3) * np.cos(y / 2) + random.normal(0, 0.3, (ROWS, COLUMNS))
    if kind == "steps":
        waves = np.where((x // 6 + y // 3) % 2 == 0, 0.0, np.round(waves))
    elif kind == "constant":
        waves = np.full((ROWS, COLUMNS), 273.25)
    return waves.ravel()


def write(
    name: str, edition: int, packing: str, keys: dict[str, int], kind: str = "waves", gaps: bool = False
) -> None:
    """Writes one message, and what ecCodes reads of it."""
    message = eccodes.codes_grib_new_from_samples(f"regular_ll_sfc_grib{edition}")
    for key, value in {"Ni": COLUMNS, "Nj": ROWS}.items():
        eccodes.codes_set(message, key, value)
    values = field(kind)
    if gaps:
        eccodes.codes_set(message, "bitmapPresent", 1)
        eccodes.codes_set(message, "missingValue", 1e20)
        values[np.random.default_rng(7).random(values.size) < 0.3] = 1e20
    eccodes.codes_set_values(message, values)
    eccodes.codes_set(message, "packingType", packing)
    for key, value in keys.items():
        eccodes.codes_set(message, key, value)
    eccodes.codes_set_values(message, values)
    if eccodes.codes_get(message, "packingType") != packing:
        raise SystemExit(f"{name}: ecCodes made it {eccodes.codes_get(message, 'packingType')}")
    # Read from the bytes, so that nothing of the writing is left.
    read = eccodes.codes_new_from_message(eccodes.codes_get_message(message))
    eccodes.codes_set(read, "missingValue", 1e20)
    found = eccodes.codes_get_values(read)
    found = np.where(found == 1e20, np.nan, found)
    if not gaps and kind != "steps" and np.abs(found - values).max() > 3:
        raise SystemExit(f"{name}: ecCodes does not read what it wrote")
    (HERE / f"{name}.grib").write_bytes(eccodes.codes_get_message(message))
    (HERE / f"{name}.f64").write_bytes(found.astype("<f8").tobytes())


def main() -> None:
    """Writes every message that ecCodes can write."""
    for bits in (1, 7, 8, 12, 16, 23, 24, 32):
        write(f"simple2_{bits}", 2, "grid_simple", {"bitsPerValue": bits}, "steps" if bits == 1 else "waves")
    write("simple1_12", 1, "grid_simple", {"bitsPerValue": 12})
    write("simple1_gaps", 1, "grid_simple", {"bitsPerValue": 16}, gaps=True)
    write("simple2_gaps", 2, "grid_simple", {"bitsPerValue": 10}, gaps=True)
    for packing in ("simple", "ccsds", "jpeg", "complex", "complex_spatial_differencing"):
        write(f"{packing}2_constant", 2, f"grid_{packing}", {}, "constant")
    for packing in ("second_order", "second_order_no_SPD", "second_order_SPD1", "second_order_SPD3"):
        write(f"{packing}1", 1, f"grid_{packing}", {"bitsPerValue": 12})
        write(f"{packing}1_gaps", 1, f"grid_{packing}", {"bitsPerValue": 12}, gaps=True)
    for packing in ("complex", "complex_spatial_differencing"):
        write(f"{packing}2", 2, f"grid_{packing}", {"bitsPerValue": 14})
        write(f"{packing}2_gaps", 2, f"grid_{packing}", {"bitsPerValue": 14}, gaps=True)
    write(
        "complex_order1",
        2,
        "grid_complex_spatial_differencing",
        {"bitsPerValue": 14, "orderOfSpatialDifferencing": 1},
    )
    for bits in (4, 8, 11, 16, 24, 30):
        write(f"ccsds2_{bits}", 2, "grid_ccsds", {"bitsPerValue": bits})
    write("ccsds2_steps", 2, "grid_ccsds", {"bitsPerValue": 12}, "steps")
    write("ccsds2_gaps", 2, "grid_ccsds", {"bitsPerValue": 12}, gaps=True)
    write("ccsds2_blocks", 2, "grid_ccsds", {"bitsPerValue": 12, "ccsdsBlockSize": 8, "ccsdsRsi": 3}, "steps")
    write("ccsds2_plain", 2, "grid_ccsds", {"bitsPerValue": 12, "ccsdsFlags": 6}, "steps")
    for bits in (8, 12, 16, 20):
        write(f"jpeg2_{bits}", 2, "grid_jpeg", {"bitsPerValue": bits})
    write("jpeg2_gaps", 2, "grid_jpeg", {"bitsPerValue": 12}, gaps=True)
    for bits in (8, 16, 24, 32):
        # ecCodes cannot write images that are larger than what they are of.
        write(f"png2_{bits}", 2, "grid_png", {"bitsPerValue": bits}, "steps")
    write("ieee2_32", 2, "grid_ieee", {"precision": 1})
    write("ieee2_64", 2, "grid_ieee", {"precision": 2})


main()
