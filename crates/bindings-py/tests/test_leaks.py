"""Reads, opens, cancels and errors leave nothing behind: memory, descriptors and threads stay as they were.

SWATH_LEAK_TURNS says how many turns each way takes (`make test-full`: 100,000); a turn is a read or several,
and one in three is an open, a cancel or errors too.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr

TURNS = int(os.environ.get("SWATH_LEAK_TURNS", "1200"))
PROGRAM = Path(__file__).with_name("leak_program.py")
WAYS = ["sync", "async", "fsspec", "zarr"]

# What may differ between two looks at a process that leaks nothing. Allocators keep what was freed in pages
# of many sizes and threads, and which thread needed most of them at once is chance: a few MiB, however long
# the process runs. 100,000 turns that each lost 100 bytes would lose 10 MB.
RESIDENT_BYTES = 8 << 20
# What is given out and not taken back has no such excuse, but for buffers that grow once, as queues do.
HEAP_BYTES = 1 << 20
# Python's own blocks: interned names, caches of functions, free lists. A turn that lost one object would lose
# TURNS of them.
BLOCKS = 1000
# Lanes open a ring and an eventfd when they first have something to do, and pools start a thread when calls
# first overlap: chance says when. A turn in a hundred that lost one would lose more.
LATE_DESCRIPTORS, LATE_THREADS = 8, 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A sound array, and one of the same whose first shard is damaged."""
    from leak_program import SHAPE

    made = tmp_path_factory.mktemp("leaks")
    values = np.arange(np.prod(SHAPE), dtype="i4").reshape(SHAPE)
    for name in ("sound.zarr", "damaged.zarr"):
        zarr.create_array(made / name, data=values, chunks=(1, 16, 16), shards=(4, 32, 32))
    os.truncate(made / "damaged.zarr" / "c" / "0" / "0" / "0", 100)
    return made


@pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read from Linux's /proc")
@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_left_behind(folder, way):
    command = [sys.executable, "-W", "ignore", PROGRAM, way, str(TURNS), folder]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert not ended.stderr
    told = json.loads(ended.stdout)
    before, after = told["before"], told["after"]
    opened = sum(after["descriptors"].values()) - sum(before["descriptors"].values())
    assert opened <= LATE_DESCRIPTORS, told
    assert after["threads"] - before["threads"] <= LATE_THREADS, told
    assert after["blocks"] - before["blocks"] < BLOCKS, told
    assert after["resident"] - before["resident"] < RESIDENT_BYTES, told
    if before["heap"] is not None:
        assert after["heap"] - before["heap"] < HEAP_BYTES, told
