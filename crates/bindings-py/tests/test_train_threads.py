"""Threads that read ahead: how they end, in this process, in forked ones and at the end of Python."""

import gc
import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
import swath
from swath import train
from swath.train.ahead import ahead


def is_reading():
    return any(thread.name.startswith("swath-train") for thread in threading.enumerate())


def dataset():
    source = train.source(np.arange(40.0), dims=("x",), crops={"x": train.Patch(2)})
    return train.Dataset({"a": source})


class Big:
    """Something that weak references are made of."""


def test_what_was_given_is_not_held():
    results = ahead(lambda number: Big(), range(5), 2)
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

    def work(number):
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


def test_errors_of_threads_come_in_their_place():
    def work(number):
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
