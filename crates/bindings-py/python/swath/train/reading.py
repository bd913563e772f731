"""Reads of one source, for all samples of a batch at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from swath._swath import Array, Landing, _read_arrays
from swath.errors import InvalidError
from swath.train.arrays import AxisIndex, Flags, Values
from swath.train.joined import Joined, Piece
from swath.train.labelled import is_labelled, read_labelled
from swath.train.sources import Source
from swath.train.view import View

type Index = tuple[AxisIndex, ...]

PRIORITY_MIN = -(1 << 31)


@dataclass(frozen=True, slots=True)
class Read:
    """What is read of one source: an index for each sample, stacked into an array of shape (samples, ...)."""

    name: str
    source: Source
    indexes: list[Index]
    out: Values

    @property
    def is_native(self) -> bool:
        """Whether swath reads it, with all its steps."""
        return isinstance(self.source.array, Array | View)

    @property
    def note(self) -> str:
        """What an error is told to be about."""
        return f"while reading {len(self.indexes)} samples of the source {self.name!r}"

    def staged(self) -> Staged:
        """Return it as `read_arrays` takes it."""
        array, decoding, indexes, out = self.source.array, self.source.decoding, self.indexes, self.out
        turned: tuple[int, ...] | None = None
        if isinstance(array, View):
            order = array.turned(indexes[0])
            decoding = array.decoded(decoding)
            indexes = [array.indexed(index) for index in indexes]
            array = array.array
            if order != tuple(sorted(order)):
                turned = (0, *(1 + axis for axis in order))
                out = np.empty([out.shape[axis] for axis in np.argsort(turned)], out.dtype)
        is_listed = any(isinstance(entry, list) for index in indexes for entry in index)
        keywords = {"by": "orthogonal" if is_listed else "index", **decoding.options()}
        return Staged((array, indexes, out, keywords, self.note), turned, self.out)


@dataclass(frozen=True, slots=True)
class Staged:
    """A read as `read_arrays` takes it.

    Attributes
    ----------
    told : tuple
        Array, indexes, memory, keywords, and what an error of it is told to be about.
    turned : tuple of int, or None
        The order in which its axes belong into `out`; None where it reads into `out` itself.
    out : numpy.ndarray
        Where samples belong.
    """

    told: tuple[Array, list[Index], Values, dict[str, Any], str]
    turned: tuple[int, ...] | None
    out: Values


def read_all(reads: list[Read], place: int = 0, begun: Callable[[], Landing] | None = None) -> None:
    """Read and convert what is wanted of several sources.

    Of swath's arrays it is one read of them all: a chunk that several samples share is read and decoded once.
    Of any other array samples are converted by NumPy, and are read one by one but for xarray's.

    Parameters
    ----------
    reads : list of Read
        What is wanted.
    place : int
        How many batches are wanted before this one: what is wanted first is read first.
    begun : callable, optional
        Called before swath's arrays are read, when all others have been: what it returns is told once
        everything was read.

    Raises
    ------
    SwathError
        Something could not be read; a note names the source.
    """
    copies: list[Callable[[], None]] = []
    reads = [part for read in reads for part in _parts(read, copies)]
    native = [read for read in reads if read.is_native]
    for read in reads:
        if not read.is_native:
            try:
                _evaluate(read.source, read.indexes, read.out)
            except Exception as error:
                error.add_note(read.note)
                raise
    staged = [read.staged() for read in native if read.indexes]
    if staged:
        is_last = not copies and all(stage.turned is None for stage in staged)
        landing = begun() if begun is not None and is_last else None
        _read_arrays([stage.told for stage in staged], max(-place, PRIORITY_MIN), landing)
    for stage in staged:
        if stage.turned is not None:
            stage.out[...] = stage.told[2].transpose(stage.turned)
    for copy in copies:
        copy()


def _parts(read: Read, copies: list[Callable[[], None]]) -> list[Read]:
    """Return a read of joined arrays as reads of each, and add what copies these into its memory."""
    joined = read.source.array
    if not isinstance(joined, Joined):
        return [read]
    groups: dict[tuple[int, tuple[int, ...]], list[tuple[int, Piece]]] = {}
    for sample, index in enumerate(read.indexes):
        for piece in joined.pieces(index):
            groups.setdefault((piece.part, piece.shape), []).append((sample, piece))
    found = []
    for (part, shape), pieces in groups.items():
        is_all = len(groups) == 1 and shape == read.out.shape[1:]
        out = read.out if is_all else np.empty((len(pieces), *shape), read.out.dtype)
        indexes = [piece.index for _, piece in pieces]
        found.append(Read(read.name, joined.parts[part], indexes, out))
        if not is_all:
            copies.append(partial(_copied, out, read.out, pieces))
    return found


def _copied(read: Values, out: Values, pieces: list[tuple[int, Piece]]) -> None:
    for values, (sample, piece) in zip(read, pieces, strict=True):
        out[sample][piece.target] = values


def _evaluate(source: Source, indexes: list[Index], out: Values) -> None:
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
