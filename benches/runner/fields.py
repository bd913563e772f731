"""Values as instruments and models give them: smooth random fields that drift, with noise in the low bits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from demo.prepare import FIELD_SIZE, Field, smooth_field

# How fast the fields' spectrum falls with wave number: clouds and temperatures are near 2.
STEEPNESS = 2.2

type Block = tuple[slice, ...]


class Values:
    """The values of an array, block by block; equal for an equal seed, whatever the order of the blocks."""

    def __init__(self, shape: Sequence[int], dtype: np.dtype[Any], seed: int, law: Mapping[str, Any]) -> None:
        self.shape = tuple(shape)
        self.dtype = dtype
        self.seed = seed
        self.offset = float(law["offset"])
        self.amplitude = float(law["amplitude"])
        self.noise = float(law["noise"])
        self.step = float(law.get("step", 1.0))
        self.drift = [tuple(map(int, pixels)) for pixels in law["drift"]]
        self.field = smooth_field(np.random.default_rng(seed), STEEPNESS)

    def blocks(self, block_shape: Sequence[int]) -> Iterator[tuple[Block, npt.NDArray[Any]]]:
        """Yield every block of the array and its values, in C order."""
        starts = [range(0, length, part) for length, part in zip(self.shape, block_shape, strict=True)]
        for number, corner in enumerate(itertools.product(*starts)):
            block = tuple(
                slice(start, min(start + part, length))
                for start, part, length in zip(corner, block_shape, self.shape, strict=True)
            )
            yield block, self._block(number, block)

    def _block(self, number: int, block: Block) -> npt.NDArray[Any]:
        random = np.random.default_rng((self.seed, number))
        leading = [range(part.start, part.stop) for part in block[:-2]]
        lengths = tuple(part.stop - part.start for part in block)
        values = np.empty(lengths, self.dtype)
        planes = values.reshape(-1, *lengths[-2:])
        for plane, index in zip(planes, itertools.product(*leading), strict=True):
            plane[...] = self._plane(random, index, block[-2], block[-1])
        return values

    def _plane(
        self, random: np.random.Generator, index: tuple[int, ...], rows: slice, columns: slice
    ) -> npt.NDArray[Any]:
        """Return one plane: a window of the field, moved on along each leading axis by its drift."""
        moved = [
            sum(place * pixels[axis] for place, pixels in zip(index, self.drift, strict=True))
            for axis in (0, 1)
        ]
        plane = window(self.field, rows, columns, moved) * np.float32(self.amplitude)
        noise = random.standard_normal(plane.shape, dtype=np.float32)
        noise *= np.float32(self.noise)
        plane += noise
        plane += np.float32(self.offset)
        if self.dtype.kind in "iu":
            limits = np.iinfo(self.dtype)
            return np.clip(np.rint(plane), limits.min, limits.max).astype(self.dtype)
        return (np.rint(plane / self.step) * self.step).astype(self.dtype)


def window(field: Field, rows: slice, columns: slice, moved: Sequence[int]) -> Field:
    """Return a part of a periodic field."""
    row_places = (np.arange(rows.start, rows.stop) + moved[0]) % FIELD_SIZE
    column_places = (np.arange(columns.start, columns.stop) + moved[1]) % FIELD_SIZE
    return field[np.ix_(row_places, column_places)]
