"""Threads that read ahead: how they end, in this process, in forked ones and at the end of Python."""

import gc
import os
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
import swath
import zarr
from swath import train
from swath._swath import Landing, Turns, _read_arrays
from swath.train.ahead import READ_HELD_BACK_S, STEP_SHARE, TURN_HELD_BACK_S, Crew, ahead


def is_reading():
    return any(thread.name.startswith("swath-train") for thread in threading.enumerate())


def dataset():
    source = train.source(np.arange(40.0), dims=("x",), crops={"x": train.Patch(2)})
    return train.Dataset({"a": source})


class Big:
    """Something that weak references are made of."""


def test_what_was_given_is_not_held():
    results = ahead(lambda number, flight: Big(), range(5), 2)
    given = next(results)
    gone = weakref.ref(given)
    del given
    assert gone() is None
    results.close()
    assert not is_reading()


def test_batches_are_not_held():
    batches = iter(train.Loader(dataset(), 4, prefetch=2))
    gone = weakref.ref(next(batches)["a"])
    assert gone() is None
    batches.close()


def test_work_ends_where_a_reading_thread_collects_it():
    """A loop that only its own threads know of is closed by one of them, which cannot wait for itself."""
    holders, errors = [], []

    def work(number, flight):
        if number == 2:
            started.wait(30)
            holders.clear()
            gc.collect()
        return number

    started = threading.Event()
    hook, sys.unraisablehook = sys.unraisablehook, errors.append
    try:
        results = ahead(work, range(100), 3)
        next(results)
        closed = weakref.ref(results)
        holders.append(results)
        del results
        threads = [thread for thread in threading.enumerate() if thread.name.startswith("swath-train")]
        started.set()
        for thread in threads:
            thread.join(30)
    finally:
        sys.unraisablehook = hook
    assert closed() is None and not errors and not is_reading()


@pytest.fixture
def stored(tmp_path):
    """Two arrays of swath's, and what they hold."""
    values = np.arange(60.0).reshape(6, 10)
    for name in "ab":
        zarr.create_array(tmp_path / name, data=values, chunks=(2, 5))
    return [swath.open_array(tmp_path / name) for name in "ab"], values


def test_a_batch_comes_before_its_thread_has_the_gil(stored):
    """What was read can be had while the thread that read it is kept from saying so."""
    (array, _), values = stored
    through, timed_out = threading.Event(), []

    def work(number, flight):
        out = np.empty((1, 10))
        _read_arrays([(array, [(number,)], out, {}, "")], 0, flight.announce((number, out)))
        timed_out.append(not through.wait(60))
        return number, out

    results = ahead(work, range(4), 2)
    for wanted in range(2):
        number, out = next(results)
        assert number == wanted
        np.testing.assert_array_equal(out[0], values[number])
        if wanted == 0:
            assert not timed_out
            through.set()
    assert [number for number, _ in results] == [2, 3]
    assert timed_out == [False] * 4


def test_an_error_is_no_landing(stored):
    (array, _), _ = stored

    def work(number, flight):
        out = np.empty((1, 10))
        landing = flight.announce("wrong")
        _read_arrays([(array, [(9 * number,)], out, {}, f"number {number}")], 0, landing)
        return number

    results = ahead(work, range(3), 2)
    assert next(results) in ("wrong", 0)
    with pytest.raises(swath.OutOfBoundsError) as raised:
        next(results)
    assert raised.value.__notes__ == ["number 1"]
    assert not is_reading()


def test_arrays_are_read_together(stored):
    (first, second), values = stored
    for landing in (None, Landing()):
        one, two = np.empty((2, 3, 10), "f4"), np.empty((1, 6))
        reads = [
            (first, [slice(0, 3), slice(2, 5)], one, {"dtype": "f4", "mean": 1.0}, "first"),
            (second, [(slice(None), [7])], two[..., None], {"by": "orthogonal"}, "second"),
        ]
        thread = threading.Thread(target=_read_arrays, args=(reads, -5, landing))
        thread.start()
        if landing is not None:
            assert landing.wait() and landing.wait()
        thread.join()
        np.testing.assert_array_equal(one, np.stack([values[0:3], values[2:5]]).astype("f4") - 1)
        np.testing.assert_array_equal(two[0], values[:, 7])
    _read_arrays([], 0)
    for indexes, out, message in (
        ([0, slice(2)], np.empty((2, 10)), "equal shapes"),
        ([0, 1], np.empty((2, 9)), "shape"),
        ([0, 1], np.empty((2, 10), "f4"), "dtype"),
    ):
        with pytest.raises(swath.InvalidError, match=message) as raised:
            _read_arrays([(first, [0], np.empty((1, 10)), {}, "a"), (second, indexes, out, {}, "b")], 0)
        assert raised.value.__notes__ == ["b"]


def test_threads_that_cannot_be_started_are_told_of(monkeypatch):
    """Those that were started before are ended, and what failed is what is raised."""
    started, start = [], threading.Thread.start

    def start_one(thread):
        if thread.name.startswith("swath-train") and started:
            raise RuntimeError("no more threads")
        started.append(thread.name)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_one)
    with pytest.raises(RuntimeError, match="no more threads"):
        next(ahead(lambda number, flight: number, range(5), 3))
    assert len(started) == 1 and not is_reading()


def test_a_landing_ends_once():
    landing = Landing()
    landing.end()
    assert not landing.wait()


def test_turns_are_taken_once_each_and_not_before_they_are_due():
    turns, taken, begun = Turns(), [], time.monotonic()

    def run():
        while turns.take():
            taken.append(time.monotonic() - begun)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert turns.give(4, 0.2)
    until(lambda: len(taken) == 4)
    assert min(taken) >= 0.2
    # Those that are not held back take along what waits.
    assert turns.give(1, 1.0) and turns.give(1, 0.0)
    until(lambda: len(taken) == 6)
    # Whoever ends them lets go of what was given.
    assert turns.give(2, 1.0)
    turns.end()
    for thread in threads:
        thread.join(60)
    assert len(taken) == 8 and not turns.give(1, 0.0)


def until(is_so):
    """Wait for something that threads are to do."""
    for _ in range(6000):
        if is_so():
            return
        time.sleep(0.01)
    pytest.fail("it did not happen within a minute")


def test_what_was_there_is_taken_before_the_next_is_begun():
    """A loop that does not wait lets go of its last batch before another thread wants the GIL."""
    begun = []

    def work(number, flight):
        begun.append(number)
        return number

    results = ahead(work, range(100), 2)
    next(results)
    for number in range(1, 40):
        until(lambda wanted=number: len(begun) >= wanted + 2)
        # A step of such a length that a thread may be held back for the longest.
        time.sleep(2 * TURN_HELD_BACK_S / STEP_SHARE)
        asked = time.monotonic()
        assert next(results) == number
        seen = len(begun)
        # Where the machine was busy elsewhere for so long, nothing is shown.
        assert seen == number + 2 or time.monotonic() - asked > TURN_HELD_BACK_S / 2
    results.close()


def test_batches_that_are_slow_to_come_are_not_held_back_further():
    """A loop that waits for each batch has the next one begun at once."""
    held = []

    def watched(crew, items, bearable_s=0.0):
        held.append(bearable_s)
        return add(crew, items, bearable_s)

    def work(number, flight):
        time.sleep(0.02)
        return number

    add = Crew.add
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Crew, "add", watched)
        assert list(ahead(work, range(8), 1)) == list(range(8))
        assert held == [0.0] * 9
        held.clear()
        for _ in ahead(work, range(8), 1):
            time.sleep(0.1)
    # The first batch is waited for; later ones are there, unless the machine is busy elsewhere for a step.
    late = held[2:]
    assert held[:2] == [0.0, 0.0] and max(late) >= 0.1 * STEP_SHARE >= READ_HELD_BACK_S


def test_errors_of_threads_come_in_their_place():
    def work(number, flight):
        if number == 3:
            raise swath.CorruptError("broken")
        return number

    found = []
    with pytest.raises(swath.CorruptError, match="broken"):
        found.extend(ahead(work, range(10), 4))
    # What came before the error was given, one by one.
    for number in ahead(work, range(3), 4):
        found.append(number)
    assert found[-3:] == [0, 1, 2] and not is_reading()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_is_told_that_the_threads_are_not_its_own():
    batches = iter(train.Loader(dataset(), 4, prefetch=2))
    next(batches)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            next(batches)
        except swath.InvalidError as error:
            # Its own loop is another matter.
            told = "found a fork" in str(error)
            status = 0 if told and len(list(train.Loader(dataset(), 4, prefetch=2))) == 10 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(list(batches)) == 9


PROGRAM = """
import sys
import numpy as np
from swath import train

source = train.source(np.arange(40.0), dims=("x",), crops={"x": train.Patch(2)})
batches = iter(train.Loader(train.Dataset({"a": source}), 4, prefetch=3))
print(len(next(batches)["a"]))
{end}
"""


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "raise ValueError('mine')", "batches.self = batches"])
def test_python_ends_while_batches_are_read_ahead(end):
    """Of a loop that nobody ended, whoever holds it."""
    end = end.replace("batches.self = batches", "holder = [batches]; holder.append(holder); del batches")
    program = PROGRAM.replace("{end}", end)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert ran.stdout == "4\n" and ran.returncode == ("ValueError" in end)
    assert ("mine" in ran.stderr) == ("mine" in end) and "Exception ignored" not in ran.stderr


def test_python_ends_while_another_thread_has_a_loop():
    """What its loop still asks for is not begun: it is told so, and ends, and Python with it."""
    program = """
import threading, time
from swath.train.ahead import ahead

def work(number, flight):
    time.sleep(0.01)
    return number

def loop():
    for number in ahead(work, range(10**9), 2):
        started.set()

started = threading.Event()
threading.Thread(target=loop).start()
started.wait()
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0 and "found it ending" in ran.stderr


def test_interrupts_end_a_loop():
    """Ctrl-C between batches, and while one is waited for, ends the threads too."""
    for prefetch in (0, 2):
        loader = train.Loader(dataset(), 4, prefetch=prefetch)
        with pytest.raises(KeyboardInterrupt):
            for _ in loader:
                raise KeyboardInterrupt
        assert not is_reading()
        assert loader.state_dict()["received"] == 4


def test_a_dataset_of_other_samples_is_refused():
    loader = train.Loader(dataset(), 4)
    source = train.source(np.arange(20.0), dims=("x",), crops={"x": train.Patch(2)})
    loader.dataset = train.Dataset({"a": source})
    with pytest.raises(swath.InvalidError, match="39 samples, found 19"):
        next(iter(loader))
