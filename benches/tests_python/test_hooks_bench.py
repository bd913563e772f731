"""The race of hooks, on arrays of a few chunks."""

import cProfile
import dataclasses
import json

import numpy as np
import pytest
import zarr

from benches.hooks import commands, each_reader, planning, profile, xarray_reader
from benches.hooks.report import bars, over_parts, write_report
from benches.peers.zarr_python import reader as zarr_reader
from benches.readers.protocol import Case, measure
from benches.runner.record import CaseFacts, Record, Result
from benches.runner.registry import load_readers
from benches.runner.workload import load_workloads


@pytest.fixture
def case(tmp_path):
    values = np.arange(12 * 16, dtype="i4").reshape(12, 16)
    with zarr.config.set({"codec_pipeline.path": zarr_reader.PIPELINES["default"]}):
        zarr.create_array(tmp_path / "a.zarr", data=values, chunks=(2, 4), shards=(6, 8))
    described = {
        "name": "tiny", "kind": "array", "array": str(tmp_path / "a.zarr"), "dtype": "int32",
        "selection_shape": [3, 5], "selections": [[0, 0], [4, 7], [9, 11]], "mode": "batch",
    }  # fmt: skip
    (tmp_path / "case.json").write_text(json.dumps(described))
    with zarr.config.set():
        yield Case.load(tmp_path / "case.json"), values


def wanted(values):
    return np.stack([values[row : row + 3, column : column + 5] for row, column in ((0, 0), (4, 7), (9, 11))])


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize(
    ("module", "variant"),
    [
        (zarr_reader, "default"),
        (zarr_reader, "fused"),
        (zarr_reader, "swath"),
        (each_reader, ""),
        (xarray_reader, "zarr"),
        (xarray_reader, "swath"),
    ],
)
def test_every_reader_reads_what_is_stored(case, module, variant, one_by_one):
    tiny, values = case
    tiny = dataclasses.replace(tiny, one_by_one=one_by_one)
    out = np.zeros((3, 3, 5), "i4")
    measured = measure(module.open_array(tiny, variant), tiny, out)
    np.testing.assert_array_equal(out, wanted(values))
    assert 0 < measured.seconds < 60


def test_planning_reads_nothing(case):
    tiny, _ = case
    for path in tiny.array.rglob("c/*/*"):
        path.write_bytes(b"no shard")
    reader = planning.open_array(tiny, "")
    assert not reader.has_values
    measure(reader, tiny, np.zeros((3, 3, 5), "i4"))


def test_the_profile_says_whose_the_time_is(case):
    tiny, _ = case
    found = profile.measure(tiny)
    assert list(found) == list(profile.PARTS)
    assert sum(found.values()) == pytest.approx(1)
    assert 0 < min(found[profile.ZARR], found[profile.PYTHON], found[profile.NATIVE])


def test_built_in_functions_are_their_callers():
    taken = cProfile.Profile()
    taken.enable()
    sorted(range(10_000))
    taken.disable()
    assert profile.shares(taken)[profile.OTHER] == pytest.approx(1)


def test_xarray_takes_part_where_chunks_are_small():
    readers, workloads = load_readers(commands.READERS), load_workloads()
    cases = [case for name in commands.WORKLOADS for case in workloads[name].cases()]
    taking = {case.workload.name for case in cases if commands.takes_part(readers["xarray-swath"], case)}
    assert taking == {"sat_blosc", "sat_raw", "tiny_raw", "tiny_lz4"}
    assert all(commands.takes_part(readers["hook"], case) for case in cases)


def made_record(seconds):
    """A record of one case, with the milliseconds of readers."""
    facts = ("date", "time", "commit", "cpu", "system", "kernel", "file_system", "load", "device", "python")
    machine = {**dict.fromkeys(facts, "x"), "cores": 2, "memory_bytes": 1 << 30}
    case = CaseFacts("tiny_raw", "morton", "array", "", "batch", 1, 1, 1, 1)
    taken = {"user_seconds": 0.0, "system_seconds": 0.0}
    results = [
        Result(name, "tiny_raw-morton", "warm", version="1", passes=[{**taken, "seconds": one}] * 3)
        for name, one in seconds.items()
    ]
    roles = {name: {"role": "peer", "language": "python", "decodes": True} for name in seconds}
    settings = {"quick": False, "passes": 3, "seconds": 1.0, "profiles": {}}
    return Record(machine, settings, roles, {"tiny_raw-morton": case}, results, 60.0)


def test_bars_are_those_of_the_issue(tmp_path):
    record = made_record({
        "zarr-python": 9.0, "fused": 2.0, "zarrs-python": 1.0, "planning": 1.0, "hook": 1.3, "direct": 0.2,
        "direct-each": 0.25, "xarray-zarr": 10.0, "xarray-swath": 1.0,
    })  # fmt: skip
    assert over_parts(record, "tiny_raw-morton") == pytest.approx(1.3 / 1.2)
    verdicts = {bar.what: bar.verdict for bar in bars(record)}
    assert verdicts == {
        "hook, times fused": "pass",
        "hook, times zarrs-python": "**fail**",
        "hook, over planning and direct": "pass",
        "xarray-swath, times xarray-zarr": "pass",
    }
    write_report(record, tmp_path)
    page = (tmp_path / "performance-hooks.md").read_text()
    assert "| tiny_raw-morton | 1,300 | 1,000 | 200 | 250 | 1.08 | 1.04 |" in page


def test_a_bar_without_a_number_is_none(tmp_path):
    assert {bar.verdict for bar in bars(made_record({"hook": 1.0}))} == {"n/a"}
