"""Which chunks and shards would suit samples."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from swath.train.medium import Medium
from swath.train.sources import Source

# Chunks below this are mostly their own overhead, however they are read.
CHUNK_BYTES_MIN = 16 << 10
CHUNK_BYTES_MAX = 64 << 20

# Objects of about this size are few enough to list, and small enough to write at once.
SHARD_BYTES = 128 << 20

# What a byte is assumed to cost to decode, in seconds.
DECODING_S = 1e-9


@dataclass(frozen=True, slots=True)
class Layout:
    """A shape of chunks, and of the shards that hold them.

    Attributes
    ----------
    chunks, shards : tuple of int
        Elements along each axis of the array.
    amplification : float
        Bytes decoded for each byte that a sample wants, on average over places of samples.
    """

    chunks: tuple[int, ...]
    shards: tuple[int, ...]
    amplification: float

    def __str__(self) -> str:
        return f"chunks {self.chunks} in shards {self.shards} ({self.amplification:.3g} times)"


def suited(source: Source, medium: Medium) -> Layout:
    """Return the chunks that cost a sample least, by reads and bytes of a medium and by decoding.

    A sample of s elements along an axis, anywhere, touches ``1 + (s - 1) / c`` chunks of c elements on
    average. Candidates are halves of halves of what a sample has, and all of an axis that it has whole.
    """
    extents = tuple(int(extent) for extent in source.array.shape)
    lengths = source.taken_lengths
    size = np.dtype(source.array.dtype).itemsize
    read_s = 1 / medium.reads_per_s
    byte_s = 1 / medium.bytes_per_s + DECODING_S
    best, cost_s = lengths, float("inf")
    for chunks in product(*(_halves(length) for length in lengths)):
        bytes_of_one = prod(chunks) * size
        if CHUNK_BYTES_MAX < bytes_of_one or (bytes_of_one < CHUNK_BYTES_MIN and chunks != lengths):
            continue
        count = _touched(lengths, extents, chunks)
        found_s = count * (read_s + bytes_of_one * byte_s)
        if found_s < cost_s:
            best, cost_s = chunks, found_s
    wanted = prod(lengths) * size
    read = _touched(lengths, extents, best) * prod(best) * size
    return Layout(best, _shards(best, extents, size), read / wanted if wanted else 0.0)


def _touched(lengths: tuple[int, ...], extents: tuple[int, ...], chunks: tuple[int, ...]) -> float:
    """Return how many chunks a sample touches on average; of an axis that it has whole, all."""
    return prod(
        -(-extent // chunk) if length == extent else 1 + (length - 1) / chunk
        for length, extent, chunk in zip(lengths, extents, chunks, strict=True)
    )


def _halves(length: int) -> list[int]:
    found = [max(length, 1)]
    while 1 < found[-1]:
        found.append(-(-found[-1] // 2))
    return found


def _shards(chunks: tuple[int, ...], extents: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return whole chunks, doubled along the axes in turn, last one first, up to the size of a shard."""
    shards, grows = list(chunks), True
    while grows:
        grows = False
        for axis in reversed(range(len(shards))):
            if shards[axis] < extents[axis] and 2 * prod(shards) * size <= SHARD_BYTES:
                shards[axis] *= 2
                grows = True
    return tuple(shards)
