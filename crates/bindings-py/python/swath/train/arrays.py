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
    return as_indexes(positions[None])[0]


def as_indexes(rows: Positions) -> list[slice | list[int]]:
    """Return what `as_index` does of each row, none of whose positions is below 0."""
    count, length = rows.shape
    if length == 0:
        return [slice(0, 0)] * count
    firsts = rows[:, 0].tolist()
    if length == 1:
        return [slice(first, first + 1) for first in firsts]
    apart = np.diff(rows, axis=1)
    steps = apart[:, 0]
    even = np.all(apart == steps[:, None], axis=1) & (0 < steps)
    lasts = rows[:, -1].tolist()
    return [
        slice(first, last + 1, step) if is_even else rows[place].tolist()
        for place, (first, last, step, is_even) in enumerate(
            zip(firsts, lasts, steps.tolist(), even.tolist(), strict=True)
        )
    ]
