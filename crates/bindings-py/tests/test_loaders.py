"""PyTorch's DataLoader with workers of every kind: no run hangs, and values and errors arrive.

`make test-train` runs it, with PyTorch installed. SWATH_LOADER_RUNS says how often; without it nothing is
run.
"""

import os
import signal
import subprocess
import sys
import time
from itertools import cycle, islice, product
from pathlib import Path

import pytest
import zarr

RUNS = int(os.environ.get("SWATH_LOADER_RUNS", "0"))
METHODS = ["fork", "forkserver", "spawn"]
# Each way of starting workers with each count of them, again and again; the run's number is its seed.
WAYS = list(islice(cycle(product(METHODS, [2, 4, 8])), RUNS))
# Far beyond what a run takes: on two cores that thirty other programs keep busy, two minutes were seen.
LIMIT_SECONDS = 480
PROGRAM = Path(__file__).with_name("loader_program.py")

pytestmark = pytest.mark.skipif(RUNS == 0, reason="`make test-train` runs it: SWATH_LOADER_RUNS is not set")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A sharded array of what the program expects."""
    from loader_program import SHAPE, values

    path = tmp_path_factory.mktemp("loaders") / "array.zarr"
    zarr.create_array(path, data=values(), chunks=(1, 1, 32, 32), shards=(4, *SHAPE[1:]))
    return path


def stacks_and_end(running):
    """Have a group of processes print the stacks of their threads, then end it."""
    os.killpg(running.pid, signal.SIGUSR1)
    time.sleep(2)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()


def ran(arguments, tmp_path):
    """Run a program in a group of its own; gives what it printed."""
    printed = tmp_path / "printed.txt"
    with printed.open("w") as output:
        command = [sys.executable, *map(str, arguments)]
        running = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
        try:
            status = running.wait(LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            stacks_and_end(running)
            pytest.fail(f"hangs: {' '.join(command)}\n{printed.read_text()}")
    assert status == 0, f"{' '.join(command)}\n{printed.read_text()}"
    return printed.read_text()


@pytest.mark.parametrize(
    ("method", "workers", "seed"), [(*way, seed) for seed, way in enumerate(WAYS)], ids=str
)
def test_loading(folder, tmp_path, method, workers, seed):
    from loader_program import PASSES, STARTS

    printed = ran([PROGRAM, folder, method, workers, seed], tmp_path)
    assert f"loaded {PASSES * len(STARTS)}" in printed


ERRORS = """
import sys
import swath
from loader_program import Batches, Crops, loader

if __name__ == "__main__":
    array = swath.open_array(sys.argv[1])
    array[4]
    for dataset in (Crops(array), Batches(array)):
        try:
            list(loader(dataset, sys.argv[2], 2))
        except swath.CorruptError as error:
            assert "c/0/0/0/0" in str(error), error
            assert "Caught CorruptError in DataLoader worker process" in str(error), error
        else:
            raise AssertionError("no error")
    print("raised")
"""


@pytest.mark.parametrize("method", METHODS)
def test_errors_of_workers(folder, tmp_path, monkeypatch, method):
    """PyTorch makes an error of the same class, with the message and the worker's traceback for its text."""
    copy = tmp_path / "damaged.zarr"
    copy.mkdir()
    for file in folder.rglob("*"):
        if file.is_file():
            to = copy / file.relative_to(folder)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(file.read_bytes())
    os.truncate(copy / "c" / "0" / "0" / "0" / "0", 10)
    program = tmp_path / "errors.py"
    program.write_text(ERRORS)
    monkeypatch.setenv("PYTHONPATH", str(PROGRAM.parent))
    assert "raised" in ran([program, copy, method], tmp_path)
