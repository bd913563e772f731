"""The arrays that pass between the parts of `swath.train`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

type Values = npt.NDArray[Any]
type Positions = npt.NDArray[np.int64]
type Flags = npt.NDArray[np.bool_]
type Words = npt.NDArray[np.uint64]
type Draws = npt.NDArray[np.float64]

# What one axis of an array is indexed by, for one sample.
type AxisIndex = int | slice | list[int]


def as_index(positions: Positions) -> slice | list[int]:
    """Return rising, evenly spaced positions as a slice, which is read without a list; others as a list."""
    if len(positions) == 0:
        return slice(0, 0)
    first, last = int(positions[0]), int(positions[-1])
    if len(positions) == 1:
        return slice(first, first + 1)
    step = int(positions[1]) - first
    if step < 1 or not bool(np.all(np.diff(positions) == step)):
        return [int(position) for position in positions]
    return slice(first, last + 1, step)
