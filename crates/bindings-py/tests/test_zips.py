"""Zip archives: by path, by URL, and as zarr-python's and fsspec's objects."""

import pickle
import zipfile

import fsspec
import numpy as np
import pytest
import swath
import zarr


@pytest.fixture(params=[zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
def archive(request, tmp_path):
    """An archive of zarr-python's with a group of two arrays, and what they hold."""
    path = tmp_path / "archive.zarr.zip"
    values = {
        "plain": np.arange(60 * 40, dtype="f4").reshape(60, 40),
        "sharded": np.arange(64 * 64, dtype="i2").reshape(64, 64),
    }
    with zarr.storage.ZipStore(path, mode="w", compression=request.param) as store:
        group = zarr.create_group(store, attributes={"title": "zipped"})
        plain = group.create_array("plain", shape=(60, 40), chunks=(7, 16), dtype="f4")
        plain[:] = values["plain"]
        sharded = group.create_array("sharded", shape=(64, 64), chunks=(8, 8), shards=(32, 32), dtype="i2")
        sharded[:] = values["sharded"]
    return path, values


def check(group, values):
    assert group.attrs["title"] == "zipped"
    assert sorted(group.keys()) == sorted(values)
    for name, wanted in values.items():
        array = group[name]
        for _ in range(2):
            np.testing.assert_array_equal(array[...], wanted)
            np.testing.assert_array_equal(array[3:50:7, 5:], wanted[3:50:7, 5:])
        assert array.nbytes_stored() > 0


def test_paths_and_urls(archive, tmp_path):
    path, values = archive
    for url in [path, str(path), path.as_uri(), f"zip::{path}", f"zip://::{path}", f"zip::{path.as_uri()}"]:
        check(swath.open(url), values)
    np.testing.assert_array_equal(swath.open_array(f"zip://plain::{path}")[...], values["plain"])
    other = tmp_path / "no suffix"
    other.write_bytes(path.read_bytes())
    check(swath.open_group(f"zip::{other}"), values)


def test_stores_of_others(archive):
    path, values = archive
    store = zarr.storage.ZipStore(path, mode="r")
    check(swath.open(store), values)
    place = zarr.storage.StorePath(store, "sharded")
    np.testing.assert_array_equal(swath.open(place)[...], values["sharded"])
    check(swath.open(fsspec.get_mapper(f"zip::{path}")), values)
    mapper = fsspec.get_mapper(f"zip://plain::file://{path}")
    np.testing.assert_array_equal(swath.open(mapper)[...], values["plain"])


def test_pickles_name_the_archive(archive, monkeypatch, tmp_path):
    path, values = archive
    monkeypatch.chdir(path.parent)
    for url in [path.name, f"zip::{path.name}", f"zip://::{path.name}"]:
        text = pickle.dumps(swath.open(url)["plain"])
        monkeypatch.chdir("/")
        np.testing.assert_array_equal(pickle.loads(text)[...], values["plain"])
        monkeypatch.chdir(path.parent)


def test_what_is_no_archive(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK")
    with pytest.raises(swath.SwathError, match="no end record"):
        swath.open(tmp_path / "a.zip")
    with pytest.raises(swath.NotFoundError):
        swath.open(tmp_path / "b.zip")
