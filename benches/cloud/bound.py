"""The bounds that a link sets."""

from __future__ import annotations

import math


def latency_bound(
    index_requests: int,
    chunk_requests: int,
    concurrency: int,
    latency_seconds: float,
    wire_bytes: int,
    loopback_bytes_per_second: float,
    decode_seconds: float,
) -> float:
    """Return the seconds that a read takes which makes its requests in rounds and loses no time.

    Chunks are asked for when the index that names them is there, and of ``concurrency`` requests at a time
    each takes a round trip: so many rounds of the indexes, and so many of the chunks. The bytes pass at the
    rate that loopback has for a client that throws them away, and are decoded and placed as fast as swath
    does it from local files. A reader may hide some of that behind the round trips, and be faster than this.
    """
    rounds = math.ceil(index_requests / concurrency) + math.ceil(chunk_requests / concurrency)
    return rounds * latency_seconds + wire_bytes / loopback_bytes_per_second + decode_seconds


def link_share(wire_bytes: int, seconds: float, bytes_per_second: int) -> float:
    """Return the share of the link's rate that was in use over all of a read, its round trips included."""
    return wire_bytes / (seconds * bytes_per_second)


def read_amplification(wire_bytes: int, wanted_bytes: int) -> float:
    """Return how many bytes went over the link for each stored byte that was wanted."""
    return wire_bytes / wanted_bytes
