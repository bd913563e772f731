"""One variable of a dataset: an array, its coordinates, and how it is cut and converted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from warnings import warn

import numpy as np
import numpy.typing as npt

from swath._swath import Array
from swath.errors import InvalidError
from swath.train.arrays import AxisIndex, Draws, Flags, Values, as_index
from swath.train.axis import Axis
from swath.train.crop import Crop, Refused
from swath.train.decoding import Decoding, steps_of
from swath.train.joined import Joined
from swath.train.labelled import is_in_memory, is_labelled, labelled_chunks
from swath.train.resolved import Resolved, Unresolved, resolved
from swath.train.space import Origins, together
from swath.train.stored_axes import Coordinates, dims_of
from swath.train.view import View


@dataclass(frozen=True)
class Source:
    """An array with names for its axes, from which samples are cut. Made by `source`.

    Attributes
    ----------
    array : swath.Array, View, Joined or anything that NumPy's basic indexing reads
        Where elements are stored.
    dims : tuple of str
        The name of each axis.
    axes : mapping of str to Axis
        The coordinates of axes that are cut, and those that crops ask for besides.
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

    def followed(self) -> dict[tuple[str, ...], list[tuple[tuple[Axis, ...], Crop]]]:
        """Return the dimensions of origins that crops follow, alone or together, each with those crops."""
        found: dict[tuple[str, ...], list[tuple[tuple[Axis, ...], Crop]]] = {}
        for dims, crop in self.crops.items():
            found.setdefault(crop.follows(dims), []).append((self.axes_of(dims), crop))
        return found

    def refused(self, dims: tuple[str, ...], origins: Origins) -> Refused:
        """Return which origins along dimensions that are followed together cannot be cut, by reason."""
        values = together(dims, origins)
        found: Refused = {}
        for axes, crop in self.followed().get(dims, ()):
            for reason, refused in crop.refused(axes, values).items():
                found[reason] = refused | found.get(reason, np.zeros(len(values), bool))
        return found

    def indexes(self, origins: Origins, draws: Draws) -> list[tuple[AxisIndex, ...]]:
        """Return the index of each sample: an entry for each axis of the array."""
        along: dict[str, list[AxisIndex]] = {}
        for dims, crop in self.crops.items():
            cut = crop.indexes(self.axes_of(dims), together(crop.follows(dims), origins), draws)
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
            present = crop.present(self.axes_of(dims), together(crop.follows(dims), origins), draws)
            if present is not None and not bool(present.all()):
                found.append((1 + self.sample_dims.index(dims[-1]), ~present))
        return found

    @property
    def draws(self) -> bool:
        """Whether chance has a part in what a sample is cut to."""
        return any(crop.draws for crop in self.crops.values())

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
        if isinstance(self.array, Joined):
            return self.array.parts[0].chunks
        if is_labelled(self.array):
            return labelled_chunks(self.array)
        if isinstance(self.array, View):
            return self.array.along(self.array.array.chunks)
        return tuple(getattr(self.array, "chunks", None) or self.array.shape)

    @property
    def objects(self) -> tuple[int, ...]:
        """Elements of a stored object along each axis: of a shard, or else of a chunk."""
        if isinstance(self.array, Joined):
            return self.array.parts[0].objects
        if isinstance(self.array, View):
            stored = self.array.array
            return self.array.along(stored.shards or stored.chunks)
        return tuple(getattr(self.array, "shards", None) or self.chunks)

    @property
    def native(self) -> tuple[Array, ...]:
        """The arrays that swath reads of it: several where it is joined, none where others read it."""
        if isinstance(self.array, Joined):
            return tuple(array for part in self.array.parts for array in part.native)
        array = self.array.array if isinstance(self.array, View) else self.array
        return (array,) if isinstance(array, Array) else ()

    def shortened(self, forecast: int) -> Source:
        """Return the source with at most so many steps of its windows behind the origin."""
        crops = {dims: crop.shortened(forecast) for dims, crop in self.crops.items()}
        return replace(self, crops=crops)

    def plain(self) -> Source:
        """Return the source in float64, decoded, and neither normalised nor filled."""
        if isinstance(self.array, Joined):
            array: Any = replace(self.array, parts=tuple(part.plain() for part in self.array.parts))
        else:
            array = self.array
        steps = replace(self.decoding, mean=None, std=None, axis=None, fill=None, dtype=np.dtype("f8"))
        return replace(self, array=array, decoding=steps)

    def _lengths(self) -> list[tuple[str, int]]:
        cropped: dict[str, int | None] = {}
        for dims, crop in self.crops.items():
            lengths = crop.lengths(self.axes_of(dims))
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

    def axes_of(self, dims: tuple[str, ...]) -> tuple[Axis, ...]:
        """Return what the crop of these axes is given: its coordinates, or those of the axes."""
        return tuple(self.axes[name] for name in self.crops[dims].coordinates or dims)


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
    concat: str | None = None,
) -> Source:
    """Say how samples are cut from an array.

    Parameters
    ----------
    store : swath.Group, swath.Array, xarray.Dataset, xarray.DataArray or array
        A group, with `name` the array in it, whose coordinates are the arrays beside it that are named as its
        dimensions are; or the array itself. Of xarray's objects it is what
        they hold, lazy or not, with their coordinates and as decoded by them: where all that was done to
        a stored array was to select, rename and transpose, swath reads that array, and decodes it on the way.
        What is of dask or computed is evaluated by xarray for each batch, and warned of. Other arrays are
        read by NumPy's indexing.
    name : str, optional
        The array's path in the group.
    dims : sequence of str, optional
        Names of the axes; by default what is stored says.
    coords : mapping of str to array_like, optional
        Coordinate values by dimension, in place of those that are stored. A dimension without any counts from
        0.
    crops : mapping
        How axes are cut, by dimension: `Window`, `Patch`, `Point`, `Observations`, `Cells`; a `Forecast` by
        its two, as ("init_time", "step").
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
    concat : str, optional
        A dimension along which `store` is not one but a sequence of such stores, one behind the other. Each
        is decoded as it says itself. xarray's own ``concat`` reads what it joins; this reads nothing.

    Raises
    ------
    InvalidError
        Names, coordinates or crops do not fit the array.
    """
    if concat is not None:
        options: dict[str, Any] = {
            "dims": dims, "select": select, "mean": mean, "std": std, "per": per, "fill": fill,
            "dtype": dtype, "decode": decode,
        }  # fmt: skip
        if concat in (select or {}):
            raise InvalidError(f"wanted positions along other dimensions than {concat}, found select= of it")
        parts = [(source(part, name, crops={}, **options), _coordinates(part, name)) for part in store]
        return joined(parts, concat, coords or {}, _by_dims(crops))
    array = _array(store, name)
    if not hasattr(array, "shape") or not hasattr(array, "dtype"):
        raise InvalidError(f"wanted an array, found {type(array).__name__}: name one of its arrays")
    names = dims_of(array, dims)
    unknown = set(_flat(crops)) | set(select or ()) | ({per} if per else set())
    if unknown - set(names):
        raise InvalidError(
            f"wanted dimensions of {', '.join(names)}, found {', '.join(sorted(unknown - set(names)))}"
        )
    known = Coordinates(store, name, array, coords)
    extents = dict(zip(names, array.shape, strict=True))
    axes = {dim: known.axis(dim, extents[dim]) for dim in names if dim in _flat(crops)}
    for cut_dims, crop in _by_dims(crops).items():
        axes |= {called: known.stored(called, extents[cut_dims[-1]]) for called in crop.coordinates}
    steps = dict(decode) if isinstance(decode, Mapping) else _steps(array) if decode else {}
    if is_labelled(array):
        array, known_steps = _opened(array, np.dtype(dtype), per, is_told=isinstance(decode, Mapping))
        steps = {**known_steps, **steps}
    decoding = Decoding(
        dtype=np.dtype(dtype),
        mean=_told(mean, per, array, names),
        std=_told(std, per, array, names),
        axis=None if per is None else names.index(per),
        fill=fill,
        **steps,
    )
    cut = _by_dims(crops)
    taken = {dim: _taken(dim, entry, array.shape[names.index(dim)]) for dim, entry in (select or {}).items()}
    return Source(array, names, axes, cut, taken, decoding)


def _opened(
    labelled: Any, dtype: np.dtype[Any], per: str | None, *, is_told: bool
) -> tuple[Any, dict[str, Any]]:
    """Return what is read in place of a DataArray, and the steps by which xarray decodes it."""
    if is_in_memory(labelled):
        return labelled.values, {}
    found = resolved(labelled.variable)
    if isinstance(found, Resolved):
        view = found.view
        if found.steps and (is_told or dtype.kind != "f"):
            # These steps come before those that are told, and integers have no NaN.
            found = Unresolved("what is decoded is decoded once more, or cast to integers")
        elif per is not None and view.has_repeats(labelled.dims.index(per)):
            found = Unresolved(f"positions along {per} repeat")
        else:
            return (view.array if view.is_whole else view), found.steps
    warn(f"{labelled.name or 'an array'}: evaluated by xarray for each batch, as {found.why}", stacklevel=3)
    return labelled, {}


def _array(store: Any, name: str | None) -> Any:
    return store if name is None else store[name]


def _coordinates(store: Any, name: str | None) -> Coordinates:
    return Coordinates(store, name, _array(store, name), None)


def _by_dims(crops: Mapping[str | tuple[str, ...], Crop]) -> dict[tuple[str, ...], Crop]:
    return {(dims,) if isinstance(dims, str) else tuple(dims): crop for dims, crop in crops.items()}


def joined(
    parts: Sequence[tuple[Source, Coordinates]],
    along: str,
    told: Mapping[str, npt.ArrayLike],
    crops: Mapping[tuple[str, ...], Crop],
) -> Source:
    """Return one source of several that stand one behind the other along a dimension."""
    if not parts:
        raise InvalidError(f"wanted arrays to join along {along}, found none")
    first = parts[0][0]
    if along not in first.dims or first.decoding.axis == first.dims.index(along):
        found = f"{', '.join(first.dims)}, with numbers along {along}" if along in first.dims else first.dims
        raise InvalidError(f"wanted a dimension to join along, without mean or std, found {found}")
    array = Joined(tuple(part for part, _ in parts), first.dims.index(along))
    axes = {}
    for dim in (dim for dims in crops for dim in dims):
        each = [
            known.values(dim, part.array.shape[part.dims.index(dim)]) if dim in part.dims else None
            for part, known in parts
        ]
        values = np.asarray(told[dim]) if dim in told else _agreed(dim, each, is_joined=dim == along)
        axes[dim] = Axis(np.arange(array.shape[first.dims.index(dim)]) if values is None else values)
    for dims, crop in crops.items():
        if crop.coordinates and dims[-1] == along:
            raise InvalidError(
                f"wanted {type(crop).__name__} along another dimension than {along}, which is joined"
            )
        for called in crop.coordinates:
            axes[called] = parts[0][1].stored(called, array.shape[first.dims.index(dims[-1])])
    return Source(array, first.dims, axes, crops, first.select, first.decoding)


def _agreed(dim: str, each: Sequence[Values | None], *, is_joined: bool) -> Values | None:
    known = [values for values in each if values is not None]
    if not known:
        return None
    if len(known) != len(each):
        raise InvalidError(f"wanted coordinates along {dim} of all arrays or of none, found {len(known)}")
    if is_joined:
        return np.concatenate(known)
    if any(not np.array_equal(values, known[0]) for values in known):
        raise InvalidError(f"wanted the same coordinates along {dim} of all arrays, found others")
    return known[0]


def _flat(crops: Mapping[str | tuple[str, ...], Crop]) -> list[str]:
    found = [dim for dims in crops for dim in ((dims,) if isinstance(dims, str) else dims)]
    if len(set(found)) != len(found):
        raise InvalidError(f"wanted one crop for each axis, found {', '.join(found)}")
    return found


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
