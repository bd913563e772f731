"""What lazy arrays of xarray are made of: a stored array, what was selected of it, and how it is decoded.

xarray tells nobody how its arrays are wrapped. Classes are known by their names, and whatever is not known
is left to xarray.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from swath._swath import Array, open_array
from swath.errors import SwathError
from swath.train.arrays import Positions
from swath.train.view import Pick, View, taken

# What caches or guards an array, and selects nothing.
PLAIN = frozenset({"MemoryCachedArray", "CopyOnWriteArray"})

# Floats hold every integer of so many bytes; xarray masks larger ones by numbers that they are rounded to.
EXACT_BYTES = {4: 2, 8: 4}


@dataclass(frozen=True, slots=True)
class Resolved:
    """A view of a stored array, and the steps by which xarray decodes it: keywords of `Decoding`."""

    view: View
    steps: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Why an array is left to xarray, in words."""

    why: str


def resolved(variable: Any) -> Resolved | Unresolved:
    """Say what a variable of xarray is made of; nothing is read.

    What was selected by slices, positions and lists along each axis, renamed and transposed is a view. What
    was computed, or is of dask, is not, nor is what xarray decodes otherwise than by masks and scale.
    """
    data = variable._data
    picks: tuple[Pick, ...] = tuple(range(extent) for extent in variable.shape)
    order: tuple[int, ...] = tuple(range(len(picks)))
    functions: list[Any] = []
    while True:
        kind = type(data).__name__
        if kind in PLAIN:
            data = data.array
        elif kind == "LazilyIndexedArray":
            (picks, order), data = _selected(data.key.tuple, data.array.shape, picks, order), data.array
        elif kind == "LazilyVectorizedIndexedArray":
            grid = _as_grid(data.key.tuple)
            if grid is None:
                return Unresolved("it is selected point by point")
            entries, axes = grid
            (picks, order), data = _turned(entries, axes, data.array.shape, picks, order), data.array
        elif kind == "_ElementwiseFunctionArray":
            functions.append(data.func)
            data = data.array
        else:
            break
    array = _stored(data)
    if array is None:
        return Unresolved(_named(data))
    steps = _steps(functions[::-1], array.dtype)
    return steps if isinstance(steps, Unresolved) else Resolved(View(array, picks, order), steps)


def _selected(
    key: Sequence[Any], shape: Sequence[int], picks: tuple[Pick, ...], order: tuple[int, ...]
) -> tuple[tuple[Pick, ...], tuple[int, ...]]:
    """Return picks of an array's axes and their order, from those of what a key selects of it."""
    kept = [axis for axis, entry in enumerate(key) if not isinstance(entry, int | np.integer)]
    return _turned(key, kept, shape, picks, order)


def _turned(
    key: Sequence[Any],
    axes: Sequence[int],
    shape: Sequence[int],
    picks: tuple[Pick, ...],
    order: tuple[int, ...],
) -> tuple[tuple[Pick, ...], tuple[int, ...]]:
    """As `_selected`, where the axes of what is selected are those of the array in some order."""
    found = [taken(range(extent), entry) for entry, extent in zip(key, shape, strict=True)]
    for place, axis in enumerate(axes):
        pick = picks[place]
        found[axis] = taken(found[axis], pick if isinstance(pick, int) else _as_entry(pick))
    return tuple(found), tuple(axes[axis] for axis in order)


def _as_entry(pick: Pick) -> Any:
    if isinstance(pick, range) and 0 < pick.step:
        return slice(pick.start, pick.stop, pick.step)
    return np.asarray(pick, np.int64)


def _as_grid(key: Sequence[Positions]) -> tuple[list[Any], list[int]] | None:
    """Return entries of a key of points that form a grid, and which axis each of its dimensions is.

    They do where each dimension moves along one axis, and no two along the same. Dimensions along which
    nothing moves are those of axes that are left, in their order.
    """
    rank = max((entry.ndim for entry in key), default=0)
    if any(entry.ndim != rank or entry.size == 0 for entry in key):
        return None
    shape = np.broadcast_shapes(*(entry.shape for entry in key))
    entries: list[Any] = []
    axes: list[int] = [-1] * rank
    for axis, entry in enumerate(key):
        moved = [dimension for dimension in range(rank) if _moves(entry, dimension)]
        if 1 < len(moved) or (moved and axes[moved[0]] != -1):
            return None
        if moved:
            axes[moved[0]] = axis
        entries.append(entry[_first(moved, rank)])
    left = iter(axis for axis in range(len(key)) if axis not in axes)
    for dimension, length in enumerate(shape):
        if axes[dimension] == -1:
            axis = next(left, -1)
            if axis == -1:
                return None
            axes[dimension] = axis
            # One position, or the same one again and again.
            entries[axis] = np.full(length, entries[axis])
    return [int(entry) if np.ndim(entry) == 0 else entry for entry in entries], axes


def _moves(entry: Positions, dimension: int) -> bool:
    first = entry.take([0], axis=dimension)
    return entry.shape[dimension] != 1 and not bool((first == entry).all())


def _first(moved: Sequence[int], rank: int) -> tuple[Any, ...]:
    return tuple(slice(None) if dimension in moved else 0 for dimension in range(rank))


def _stored(data: Any) -> Array | None:
    """Return the array of swath that a backend's array reads, or that is stored where zarr-python's is."""
    kind = f"{type(data).__module__}.{type(data).__name__}"
    if kind == "swath.xarray.lazy_array.LazyArray":
        source: Array = data._source
        return source
    if kind != "xarray.backends.zarr.ZarrArrayWrapper":
        return None
    array = data.get_array()
    # What is in memory may change later, and would have to be copied now.
    if type(array.store).__name__ == "MemoryStore":
        return None
    try:
        found = open_array(array.store_path)
    except (SwathError, TypeError):
        return None
    return found if found.shape == array.shape and found.dtype == array.dtype else None


def _named(data: Any) -> str:
    kind = type(data)
    return f"it is a {kind.__module__}.{kind.__name__}"


def _steps(functions: Sequence[Any], stored: np.dtype[Any]) -> dict[str, Any] | Unresolved:
    """Return the steps of functions that xarray decodes by, in the order in which they are called."""
    steps: dict[str, Any] = {}
    for function in functions:
        name = getattr(getattr(function, "func", None), "__name__", "")
        added = None
        if isinstance(function, partial) and stored.kind in "iuf" and not function.args:
            known: dict[str, Callable[..., dict[str, Any] | None]] = {
                "_apply_mask": _mask,
                "_scale_offset_decoding": _scale,
            }
            # Masks are told by stored numbers, so nothing may come before them.
            added = known[name](stored, steps, **function.keywords) if name in known else None
        if added is None:
            return Unresolved(f"it is decoded by {name or function!r}")
        steps |= added
    return steps


def _mask(
    stored: np.dtype[Any],
    steps: dict[str, Any],
    *,
    encoded_fill_values: Any,
    decoded_fill_value: Any,
    dtype: Any,
) -> dict[str, Any] | None:
    working = np.dtype(dtype)
    if steps or working.kind != "f" or not np.isnan(decoded_fill_value) or not _holds(working, stored):
        return None
    masked = []
    for value in encoded_fill_values:
        with np.errstate(all="ignore"):
            nearest = np.array([value]).astype(stored)
        # Numbers that no stored one is equal to mask nothing.
        if bool((nearest.astype(working) == value).all()):
            masked.append(nearest[0].item())
    return {"mask": tuple(masked)}


def _scale(
    stored: np.dtype[Any], steps: dict[str, Any], *, scale_factor: Any, add_offset: Any, dtype: Any
) -> dict[str, Any] | None:
    if "scale" in steps or np.dtype(dtype) != np.float64:
        return None
    told = {"scale": scale_factor, "offset": add_offset}
    return {name: float(value) for name, value in told.items() if value is not None}


def _holds(working: np.dtype[Any], stored: np.dtype[Any]) -> bool:
    if stored.kind == "f":
        return stored.itemsize <= working.itemsize
    return stored.itemsize <= EXACT_BYTES.get(working.itemsize, 0)
