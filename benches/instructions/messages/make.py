"""Writes the messages beside this, with ecCodes: `python make.py`."""

from __future__ import annotations

from pathlib import Path

import eccodes
import numpy as np

COLUMNS, ROWS = 128, 64
PACKINGS = {
    "simple12": ("grid_simple", 12),
    "simple16": ("grid_simple", 16),
    "ccsds16": ("grid_ccsds", 16),
    "complex16": ("grid_complex", 16),
    "differences16": ("grid_complex_spatial_differencing", 16),
}


def main() -> None:
    """Write a message of each packing, of waves and a ripple."""
    x, y = np.arange(COLUMNS), np.arange(ROWS)[:, None]
    values = 280 + 20 * np.sin(x / 9) * np.cos(y / 13) + 0.3 * np.sin(x * 1.7 + y * 2.3)
    for name, (packing, bits) in PACKINGS.items():
        message = eccodes.codes_grib_new_from_samples("regular_ll_sfc_grib2")
        eccodes.codes_set(message, "Ni", COLUMNS)
        eccodes.codes_set(message, "Nj", ROWS)
        eccodes.codes_set(message, "bitsPerValue", bits)
        eccodes.codes_set_values(message, values.ravel())
        eccodes.codes_set(message, "packingType", packing)
        if "differencing" in packing:
            eccodes.codes_set(message, "orderOfSpatialDifferencing", 2)
        eccodes.codes_set_values(message, values.ravel())
        path = Path(__file__).with_name(f"{name}.grib")
        path.write_bytes(eccodes.codes_get_message(message))


if __name__ == "__main__":
    main()
