"""What is stored of an array's axes: their names and their coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from swath._swath import Array, Group
from swath.errors import InvalidError
from swath.train.arrays import Values
from swath.train.axis import Axis
from swath.train.labelled import is_labelled, labelled_coordinates
from swath.train.times import coordinates


def dims_of(array: Any, dims: Sequence[str] | None) -> tuple[str, ...]:
    """Return the name of each axis: as told, or as stored."""
    stored = (
        dims
        or (array.dims if is_labelled(array) else None)
        or getattr(array, "dimension_names", None)
        or getattr(array, "attrs", {}).get("_ARRAY_DIMENSIONS")
    )
    names = tuple(stored or ())
    if len(names) != len(array.shape) or None in names or len(set(names)) != len(names):
        raise InvalidError(f"wanted a name for each of {len(array.shape)} axes as dims=, found {names}")
    return names


class Coordinates:
    """Where the coordinates of an array are: told, of xarray, or in the group that holds the array.

    Parameters
    ----------
    store : swath.Group or anything else
        What the array was taken from.
    name : str or None
        The array's path in it.
    array : swath.Array, xarray.DataArray or array
        The array.
    told : mapping of str to array_like
        Values by dimension, in place of those that are stored.
    """

    def __init__(
        self, store: Any, name: str | None, array: Any, told: Mapping[str, npt.ArrayLike] | None
    ) -> None:
        self._known = {**(labelled_coordinates(array) if is_labelled(array) else {}), **(told or {})}
        self._group = _group_of(store, name)

    def values(self, dim: str, extent: int) -> Values | None:
        """Return those along a dimension; None where there are none."""
        if dim in self._known:
            return np.asarray(self._known[dim])
        group = self._group
        if group is None or dim not in group:
            return None
        stored = group[dim]
        return coordinates(stored) if isinstance(stored, Array) and stored.shape == (extent,) else None

    def axis(self, dim: str, extent: int) -> Axis:
        """Return the axis along a dimension; it counts from 0 where there are no coordinates."""
        values = self.values(dim, extent)
        axis = Axis(np.arange(extent) if values is None else values)
        if len(axis) != extent:
            raise InvalidError(f"wanted {extent} coordinates along {dim}, found {len(axis)}")
        return axis

    def stored(self, name: str, extent: int) -> Axis:
        """Return coordinates that have to be there, along an axis of another name."""
        values = self.values(name, extent)
        if values is None or values.shape != (extent,):
            found = "none" if values is None else f"shape {values.shape}"
            raise InvalidError(
                f"wanted {extent} coordinates {name!r}, beside the array or told, found {found}"
            )
        return Axis(values)


def _group_of(store: Any, name: str | None) -> Group | None:
    """Return the group that holds an array, and with it the array's coordinates."""
    if name is None or not isinstance(store, Group):
        return None
    folder, _, _ = name.strip("/").rpartition("/")
    group = store[folder] if folder else store
    return group if isinstance(group, Group) else None
