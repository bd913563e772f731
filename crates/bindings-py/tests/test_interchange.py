"""Handing arrays to other libraries."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import swath
import zarr


def test_numpy_takes_arrays(array, values):
    for found in (np.asarray(array), np.array(array), array.__array__()):
        np.testing.assert_array_equal(found, values)
    assert np.asarray(array, dtype="f4").dtype == "f4"
    np.testing.assert_array_equal(np.asarray(array, dtype="f4"), values)
    assert np.asarray(array, copy=True).dtype == values.dtype
    with pytest.raises(ValueError, match="copy"):
        np.asarray(array, copy=False)
    np.testing.assert_array_equal(np.add(array, 1), values + 1)


INDEXES = [np.s_[...], np.s_[1], np.s_[::2, ::-1, 3:5], np.s_[[4, 0], :, 1], np.s_[1, 2]]


@pytest.mark.parametrize("index", INDEXES)
def test_results_own_writable_memory(array, values, index):
    for found in (array[index], array.read(index)):
        assert found.flags.owndata
        assert found.flags.writeable
        assert found.flags.c_contiguous
        found[...] = 0
    np.testing.assert_array_equal(array[index], values[index])
    whole = array.__array__()
    assert whole.flags.owndata
    assert memoryview(whole).nbytes == array.nbytes
    assert not memoryview(whole).readonly


def test_dlpack(array, values):
    assert array.__dlpack_device__() == (1, 0)
    found = np.from_dlpack(array)
    np.testing.assert_array_equal(found, values)
    for options in ({"copy": True}, {"max_version": (1, 0)}, {"dl_device": (1, 0), "stream": None}):
        assert type(array.__dlpack__(**options)).__name__ == "PyCapsule"
    with pytest.raises(BufferError, match=r"array\.zarr"):
        array.__dlpack__(copy=False)


# Hands arrays over as NumPy 2.0 does, which knows `stream` alone.
OLDER = """
import sys
import numpy

class Older(numpy.ndarray):
    def __dlpack__(self, *, stream=None):
        return super().__dlpack__(stream=stream)

empty = numpy.empty
numpy.empty = lambda *arguments: empty(*arguments).view(Older)

import swath

array = swath.open_array(sys.argv[1])
for options in ({}, {"copy": True}, {"stream": None}):
    print(type(array.__dlpack__(**options)).__name__)
"""


def test_older_numpy_is_told_only_what_was_given(path):
    ended = subprocess.run([sys.executable, "-c", OLDER, path], capture_output=True, text=True)
    assert ended.stdout == "PyCapsule\n" * 3, ended.stderr


def test_what_dlpack_refuses_is_not_read(tmp_path, array):
    zarr.create_array(tmp_path / "dates", data=np.array(["2020-01-01"], "M8[s]"))
    dates = swath.open_array(tmp_path / "dates")
    before = swath.stats()["logical_reads"]
    with pytest.raises(BufferError):
        np.from_dlpack(dates)
    for options in ({"dl_device": (2, 0)}, {"stream": 1}):
        # What NumPy raises of each differs from release to release.
        with pytest.raises((BufferError, RuntimeError, ValueError)):
            array.__dlpack__(**options)
    assert swath.stats()["logical_reads"] == before


def test_tokens_name_what_is_read(array, path, tmp_path):
    tokenize = pytest.importorskip("dask.base").tokenize
    token = tokenize(array)
    # Neither caches nor checks nor what is configured make it another array.
    for same in (
        swath.open_array(path, decoded_cache_bytes=1000),
        swath.open_array(path, checksums="skip"),
        swath.open_array(path, "r+"),
        pickle.loads(pickle.dumps(array)),
    ):
        assert tokenize(same) == token
    with swath.config.set(num_threads=2):
        assert tokenize(array) == token
    group = swath.create_group(tmp_path / "group")
    assert len({token, tokenize(group), tokenize(swath.open_group(group.store_path)), tokenize(path)}) == 3


def test_tokens_are_places(array, path):
    assert array.__dask_tokenize__() == ("swath.Array", str(path), "")
    assert swath.create_group(path.with_name("g"), path="a/b").__dask_tokenize__()[2] == "a/b"
