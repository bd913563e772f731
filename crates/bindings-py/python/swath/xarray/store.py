"""A group as xarray's data stores are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, override

from xarray import Variable
from xarray.backends import AbstractDataStore
from xarray.backends.zarr import FillValueCoder
from xarray.core import indexing

from swath._swath import Array, Group
from swath.xarray.dimensions import attributes_of, dimensions_of, without_netcdf
from swath.xarray.encoding import Codecs, encoding_of
from swath.xarray.lazy_array import LazyArray
from swath.xarray.prefetch import Prefetch

type Arrays = Mapping[str, Array]


class GroupStore(AbstractDataStore):
    """The variables of one group, each as lazy as xarray has it.

    Parameters
    ----------
    group : Group
        Whose attributes and format count.
    arrays : mapping of str to Array
        What lies directly below it.
    is_fill_masked : bool, optional
        Whether fill values stand for what is missing. By default in v2, and not in v3.
    prefetch : Prefetch, optional
        What the variables take coordinates from that are read together.
    """

    def __init__(
        self, group: Group, arrays: Arrays, *, is_fill_masked: bool | None, prefetch: Prefetch | None
    ) -> None:
        self._group = group
        self._arrays = arrays
        self._prefetch = prefetch
        self._codecs: dict[str, Codecs] = {}
        self._is_fill_masked = group.zarr_format == 2 if is_fill_masked is None else is_fill_masked

    @override
    def get_variables(self) -> dict[str, Variable]:
        """Return all variables, as they are stored."""
        return {name: self._variable(array) for name, array in self._arrays.items()}

    @override
    def get_attrs(self) -> dict[str, Any]:
        """Return the group's attributes."""
        return without_netcdf(self._group.attrs)

    def _variable(self, array: Array) -> Variable:
        dimensions = dimensions_of(array)
        attributes = attributes_of(array)
        zarr_format = self._group.zarr_format
        encoding = encoding_of(array, dimensions, zarr_format, self._codecs)
        if self._is_fill_masked:
            if array.fill_value is not None:
                attributes["_FillValue"] = array.fill_value
        else:
            if zarr_format == 3:
                encoding["fill_value"] = array.fill_value
            if "_FillValue" in attributes:
                attributes["_FillValue"] = FillValueCoder.decode(attributes["_FillValue"], array.dtype)
        data = indexing.LazilyIndexedArray(LazyArray(array, self._prefetch))
        return Variable(dimensions, data, attributes, encoding)


def read_when_opened(arrays: Arrays) -> Iterable[Array]:
    """Pick what xarray reads to open a dataset: the coordinates of dimensions, and what counts time."""
    for name, array in arrays.items():
        counts_time = "since" in str(array.attrs.get("units", ""))
        if array.ndim <= 1 and (counts_time or dimensions_of(array) == (name,)):
            yield array
