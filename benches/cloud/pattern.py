"""The server's pattern objects: what their bytes are, and what ranges of them sum to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

# As server/src/objects.rs has them.
TABLE_BYTES = 8_388_593
OBJECT_STEP = 1_000_003
WORD_MASK = (1 << 64) - 1


def table() -> npt.NDArray[np.uint8]:
    """Return the bytes that all objects are cut from."""
    words = np.arange(1, -(-TABLE_BYTES // 8) + 1, dtype=np.uint64)
    words *= np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
    return words.astype("<u8").view(np.uint8)[:TABLE_BYTES]


def object_range(
    bytes_of: npt.NDArray[np.uint8], number: int, start: int, length: int
) -> npt.NDArray[np.uint8]:
    """Return a range of an object."""
    places = (start + number * OBJECT_STEP + np.arange(length)) % TABLE_BYTES
    return bytes_of[places]


def checksum(offsets: npt.NDArray[np.uint64], object_bytes: int, range_len: int) -> str:
    """Return the checksum of ranges, whose offsets count through all objects."""
    bytes_of = table()
    # Ranges may go round the end of the table.
    around = np.concatenate([bytes_of, bytes_of[:range_len]])
    objects, starts = np.divmod(offsets, np.uint64(object_bytes))
    places = (starts + objects * np.uint64(OBJECT_STEP)) % np.uint64(TABLE_BYTES)
    total = 0
    for index, place in enumerate(places.tolist()):
        words = around[place : place + range_len].copy().view("<u8")
        total += int(words.sum(dtype=np.uint64)) * (2 * index + 1)
    return f"{total & WORD_MASK:016x}"


def write_offsets(path: Path, objects: int, object_bytes: int, range_len: int, count: int, seed: int) -> str:
    """Write offsets of random ranges, and return what they sum to."""
    random = np.random.default_rng(seed)
    numbers = random.integers(0, objects, size=count, dtype=np.uint64)
    starts = random.integers(0, object_bytes - range_len + 1, size=count, dtype=np.uint64)
    offsets = numbers * np.uint64(object_bytes) + starts
    path.write_bytes(offsets.astype("<u8").tobytes())
    return checksum(offsets, object_bytes, range_len)
