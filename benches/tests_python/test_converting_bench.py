"""Reads with work fused in, on arrays of a few chunks."""

import dataclasses

import numpy as np
import pytest

from benches.converting import cases as converting
from benches.converting.cases import CASES, Case, is_equal
from benches.converting.commands import measure, page
from benches.runner.workload import load_workloads


@pytest.fixture
def tiny(monkeypatch):
    whole = load_workloads()["sat_blosc"]

    def workload(dtype):
        data = {**whole.data, "dtype": dtype, "shape": [2, 10, 16, 16]}
        data |= {"shards": [1, 10, 16, 16], "chunks": [1, 1, 8, 8]}
        return dataclasses.replace(
            whole, data=data, read={**whole.read, "selection_shape": [2, 10, 8, 8], "count": 3}
        )

    monkeypatch.setattr(converting, "workload", workload)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.dtype} {case.name}")
def test_results_are_numpys_and_timed(tiny, tmp_path, case):
    row = measure(case, tmp_path, 3)
    assert 0 < row["plain"] < 60
    assert 0 < row["converted"] < 60
    elements = np.prod(case.out_shape((1, 1, 2, 2))) / 4
    assert row["size"] == elements * case.out_dtype.itemsize / np.dtype(case.dtype).itemsize


def test_results_that_differ_are_refused(tiny, tmp_path):
    case = Case("cast", "int16", {"dtype": "float32"}, lambda stored: stored.astype("float32") + 1)
    with pytest.raises(SystemExit, match="differs from NumPy"):
        measure(case, tmp_path, 3)


def test_one_unit_in_the_last_place_is_equal():
    one = np.array([1, np.nan], "float32")
    assert is_equal(np.nextafter(one, np.float32(2)), one)
    assert not is_equal(one + np.float32(1e-6), one)
    assert not is_equal(np.array([1]), np.array([2]))


def test_the_page_has_a_verdict_for_what_is_not_larger():
    facts = ("date", "time", "commit", "cpu", "system", "kernel", "file_system", "load")
    machine = {**dict.fromkeys(facts, "x"), "cores": 2, "memory_bytes": 1 << 30}
    record = {"machine": machine, "passes": 3, "seconds": 60.0, "times": 4}
    row = {"case": CASES[0], "plain": 1.0, "converted": 1.2, "times": 1.2, "size": 1.0}
    rows = [row, {**row, "times": 1.05}, {**row, "size": 2.0}]
    lines = [line for line in page(record, rows).splitlines() if line.startswith("| int16 to")]
    assert [line.split("|")[-2].strip() for line in lines] == ["**fail**", "pass", "larger"]
