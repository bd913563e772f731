"""One variable of a dataset: an array, its coordinates, and how it is cut and converted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from swath._swath import Array, Group
from swath.errors import InvalidError
from swath.train.arrays import AxisIndex, Draws, Flags, Values, as_index
from swath.train.axis import Axis
from swath.train.crop import Crop, Refused
from swath.train.decoding import Decoding, steps_of
from swath.train.labelled import is_labelled, labelled_chunks, labelled_coordinates
from swath.train.space import Origins
from swath.train.times import coordinates


@dataclass(frozen=True)
class Source:
    """An array with names for its axes, from which samples are cut. Made by `source`.

    Attributes
    ----------
    array : swath.Array or anything that NumPy's basic indexing reads
        Where elements are stored.
    dims : tuple of str
        The name of each axis.
    axes : mapping of str to Axis
        The coordinates of axes that are cut.
    crops : mapping of tuple of str to Crop
        How axes are cut, each together with the axes that its crop takes.
    select : mapping of str to int, slice or list of int
        What is taken of the other axes, by position; all of those that are not named.
    decoding : Decoding
        What elements become.
    """

    array: Any
    dims: tuple[str, ...]
    axes: Mapping[str, Axis]
    crops: Mapping[tuple[str, ...], Crop]
    select: Mapping[str, AxisIndex]
    decoding: Decoding

    def origin_dims(self) -> dict[str, list[tuple[tuple[Axis, ...], Crop]]]:
        """Return the dimensions of origins that it follows, each with the crops that do."""
        found: dict[str, list[tuple[tuple[Axis, ...], Crop]]] = {}
        for dims, crop in self.crops.items():
            found.setdefault(crop.along or dims[0], []).append((self._axes(dims), crop))
        return found

    def refused(self, dim: str, origins: Values) -> Refused:
        """Return which origins along a dimension cannot be cut, by reason."""
        found: Refused = {}
        for axes, crop in self.origin_dims().get(dim, ()):
            for reason, refused in crop.refused(axes, origins).items():
                found[reason] = refused | found.get(reason, np.zeros(len(origins), bool))
        return found

    def indexes(self, origins: Origins, draws: Draws) -> list[tuple[AxisIndex, ...]]:
        """Return the index of each sample: an entry for each axis of the array."""
        along: dict[str, list[AxisIndex]] = {}
        for dims, crop in self.crops.items():
            cut = crop.indexes(self._axes(dims), origins[crop.along or dims[0]], draws)
            for place, dim in enumerate(dims):
                along[dim] = [entries[place] for entries in cut]
        every: list[list[AxisIndex]] = [
            along[dim] if dim in along else [self.select.get(dim, slice(None))] * len(draws)
            for dim in self.dims
        ]
        return [tuple(entries) for entries in zip(*every, strict=True)]

    def absent(self, origins: Origins, draws: Draws) -> list[tuple[int, Flags]]:
        """Return what of the samples does not count: axes of a batch, and (samples, steps) flags."""
        found = []
        for dims, crop in self.crops.items():
            present = crop.present(self._axes(dims), origins[crop.along or dims[0]], draws)
            if present is not None and not bool(present.all()):
                found.append((1 + self.sample_dims.index(dims[-1]), ~present))
        return found

    @property
    def sample_dims(self) -> tuple[str, ...]:
        """The axes that a sample has."""
        return tuple(dim for dim, _ in self._lengths())

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Elements of a sample along each of its axes."""
        return tuple(length for _, length in self._lengths())

    @property
    def taken_lengths(self) -> tuple[int, ...]:
        """Elements that a sample takes along each axis of the array: one where it has no such axis."""
        known = dict(self._lengths())
        return tuple(known.get(dim, 1) for dim in self.dims)

    @property
    def chunks(self) -> tuple[int, ...]:
        """Elements of a chunk along each axis, all where there are none; of xarray's as `objects`."""
        if is_labelled(self.array):
            return labelled_chunks(self.array)
        return tuple(getattr(self.array, "chunks", None) or self.array.shape)

    @property
    def objects(self) -> tuple[int, ...]:
        """Elements of a stored object along each axis: of a shard, or else of a chunk."""
        return tuple(getattr(self.array, "shards", None) or self.chunks)

    def shortened(self, forecast: int) -> Source:
        """Return the source with at most so many steps of its windows behind the origin."""
        crops = {dims: crop.shortened(forecast) for dims, crop in self.crops.items()}
        return replace(self, crops=crops)

    def _lengths(self) -> list[tuple[str, int]]:
        cropped: dict[str, int | None] = {}
        for dims, crop in self.crops.items():
            lengths = crop.lengths(self._axes(dims))
            # A crop that keeps fewer axes than it cuts keeps the last ones.
            for dim, length in zip(
                reversed(dims), reversed((None,) * (len(dims) - len(lengths)) + lengths), strict=True
            ):
                cropped[dim] = length
        found = []
        for dim, extent in zip(self.dims, self.array.shape, strict=True):
            length = cropped[dim] if dim in cropped else _selected(self.select.get(dim, slice(None)), extent)
            if length is not None:
                found.append((dim, length))
        return found

    def _axes(self, dims: tuple[str, ...]) -> tuple[Axis, ...]:
        return tuple(self.axes[dim] for dim in dims)


def source(
    store: Any,
    name: str | None = None,
    *,
    dims: Sequence[str] | None = None,
    coords: Mapping[str, npt.ArrayLike] | None = None,
    crops: Mapping[str | tuple[str, ...], Crop],
    select: Mapping[str, Any] | None = None,
    mean: Any = None,
    std: Any = None,
    per: str | None = None,
    fill: float | None = None,
    dtype: npt.DTypeLike = "float32",
    decode: bool | Mapping[str, Any] = True,
) -> Source:
    """Say how samples are cut from an array.

    Parameters
    ----------
    store : swath.Group, swath.Array, xarray.Dataset, xarray.DataArray or array
        A group, with `name` the array in it, whose coordinates are the arrays beside it that are named as its
        dimensions are; or the array itself. Of xarray's objects it is what
        they hold, lazy or not, with their coordinates and as decoded by them. Other arrays are read by
        NumPy's indexing.
    name : str, optional
        The array's path in the group.
    dims : sequence of str, optional
        Names of the axes; by default what is stored says.
    coords : mapping of str to array_like, optional
        Coordinate values by dimension, in place of those that are stored. A dimension without any counts from
        0.
    crops : mapping
        How axes are cut, by dimension: `Window`, `Patch`, `Point`, `Observations`; a `Forecast` by its two,
        as ("init_time", "step").
    select : mapping of str to int, slice or sequence of int, optional
        Positions that are taken along the other axes, channels for one, as NumPy takes them.
    mean, std : float or sequence of floats, optional
        Elements become ``(element - mean) / std``. A sequence has a number for each index of the array along
        `per`, whatever is selected of it.
    per : str, optional
        The dimension that `mean` and `std` are told along.
    fill : float, optional
        What NaN becomes.
    dtype : numpy dtype, default float32
        What elements are cast to.
    decode : bool or mapping, default True
        Whether elements are masked and scaled as attributes say (CF); or what is said in place of them:
        `mask`, `valid_range`, `scale`, `offset`.

    Raises
    ------
    InvalidError
        Names, coordinates or crops do not fit the array.
    """
    array: Any = store if name is None else store[name]
    if not hasattr(array, "shape") or not hasattr(array, "dtype"):
        raise InvalidError(f"wanted an array, found {type(array).__name__}: name one of its arrays")
    names = _dims(array, dims)
    unknown = set(_flat(crops)) | set(select or ()) | ({per} if per else set())
    if unknown - set(names):
        raise InvalidError(
            f"wanted dimensions of {', '.join(names)}, found {', '.join(sorted(unknown - set(names)))}"
        )
    group = _group_of(store, name)
    known = {**(labelled_coordinates(array) if is_labelled(array) else {}), **(coords or {})}
    axes = {
        dim: _axis(dim, extent, known, group)
        for dim, extent in zip(names, array.shape, strict=True)
        if dim in _flat(crops)
    }
    steps = dict(decode) if isinstance(decode, Mapping) else _steps(array) if decode else {}
    decoding = Decoding(
        dtype=np.dtype(dtype),
        mean=_told(mean, per, array, names),
        std=_told(std, per, array, names),
        axis=None if per is None else names.index(per),
        fill=fill,
        **steps,
    )
    cut = {(dims,) if isinstance(dims, str) else tuple(dims): crop for dims, crop in crops.items()}
    taken = {dim: _taken(dim, entry, array.shape[names.index(dim)]) for dim, entry in (select or {}).items()}
    return Source(array, names, axes, cut, taken, decoding)


def _flat(crops: Mapping[str | tuple[str, ...], Crop]) -> list[str]:
    found = [dim for dims in crops for dim in ((dims,) if isinstance(dims, str) else dims)]
    if len(set(found)) != len(found):
        raise InvalidError(f"wanted one crop for each axis, found {', '.join(found)}")
    return found


def _dims(array: Any, dims: Sequence[str] | None) -> tuple[str, ...]:
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


def _group_of(store: Any, name: str | None) -> Group | None:
    """Return the group that holds an array, and with it the array's coordinates."""
    if name is None or not isinstance(store, Group):
        return None
    folder, _, _ = name.strip("/").rpartition("/")
    group = store[folder] if folder else store
    return group if isinstance(group, Group) else None


def _axis(dim: str, extent: int, coords: Mapping[str, npt.ArrayLike], group: Group | None) -> Axis:
    if dim in coords:
        axis = Axis(np.asarray(coords[dim]))
    elif (
        group is not None
        and dim in group
        and isinstance(stored := group[dim], Array)
        and stored.shape == (extent,)
    ):
        axis = Axis(coordinates(stored))
    else:
        axis = Axis(np.arange(extent))
    if len(axis) != extent:
        raise InvalidError(f"wanted {extent} coordinates along {dim}, found {len(axis)}")
    return axis


def _steps(array: Any) -> dict[str, Any]:
    if is_labelled(array):
        return {}
    fill = array.fill_value if isinstance(array, Array) and array.zarr_format == 2 else None
    return steps_of(getattr(array, "attrs", {}), np.dtype(array.dtype), fill)


def _told(values: Any, per: str | None, array: Any, names: tuple[str, ...]) -> Any:
    if values is None or np.ndim(values) == 0:
        return None if values is None else float(values)
    wanted = None if per is None else array.shape[names.index(per)]
    if np.shape(values) != (wanted,):
        raise InvalidError(f"wanted {wanted} numbers along per={per!r}, found shape {np.shape(values)}")
    return tuple(float(value) for value in values)


def _taken(dim: str, entry: Any, extent: int) -> AxisIndex:
    """Return what is taken of an axis, as positions from its beginning."""
    if isinstance(entry, slice):
        return as_index(np.arange(extent)[entry])
    asked = np.asarray(entry)
    if asked.dtype == np.bool_ and asked.shape == (extent,):
        return as_index(np.flatnonzero(asked))
    if asked.dtype.kind not in "iu" or 1 < asked.ndim:
        raise InvalidError(f"wanted positions of {dim} as select=, found {entry!r}")
    if not bool(np.all((-extent <= asked) & (asked < extent))):
        raise InvalidError(f"wanted positions below {extent} of {dim} as select=, found {entry!r}")
    positions = np.where(asked < 0, asked + extent, asked).astype(np.int64)
    return int(positions) if positions.ndim == 0 else as_index(positions)


def _selected(entry: AxisIndex, extent: int) -> int | None:
    if isinstance(entry, int):
        return None
    return len(range(*entry.indices(extent))) if isinstance(entry, slice) else len(entry)
