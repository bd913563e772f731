"""The race of writers, on an array of a few chunks."""

import sys

import numpy as np
import pytest

from benches.runner.workload import Workload
from benches.writing import race as racing
from benches.writing.cases import WriteCase
from benches.writing.race import FLOOR, Row
from benches.writing.report import page

SHARDED = {"shards": [4, 8], "chunks": [2, 4], "inner_orders": ["c"]}
PLAIN = {"chunks": [4, 4]}


def write_case(folder, layout):
    data = {
        "shape": [8, 8],
        "dtype": "int16",
        "zarr_format": 3,
        "codec": {"name": "zstd", "level": 1},
        "seed": 3,
        "values": {"offset": 100, "amplitude": 400, "noise": 2.0, "drift": []},
        **layout,
    }
    return WriteCase(Workload("tiny", "", "array", True, ("warm",), "tiny", data, {}), folder)


@pytest.mark.parametrize("layout", [SHARDED, PLAIN], ids=["sharded", "plain"])
def test_writers_write_what_is_compared(tmp_path, monkeypatch, layout):
    writers = {name: racing.WRITERS[name] for name in ("swath", "zarr-default")}
    monkeypatch.setattr(racing, "WRITERS", writers)
    # No floor is built here: a program that refuses stands for it.
    monkeypatch.setattr(racing, "FLOOR_PROGRAM", sys.executable)
    rows = racing.race(write_case(tmp_path, layout), tmp_path, 3)
    found = {row.writer: row for row in rows}
    assert found[FLOOR].failed
    for name in writers:
        assert not found[name].failed, found[name].reason
        assert len(found[name].passes) == 3
        assert 0 < found[name].median("seconds") < 60
        assert found[name].median("stored_bytes") == found["swath"].median("stored_bytes")


def test_values_that_differ_are_seen(tmp_path):
    case = write_case(tmp_path, PLAIN)
    case.prepare()
    target = tmp_path / "written"
    case.make_empty(target)
    assert not case.is_written(target, checks_indexes=True)
    assert not np.array_equal(case.values(), np.zeros((8, 8)))


def test_the_page_has_every_bar():
    passes = [{"seconds": 1.0, "cpu_seconds": 1.0, "memory_bytes": 1 << 30, "stored_bytes": 7}]
    slow = [{"seconds": 0.8, "cpu_seconds": 1.0, "stored_bytes": 7}]
    rows = [
        Row("tiny", FLOOR, passes=slow),
        Row("tiny", "swath", passes=passes),
        Row("tiny", "zarr-default", passes=[{**passes[0], "seconds": 2.0}]),
        Row("tiny", "tensorstore", reason="it ended", failed=True),
    ]
    machine = dict.fromkeys(
        ("date", "time", "commit", "cpu", "cores", "system", "kernel", "file_system", "load"), "x"
    )
    text = page({"passes": 3, "seconds": 60.0, "machine": {**machine, "memory_bytes": 1 << 34}}, rows)
    assert "| share of the floor's rate | tiny | 0.800 | ≥ 0.9 | **fail** |" in text
    assert "| times zarr-default | tiny | 2.00 | ≥ 1 | pass |" in text
    assert "| times tensorstore | tiny | n/a | ≥ 1 | n/a |" in text
    assert "| peak memory over the byte budget | tiny | 4.00 | ≤ 1 | **fail** |" in text
