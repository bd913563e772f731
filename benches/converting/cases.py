"""What is read, what is done to it on the way, and the same steps in NumPy."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benches.runner.array_data import write_array
from benches.runner.selections import workload_corners
from benches.runner.workload import Workload, load_workloads

type Values = np.ndarray[Any, Any]

# As many images of the workload's as have crops.
TIMES = 4
CHANNELS = 10
SINGLE = np.float32
MEANS = np.linspace(300, 1200, CHANNELS)
DEVIATIONS = np.linspace(200, 900, CHANNELS)


@dataclass(frozen=True)
class Case:
    """A conversion of an array of ``dtype``; ``expected`` makes its result of what is stored."""

    name: str
    dtype: str
    steps: Mapping[str, Any]
    expected: Callable[[Values], Values]

    @property
    def out_dtype(self) -> np.dtype[Any]:
        """The type of the results."""
        dtype: np.dtype[Any] = np.dtype(self.steps["dtype"])
        return dtype

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a result of crops of a shape."""
        factors = self.steps.get("downsample", (1,) * len(shape))
        return tuple(length // factor for length, factor in zip(shape, factors, strict=True))


def normalised(values: Values) -> Values:
    """Normalise each channel in float32."""
    means, deviations = (one.astype(SINGLE)[:, None, None] for one in (MEANS, DEVIATIONS))
    return (values - means) / deviations


def masked(values: Values, stored: Values) -> Values:
    """Put NaN where 300 is stored."""
    return np.where(stored == 300, SINGLE(np.nan), values)


def filled(values: Values) -> Values:
    """Put 0 where NaN is."""
    return np.where(np.isnan(values), SINGLE(0), values)


def decoded(stored: Values) -> Values:
    """Scale and offset in float32, as CF has it, and mask."""
    return masked(stored.astype(SINGLE) * SINGLE(0.0001) + SINGLE(-0.1), stored)


def means_of_blocks(stored: Values) -> Values:
    """Average 2 x 2 elements."""
    *outer, rows, columns = stored.shape
    blocks = stored.reshape(*outer, rows // 2, 2, columns // 2, 2).astype("float64")
    return blocks.mean((-3, -1)).astype(SINGLE)


DECODE = {"mask": 300, "scale": 0.0001, "offset": -0.1}
NORMALISE = {"mean": MEANS, "std": DEVIATIONS, "axis": 1, "mask": 300, "fill": 0}

CASES = (
    Case("masked and filled", "int16", {"dtype": "int16", "mask": 300, "fill": -1},
         lambda stored: np.where(stored == 300, np.int16(-1), stored)),
    Case("masked, scaled, cast", "int16", {"dtype": "float16", **DECODE},
         lambda stored: decoded(stored).astype("float16")),
    Case("means of 2 x 2", "int16", {"dtype": "float32", "downsample": (1, 1, 2, 2)}, means_of_blocks),
    Case("masked, normalised, filled", "float32", {"dtype": "float32", **NORMALISE},
         lambda stored: filled(masked(normalised(stored), stored))),
    Case("cast", "float64", {"dtype": "float32"}, lambda stored: stored.astype(SINGLE)),
    Case("masked, normalised, filled", "int16", {"dtype": "float32", **NORMALISE},
         lambda stored: filled(masked(normalised(stored.astype(SINGLE)), stored))),
)  # fmt: skip


def workload(dtype: str) -> Workload:
    """Return `sat_blosc` with elements of a type, and fewer images."""
    whole = load_workloads()["sat_blosc"]
    data = {**whole.data, "dtype": dtype, "shape": [TIMES, *whole.data["shape"][1:]]}
    return dataclasses.replace(whole, data=data)


def prepare(dtype: str, folder: Path) -> Path:
    """Write the array of a type, unless it is there."""
    target = folder / f"{dtype}.zarr"
    if not target.exists():
        partial = target.with_suffix(".new")
        shutil.rmtree(partial, ignore_errors=True)
        write_array(workload(dtype), "morton", partial)
        partial.rename(target)
    return target


def crops(dtype: str) -> list[tuple[slice, ...]]:
    """Return what is read: the workload's crops."""
    chosen = workload(dtype)
    return [
        tuple(slice(at, at + length) for at, length in zip(corner, chosen.selection_shape, strict=True))
        for corner in workload_corners(chosen)
    ]


def is_equal(found: Values, wanted: Values) -> bool:
    """Whether elements are equal, within one unit in the last place of floats."""
    if found.dtype.kind != "f":
        return bool(np.array_equal(found, wanted))
    near = np.abs(found.astype("f8") - wanted.astype("f8")) <= np.spacing(np.abs(wanted)).astype("f8")
    return bool((near | (np.isnan(found) & np.isnan(wanted))).all())
