"""Under dask: arrays as they are, and datasets of xarray, by threads, processes and distributed workers."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import swath

dask = pytest.importorskip("dask")

import dask.array as da  # noqa: E402
from dask.base import tokenize  # noqa: E402
from test_errors import EVERY, assert_causes, assert_whole, raise_whole  # noqa: E402

CHUNKS = (2, 3, 32)


@pytest.fixture(scope="module")
def client():
    """A cluster of two processes with two threads each."""
    distributed = pytest.importorskip("distributed")
    with (
        dask.config.set({"distributed.worker.daemon": True}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def same(collection, expected, **options):
    np.testing.assert_array_equal(collection.compute(**options), expected)


def test_arrays_are_sources(array, values):
    whole = da.from_array(array)
    assert whole.dtype == values.dtype
    assert whole.shape == values.shape
    same(whole, values)
    pieces = da.from_array(array, chunks=CHUNKS)
    assert pieces.chunksize == CHUNKS
    same(pieces, values)
    same(pieces[1:4, ::2, [60, 3]], values[1:4, ::2][:, :, [60, 3]])
    same(da.from_array(array, chunks=CHUNKS, inline_array=True, asarray=False, lock=True).sum(), values.sum())
    assert type(da.from_array(array, chunks=CHUNKS)._meta) is np.ndarray


@pytest.mark.parametrize("scheduler", ["synchronous", "threads", "processes"])
def test_schedulers(array, values, scheduler):
    pieces = da.from_array(array, chunks=CHUNKS)
    same(pieces + 1, values + 1, scheduler=scheduler, num_workers=2)


def test_distributed_workers(client, array, values):
    same(da.from_array(array, chunks=CHUNKS) + 1, values + 1)
    # A whole array as an argument of a task is as small as its path.
    assert client.submit(lambda given: int(given[1, 2, 3]), array).result() == values[1, 2, 3]
    assert client.submit(swath.open_array, array.store_path).result() == array


def test_datasets(client, stored):
    xr = pytest.importorskip("xarray")
    expected = xr.open_dataset(stored, engine="zarr").load()
    found = xr.open_dataset(stored, engine="swath", chunks={})
    for options in ({}, {"scheduler": "threads"}, {"scheduler": "processes", "num_workers": 2}):
        xr.testing.assert_identical(found.compute(**options), expected)
    # One that is not of dask goes to the workers as what it reads from. (xarray loads what it tokenises.)
    lazy = xr.open_dataset(stored, engine="swath")
    loaded = client.submit(lambda given: given.isel(time=slice(2, 5)).load(), lazy, pure=False).result()
    xr.testing.assert_identical(loaded, expected.isel(time=slice(2, 5)))
    assert not lazy.raw.variable._in_memory


def test_errors_cross_processes(client, path):
    array = swath.open_array(path)
    shards = [file for file in Path(path).rglob("c/**/*") if file.is_file()]
    os.truncate(shards[0], 5)
    pieces = da.from_array(array, chunks=CHUNKS)
    for options in ({}, {"scheduler": "processes", "num_workers": 2}):
        with pytest.raises(swath.CorruptError) as raised:
            pieces.compute(**options)
        assert raised.value.object
        assert not raised.value.retryable


def test_errors_of_every_class_cross_whole(client):
    futures = [client.submit(raise_whole, error, pure=False) for error in EVERY]
    for future, error in zip(futures, EVERY, strict=True):
        found = future.exception(60)
        assert_whole(found, error)
        assert_causes(found)
    for error in EVERY:
        with pytest.raises(error) as raised:
            dask.delayed(raise_whole)(error).compute(scheduler="processes", num_workers=1)
        assert_whole(raised.value, error)


def test_pickles_are_references(array, values):
    text = pickle.dumps(array)
    assert len(text) < 1000
    assert os.fsencode(array.store_path) in text
    again = pickle.loads(text)
    assert again == array
    np.testing.assert_array_equal(again[...], values)


def test_tokens_are_the_same_everywhere(array, path):
    with dask.config.set({"tokenize.ensure-deterministic": True}):
        token = tokenize(array)
        assert token == tokenize(swath.open_array(path)) == tokenize(pickle.loads(pickle.dumps(array)))
        other = swath.create_array(f"{path}.other", shape=array.shape, dtype=array.dtype, chunks=array.chunks)
        assert token != tokenize(other)
    name = da.from_array(array, chunks=CHUNKS).name
    assert name == da.from_array(swath.open_array(path), chunks=CHUNKS).name
    program = f"import swath, dask.base; print(dask.base.tokenize(swath.open_array({str(path)!r})))"
    ended = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert ended.stdout.strip() == token


def test_the_affinity_is_honoured(path):
    """As many threads read as the process may use, however many the machine has."""
    program = f"""
import os, threading
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
import numpy, swath
array = swath.create_array({str(path) + ".wide"!r}, data=numpy.zeros((64, 1 << 16)), chunks=(1, 1 << 16))
array = swath.open_array(array.store_path)
array[...]
names = [open(f"/proc/self/task/{{task}}/comm").read().strip() for task in os.listdir("/proc/self/task")]
print(sum(name.startswith("swath-lane") for name in names))
"""
    ended = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert int(ended.stdout) <= 1


def lanes_of(array):
    array[...]
    return swath.config.get("num_threads"), swath.stats()["lanes"]


def test_workers_have_as_many_lanes_as_threads(client, array):
    """Two threads each, whatever the machine has; and as many as was set, where the task was made."""
    assert client.submit(lanes_of, array, pure=False).result() == (None, 2)
    with swath.config.set(num_threads=3):
        assert client.submit(lanes_of, array, pure=False).result() == (3, 3)
    assert client.submit(lanes_of, array, pure=False).result() == (None, 2)


def test_threads_of_a_worker_in_this_process(array):
    distributed = pytest.importorskip("distributed")
    before = swath.stats()["lanes"]
    options = {"n_workers": 1, "threads_per_worker": 5, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        assert client.submit(lambda: lanes_of(swath.open_array(array.store_path))).result() == (None, 5)
    swath.open_array(array.store_path)
    assert swath.stats()["lanes"] == before
