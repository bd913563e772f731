"""Random numbers that are a function of a key and a counter: without state, in any order, any of them alone.

A word is two rounds of SplitMix64's finaliser (Steele, Lea and Flood, "Fast splittable pseudorandom number
generators", 2014) over the counter, each with words of the key. All of it is 64-bit integer arithmetic that
wraps around, so every language and machine gives the same.
"""

from __future__ import annotations

import numpy as np

from swath.errors import InvalidError
from swath.train.arrays import Draws, Positions, Words

MASK = (1 << 64) - 1
GOLDEN = 0x9E37_79B9_7F4A_7C15
FIRST = 0xBF58_476D_1CE4_E5B9
SECOND = 0x94D0_49BB_1331_11EB


def key_of(*parts: int) -> int:
    """Return a key of 64 bits for a seed and whatever else tells streams apart, each from 0 to 2**64 - 1."""
    key = 0
    for part in parts:
        if not 0 <= part <= MASK:
            raise InvalidError(f"wanted a seed or epoch from 0 to 2**64 - 1, found {part}")
        key = mixed_number((key + GOLDEN & MASK) ^ mixed_number(part + GOLDEN & MASK))
    return key


def mixed_number(value: int) -> int:
    """Return the finaliser of one number of 64 bits, as `mixed` does of many."""
    value = (value ^ value >> 30) * FIRST & MASK
    value = (value ^ value >> 27) * SECOND & MASK
    return value ^ value >> 31


def mixed(values: Words) -> Words:
    """Return SplitMix64's finaliser of each word: a permutation of the words."""
    values = (values ^ values >> np.uint64(30)) * np.uint64(FIRST)
    values = (values ^ values >> np.uint64(27)) * np.uint64(SECOND)
    return values ^ values >> np.uint64(31)


def words(key: int, counters: Positions | Words) -> Words:
    """Return 64 random bits for each counter, of at least one axis: NumPy wraps arrays silently."""
    counted = np.atleast_1d(counters).astype(np.uint64)
    first = mixed(counted * np.uint64(GOLDEN) + np.uint64(key))
    return mixed(first ^ np.uint64(mixed_number(key ^ GOLDEN)))


def uniform(key: int, counters: Positions) -> Draws:
    """Return a number from 0 to below 1 for each counter, a multiple of 2**-53."""
    return (words(key, counters) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def stream(name: str) -> int:
    """Return the number of a named stream: FNV-1a over its UTF-8 bytes, so that it is the same everywhere."""
    value = 0xCBF2_9CE4_8422_2325
    for byte in name.encode():
        value = (value ^ byte) * 0x0100_0000_01B3 & MASK
    return value
