"""What the cloud benches must show: each bar with the number measured, passed or not."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from benches.cloud.arrays import CONNECTIONS, LATENCY_MS, SWATH
from benches.cloud.bound import latency_bound, link_share, read_amplification
from benches.cloud.ranges import OBJECT_STORE, OBSTORE
from benches.cloud.ranges import SWATH as SWATH_RANGES
from benches.cloud.record import CloudRecord, Row
from benches.runner.bars import Bar

STARVATION_MS_MAX = 4.0


def bars(record: CloudRecord) -> list[Bar]:
    """Return every bar that the record's sections have."""
    return [
        *_latency(record),
        *_bandwidth(record, "bandwidth-alone"),
        *_bandwidth(record, "bandwidth"),
        *_ranges(record),
        *_round_trips(record),
        *_epochs(record),
        *_memory(record),
        *_starvation(record),
    ]


def times(record: CloudRecord, section: str, case: str, server: str, slow: str, fast: str) -> float | None:
    """Return how many times faster one reader is than another, in the first pass of new processes."""
    seconds = [record.seconds_of(section, case, server, reader) for reader in (slow, fast)]
    return None if seconds[0] is None or not seconds[1] else seconds[0] / seconds[1]


def places(record: CloudRecord, section: str) -> list[tuple[str, str]]:
    """Return the cases of a section and the servers they were read from."""
    return list(dict.fromkeys((row.case, row.server) for row in record.of(section)))


def bound_seconds(record: CloudRecord, row: Row, turn: str = "first") -> float | None:
    """Return the bound of a reader's requests by latency, for the median pass."""
    facts = record.found["latency"]
    passes = row.first if turn == "first" else row.again
    if not passes or not facts["loopback_bytes_per_second"] or facts["decode_seconds"] is None:
        return None
    one = sorted(passes, key=lambda taken: float(taken["seconds"]))[len(passes) // 2]
    indexes = int(one["suffixes"])
    limit = _limit(row.reader) or int(one["in_flight_max"])
    return latency_bound(
        indexes,
        int(one["requests"]) - indexes,
        limit,
        facts["latency_ms"] / 1e3,
        int(one["wire_bytes"]),
        facts["loopback_bytes_per_second"],
        facts["decode_seconds"],
    )


def _limit(reader: str) -> int | None:
    """Return the limit in a reader's name."""
    tail = reader.rpartition("-")[2]
    return int(tail) if tail.isdigit() else None


def _latency(record: CloudRecord) -> Iterator[Bar]:
    for case, server in places(record, "latency"):
        where = f"{case}, {server}"
        for peer in ("zarr-default", "zarr-fused"):
            rate = times(record, "latency", case, server, peer, SWATH)
            yield Bar("1", f"times {peer} over obstore", where, rate, 4.0)
        for limit in CONNECTIONS:
            rate = times(record, "latency", case, server, f"tensorstore-{limit}", f"swath-{limit}")
            yield Bar("1", f"times TensorStore, both with {limit} connections", where, rate, 1.5)
        peers = [record.seconds_of("latency", case, server, f"tensorstore-{limit}") for limit in CONNECTIONS]
        known = [seconds for seconds in peers if seconds is not None]
        own = record.seconds_of("latency", case, server, SWATH)
        rate = min(known) / own if known and own else None
        yield Bar("1", "times TensorStore at its best, swath by default", where, rate, 1.0)
        for reader in (SWATH, *(f"swath-{limit}" for limit in CONNECTIONS)):
            row = record.find("latency", case, server, reader)
            bound = None if row is None else bound_seconds(record, row)
            seconds = record.seconds_of("latency", case, server, reader)
            rate = bound / seconds if bound and seconds else None
            yield Bar("1", f"{reader}, share of the bound by latency", where, rate, 0.9)


def _bandwidth(record: CloudRecord, section: str) -> Iterator[Bar]:
    facts = record.found.get(section, {})
    for case, server in places(record, section):
        row = record.find(section, case, server, SWATH)
        share = amplification = None
        if row is not None and row.first and not row.failed:
            rate = int(facts["bytes_per_second"])
            shares = [link_share(int(one["body_bytes"]), float(one["seconds"]), rate) for one in row.first]
            share = statistics.median(shares)
            wire_bytes = row.median("wire_bytes")
            wanted = int(facts[case]["wanted_bytes"])
            amplification = None if wire_bytes is None else read_amplification(int(wire_bytes), wanted)
        where = f"{case}, {server}, {facts['latency_ms']:g} ms"
        yield Bar("2", "share of the link in bytes of bodies", where, share, 0.95)
        yield Bar("2", "bytes on the wire over stored bytes wanted", where, amplification, 1.3, below=True)


def _ranges(record: CloudRecord) -> Iterator[Bar]:
    for case, server in places(record, "ranges"):
        for peer in (OBJECT_STORE, OBSTORE):
            rate = times(record, "ranges", case, server, peer, SWATH_RANGES)
            yield Bar("3", f"times {peer}", f"{case}, {server}", rate, 2.0)


def opening(record: CloudRecord, reader: str, kind: str) -> dict[str, Any] | None:
    """Return the openings of a group by a reader; None where there are none."""
    listed = record.found.get("round_trips", {}).get("openings", [])
    found = (one for one in listed if (one["reader"], one["kind"]) == (reader, kind) and one["passes"])
    return next(found, None)


def median_of(passes: list[dict[str, Any]], name: str) -> float | None:
    """Return the median of a field of some passes; None without passes."""
    return float(statistics.median(one[name] for one in passes)) if passes else None


def _round_trips(record: CloudRecord) -> Iterator[Bar]:
    if "round_trips" not in record.found:
        return
    found = opening(record, SWATH, "consolidated")
    requests = None if found is None else median_of(found["passes"], "requests")
    yield Bar("4", "requests, with consolidated metadata", "200 arrays, s3", requests, 2, below=True)
    found = opening(record, SWATH, "plain")
    rounds = None
    if found is not None:
        # A listing of more names than fit an answer takes one round for each answer.
        rounds = statistics.median(one["rounds"] - one["listings"] for one in found["passes"])
    yield Bar("4", "round trips besides the listing, without", "200 arrays, s3", rounds, 2, below=True)


def _epochs(record: CloudRecord) -> Iterator[Bar]:
    if "epochs" in record.found:
        passes = record.found["epochs"]["passes"]
        rate = statistics.median(one["seconds"][0] / one["seconds"][1] for one in passes) if passes else None
        where = f"sat_raw, s3, {LATENCY_MS:g} ms"
        yield Bar("5", "second epoch with a cache on disk, times the first", where, rate, 20.0)


def _memory(record: CloudRecord) -> Iterator[Bar]:
    for one in record.found.get("memory", {}).get("passes", []):
        # The output was there before.
        share = (one["peak_bytes"] - one["before_bytes"]) / one["budget_bytes"]
        where = f"{one['in_flight_wanted']:,} in flight"
        yield Bar("6", "memory beyond the output, over the budget", where, share, 1.0, below=True)


def _starvation(record: CloudRecord) -> Iterator[Bar]:
    if "starvation" in record.found:
        p99 = median_of(record.found["starvation"]["passes"], "p99_ms")
        what = "ms from sent to a lane's inbox, 99 %, all cores decoding"
        yield Bar("7", what, "64 KiB, web", p99, STARVATION_MS_MAX, below=True)
