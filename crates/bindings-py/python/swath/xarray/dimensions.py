"""The names of an array's dimensions, and the attributes that are the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from swath._swath import Array

DIMENSIONS = "_ARRAY_DIMENSIONS"
"""The attribute of v2 arrays that xarray keeps dimensions in."""


def dimensions_of(array: Array) -> tuple[str, ...]:
    """Return a name for each axis: of the metadata in v3; of xarray's attribute or netCDF's metadata in v2.

    Raises
    ------
    KeyError
        The array does not name its dimensions.
    """
    names = _of_v3(array) if array.zarr_format == 3 else _of_v2(array)
    if len(names) != array.ndim:
        message = (
            f"wanted a name for each of {array.ndim} dimensions of {array.store_path}, "
            f"for xarray to determine variable dimensions, found {names!r}"
        )
        raise KeyError(message)
    return tuple(names)


def attributes_of(array: Array) -> dict[str, Any]:
    """Return the attributes without those that say how a v2 array is stored."""
    attributes = array.attrs.asdict()
    return attributes if array.zarr_format == 3 else without_netcdf(attributes, DIMENSIONS)


def without_netcdf(attributes: Mapping[str, Any], *hidden: str) -> dict[str, Any]:
    """Leave out what netCDF's own library keeps for itself, and what is `hidden` besides."""
    return {
        name: value
        for name, value in attributes.items()
        if not name.lower().startswith("_nc") and name not in hidden
    }


def _of_v3(array: Array) -> Sequence[Any]:
    return array.dimension_names or ()


def _of_v2(array: Array) -> Sequence[str]:
    attributes = array.attrs
    if DIMENSIONS in attributes:
        names: Sequence[str] = attributes[DIMENSIONS]
        return names
    netcdf = array.metadata.get("_NCZARR_ARRAY") or attributes.get("_nczarr_array") or {}
    if "dimrefs" in netcdf:
        # netCDF's names are paths from the root.
        return [str(name).rsplit("/", 1)[-1] for name in netcdf["dimrefs"]]
    message = (
        f"{array.store_path} does not name its dimensions: wanted the attribute {DIMENSIONS} "
        "or the metadata of netCDF, for xarray to determine variable dimensions"
    )
    raise KeyError(message)
