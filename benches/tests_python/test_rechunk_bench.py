"""The race of rechunkers, on arrays of a few chunks, with zarr-python in place of the contenders."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr

from benches.rechunk import contenders
from benches.rechunk import race as racing
from benches.rechunk.cases import cases
from benches.rechunk.commands import joined
from benches.rechunk.contenders import SWATH, Contender
from benches.rechunk.race import Row, race
from benches.rechunk.report import page
from benches.rechunk.watched import folder_bytes, watch

SHAPE = (6, 3, 16, 16)

# Copies what a case says, its values plus what the second argument says.
PEER = """
import json, sys
from pathlib import Path
import zarr
case = json.loads(Path(sys.argv[1]).read_text())
source = zarr.open_array(case["source"], mode="r")
values = source[...] + int(sys.argv[2])
target = zarr.create_array(store=case["target"], shape=source.shape, dtype=source.dtype,
    chunks=tuple(case["chunks"]), compressors=case["codec"], zarr_format=2)
target[...] = values
Path(case["scratch"], "left").write_bytes(b"1" * 100_000)
print(json.dumps({"version": "1.2", "settings": "none"}))
"""


@pytest.fixture
def peers(tmp_path, monkeypatch):
    """Peers that are one script, run by this Python."""
    folder = tmp_path / "peers" / "fake"
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "bin" / "python").symlink_to(sys.executable)
    # What the environment of this Python has installed is found from its own folder only.
    (folder / ".venv" / "pyvenv.cfg").write_text("")
    (folder / "rechunk.py").write_text(f"import sys; sys.path[:0] = {sys.path!r}\n{PEER}")
    monkeypatch.setattr(contenders, "PEERS", tmp_path / "peers")
    listed = (
        Contender("right", "fake", "0"),
        Contender("wrong", "fake", "1"),
        Contender("gone", "absent", "0"),
    )
    monkeypatch.setattr(racing, "CONTENDERS", listed)
    return listed


@pytest.mark.parametrize("number", range(3))
def test_contenders_are_timed_watched_and_compared(tmp_path, peers, number):
    case = cases(tmp_path, SHAPE)[number]
    rows = {row.contender: row for row in race(case, tmp_path, 512_000_000, 2)}
    right = rows["right"]
    assert (right.reason, right.version, right.settings) == ("", "1.2", "none")
    assert len(right.passes) == 2
    assert 100_000 <= right.most("scratch_bytes") < 200_000
    assert 10_000_000 < right.most("memory_bytes") < 1_000_000_000
    assert 0 < right.median("seconds") < 60
    assert 0 < right.stored_bytes
    assert "differ" in rows["wrong"].reason
    assert rows["wrong"].median("seconds") is None
    assert rows["gone"].reason == "not installed"


def test_cases_are_prepared_once_and_compared_as_zarr_reads_them(tmp_path):
    for case in cases(tmp_path, SHAPE):
        case.prepare()
        before = (case.source / ".zarray").stat().st_mtime_ns
        case.prepare()
        assert (case.source / ".zarray").stat().st_mtime_ns == before
        source = zarr.open_array(case.source, mode="r")
        assert (source.shape, source.chunks) == (SHAPE, case.source_chunks)
        assert 10 < np.unique(source[...]).size
        assert "in chunks of" in case.wrong(case.source)
        assert "no array" in case.wrong(tmp_path / "nowhere")


def test_runs_that_fail_or_take_too_long_say_so(tmp_path):
    failed = watch([sys.executable, "-c", "import sys; sys.exit('no room')"], tmp_path, 60)
    assert failed.reason == "it ended with 1: no room"
    slow = watch([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, 0.2)
    assert slow.reason == "not done within 0 s"
    large = watch([sys.executable, "-c", "bytearray(400_000_000)"], tmp_path, 60, 300_000_000)
    assert "MemoryError" in large.reason
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "file").write_bytes(b"1" * 5000)
    assert folder_bytes(tmp_path) == 8192


def test_children_count():
    child = "b = bytearray(80_000_000); import time; time.sleep(0.5)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"

    watched = watch([sys.executable, "-c", code], Path("/nowhere"), 60)
    assert 80_000_000 < watched.memory_bytes < 200_000_000


def row(contender, case="tiles", seconds=4.0, memory=10, reason=""):
    one = {"seconds": seconds, "cpu_seconds": 1.0, "memory_bytes": memory, "scratch_bytes": 0}
    return Row(case, contender, "1", "few", reason, 7, [one])


def record(names, commit="abc"):
    machine = {"date": "d", "time": "t", "commit": commit, "cpu": "c", "cores": 2, "memory_bytes": 1}
    machine |= {"system": "s", "kernel": "k", "file_system": "f", "load": 0}
    return {
        "machine": machine,
        "passes": 3,
        "memory_bytes": 100,
        "shape": [2, 3],
        "seconds": 1.0,
        "rows": [],
    } | {"cases": dict.fromkeys(names, "chunks to chunks")}


def test_the_page_has_every_bar_and_says_what_is_over():
    rows = [row(SWATH), row("cubed", seconds=8.0, memory=101), row("rechunker", seconds=2.0)]
    rows.append(row("dask-p2p", reason="not installed"))
    text = page(record(["tiles"]), rows)
    assert "| times as fast as cubed | tiles | 2.00 | > 1 | pass |" in text
    assert "| times as fast as rechunker | tiles | 0.500 | > 1 | **fail** |" in text
    assert "| times as fast as dask-p2p | tiles | n/a | > 1 | n/a |" in text
    assert "| peak memory over the limit | tiles | 0.100 | ≤ 1 | pass |" in text
    assert text.count("**over the limit**") == 1
    assert "not installed" in text


def test_records_of_one_commit_are_joined():
    before = record(["a", "b"]) | {"rows": [{"case": "a"}, {"case": "b", "old": 1}]}
    after = record(["b"]) | {"rows": [{"case": "b"}]}
    both = joined(before, after)
    assert both["rows"] == [{"case": "a"}, {"case": "b"}]
    assert set(both["cases"]) == {"a", "b"}
    assert joined(record(["a"], "other"), after) == after
    assert json.dumps(both)
