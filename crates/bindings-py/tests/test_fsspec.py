"""swath's file systems for fsspec, against fsspec's own of local files."""

import pickle
import sys
from pathlib import Path

import fsspec
import numpy as np
import pytest
import swath
import xarray as xr
import zarr
from fsspec.implementations.local import LocalFileSystem
from swath.fsspec import SwathChainedFileSystem, file_system, register
from test_cloud import serve

FILES = {
    "a.txt": b"first\nsecond\nthird\n",
    "empty": b"",
    "inner/b.bin": bytes(range(256)) * 100,
    "inner/deep/c.bin": b"0123456789",
}


@pytest.fixture
def folder(tmp_path):
    """Give a folder of files, as text."""
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    return str(tmp_path)


@pytest.fixture
def ours():
    return file_system("file")()


@pytest.fixture
def theirs():
    return LocalFileSystem()


def plain(entries):
    sizes = [entry["size"] if entry["type"] == "file" else 0 for entry in entries]
    return sorted((entry["name"], entry["type"], size) for entry, size in zip(entries, sizes, strict=True))


def test_listings_are_those_of_fsspec(folder, ours, theirs):
    for path in (folder, f"{folder}/inner", f"{folder}/inner/", f"file://{folder}/a.txt"):
        assert plain(ours.ls(path)) == plain(theirs.ls(path, detail=True))
        assert sorted(ours.ls(path, detail=False)) == sorted(theirs.ls(path, detail=False))
        assert ours.find(path) == sorted(theirs.find(path))
    assert ours.find(folder, maxdepth=1) == theirs.find(folder, maxdepth=1)
    assert ours.glob(f"{folder}/**/*.bin") == theirs.glob(f"{folder}/**/*.bin")
    assert ours.du(folder) == sum(map(len, FILES.values()))

    def sorted_walk(system):
        return [(name, sorted(folders), sorted(files)) for name, folders, files in system.walk(folder)]

    assert sorted_walk(ours) == sorted_walk(theirs)
    for name in [*FILES, "inner", ""]:
        path = f"{folder}/{name}"
        assert plain([ours.info(path)]) == plain([theirs.info(path)])
        assert (ours.isfile(path), ours.isdir(path), ours.exists(path)) == (
            theirs.isfile(path),
            theirs.isdir(path),
            True,
        )
    for missing in ("gone", "inner/gone/x"):
        assert not ours.exists(f"{folder}/{missing}")
        with pytest.raises(FileNotFoundError):
            ours.info(f"{folder}/{missing}")
        with pytest.raises(FileNotFoundError):
            ours.ls(f"{folder}/{missing}")


def test_bytes_are_those_of_fsspec(folder, ours, theirs):
    path = f"{folder}/inner/b.bin"
    slices = [(None, None), (0, 10), (5, None), (None, 7), (-9, None), (-9, -2), (20, 10), (25590, 99999)]
    for start, end in slices:
        assert ours.cat_file(path, start, end) == FILES["inner/b.bin"][start:end], (start, end)
    assert ours.cat(path) == theirs.cat(path)
    files = theirs.find(folder)
    assert ours.cat(files) == theirs.cat(files)
    paths = [path, f"{folder}/a.txt", path, path]
    starts, ends = [0, 2, 300, -5], [10, 9, 305, None]
    for max_gap in (None, 0, 1000):
        wanted = theirs.cat_ranges(paths, starts, ends)
        assert ours.cat_ranges(paths, starts, ends, max_gap=max_gap) == wanted
        assert ours.cat_ranges(paths[:3], starts[:3], ends[:3], max_gap=max_gap) == wanted[:3]
    found = ours.cat_ranges([path, f"{folder}/gone"], [0, 0], [3, 3], max_gap=0)
    assert found[0] == b"\0\1\2"
    assert isinstance(found[1], FileNotFoundError)
    with pytest.raises(FileNotFoundError):
        ours.cat_ranges([path, f"{folder}/gone"], [0, 0], [3, 3], on_error="raise")
    with pytest.raises(ValueError, match="as many"):
        ours.cat_ranges([path], [0, 1], [1, 2])
    with pytest.raises(FileNotFoundError):
        ours.cat(f"{folder}/gone")
    assert ours.cat([path, f"{folder}/gone"], on_error="omit") == {path: FILES["inner/b.bin"]}


def test_files(folder, ours):
    with ours.open(f"{folder}/a.txt") as file:
        assert file.readline() == b"first\n"
        file.seek(-6, 2)
        assert file.read() == b"third\n"
        assert file.size == 19
    with ours.open(f"{folder}/a.txt", "r") as file:
        assert file.read().split() == ["first", "second", "third"]
    with ours.open(f"{folder}/new/d.txt", "wb", block_size=5) as file:
        file.write(b"0123456789" * 3)
        file.write(b"end")
    assert ours.cat(f"{folder}/new/d.txt") == b"0123456789" * 3 + b"end"
    with ours.open(f"{folder}/new/d.txt", "ab") as file:
        file.write(b"+")
    assert ours.cat(f"{folder}/new/d.txt").endswith(b"end+")
    with ours.open(f"{folder}/nothing", "wb"):
        pass
    assert ours.cat(f"{folder}/nothing") == b""
    with pytest.raises(FileNotFoundError):
        ours.open(f"{folder}/gone").read()


def test_changes(folder, ours, theirs):
    ours.pipe({f"{folder}/x/1": b"one", f"{folder}/x/2": b"two"})
    assert theirs.cat(f"{folder}/x/2") == b"two"
    with pytest.raises(FileExistsError):
        ours.pipe_file(f"{folder}/x/1", b"other", mode="create")
    ours.copy(f"{folder}/x/1", f"{folder}/x/3")
    ours.mv(f"{folder}/x/2", f"{folder}/x/4")
    assert sorted(ours.ls(f"{folder}/x", detail=False)) == [f"{folder}/x/{number}" for number in (1, 3, 4)]
    ours.rm(f"{folder}/x/1")
    with pytest.raises(FileNotFoundError):
        ours.rm(f"{folder}/x/1")
    ours.rm(f"{folder}/x", recursive=True)
    assert ours.find(f"{folder}/x") == []
    assert theirs.exists(f"{folder}/a.txt")


def test_chained(folder):
    with fsspec.open(f"swath::file://{folder}/a.txt") as file:
        assert file.read() == FILES["a.txt"]
    system, path = fsspec.url_to_fs(f"swath::file://{folder}/inner")
    assert isinstance(system, SwathChainedFileSystem)
    assert path == f"{folder}/inner"
    assert system.ls(path, detail=False) == [f"{folder}/inner/b.bin", f"{folder}/inner/deep"]
    mapper = fsspec.get_mapper(f"swath::file://{folder}")
    assert dict(mapper) == FILES
    again = pickle.loads(pickle.dumps(system))
    assert again.cat(f"{folder}/a.txt") == FILES["a.txt"]
    with pytest.raises(ValueError, match="swath::s3"):
        fsspec.filesystem("swath")


def test_registered_for_other_packages():
    registry = sys.modules["fsspec.registry"]._registry
    before = dict(registry)
    try:
        register("s3", "https")
        assert fsspec.get_filesystem_class("s3") is file_system("s3")
        assert isinstance(fsspec.filesystem("https"), file_system("https"))
    finally:
        registry.clear()
        registry.update(before)
    with pytest.raises(swath.UnsupportedError, match="gopher"):
        register("gopher")
    system = file_system("s3")(anon=True)
    assert pickle.loads(pickle.dumps(system)).storage_options == {"anon": True}


def test_an_object_store(folder):
    bucket = Path(folder) / "bucket"
    bucket.mkdir()
    (bucket / "x.bin").write_bytes(FILES["inner/b.bin"])
    with serve(folder) as served:
        system = file_system("s3")(**served.s3)
        assert system.cat_file("s3://bucket/x.bin", 10, 20) == FILES["inner/b.bin"][10:20]
        assert system.info("bucket/x.bin") == {"name": "bucket/x.bin", "size": 25600, "type": "file"}
        found = system.cat_ranges(["bucket/x.bin"] * 2, [0, 100], [3, 103], max_gap=0)
        assert found == [bytes(range(3)), bytes(range(100, 103))]
        with system.open("bucket/x.bin") as file:
            file.seek(300)
            assert file.read(4) == bytes(range(44, 48))
        web = file_system("http")(allow_http=True)
        assert web.info(f"{served.url}/bucket/x.bin")["size"] == 25600
        assert web.cat_file(f"{served.url}/bucket/x.bin", -2) == b"\xfe\xff"
        with fsspec.open(f"swath::{served.url}/a.txt", allow_http=True) as file:
            assert file.read() == FILES["a.txt"]
        with pytest.raises(FileNotFoundError):
            web.cat_file(f"{served.url}/bucket/gone")
        requests = [request[0] for request in served.requests() if "bucket/x.bin" in request[1]]
        assert "HEAD" in requests


def test_under_zarr_xarray_and_pyarrow(tmp_path):
    values = np.arange(60.0).reshape(6, 10)
    zarr.create_array(tmp_path / "a.zarr", data=values, chunks=(2, 5))
    mapper = fsspec.get_mapper(f"swath::file://{tmp_path}/a.zarr")
    store = zarr.storage.FsspecStore.from_mapper(mapper)
    np.testing.assert_array_equal(zarr.open_array(store, mode="r")[...], values)
    xr.Dataset({"t": ("x", values[0])}).to_zarr(tmp_path / "b.zarr")
    opened = xr.open_zarr(f"swath::file://{tmp_path}/b.zarr", chunks=None)
    np.testing.assert_array_equal(opened["t"], values[0])
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"n": [1, 2, 3]})
    system = file_system("file")()
    parquet.write_table(table, f"{tmp_path}/t.parquet", filesystem=system)
    assert parquet.read_table(f"{tmp_path}/t.parquet", filesystem=system).equals(table)


def test_what_must_not_be_lost(folder, ours, monkeypatch):
    path = f"{folder}/a.txt"
    ours.mv(path, f"file://{path}")
    assert ours.cat(path) == FILES["a.txt"]
    with pytest.raises(FileExistsError):
        ours.open(path, "xb").close()
    monkeypatch.chdir(folder)
    for working in ("", ".", folder, str(Path(folder).parent), "/"):
        with pytest.raises(ValueError, match="working directory"):
            ours.rm(working, recursive=True)
    assert ours.cat(path) == FILES["a.txt"]
    failing = file_system("file")(skip_instance_cache=True)
    monkeypatch.setattr(failing, "info", lambda *_, **__: (_ for _ in ()).throw(swath.StorageError("no")))
    file = failing._open(path, "ab")
    file.write(b"more")
    file.close()
    assert ours.cat(path) == FILES["a.txt"] + b"more"


def test_urls_of_web_servers_as_they_are_written(folder):
    (Path(folder) / "a b.txt").write_bytes(b"spaced")
    with serve(folder) as served:
        web = file_system("http")(allow_http=True)
        assert web.cat_file(f"{served.url}/a%20b.txt") == b"spaced"
        with pytest.raises(swath.UnsupportedError, match="query"):
            web.cat_file(f"{served.url}/a.txt?version=1")
        with pytest.raises(FileNotFoundError):
            web.info(f"{served.url}/gone")
        assert not web.exists(f"{served.url}/gone")
