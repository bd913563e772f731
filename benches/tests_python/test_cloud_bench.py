"""The cloud benches' own parts: patterns, bounds, wanted bytes, records and bars."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benches.cloud import pattern
from benches.cloud.arrays import SWATH
from benches.cloud.bars import bars, bound_seconds
from benches.cloud.bound import latency_bound, link_share
from benches.cloud.readers.location import Location
from benches.cloud.readers.ranges_protocol import Wanted
from benches.cloud.record import CloudRecord, Row, compare_checksums
from benches.cloud.wanted import chunks, shard_lengths


def test_the_bound_counts_rounds_of_indexes_and_of_chunks():
    # 24 indexes are one round of 32, 2,730 chunks are 86.
    seconds = latency_bound(24, 2730, 32, 0.020, 75_000_000, 1.5e9, 0.100)
    assert seconds == pytest.approx(87 * 0.020 + 0.050 + 0.100)
    assert latency_bound(0, 1, 256, 0.020, 0, 1.0, 0.0) == pytest.approx(0.020)
    assert link_share(125_000_000, 1.25, 125_000_000) == pytest.approx(0.8)


def test_ranges_of_a_pattern_sum_as_readers_sum_them(tmp_path):
    offsets = tmp_path / "offsets.u64"
    objects, object_bytes, range_len = 3, 20_000_000, 64
    told = pattern.write_offsets(offsets, objects, object_bytes, range_len, 200, seed=7)
    case = tmp_path / "case.json"
    keys = [str(number) for number in range(objects)]
    case.write_text(json.dumps({"keys": keys, "offsets_file": str(offsets), "range_len": range_len}))
    bytes_of = pattern.table()
    total = 0
    for wanted in Wanted.load(case, object_bytes):
        parts = [
            pattern.object_range(bytes_of, int(wanted.key), start, range_len).tobytes()
            for start in wanted.starts
        ]
        total += wanted.checksum(parts)
    assert f"{total & pattern.WORD_MASK:016x}" == told


def test_the_table_is_splitmix64():
    # The first outputs of splitmix64 from seed 0, as its reference code prints them.
    assert pattern.table()[:16].view("<u8").tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]


def test_wanted_bytes_count_each_chunk_once(tmp_path):
    assert chunks([(0, 3), (1, 4)], (1, 4), (2, 4)) == {(0, 0), (0, 1)}
    index = np.array([[[0, 10], [10, 7]], [[(1 << 64) - 1] * 2, [17, 5]]], "<u8")
    path = tmp_path / "shard"
    path.write_bytes(b"x" * 22 + index.tobytes() + b"crc!")
    assert shard_lengths(path, [2, 2]).tolist() == [[10, 7], [0, 5]]


def row(reader: str, seconds: float, checksum: str = "a") -> Row:
    one = {
        "seconds": seconds,
        "cpu_seconds": 0.1,
        "checksum": checksum,
        "requests": 124,
        "suffixes": 24,
        "in_flight_max": 100,
        "wire_bytes": 1_000_000,
        "body_bytes": 1_000_000,
    }
    return Row("latency", "crops", "web", reader, first=[one] * 3)


def record(*rows: Row) -> CloudRecord:
    facts = {"latency_ms": 20.0, "loopback_bytes_per_second": 1e9, "decode_seconds": 0.039}
    return CloudRecord(machine={}, settings={}, rows=list(rows), found={"latency": facts})


def test_records_come_back_as_they_were(tmp_path):
    kept = record(row("swath", 0.1), row("tensorstore-32", 0.3))
    kept.save(tmp_path / "record.json")
    assert CloudRecord.load(tmp_path / "record.json") == kept


def test_a_reader_that_differs_fails_and_counts_for_nothing():
    rows = [row("swath", 0.1), row("tensorstore-32", 0.3), row("zarr-fused", 0.01, "b")]
    compare_checksums(rows)
    assert [one.failed for one in rows] == [False, False, True]
    kept = record(*rows)
    assert kept.seconds_of("latency", "crops", "web", "zarr-fused") is None
    assert len(kept.failures()) == 1


def test_bars_hold_swath_against_peers_and_the_bound():
    kept = record(row(SWATH, 0.1), row("swath-32", 0.2), row("tensorstore-32", 0.25), row("zarr-fused", 0.5))
    found = {bar.what: bar for bar in bars(kept)}
    assert found["times zarr-fused over obstore"].verdict == "pass"
    assert found["times TensorStore, both with 32 connections"].verdict == "**fail**"
    assert found["times TensorStore, both with 256 connections"].verdict == "n/a"
    # One round of indexes and one of chunks, 1 ms of bytes, 39 ms of decoding.
    assert bound_seconds(kept, kept.rows[0]) == pytest.approx(0.080)
    assert found["swath, share of the bound by latency"].found == pytest.approx(0.8)


def test_locations_survive_the_command_line():
    location = Location("s3", "http://127.0.0.1:1", "bucket", "a/b", 32, {"threads": 16})
    assert Location.parse(location.text()) == location
    assert location.url == "s3://bucket/a/b"
    assert location.storage_options()["concurrency"] == "32"
    assert "concurrency" not in Location("web", "http://127.0.0.1:1", "b", "k").storage_options()
