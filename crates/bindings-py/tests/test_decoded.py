"""Decoded chunks that are kept between reads."""

import multiprocessing
import os
import pickle
import time

import numpy as np
import pytest
import swath
import zarr

MEGABYTE = 1 << 20


@pytest.fixture
def settled(path):
    """The array's folder, once its files are old enough to be kept."""
    time.sleep(2.1)
    return path


def bytes_read(array, expected):
    """Bytes that one read of a whole array takes from files."""
    before = swath.stats()["bytes_wanted"]
    np.testing.assert_array_equal(array[...], expected)
    return swath.stats()["bytes_wanted"] - before


def test_chunks_are_decoded_once(settled, values):
    array = swath.open(settled, decoded_cache_bytes=MEGABYTE)
    assert bytes_read(array, values) > 0
    assert bytes_read(array, values) == 0
    np.testing.assert_array_equal(array[::-2, 1, 3:60:7], values[::-2, 1, 3:60:7])
    plain = swath.open(settled)
    assert bytes_read(plain, values) > 0
    assert bytes_read(plain, values) > 0


def test_changed_files_are_read_anew(settled, values):
    array = swath.open_array(settled, decoded_cache_bytes=MEGABYTE)
    assert bytes_read(array, values) > 0
    zarr.open_array(settled, mode="r+")[...] = values + 1
    assert bytes_read(array, values + 1) > 0


def test_arrays_of_a_group_share_the_memory(tmp_path, values):
    group = zarr.create_group(tmp_path / "group.zarr")
    for name in ("a", "b"):
        group.create_array(name, data=values, chunks=(1, 3, 16))
    time.sleep(2.1)
    opened = swath.open_group(tmp_path / "group.zarr", decoded_cache_bytes=MEGABYTE)
    for name in ("a", "b"):
        assert bytes_read(opened[name], values) > 0
        # Another array of the same name, and the same cache.
        assert bytes_read(opened[name], values) == 0
    assert [bytes_read(array, values) for _, array in opened.arrays()] == [0, 0]


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_other_processes_have_a_cache_of_their_own(settled, values, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    array = swath.open_array(settled, decoded_cache_bytes=MEGABYTE)
    assert bytes_read(array, values) > 0
    with multiprocessing.get_context(method).Pool(1) as pool:
        first, again = pool.apply(read_twice, (array, values))
    assert first > 0
    assert again == 0
    assert bytes_read(array, values) == 0


def read_twice(array, values):
    return bytes_read(array, values), bytes_read(array, values)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_goes_on_with_the_array(settled, values):
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    array = swath.open_array(settled, decoded_cache_bytes=MEGABYTE)
    assert bytes_read(array, values) > 0
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=lambda: queue.put(read_twice(array, values)))
    child.start()
    first, again = queue.get()
    child.join()
    assert first > 0
    assert again == 0


def test_pickles_keep_the_size(settled, values):
    array = pickle.loads(pickle.dumps(swath.open_array(settled, decoded_cache_bytes=MEGABYTE)))
    assert bytes_read(array, values) > 0
    assert bytes_read(array, values) == 0


def test_sizes_are_counts(path):
    with pytest.raises(OverflowError):
        swath.open(path, decoded_cache_bytes=-1)
    with pytest.raises(TypeError):
        swath.open(path, "r", 5)
