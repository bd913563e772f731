"""The epoch of a dataset: seen by workers that stay, however they were started, and by nobody else."""

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import swath
import zarr
from swath import train

METHODS = multiprocessing.get_all_start_methods()
EPOCHS = (0, 1, 7, 0)


def made(path):
    crops = {"t": train.Window(1, history=3, dropout=train.Dropout(0.5, (1, 2)))}
    source = train.source(swath.open_array(path), crops=crops)
    return train.Dataset({"a": source})


def drawn(dataset):
    """Return which steps of all samples are withheld."""
    return np.stack([np.isnan(sample["a"]) for sample in dataset.__getitems__(range(len(dataset)))])


def work(dataset, pipe):
    """Answer with what the dataset draws, as often as is asked."""
    while pipe.recv():
        pipe.send((dataset.epoch, drawn(dataset)))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("epochs") / "a.zarr"
    zarr.create_array(path, data=np.ones(40, "f4"), chunks=(8,), dimension_names=("t",))
    return path


PROGRAM = """
import multiprocessing, sys
import numpy as np
from test_train_epochs import EPOCHS, drawn, made, work

if __name__ == "__main__":
    dataset, alone = made(sys.argv[1]), made(sys.argv[1])
    context = multiprocessing.get_context(sys.argv[2])
    dataset.set_epoch(3)
    workers = []
    for _ in range(2):
        pipe, theirs = context.Pipe()
        process = context.Process(target=work, args=(dataset, theirs), daemon=True)
        process.start()
        workers.append((pipe, process))
    seen = set()
    for epoch in EPOCHS:
        dataset.set_epoch(epoch)
        alone.set_epoch(epoch)
        wanted = drawn(alone)
        seen.add(wanted.tobytes())
        for pipe, _ in workers:
            pipe.send(True)
            told, found = pipe.recv()
            assert told == epoch, (told, epoch)
            np.testing.assert_array_equal(found, wanted)
    assert len(seen) == len(set(EPOCHS))
    for pipe, process in workers:
        pipe.send(False)
        process.join(60)
        assert process.exitcode == 0
    print("same")
"""


@pytest.mark.parametrize("method", METHODS)
def test_workers_that_stay_are_told_of_epochs(path, tmp_path, method, request):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    ran = subprocess.run(
        [sys.executable, program, path, method],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(request.path.parent), *sys.path])},
    )
    assert ran.returncode == 0 and "same" in ran.stdout, ran.stderr


def test_copies_have_epochs_of_their_own(path):
    dataset = made(path)
    dataset.set_epoch(5)
    splits = train.Splits({"train": (0, 30), "test": (30, 40)}, along="t")
    copies = [
        copy.copy(dataset),
        copy.deepcopy(dataset),
        pickle.loads(pickle.dumps(dataset)),
        dataset.shortened(1),
        dataset.split(splits, "train"),
    ]
    assert [one.epoch for one in copies] == [5] * 5
    dataset.set_epoch(6)
    assert [one.epoch for one in copies] == [5] * 5 and dataset.epoch == 6
    copies[0].set_epoch(8)
    assert dataset.epoch == 6
    np.testing.assert_array_equal(drawn(copies[1]), drawn(copies[2]))


@pytest.mark.parametrize("epoch", [-1, 2**63, 2**64])
def test_epochs_that_would_be_others_are_refused(path, epoch):
    dataset = made(path)
    with pytest.raises(swath.InvalidError, match=r"epoch from 0 to 2\*\*63 - 1"):
        dataset.set_epoch(epoch)
    assert dataset.epoch == 0
