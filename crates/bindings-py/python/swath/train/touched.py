"""Which stored arrays indexes of a source are of, and which of their chunks they touch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from swath.train.arrays import AxisIndex
from swath.train.joined import Joined
from swath.train.sources import Source
from swath.train.view import View

type Index = tuple[AxisIndex, ...]
# A chunk's index along each axis.
type Cell = tuple[int, ...]


def stored(source: Source, indexes: Sequence[Index]) -> Iterator[tuple[int, Source, Index]]:
    """Give the stored arrays that indexes of a source are of: which of joined ones, and the index of each."""
    array: Any = source.array
    for index in indexes:
        if isinstance(array, View):
            yield 0, replace(source, array=array.array), array.indexed(index)
        elif isinstance(array, Joined):
            for piece in array.pieces(index):
                ((_, part, within),) = stored(array.parts[piece.part], [piece.index])
                yield piece.part, part, within
        else:
            yield 0, source, index


def touched(index: Index, shape: Sequence[int], lengths: Sequence[int]) -> Iterator[Cell]:
    """Give each chunk, or other cell of a grid of such lengths, that an index of an array touches, once."""
    along = [_along(*axis) for axis in zip(index, shape, lengths, strict=True)]
    return product(*along)


def _along(entry: AxisIndex, extent: int, length: int) -> Sequence[int]:
    if isinstance(entry, int):
        return (entry // length,)
    positions = range(*entry.indices(extent)) if isinstance(entry, slice) else entry
    if isinstance(positions, range) and 0 < positions.step <= length:
        return range(positions.start // length, positions[-1] // length + 1) if positions else ()
    return list({position // length for position in positions})
