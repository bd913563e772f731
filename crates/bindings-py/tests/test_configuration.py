"""`swath.config`: what holds, where from, and what it does."""

import itertools
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import threading
import types
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import swath
import zarr
from swath import _swath
from swath.configuration import BOUNDS, OPTIONS, worker_threads

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"

# Python warns of forks with threads about; that they work is what is tested.
FORKS = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


@pytest.fixture(autouse=True)
def reset():
    yield
    swath.config.reset()


@pytest.fixture
def many(tmp_path):
    """An array of so many chunks that they are read on the engine's own threads."""
    data = np.arange(300 * 8, dtype="i4").reshape(300, 8)
    zarr.create_array(tmp_path / "many.zarr", data=data, chunks=(1, 8))
    return swath.open_array(tmp_path / "many.zarr"), data


def lanes():
    return swath.stats()["lanes"]


def threads():
    """How many threads the engine has."""
    names = [(task / "comm").read_text() for task in Path("/proc/self/task").iterdir()]
    return sum(name.startswith("swath-lane") for name in names)


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
        ("num_threads", 4097),
        ("num_threads", int),
        ("num_threads", np.arange(3)),
        ("queue_depth", 2**64),
        ("memory_bytes", 2**64),
        ("checksums", np.array(["verify", "skip"])),
        ("cache_freshness", 10**400),
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
    # What is set later is taken.
    with swath.config.set(num_threads=3):
        assert lanes() == 3


def test_what_the_engine_refuses_is_not_kept(monkeypatch):
    def refuse(*_):
        raise swath.SwathError("no")

    swath.config.set(num_threads=3)
    with monkeypatch.context() as patched:
        patched.setattr("swath._swath._set_file_access", refuse)
        with pytest.raises(swath.SwathError, match="no"):
            swath.config.set(num_threads=2, file_access="pread")
    assert (swath.config.get("num_threads"), swath.config.get("file_access"), lanes()) == (3, None, 3)
    swath.config.set(num_threads=4)
    assert lanes() == 4


def test_mappings_of_all_kinds_are_taken():
    with swath.config.set(types.MappingProxyType({"num_threads": 3}), checksums="skip"):
        assert (lanes(), swath.config.get("checksums")) == (3, "skip")


def test_every_bound_reaches_the_engine(array, values, monkeypatch):
    """The engine takes each by its own name, and reads work within the tightest."""
    handed = []
    set_limits = _swath._set_limits
    monkeypatch.setattr(
        "swath._swath._set_limits", lambda *limits: handed.append(limits) or set_limits(*limits)
    )
    for key in BOUNDS:
        with swath.config.set({key: 1}):
            np.testing.assert_array_equal(array[...], values)
    assert [bounds for _, bounds in handed] == [found for key in BOUNDS for found in ({key: 1}, {})]
    with pytest.raises(swath.SwathError, match="no bound is called queue"):
        set_limits(None, {"queue": 1})
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
    ended = run(program, path, SWATH_NUM_THREADS=str(2**64))
    assert "environment variable SWATH_NUM_THREADS: wanted an int of at most 4096, found" in ended.stderr
    # What is set goes before it.
    program = "import swath, sys; swath.config.set(num_threads=2); print(swath.open_array(sys.argv[1]).ndim)"
    assert run(program, path, SWATH_NUM_THREADS="all").stdout == "3\n"
    assert "SWATH_QUEUE_DEPTH" in run(program, path, SWATH_NUM_THREADS="all", SWATH_QUEUE_DEPTH="x").stderr
    program = "import swath, sys; print(swath.open_array(sys.argv[1]).ndim)"
    ended = run(program, path, SWATH_NUM_THREADS="all")
    assert "environment variable SWATH_NUM_THREADS: wanted an int of at least 1, found 'all'" in ended.stderr


def test_configurations_that_come_back_start_no_threads_anew(many):
    array, values = many

    def take_turns(times):
        for number in range(times):
            with swath.config.set(num_threads=2 + number % 2, memory_bytes=1 << 20):
                np.testing.assert_array_equal(array[...], values)

    take_turns(4)
    before = threads()
    take_turns(40)
    assert threads() == before
    assert before


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))], ids=str)
def test_blocks_that_overlap_go_back_in_any_order(order):
    """As threads end them: what was there before any holds again once all have ended."""
    swath.config.set(coalesce=7)
    blocks = [swath.config.set(coalesce=number, queue_depth=10 + number) for number in range(3)]
    left = [0, 1, 2]
    for number in order:
        blocks[number].__exit__(None, None, None)
        left.remove(number)
        # The last that began holds.
        assert swath.config.get("coalesce") == (left[-1] if left else 7)
        assert swath.config.get("queue_depth") == (10 + left[-1] if left else None)
    # What is set within a block and no block of its own goes with it.
    with swath.config.set(coalesce=1):
        swath.config.set(coalesce=2)
    assert swath.config.get("coalesce") == 7


def test_reads_and_changes_at_once(many):
    array, values = many
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
    assert threads()


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


def told_by_pickles(*pickles):
    for pickled in pickles:
        pickle.loads(pickled)
    return swath.config.get("num_threads"), lanes()


@FORKS
def test_old_pickles_take_nothing_back_from_forked_workers(array, monkeypatch):
    # As pickled before anything was set.
    with monkeypatch.context() as patched:
        patched.setattr(swath.config, "_was_set", False)
        plain = pickle.dumps(array)
    context = multiprocessing.get_context("fork")
    # One of another worker, which was told something else.
    with ProcessPoolExecutor(1, context) as pool:
        other = pool.submit(pickled_after_setting, plain).result()
    with swath.config.set(num_threads=3), ProcessPoolExecutor(1, context) as pool:
        assert pool.submit(told_by_pickles, plain, other).result() == (3, 3)
        # The parent's own say what it says now.
        with swath.config.set(num_threads=2):
            newer = pickle.dumps(array)
        assert pool.submit(told_by_pickles, newer, other, plain).result() == (2, 2)
        assert pool.submit(told_by_pickles, pickle.dumps(array)).result() == (3, 3)


def pickled_after_setting(pickled):
    array = pickle.loads(pickled)
    with swath.config.set(num_threads=1, memory_bytes="1MiB"):
        return pickle.dumps(array)


@FORKS
def test_workers_follow_what_is_taken_back(array):
    default = lanes()
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        with swath.config.set(num_threads=3):
            assert pool.submit(told_by_pickles, pickle.dumps(array)).result() == (3, 3)
        assert pool.submit(told_by_pickles, pickle.dumps(array)).result() == (None, default)


@FORKS
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_blocks_end_in_forked_children_too():
    default = lanes()
    reading, writing = os.pipe()
    with swath.config.set(checksums="skip"):
        with swath.config.set(num_threads=3):
            if (child := os.fork()) == 0:
                os.close(reading)
            else:
                os.close(writing)
        if child == 0:
            try:
                found = (swath.config.get("num_threads"), lanes(), swath.config.get("checksums"))
                os.write(writing, repr(found).encode())
            finally:
                os._exit(0)
    with os.fdopen(reading) as said:
        assert said.read() == repr((None, default, "skip"))
    assert os.waitpid(child, 0)[1] == 0


def test_pickles_are_the_same_in_every_run(path):
    program = """
import pickle, swath, sys
swath.config.set(num_threads=2)
sys.stdout.write(pickle.dumps(swath.open_array(sys.argv[1])).hex())
"""
    first, second = (run(program, path) for _ in range(2))
    assert first.stdout, first.stderr
    assert first.stdout == second.stdout


def test_values_of_other_releases_are_left_out(monkeypatch):
    monkeypatch.setattr("swath.configuration.is_worker", lambda: True)
    swath.config._adopt(
        ("other", {"num_threads": 2, "checksums": "perhaps", "memory_bytes": 2**70, "new": 1})
    )
    assert (swath.config.get("num_threads"), swath.config.get("checksums"), lanes()) == (2, "verify", 2)
    assert swath.config.get("memory_bytes") is None


def test_workers_are_counted_while_they_change(monkeypatch):
    class Changing:
        left = 2

        def __iter__(self):
            if self.left:
                self.left -= 1
                raise RuntimeError("Set changed size during iteration")
            worker = types.SimpleNamespace(nthreads=2)
            yield types.SimpleNamespace(state=worker, status=types.SimpleNamespace(name="running"))

    module = types.ModuleType("distributed.worker")
    module.Worker = types.SimpleNamespace(_instances=Changing())
    monkeypatch.setitem(sys.modules, "distributed.worker", module)
    assert worker_threads() == 2


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors by /proc")
def test_bounds_that_go_close_their_files(tmp_path):
    for number in range(50):
        (tmp_path / str(number)).write_bytes(bytes(100))

    def files():
        found = [fd.readlink() for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()]
        return sum(name.is_relative_to(tmp_path) for name in found)

    def read():
        for number in range(50):
            swath.io.get_ranges(tmp_path / str(number), starts=[0], lengths=[10])

    swath.config.set(file_access="pread")
    read()
    kept = files()
    for number in range(2, 8):
        with swath.config.set(num_threads=number, open_files=60 + number):
            read()
            assert files() <= 60 + number
    read()
    assert files() <= max(kept, 50)


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
