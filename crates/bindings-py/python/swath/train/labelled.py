"""Arrays of xarray: lazy, computed or in memory, read for all samples of a batch at once."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from swath.train.arrays import AxisIndex, Values
from swath.train.times import coordinates


def is_labelled(array: Any) -> bool:
    """Whether an array is a DataArray; xarray is not imported to find out."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(array, xarray.DataArray)


def is_in_memory(array: Any) -> bool:
    """Whether a DataArray holds a NumPy array."""
    return isinstance(array.variable._data, np.ndarray)


def read_labelled(array: Any, indexes: Sequence[tuple[AxisIndex, ...]]) -> list[Values]:
    """Return what indexes select along each axis by itself, as xarray decodes it.

    What the engine ``swath`` opened is one batch of reads, whatever was selected, renamed or transposed of it
    before; all else is evaluated sample by sample.
    """
    from swath.xarray import load

    variable = array.variable
    crops = [variable.isel(dict(zip(array.dims, index, strict=True))) for index in indexes]
    load(*crops)
    return [np.asarray(crop.values) for crop in crops]


def labelled_coordinates(array: Any) -> dict[str, Any]:
    """Return the coordinates of a DataArray's own dimensions, and numbers that it has along one of them."""
    found: dict[str, Any] = {
        str(dim): coordinates(array.coords[dim]) for dim in array.dims if dim in array.coords
    }
    for name, values in array.coords.items():
        if values.ndim == 1 and name not in found and values.dtype.kind in "iuf":
            found[str(name)] = values
    return found


def labelled_chunks(array: Any) -> tuple[int, ...]:
    """Return the chunks that xarray prefers to read whole, or shards; the shape where it says none."""
    preferred = array.encoding.get("preferred_chunks")
    told: Mapping[Any, Any] = preferred if isinstance(preferred, Mapping) else {}
    return tuple(
        told[dim] if isinstance(told.get(dim), int) else extent
        for dim, extent in zip(array.dims, array.shape, strict=True)
    )
