"""`swath.config`: what holds, where from, and what it does."""

import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import swath
from swath.configuration import BOUNDS, OPTIONS

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"

# Python warns of forks with threads about; that they work is what is tested.
FORKS = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


@pytest.fixture(autouse=True)
def reset():
    yield
    swath.config.reset()


def lanes():
    return swath.stats()["lanes"]


def run(program, *arguments, **variables):
    """What a new process prints, with these environment variables and no others of swath's."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SWATH_")}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, env=environment | variables, capture_output=True, text=True)


def test_options_are_set_and_set_back():
    before = lanes()
    with swath.config.set({"num_threads": 3}):
        assert (swath.config.get("num_threads"), lanes()) == (3, 3)
        with swath.config.set(num_threads=np.int64(2), checksums="skip"):
            assert (lanes(), swath.config.get("checksums")) == (2, "skip")
            assert "num_threads=2" in repr(swath.config)
        assert (lanes(), swath.config.get("checksums")) == (3, "verify")
    assert (swath.config.get("num_threads"), lanes()) == (None, before)
    swath.config.set({"num_threads": 5})
    assert lanes() == 5
    swath.config.set({"num_threads": None})
    assert lanes() == before


def test_what_there_is_not_is_refused_by_name():
    for call in (lambda: swath.config.get("threads"), lambda: swath.config.set({"threads": 2})):
        with pytest.raises(swath.InvalidError, match="no option 'threads': wanted one of num_threads,"):
            call()
    with pytest.raises(swath.InvalidError, match="no option 'threads'"):
        swath.config.set(num_threads=2, threads=2)
    assert swath.config.get("num_threads") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num_threads", 0),
        ("num_threads", "many"),
        ("num_threads", 1.5),
        ("memory_bytes", "2 parsecs"),
        ("memory_bytes", 0),
        ("cache_dir", 3),
        ("cache_freshness", "old"),
        ("cache_freshness", float("nan")),
        ("checksums", "perhaps"),
        ("file_access", "fast"),
        ("progress", "maybe"),
    ],
)
def test_what_an_option_cannot_be_is_refused(key, value):
    with pytest.raises(swath.InvalidError, match=f"swath.config: {key}: "):
        swath.config.set({key: value})
    assert swath.config.get(key) == OPTIONS[key].default


def test_every_bound_reaches_the_engine(array, values):
    """Reads work within the tightest of each; an option that the engine does not know would be refused."""
    for key in BOUNDS:
        with swath.config.set({key: 1}):
            np.testing.assert_array_equal(array[...], values)
    with swath.config.set(dict.fromkeys(BOUNDS, 1)):
        np.testing.assert_array_equal(array[...], values)


def test_merging_is_as_said(tmp_path):
    file = tmp_path / "bytes"
    file.write_bytes(bytes(range(256)) * 64)

    def reads(**options):
        before = swath.stats()["physical_reads"]
        found = swath.io.get_ranges(file, starts=[0, 200], lengths=[100, 100], **options)
        assert found.buffer.tobytes() == bytes(range(256))[:100] + (bytes(range(256)) * 2)[200:300]
        return swath.stats()["physical_reads"] - before

    # Nothing is mapped, so that every read is counted.
    with swath.config.set(file_access="pread"):
        with swath.config.set(coalesce=0):
            assert (reads(), reads(coalesce=100)) == (2, 1)
        with swath.config.set(coalesce=100):
            assert (reads(), reads(coalesce=0)) == (1, 2)


def test_opening_is_as_said(path):
    def opened(**options):
        _, (_, _, _, decoded, access, _) = swath.open_array(path, **options).__reduce__()
        return decoded, access

    assert opened() == (0, 0)
    with swath.config.set(decoded_cache_bytes="1KiB", checksums="skip"):
        assert opened() == (1024, 4)
        assert opened(decoded_cache_bytes=7, checksums="verify") == (7, 0)
        _, (_, _, _, decoded, access, _) = swath.open(path).__reduce__()
        assert (decoded, access) == (1024, 4)
    assert opened() == (0, 0)


def test_environment_variables(path):
    program = "import swath, sys; print(swath.stats()['lanes'], swath.config.options())"
    ended = run(program, SWATH_NUM_THREADS="3", SWATH_MEMORY_BYTES="1MiB", SWATH_PROGRESS="yes")
    assert ended.stdout.startswith("3 "), ended.stderr
    for part in ("'num_threads': 3", "'memory_bytes': 1048576", "'progress': True", "'cache': None"):
        assert part in ended.stdout
    program = "import swath, sys; swath.config.set(num_threads=2); print(swath.stats()['lanes'])"
    assert run(program, SWATH_NUM_THREADS="3").stdout == "2\n"
    # An empty one says nothing, and one that cannot be says so once something is opened.
    program = "import swath, sys; print(swath.open_array(sys.argv[1]).ndim)"
    assert run(program, path, SWATH_NUM_THREADS="").stdout == "3\n"
    ended = run(program, path, SWATH_NUM_THREADS="all")
    assert "environment variable SWATH_NUM_THREADS: wanted an int of at least 1, found 'all'" in ended.stderr


def test_configurations_that_come_back_start_no_threads_anew(array, values):
    def threads():
        names = [(task / "comm").read_text() for task in Path("/proc/self/task").iterdir()]
        return sum(name.startswith("swath-lane") for name in names)

    def take_turns(times):
        for number in range(times):
            with swath.config.set(num_threads=2 + number % 2, memory_bytes=1 << 20):
                np.testing.assert_array_equal(array.read_many([np.s_[t] for t in range(5)] * 40)[:5], values)

    take_turns(4)
    before = threads()
    take_turns(40)
    assert threads() == before


def test_reads_and_changes_at_once(array, values):
    wrong = []

    def work():
        for _ in range(30):
            if not (array[...] == values).all():
                wrong.append(1)

    readers = [threading.Thread(target=work) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(60):
        swath.config.set(num_threads=1 + number % 3)
    for reader in readers:
        reader.join()
    assert not wrong


def told(array):
    """What holds in the process that an array was sent to."""
    return swath.config.get("num_threads"), lanes(), swath.config.get("memory_bytes"), int(array[1, 2, 3])


def told_after_setting(array):
    swath.config.set(num_threads=1)
    return told(pickle.loads(array))


@FORKS
@pytest.mark.parametrize("way", ["fork", "forkserver", "spawn"])
def test_workers_do_as_those_they_work_for(array, values, way):
    one = int(values[1, 2, 3])
    default = lanes()
    with ProcessPoolExecutor(1, multiprocessing.get_context(way)) as pool:
        assert pool.submit(told, array).result() == (None, default, None, one)
        with swath.config.set(num_threads=3, memory_bytes="8MiB"):
            assert pool.submit(told, array).result() == (3, 3, 8 << 20, one)
            # What the worker was told itself goes first.
            pickled = pickle.dumps(array)
            assert pool.submit(told_after_setting, pickled).result() == (1, 1, 8 << 20, one)
    with swath.config.set(num_threads=3), ProcessPoolExecutor(1, multiprocessing.get_context(way)) as pool:
        assert pool.submit(told, array).result() == (3, 3, None, one)


def test_pickles_change_nothing_elsewhere(array):
    with swath.config.set(num_threads=3):
        pickled = pickle.dumps(array)
    assert pickle.loads(pickled) == array
    assert swath.config.get("num_threads") is None
    # Another process that nobody started to work for others has its own mind, too.
    program = """
import pickle, sys, swath
array = pickle.load(open(sys.argv[1], "rb"))
print(array.ndim, swath.config.get("num_threads"))
"""
    file = Path(array.store_path).with_name("pickle")
    file.write_bytes(pickled)
    ended = run(program, file)
    assert ended.stdout == "3 None\n", ended.stderr


def test_the_page_lists_every_option():
    text = PAGE.read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \| `SWATH_(\w+)` \|", text, re.MULTILINE)
    assert listed == [(key, key.upper()) for key in OPTIONS]
