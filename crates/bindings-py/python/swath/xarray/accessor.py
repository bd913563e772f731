"""``dataset.swath``: what swath adds to xarray's objects."""

from __future__ import annotations

from typing import Any

import xarray

from swath.xarray.loading import load


class SwathAccessor:
    """``dataset.swath``, of datasets, data arrays and trees."""

    def __init__(self, given: xarray.Dataset | xarray.DataArray | xarray.DataTree) -> None:
        self._given = given

    def load(self) -> Any:
        """Read all that is still lazy in one batch, and keep it: `swath.xarray.load` of this object.

        Returns
        -------
        Dataset, DataArray or DataTree
            The object itself.

        Examples
        --------
        >>> crop = dataset.isel(time=slice(0, 4)).swath.load()
        """
        load(self._given)
        return self._given


def register() -> None:
    """Add the accessor to xarray's classes, by its own means to do so."""
    registrations: tuple[Any, ...] = (
        xarray.register_dataset_accessor,
        xarray.register_dataarray_accessor,
        xarray.register_datatree_accessor,
    )
    for registration in registrations:
        registration("swath")(SwathAccessor)
