"""The cache of what is read over a network: what it spares, by the server's own count."""

import json
import multiprocessing
import pickle
import subprocess
import sys

import numpy as np
import pytest
import swath
import zarr
from test_cloud import check, serve, served, stored

__all__ = ["served", "stored"]

URL = "s3://bucket/a.zarr"


def requests_of(served, read):
    """How many requests a call makes."""
    before = len(served.requests())
    read()
    return len(served.requests()) - before


def chunks_asked(served):
    return [path for _, path, _ in served.requests() if "/c/" in path]


def test_what_was_read_is_read_again_without_a_request(stored, values):
    array = swath.open_array(URL, storage_options=stored.s3, cache="64MB", cache_freshness="immutable")
    assert 0 < requests_of(stored, lambda: check(array, values))
    assert requests_of(stored, lambda: check(array, values)) == 0
    # Another array of the same place and settings shares the cache. That an object is not there
    # is asked anew.
    settings = {"cache": 64_000_000, "cache_freshness": "immutable"}
    before = len(stored.requests())
    check(swath.open_array(URL, storage_options=stored.s3, **settings), values)
    assert not {path for _, path, _ in stored.requests()[before:] if (stored.folder / path[1:]).exists()}
    counted = array.store_stats()["cache"]
    assert 0 < counted["hits"] and 0 < counted["bytes_from_memory"] and 0 < counted["memory_bytes"]
    assert (counted["checks"], counted["bytes_from_files"], counted["file_bytes"]) == (0, 0, 0)
    assert swath.open_array(URL, storage_options=stored.s3).store_stats()["cache"] is None


def test_groups_share_their_cache(stored, values):
    group = swath.open_group(
        "s3://bucket/group.zarr", storage_options=stored.s3, cache="1MiB", cache_freshness="immutable"
    )
    check(group["inner/x"], values)
    assert requests_of(stored, lambda: check(group["inner/x"], values)) == 0
    assert group.store_stats()["cache"] == group["inner/x"].store_stats()["cache"]


def test_what_is_replaced_is_seen_once_it_is_due(stored, values):
    arrays = {
        freshness: swath.open_array(URL, storage_options=stored.s3, cache="64MB", cache_freshness=freshness)
        for freshness in (0, 3600, "immutable")
    }
    for array in arrays.values():
        check(array, values)
    zarr.open_array(stored.folder / "bucket/a.zarr")[...] = values[::-1]
    check(arrays[3600], values)
    check(arrays["immutable"], values)
    check(arrays[0], values[::-1])
    counted = arrays[0].store_stats()["cache"]
    assert 0 < counted["checks"] and 0 < counted["changes"]
    assert arrays[3600].store_stats()["cache"]["checks"] == 0


def test_equal_names_on_two_servers_are_two_things(stored, values, tmp_path_factory, monkeypatch):
    other_folder = tmp_path_factory.mktemp("other")
    zarr.create_array(other_folder / "bucket/a.zarr", data=values[::-1], chunks=(1, 3, 16), fill_value=-1)
    settings = {"cache": "64MB", "cache_freshness": "immutable"}
    with serve(other_folder) as other:
        for _ in range(2):
            check(swath.open_array(URL, storage_options=stored.s3, **settings), values)
            check(swath.open_array(URL, storage_options=other.s3, **settings), values[::-1])
        # By the environment too.
        unsaid = {name: value for name, value in stored.s3.items() if name != "endpoint"}
        for asked, expected in ((stored, values), (other, values[::-1])):
            monkeypatch.setenv("AWS_ENDPOINT_URL", asked.url)
            check(swath.open_array(URL, storage_options=unsaid, **settings), expected)


READ = """
import json, sys, swath
url, options, settings = json.loads(sys.argv[1])
array = swath.open_array(url, storage_options=options, **settings)
print(json.dumps([int(array[...].sum(dtype="int64")), array.store_stats()]))
"""


def read_elsewhere(served, settings):
    """The sum of the array and the statistics, of a process that ends while its array is in use."""
    command = [sys.executable, "-c", READ, json.dumps([URL, served.s3, settings])]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_later_processes_read_from_the_files(stored, values, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache") / "made"
    settings = {"cache": "64MB", "cache_dir": str(folder), "cache_freshness": "immutable"}
    total = int(values.sum(dtype="int64"))
    first, counted = read_elsewhere(stored, settings)
    assert first == total and 0 < counted["cache"]["bytes_from_storage"]
    before = chunks_asked(stored)
    again, counted = read_elsewhere(stored, settings)
    assert (again, chunks_asked(stored)) == (total, before)
    assert 0 < counted["cache"]["bytes_from_files"]
    array = swath.open_array(URL, storage_options=stored.s3, **settings)
    np.testing.assert_array_equal(array[...], values)
    assert chunks_asked(stored) == before


def crop_of(arguments):
    array, index = arguments
    return array[index], array.store_stats()["cache"]


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_share_the_folder(stored, values, tmp_path_factory, method):
    folder = tmp_path_factory.mktemp("cache")
    array = swath.open_array(
        URL, storage_options=stored.s3, cache="64MB", cache_dir=folder, cache_freshness="immutable"
    )
    check(array, values)
    swath._swath._flush_caches()
    with multiprocessing.get_context(method).Pool(2) as pool:
        before = chunks_asked(stored)
        for found, counted in pool.map(crop_of, [(array, t) for t in range(4)]):
            assert found.shape == values[0].shape and counted is not None
        assert chunks_asked(stored) == before
    check(array, values)


def test_a_pickle_carries_the_settings(stored, values, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    array = swath.open_array(
        URL, storage_options=stored.s3, cache="1MB", cache_dir="here", cache_freshness=3600
    )
    check(array, values)
    monkeypatch.chdir("/")
    copy = pickle.loads(pickle.dumps(array))
    assert requests_of(stored, lambda: np.testing.assert_array_equal(copy[...], values)) <= 3
    assert copy.store_stats()["cache"] == array.store_stats()["cache"]
    assert (tmp_path / "here").is_dir()


def test_local_files_are_not_cached(tmp_path, values):
    zarr.create_array(tmp_path / "a.zarr", data=values)
    array = swath.open_array(tmp_path / "a.zarr", cache="1GB", cache_dir=tmp_path / "cache")
    np.testing.assert_array_equal(array[...], values)
    assert array.store_stats() is None
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"cache": "much"}, "cache: wanted a number of bytes"),
        ({"cache": "1GB", "cache_freshness": "never"}, "cache_freshness"),
        ({"cache": "1GB", "cache_freshness": -1}, "cache_freshness"),
        ({"cache_freshness": float("nan")}, "cache_freshness"),
    ],
)
def test_what_is_no_setting_is_refused(stored, settings, part):
    with pytest.raises(swath.InvalidError, match=part):
        swath.open(URL, storage_options=stored.s3, **settings)
    with pytest.raises(TypeError):
        swath.open(URL, storage_options=stored.s3, cache=1.5)


def test_a_folder_that_cannot_be_made_is_an_error(stored):
    taken = stored.folder / "taken"
    taken.touch()
    with pytest.raises(swath.SwathError, match="taken"):
        swath.open(URL, storage_options=stored.s3, cache_dir=taken)
