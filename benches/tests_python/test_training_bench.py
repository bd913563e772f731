"""The bench of what a card is fed with, with the CPU in the card's place, and its part of the page.

Nothing here was on a card: that copies are from pinned memory, and streams, is for `TestCuda` of
test_train_torch.py and for the bench itself, where there is one.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import zarr

from benches.training import commands, cuda, report
from benches.training.cases import CHANNELS, Case

SHAPE = (2, CHANNELS, 8, 8)


@pytest.fixture
def case(tmp_path):
    pytest.importorskip("torch", reason="`make test-train` installs PyTorch")
    random = np.random.default_rng(2)
    path = tmp_path / "a.zarr"
    stored = random.integers(0, 1000, (6, CHANNELS, 32, 32)).astype("int16")
    zarr.create_array(path, data=stored, chunks=(2, CHANNELS, 16, 16))
    corners = [(int(t), 0, int(y), int(x)) for t, y, x in random.integers(0, 4, (12, 3))]
    return Case("tiny", (path,), SHAPE, corners, 4, np.full(CHANNELS, 500.0), np.full(CHANNELS, 250.0))


def test_what_is_measured_is_checked_and_counted(case, monkeypatch):
    monkeypatch.setattr(cuda, "STEP_BYTES_PER_S", case.batch_bytes / 0.02)
    found = cuda.measure(case, "cpu", 7, 2)
    # Three batches an epoch: the steps went round twice.
    assert found["steps"]["count"] == 7 and found["device"] == "CPU"
    assert found["copies"]["bytes"] == cuda.HELD * cuda.COPIES * case.batch_bytes
    assert found["copies"]["loader"] > 0 and found["copies"]["torch"] > 0
    assert found["steps"]["step_s"] >= 0.02
    assert 0 < found["steps"]["bytes_per_s"] <= case.batch_bytes / 0.02
    assert json.loads(json.dumps(found)) == found


def test_batches_that_differ_fail(case, monkeypatch):
    right, given = cuda.bits, []

    def wrong_later(batch):
        given.append(batch)
        # Sums of the epoch in host memory come first: this is the third that comes from the device.
        return right(batch) + (len(given) == len(case.batches) + 3)

    monkeypatch.setattr(cuda, "STEP_BYTES_PER_S", 1e12)
    monkeypatch.setattr(cuda, "bits", wrong_later)
    assert cuda.measure(case, "cpu", 5, 1) == {"error": "batch 2 differs on the device"}
    monkeypatch.setattr(cuda, "differs", lambda case, batch: "a.zarr, sample 1")
    assert "sample 1" in cuda.measure(case, "cpu", 5, 1)["error"]


def test_where_there_is_no_card_it_is_skipped_and_said(tmp_path, monkeypatch):
    monkeypatch.setattr(cuda, "missing", lambda: "torch finds no CUDA")
    monkeypatch.setattr(cuda, "process", lambda *told: pytest.fail("started"))
    assert cuda.cuda(tmp_path, 10, 1) == {"skipped": "torch finds no CUDA"}
    assert "cuda" in commands.PARTS


def test_the_page_says_what_a_card_did():
    waits = {"step_s": 0.08, "p50_s": 1e-4, "p99_s": 9e-4, "p999_s": 2e-3, "longest_s": 3e-3}
    found = {
        "device": "a card",
        "torch": "2",
        "copies": {"bytes": 6.7e9, "passes": 3, "loader": 23e9, "torch": 25e9},
        "steps": waits | {"count": 1000, "bytes_per_s": 1.04e9},
    }
    assert [line[-1] for line in report._card_bars(found)] == ["pass"] * 3
    assert "23.0 and 25.0 GB/s" in report._card(found) and "0.900 ms at p99" in report._card(found)
    slow = found | {"copies": found["copies"] | {"loader": 22e9}, "steps": found["steps"] | {"p99_s": 2e-3}}
    assert [line[-1] for line in report._card_bars(slow)] == ["**fail**", "**fail**", "pass"]
    assert [line[-1] for line in report._card_bars({"skipped": "no card"})] == ["n/a"] * 3
    assert report._card({"skipped": "no card"}) == "Not measured: no card.\n"
    assert report._card_bars({"error": "differs"})[0][-1] == "**fail**"


def test_records_from_before_say_so():
    """The committed page can be written again from a record that has no card."""
    records = sorted((Path(commands.__file__).parents[1] / "records").rglob("*training*.json"))
    assert records
    for path in records:
        record = json.loads(path.read_text())
        if "cuda" not in record:
            assert "Not measured: this record is older than the part." in report.page(record)
