"""Reads of one source, for all samples of a batch at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from swath._swath import Array
from swath.errors import InvalidError
from swath.train.arrays import AxisIndex, Flags, Values
from swath.train.labelled import is_labelled, read_labelled
from swath.train.sources import Source

type Index = tuple[AxisIndex, ...]


def read_samples(source: Source, indexes: list[Index], out: Values) -> None:
    """Read what indexes select, converted and stacked, into an array of shape (samples, ...).

    Of a swath array it is one `read_many`: a chunk that several samples share is read and decoded once. Of
    any other array samples are converted by NumPy, and are read one by one but for xarray's.
    """
    if isinstance(source.array, Array):
        is_listed = any(isinstance(entry, list) for index in indexes for entry in index)
        by: Any = "orthogonal" if is_listed else "index"
        source.array.read_many(indexes, out, by=by, **source.decoding.options())
        return
    if is_labelled(source.array):
        stored = read_labelled(source.array, indexes)
    else:
        stored = [selected(source.array, index) for index in indexes]
    apply = source.decoding.apply
    for place, (values, index) in enumerate(zip(stored, indexes, strict=True)):
        out[place] = apply(values, index)


def selected(array: Any, index: Index) -> Values:
    """Return what an index selects along each axis by itself, of what NumPy's basic indexing reads."""
    bounds = tuple(
        slice(min(entry), max(entry) + 1) if isinstance(entry, list) and entry else entry for entry in index
    )
    values = np.asarray(array[bounds])
    axis = 0
    for entry in index:
        if isinstance(entry, list):
            values = values.take([position - min(entry) for position in entry], axis)
        axis += not isinstance(entry, int)
    return values


def withhold(values: Values, absent: list[tuple[int, Flags]], fill: float | None) -> None:
    """Replace what does not count, in place: by `fill`, else by NaN.

    Parameters
    ----------
    values : numpy.ndarray
        Of shape (samples, ...).
    absent : list of (int, numpy.ndarray)
        Axes of `values`, and flags of shape (samples, steps) of what does not count along them.
    fill : float or None
        What stands for NaN.
    """
    for axis, flags in absent:
        if fill is None and values.dtype.kind != "f":
            raise InvalidError(f"wanted a fill for what is missing of {values.dtype}, found none")
        np.moveaxis(values, axis, 1)[flags] = np.nan if fill is None else fill
