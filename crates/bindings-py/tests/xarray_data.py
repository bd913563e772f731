"""The dataset that the tests of xarray store, and selections of it."""

import numpy as np
import xarray as xr

RNG_SEED = 6


def dataset():
    """A dataset with all that CF decodes: times, durations, scales, fill values, strings, flags."""
    rng = np.random.default_rng(RNG_SEED)
    shape = (12, 7, 9)
    made = xr.Dataset(
        {
            "packed": (("time", "y", "x"), rng.normal(280, 9, shape)),
            "raw": (("time", "y", "x"), rng.integers(-99, 99, shape, dtype="i2")),
            "lead": ("time", np.arange(12).astype("timedelta64[h]").astype("timedelta64[ns]")),
            "label": ("x", np.array([f"station {number}" for number in range(9)])),
            "flag": (("y", "x"), rng.random((7, 9)) < 0.5),
            "count": ((), np.int64(7)),
        },
        coords={
            "time": np.datetime64("2020-01-01", "ns") + np.arange(12) * np.timedelta64(6, "h"),
            "y": np.linspace(50, 56, 7),
            "x": np.arange(9.0),
            "reference": ((), np.datetime64("2019-12-31", "ns")),
            "area": (("y", "x"), rng.random((7, 9))),
        },
        attrs={"title": "made", "numbers": [1, 2.5]},
    )
    made.packed[0, :2] = np.nan
    made.packed.encoding = {"dtype": "i2", "scale_factor": 0.01, "add_offset": 280.0, "_FillValue": -32768}
    made.packed.attrs = {"units": "K", "valid_min": 200}
    return made


def keys():
    """One selection of each kind, and of several together."""
    x, y = xr.DataArray([3, 0, 3, -1], dims="p"), xr.DataArray([6, 2, 2, 0], dims="p")
    grid = xr.DataArray([[0, 1], [2, 2]], dims=("p", "q"))
    return {
        "integers": {"time": 3, "y": -1, "x": 0},
        "slices": {"time": slice(2, 9, 3), "x": slice(None, None, -2)},
        "backwards": {"time": slice(9, 1, -1), "y": [1, 0], "x": slice(None, None, -1)},
        "nothing": {"time": slice(4, 4), "x": []},
        "lists": {"time": [5, 1, 1, 11], "x": [8, 0, -3]},
        "mask": {"y": np.array([True, False, True, True, False, False, True])},
        "points": {"x": x, "y": y},
        "points of all axes": {"x": x, "y": y, "time": y},
        "grid": {"x": grid},
        "two grids": {"x": grid, "time": grid.rename(p="r", q="s")},
        "one with two": {"x": grid, "y": x.rename(p="r"), "time": xr.DataArray([1, 2, 3, 4], dims="r")},
    }
