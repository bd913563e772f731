"""Which of xarray's vectorized indexes select along each axis by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

type IndexArray = npt.NDArray[np.integer[Any]]


def as_orthogonal(
    indexes: tuple[IndexArray, ...],
) -> tuple[tuple[slice | IndexArray, ...], tuple[int, ...], tuple[int, ...]] | None:
    """Say how points that form a grid are read along each axis by itself.

    They do where each dimension of them moves along one axis at most. xarray makes such points of every array
    that is transposed before it is read, and of every one that a list with several dimensions selects from.

    Parameters
    ----------
    indexes : tuple of numpy.ndarray
        Integers for every axis, of shapes that NumPy broadcasts: all have as many dimensions.

    Returns
    -------
    tuple or None
        The index along each axis; the shape to give to what they select; and the order of its dimensions
        in the result. None where the points are no such grid.

    Examples
    --------
    A transposed matrix of two rows and three columns:

    >>> as_orthogonal((numpy.array([[0, 1]]), numpy.array([[0], [1], [2]])))
    ((slice(0, 2, 1), slice(0, 3, 1)), (2, 3), (1, 0))
    """
    rank = max((index.ndim for index in indexes), default=0)
    if any(index.ndim != rank or index.size == 0 for index in indexes):
        return None
    shape = np.broadcast_shapes(*(index.shape for index in indexes))
    indexes = tuple(_collapsed(index) for index in indexes)
    moved = [[dimension for dimension in range(rank) if index.shape[dimension] != 1] for index in indexes]
    used = [dimension for dimensions in moved for dimension in dimensions]
    is_repeated = any(length != 1 and dimension not in used for dimension, length in enumerate(shape))
    if is_repeated or len(set(used)) != len(used):
        return None
    # Dimensions of length one belong to no axis: they stand last in what is read.
    order = used + [dimension for dimension in range(rank) if dimension not in used]
    along = tuple(_along_axis(index.ravel()) for index in indexes)
    return along, tuple(shape[dimension] for dimension in order), tuple(np.argsort(order).tolist())


def _collapsed(index: IndexArray) -> IndexArray:
    """Cut dimensions to length one along which an index stays the same: xarray writes broadcast ones out."""
    for dimension in range(index.ndim):
        first = index.take([0], axis=dimension)
        # Most indexes that vary do so from the first to the last; only the others are looked through.
        if bool((first == index.take([-1], axis=dimension)).all()) and bool((first == index).all()):
            index = first
    return index


def _along_axis(index: IndexArray) -> slice | IndexArray:
    """Return a slice for steady steps forwards, which are planned without a list."""
    if index.size == 1 or index[0] < 0:
        return index
    steps = np.diff(index)
    step = int(steps[0])
    if step <= 0 or not bool((steps == step).all()):
        return index
    return slice(int(index[0]), int(index[-1]) + 1, step)
