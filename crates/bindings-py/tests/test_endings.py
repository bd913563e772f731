"""Reads that are under way when the interpreter ends, or when the user has had enough."""

import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import zarr
from holding_server import held

# What none of the programs takes, on a machine that is busy.
LIMIT_SECONDS = 60

BEGINNING = """
    import asyncio, signal, sys, threading, time
    import numpy as np
    import swath

    # A shell that starts the tests in the background has it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    array = swath.open_array(sys.argv[1])

    def told(word):
        print(word, time.monotonic(), flush=True)

    def until_interrupted(read):
        try:
            read()
        except KeyboardInterrupt:
            told("interrupted")
            raise SystemExit(3)

    def on_daemon(read):
        threading.Thread(target=read, daemon=True).start()

    async def awaited():
        await asyncio.gather(array.async_array.getitem(0), array.async_array.read(1, dtype="f4"))
"""


@pytest.fixture
def served(tmp_path):
    """A folder with an array, its events, and its URL, whose chunks are held back."""
    values = np.arange(4 * 32 * 32, dtype="i4").reshape(4, 32, 32)
    zarr.create_array(tmp_path / "a.zarr", data=values, chunks=(1, 16, 16))
    with held(tmp_path) as (handler, url):
        yield handler, f"{url}/a.zarr"


def begun(program, *arguments):
    text = textwrap.dedent(BEGINNING) + textwrap.dedent(program)
    command = [sys.executable, "-X", "faulthandler", "-c", text, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def go_on(running):
    running.stdin.write("\n")
    running.stdin.flush()


def ended(running, status=0):
    try:
        printed, failed = running.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        # faulthandler, which is on, prints the stacks.
        running.send_signal(signal.SIGABRT)
        pytest.fail(f"hangs:\n{running.communicate()[1]}")
    assert (running.returncode, failed) == (status, "")
    return printed


READS = {
    "index": "array[...]",
    "read_many": "array.read_many([0, 1, 2])",
    "ranges": "swath.io.get_ranges(sys.argv[1] + '/c/0/0/0', starts=[0], lengths=[9])",
    "awaited": "asyncio.run(awaited())",
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_ctrl_c_ends_a_wait_for_the_network(served, read):
    handler, url = served
    running = begun(f"until_interrupted(lambda: {read})", url)
    assert handler.asked.wait(LIMIT_SECONDS)
    pressed = time.monotonic()
    running.send_signal(signal.SIGINT)
    word, when = ended(running, status=3).split()
    assert word == "interrupted"
    # The bar is 0.2 s, on a machine that is not busy with other tests.
    assert float(when) - pressed < 2


def test_ctrl_c_is_told_before_an_error(served):
    """Opening waits for its server; that nothing is there must not hide what was pressed meanwhile."""
    handler, url = served
    running = begun("until_interrupted(lambda: swath.open_array(sys.argv[1] + '/c/gone'))", url)
    assert handler.asked.wait(LIMIT_SECONDS)
    running.send_signal(signal.SIGINT)
    handler.released.set()
    assert ended(running, status=3).startswith("interrupted")


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_python_ends_with_reads_of_daemon_threads_under_way(served, read):
    handler, url = served
    program = f"""
        on_daemon(lambda: {read})
        sys.stdin.readline()
        told("ending")
    """
    running = begun(program, url)
    assert handler.asked.wait(LIMIT_SECONDS)
    go_on(running)
    assert ended(running).startswith("ending")
    assert not handler.released.is_set()


def test_python_waits_for_reads_of_other_threads(served):
    """As for all that they do: that of a thread which is no daemon ends first."""
    handler, url = served
    running = begun("threading.Thread(target=lambda: told(int(array[1, 2, 3]))).start(); told('main')", url)
    assert handler.asked.wait(LIMIT_SECONDS)
    handler.released.set()
    lines = ended(running).splitlines()
    assert [line.split()[0] for line in lines] == ["main", str(1024 + 2 * 32 + 3)]


def test_a_loop_that_was_left_with_awaits_under_way(served):
    handler, url = served
    program = """
        loop = asyncio.new_event_loop()
        tasks = [loop.create_task(array.async_array.getitem(number)) for number in range(4)]
        loop.run_until_complete(asyncio.sleep(0.1))
        sys.stdin.readline()
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.wait(tasks))
        loop.close()
        told("ending")
    """
    running = begun(program, url)
    assert handler.asked.wait(LIMIT_SECONDS)
    go_on(running)
    assert ended(running).startswith("ending")


ALL_AT_ONCE = """
    def again(read):
        while True:
            read()

    for read in (
        lambda: array[...],
        lambda: array.read_many([0, 1, 2]),
        lambda: asyncio.run(awaited()),
        lambda: swath.open(sys.argv[1])[0],
    ):
        on_daemon(lambda read=read: again(read))
    array[...]
    time.sleep(float(sys.argv[2]))
    told("ending")
"""


@pytest.mark.parametrize("milliseconds", range(0, 40, 5))
def test_python_ends_while_threads_read_on_and_on(path, milliseconds):
    assert ended(begun(ALL_AT_ONCE, path, milliseconds / 1000)).startswith("ending")


def test_sub_interpreters_are_refused(path):
    """As NumPy refuses them; the interpreter that began goes on."""
    program = """
        try:
            import _interpreters
        except ImportError:
            import _xxsubinterpreters as _interpreters
        try:
            failed = _interpreters.run_string(_interpreters.create(), "import swath._swath")
            found = failed.formatted if failed else "imported"
        except _interpreters.RunFailedError as error:
            found = str(error)
        assert "does not support loading in subinterpreters" in found, found
        print(array[0, 0, 0])
    """
    assert ended(begun(program, path)) == "0\n"
