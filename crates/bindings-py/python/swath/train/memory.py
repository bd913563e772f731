"""Memory that batches are read into, and used again once nobody holds anything of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from math import prod
from typing import Any

import numpy as np

from swath.train.arrays import Values


class Outputs(ABC):
    """Where the arrays of batches are: each `take` gives memory of its own for as long as it is held."""

    @abstractmethod
    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Values, Any]:
        """Return an array to read into, of any content, and what a batch holds of the same memory."""


class NewArrays(Outputs):
    """New NumPy arrays, each time."""

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Values, Any]:
        """See `Outputs.take`."""
        array: Values = np.empty(shape, dtype)
        return array, array


class RecycledArrays(Outputs):
    """NumPy arrays in blocks of memory that come back when the last reference to them is gone.

    Views, tensors of ``torch.from_numpy``, capsules of DLPack and memoryviews all refer to the array that
    they are of, and that one to the owner of its block: whatever is held anywhere keeps the block away from
    the next batch. Where all blocks are held, there is another.

    Parameters
    ----------
    most : int
        How many blocks that came back are kept at most; others are freed.
    """

    def __init__(self, most: int) -> None:
        # Both ends of a deque are safe to use from any thread, and from within a collection of garbage.
        self._free: deque[Values] = deque(maxlen=most)

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Values, Any]:
        """See `Outputs.take`."""
        if dtype.hasobject or dtype.names is not None:
            return NewArrays().take(shape, dtype)
        array: Values = np.asarray(_Lent(self._block(prod(shape) * dtype.itemsize), shape, dtype, self._free))
        return array, array

    def _block(self, size: int) -> Values:
        try:
            block = self._free.pop()
        except IndexError:
            return np.empty(size, np.uint8)
        # The last batch of an epoch may be smaller; what is too small was of it, or of another source.
        return block if size <= len(block) <= max(2 * size, size + 4096) else np.empty(size, np.uint8)


class _Lent:
    """The owner of an array's memory, which goes back where it came from with the last reference."""

    __slots__ = ("_block", "_free", "_interface")

    def __init__(
        self, block: Values, shape: tuple[int, ...], dtype: np.dtype[Any], free: deque[Values]
    ) -> None:
        self._block = block
        self._free = free
        self._interface = {
            "data": (block.ctypes.data, False),
            "shape": shape,
            "typestr": dtype.str,
            "version": 3,
        }

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """What NumPy makes an array of that refers to this object."""
        return self._interface

    def __del__(self) -> None:
        self._free.append(self._block)
