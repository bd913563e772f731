"""Threads, processes, signals and memory."""

import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import swath
import zarr


def crop_sum(arguments):
    array, index = arguments
    return int(array[index].sum(dtype="int64"))


def crop_sums(array, indexes, queue):
    queue.put([crop_sum((array, index)) for index in indexes])


INDEXES = [np.s_[t, :, x : x + 20] for t in range(5) for x in (0, 7, 50)]


@pytest.fixture
def sums(values):
    return [int(values[index].sum(dtype="int64")) for index in INDEXES]


def test_pickles_are_paths(array, path, values):
    stored = pickle.dumps(array)
    assert len(stored) < 400
    again = pickle.loads(stored)
    assert again == array
    np.testing.assert_array_equal(again[...], values)


def test_pickles_open_late(array, path):
    stored = pickle.dumps(array)
    moved = path.with_name("moved.zarr")
    path.rename(moved)
    again = pickle.loads(stored)
    assert again == array
    assert "cannot be opened" in repr(again)
    with pytest.raises(swath.NotFoundError):
        _ = again.shape
    moved.rename(path)
    assert again.shape == array.shape


# Python warns of forks with threads about; that they work is what is tested.
FORKS = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


@FORKS
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_process_pools(array, sums, method):
    # The parent has read already, so that its engine and lanes exist when it forks.
    array[...]
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        found = list(pool.map(crop_sum, [(array, index) for index in INDEXES], timeout=120))
    assert found == sums


@FORKS
def test_children_of_a_reading_parent(array, sums):
    """As a PyTorch DataLoader does it: forked while other threads of the parent read."""
    stop = threading.Event()

    def read_on():
        while not stop.is_set():
            array.read_many(INDEXES)

    readers = [threading.Thread(target=read_on) for _ in range(2)]
    for reader in readers:
        reader.start()
    context = multiprocessing.get_context("fork")
    try:
        for _ in range(4):
            queue = context.SimpleQueue()
            children = [context.Process(target=crop_sums, args=(array, INDEXES, queue)) for _ in range(3)]
            for child in children:
                child.start()
            for child in children:
                child.join(60)
                assert child.exitcode == 0
            for _ in children:
                assert queue.get() == sums
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert crop_sum((array, INDEXES[0])) == sums[0]


def test_threads(array, values):
    def read(seed):
        rng = np.random.default_rng(seed)
        for _ in range(50):
            t, x = rng.integers(0, 5), rng.integers(0, 54)
            np.testing.assert_array_equal(array[t, :, x : x + 16], values[t, :, x : x + 16])
            found = array.read_many([np.s_[t, 2], np.s_[0, 1]])
            np.testing.assert_array_equal(found, values[[t, 0], [2, 1]])
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read, range(16)))


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """4 GB of ones, slow to read as a whole and quick to make: all chunks are links to one file."""
    path = tmp_path_factory.mktemp("large") / "large.zarr"
    codecs = {"compressors": zarr.codecs.GzipCodec(level=9)}
    zarr.create_array(path, shape=(64, 8192, 8192), chunks=(1, 512, 512), dtype="u1", **codecs)
    zarr.open_array(path)[0, :512, :512] = 1
    chunk = path / "c" / "0" / "0" / "0"
    for t in range(64):
        for y in range(16):
            row = path / "c" / str(t) / str(y)
            row.mkdir(parents=True, exist_ok=True)
            for x in range(16):
                if row / str(x) != chunk:
                    (row / str(x)).hardlink_to(chunk)
    return path


def test_ctrl_c_ends_a_read(large):
    program = """
        import signal, sys, threading, time
        import numpy as np
        import swath

        array = swath.open_array(sys.argv[1])
        index = np.s_[:, ::7, ::7]
        out = np.empty((64, 1171, 1171), "u1")
        # A shell that starts the tests in the background has it ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT)).start()
        started = time.monotonic()
        try:
            while True:
                array.read(index, out=out)
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - started)
        assert array[1, 0, 0] == 1
    """
    command = [sys.executable, "-c", textwrap.dedent(program), large]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    word, seconds = ended.stdout.split()
    assert word == "interrupted"
    assert float(seconds) < 5


def test_a_signal_handler_runs_during_a_read_and_may_raise(large):
    array = swath.open_array(large)

    class AlarmError(Exception):
        pass

    def ring(*_):
        raise AlarmError

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(AlarmError):
            while True:
                array.read_many([np.s_[:, ::7, ::7]])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert array[0, 0, 0] == 1


def test_the_gil_is_released(large):
    array = swath.open_array(large)
    done = threading.Event()

    def read():
        array[0:32, ::16, ::16]
        done.set()

    reader = threading.Thread(target=read)
    reader.start()
    turns = 0
    while not done.wait(0.001):
        turns += 1
    reader.join()
    # A thread that held the GIL for the whole read would have let this one turn once or twice.
    assert 5 < turns


def test_one_out_is_given_to_one_read_at_a_time(large):
    array = swath.open_array(large)
    out = np.zeros((16, 512, 512), "u1")
    index = np.s_[:16, ::16, ::16]
    outcomes = []
    start = threading.Barrier(2)

    def read():
        start.wait()
        try:
            array.read(index, out=out)
            outcomes.append("read")
        except swath.InvalidError as error:
            assert "in use" in str(error)
            outcomes.append("refused")

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert sorted(outcomes) in (["read", "refused"], ["read", "read"])
    assert "refused" in outcomes
    # Afterwards it is free again, also in parts.
    array.read(np.s_[:8, ::16, ::16], out=out[:8])


STATM = Path("/proc/self/statm")


def resident_bytes():
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not STATM.exists(), reason="resident memory is read from Linux's /proc")
def test_reads_do_not_leak(array, path):
    def work(times):
        for _ in range(times):
            array[1:3]
            array.read_many([0, 1, 2])
            array.read_many(INDEXES, stack=False)
            array.attrs.asdict(), array.metadata, array.fill_value
            with pytest.raises(swath.OutOfBoundsError):
                array[99]
            pickle.loads(pickle.dumps(array))[0, 0, 0]
            swath.open(path)
        gc.collect()

    work(300)
    before = resident_bytes()
    work(1500)
    # A result of each read, kept, would be 20 MB and more.
    assert resident_bytes() - before < 8 << 20


def test_references_are_dropped(array):
    def count(value):
        return sys.getrefcount(value)

    out = np.zeros((6, 70), "int16")
    dtype, index = array.dtype, (0, slice(None))
    before = [count(value) for value in (out, dtype, index, array)]
    for _ in range(100):
        array.read(index, out=out)
        array[index]
        with pytest.raises(swath.SwathError):
            array.read(99, out=out)
    assert [count(value) for value in (out, dtype, index, array)] == before


def test_stats(array):
    before = swath.stats()
    array[...]
    after = swath.stats()
    assert before["logical_reads"] < after["logical_reads"]
    assert before["bytes_fetched"] < after["bytes_fetched"]
    assert after["drivers"]
    assert sum(after["latency"]) == after["physical_reads"]
    assert 0 <= after["read_amplification"]
