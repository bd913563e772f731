"""Random crops that fit an array, and how many chunks they touch."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

type Selection = tuple[slice, ...]

LEADING_CROP = (4, 10)
IMAGE_CROP = 128


def crop_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the crop that the demo reads from an array of this shape.

    The last two axes give up to 128 x 128, the first two before them up to 4 and 10, any further ones 1.
    """
    leading = [
        min(length, LEADING_CROP[axis] if axis < len(LEADING_CROP) else 1)
        for axis, length in enumerate(shape[:-2])
    ]
    return (*leading, *(min(length, IMAGE_CROP) for length in shape[-2:]))


def random_crops(shape: Sequence[int], crop: Sequence[int], count: int, seed: int) -> list[Selection]:
    """Return ``count`` crops at uniformly random places, the same ones for the same seed."""
    rng = random.Random(seed)
    crops: list[Selection] = []
    for _ in range(count):
        starts = [rng.randint(0, length - extent) for length, extent in zip(shape, crop, strict=True)]
        crops.append(tuple(slice(start, start + extent) for start, extent in zip(starts, crop, strict=True)))
    return crops


def chunks_touched(crops: Sequence[Selection], chunks: Sequence[int]) -> int:
    """Return the number of chunks under the crops, a chunk counted once for each crop that needs it."""
    return sum(
        math.prod(
            (axis.stop - 1) // length - axis.start // length + 1
            for axis, length in zip(crop, chunks, strict=True)
        )
        for crop in crops
    )
