"""Icechunk repositories, written by icechunk, by URL and as its stores: zarr-python reads the same."""

import copy
import os
import pickle
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import swath
import zarr

icechunk = pytest.importorskip("icechunk", reason="icechunk is not installed")

SOURCE = np.arange(1000, dtype="<i4")


def virtual_references(prefix, tag=None, moment=None):
    """Ten chunks of a hundred bytes each, but for the fourth."""
    return [
        icechunk.VirtualChunkSpec([number], f"{prefix}data%20file.bin", number * 100, 100, tag, moment)
        for number in range(10)
        if number != 3
    ]


class Repository:
    """A repository in a folder, with chunks of all kinds."""

    def __init__(self, folder, version):
        self.folder = folder / f"repository-{version}"
        self.source = folder / "source"
        self.source.mkdir(exist_ok=True)
        self.prefix = f"file://{self.source}/"
        self.file = self.source / "data file.bin"
        self.file.write_bytes(SOURCE.tobytes())
        config = icechunk.RepositoryConfig.default()
        config.inline_chunk_threshold_bytes = 64
        store = icechunk.local_filesystem_store(str(self.source))
        config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(self.prefix, store))
        self.storage = icechunk.local_filesystem_storage(str(self.folder))
        self.authorized = {self.prefix: icechunk.credentials.LocalFileSystemAccess}
        self.repo = icechunk.Repository.create(
            self.storage, config=config, spec_version=version, authorize_virtual_chunk_access=self.authorized
        )
        self.first = self.commit("first", self.fill)
        self.repo.create_tag("v1", snapshot_id=self.first)
        self.second = self.commit("second", self.change)
        self.repo.create_branch("dev", snapshot_id=self.first)

    def commit(self, message, change):
        session = self.repo.writable_session("main")
        change(session.store)
        return session.commit(message)

    def fill(self, store):
        random = np.random.default_rng(1)
        group = zarr.create_group(store, attributes={"title": "first"})
        for name, options in {
            "plain": {"chunks": (16, 25)},
            "g/sharded": {"chunks": (4, 5), "shards": (16, 50)},
            "g/small": {"chunks": (4, 4), "compressors": None},
        }.items():
            array = group.create_array(name, shape=(64, 100), dtype="f4", fill_value=-1, **options)
            array[:50] = random.random((50, 100), dtype="f4")
        group.create_array("scalar", shape=(), dtype="i8")[...] = 42
        group.create_array("g/v", shape=(250,), chunks=(25,), dtype="<i4", compressors=None, fill_value=-9)
        store.set_virtual_refs("g/v", virtual_references(self.prefix))

    def change(self, store):
        group = zarr.open_group(store, mode="r+")
        group.attrs["title"] = "second"
        group["plain"][3:40, 7] = 5
        group["g/small"].resize((70, 100))

    @property
    def url(self):
        return f"icechunk::{self.folder}"

    @property
    def options(self):
        return {"authorize_virtual_chunk_access": [self.prefix]}


@pytest.fixture(params=[1, 2], ids=["format 1", "format 2"])
def repository(request, tmp_path):
    return Repository(tmp_path, request.param)


SELECTIONS = (
    np.s_[...],
    np.s_[3:50:7],
    np.s_[-5:],
)


def check(found, wanted):
    """Compare every node with what zarr-python reads."""
    assert dict(found.attrs) == dict(wanted.attrs)
    members = dict(wanted.members(max_depth=None))
    assert sorted(path for path, _ in found.walk()) == sorted(members)
    for name, member in members.items():
        if not isinstance(member, zarr.Array):
            continue
        array = found[name]
        for selection in SELECTIONS if member.ndim else SELECTIONS[:1]:
            np.testing.assert_array_equal(array[selection], member[selection], err_msg=name)


def test_every_revision_reads_as_zarr_python_reads_it(repository):
    repo = repository.repo
    for told, options, session in (
        ("", {}, repo.readonly_session("main")),
        ("", {"branch": "dev"}, repo.readonly_session("dev")),
        ("", {"tag": "v1"}, repo.readonly_session(tag="v1")),
        ("", {"snapshot_id": repository.first}, repo.readonly_session(snapshot_id=repository.first)),
        (f"snapshot={repository.second}", {}, repo.readonly_session(snapshot_id=repository.second)),
        ("branch=dev", {}, repo.readonly_session("dev")),
    ):
        url = f"icechunk://{told}::{repository.folder}"
        wanted = zarr.open_group(session.store, mode="r")
        check(swath.open(url, storage_options=options | repository.options), wanted)
        check(swath.open(f"{url}", storage_options=repository.options | options), wanted)
        check(swath.open(session.store), wanted)
        np.testing.assert_array_equal(
            swath.open(zarr.storage.StorePath(session.store, "g/sharded"))[...], wanted["g/sharded"][...]
        )
    for place in (repository.folder, str(repository.folder), repository.folder.as_uri()):
        check(
            swath.open(place, storage_options=repository.options),
            wanted=zarr.open_group(repo.readonly_session("main").store, mode="r"),
        )


def test_what_is_not_there(repository):
    for options in ({"branch": "none"}, {"tag": "none"}, {"snapshot_id": "0" * 20}, {"snapshot_id": "x"}):
        with pytest.raises(swath.NotFoundError, match="found none"):
            swath.open(repository.url, storage_options=options)
    with pytest.raises(swath.NotFoundError):
        swath.open(f"icechunk::{repository.source}")
    with pytest.raises(swath.InvalidError, match="branch"):
        swath.open(repository.url, storage_options={"branch": "a", "tag": "b"})
    with pytest.raises(swath.InvalidError, match="int"):
        swath.open(repository.url, storage_options={"branch": 7})
    group = swath.open(repository.url, mode="r+")
    with pytest.raises(swath.UnsupportedError, match="Icechunk"):
        group["plain"][0, 0] = 1


def test_what_is_open_stays_at_its_snapshot(repository, monkeypatch):
    group = swath.open(repository.url)
    copies = [
        pickle.dumps(group["plain"]),
        pickle.dumps(swath.open(repository.repo.readonly_session("main").store)),
    ]
    wanted = group["plain"][...]
    repository.commit("third", lambda store: zarr.open_group(store, mode="r+")["plain"].__setitem__(..., 0))
    np.testing.assert_array_equal(group["plain"][...], wanted)
    np.testing.assert_array_equal(pickle.loads(copies[0])[...], wanted)
    np.testing.assert_array_equal(pickle.loads(copies[1])["plain"][...], wanted)
    np.testing.assert_array_equal(copy.copy(group)["plain"][...], wanted)
    assert not swath.open(repository.url)["plain"][...].any()
    monkeypatch.chdir(repository.folder.parent)
    relative = swath.open(f"icechunk::{repository.folder.name}")
    monkeypatch.chdir("/")
    assert not relative["plain"][...].any()


def test_sessions_with_changes_are_refused(repository):
    session = repository.repo.writable_session("main")
    wanted = zarr.open_group(repository.repo.readonly_session("main").store, mode="r")
    check(swath.open(session.store), wanted)
    zarr.open_group(session.store, mode="r+")["plain"][0, 0] = 1
    with pytest.raises(swath.UnsupportedError, match="not committed"):
        swath.open(session.store)


def test_stores_in_memory_are_refused():
    repo = icechunk.Repository.create(icechunk.in_memory_storage())
    with pytest.raises(swath.UnsupportedError, match="in_memory"):
        swath.open(repo.readonly_session("main").store)


def test_virtual_chunks_are_read_where_they_are_authorised(repository):
    session = repository.repo.readonly_session("main")
    wanted = zarr.open_array(session.store, path="g/v", mode="r")[...]
    for authorized in ([repository.prefix], repository.prefix, repository.authorized):
        options = {"authorize_virtual_chunk_access": authorized}
        array = swath.open(repository.url, storage_options=options)["g/v"]
        np.testing.assert_array_equal(array[...], wanted)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(array))[...], wanted)
    for authorized in (None, [], ["file:///"], [f"{repository.prefix}data"]):
        array = swath.open(repository.url, storage_options={"authorize_virtual_chunk_access": authorized})[
            "g/v"
        ]
        with pytest.raises(swath.UnsupportedError, match="authorised"):
            array[:]
        # Nothing is stored there, so that nothing is read.
        np.testing.assert_array_equal(array[75:100], -9)
    plain = icechunk.Repository.open(repository.storage)
    with pytest.raises(swath.UnsupportedError, match="authorised"):
        swath.open(plain.readonly_session("main").store)["g/v"][0]


@pytest.mark.parametrize("kind", ["tag", "time"])
def test_a_source_that_changed_is_an_error(repository, kind):
    stat = repository.file.stat()
    if kind == "tag":
        version = {"tag": f"{stat.st_ino:x}-{stat.st_mtime_ns // 1000:x}-{stat.st_size:x}"}
    else:
        version = {"moment": datetime.fromtimestamp(stat.st_mtime, UTC) + timedelta(seconds=1)}
    session = repository.repo.readonly_session("main")
    wanted = zarr.open_array(session.store, path="g/v", mode="r")[...]
    references = virtual_references(repository.prefix, **version)
    repository.commit("versions", lambda store: store.set_virtual_refs("g/v", references))
    array = swath.open(repository.url, storage_options=repository.options)["g/v"]
    np.testing.assert_array_equal(array[...], wanted)
    repository.file.write_bytes(SOURCE[::-1].tobytes())
    os.utime(repository.file, (stat.st_atime, stat.st_mtime + 10))
    fresh = swath.open(repository.url, storage_options=repository.options)["g/v"]
    for changed in (array, fresh):
        with pytest.raises(swath.StorageError):
            changed[...]
    with pytest.raises(icechunk.IcechunkError):
        zarr.open_array(repository.repo.readonly_session("main").store, path="g/v", mode="r")[...]
    repository.file.unlink()
    with pytest.raises(swath.StorageError, match="not there"):
        swath.open(repository.url, storage_options=repository.options)["g/v"][...]


@pytest.mark.parametrize("fault", ["missing", "truncated"])
@pytest.mark.parametrize("kind", ["manifests", "chunks", "snapshots"])
def test_damage_is_an_error(repository, kind, fault):
    for path in (repository.folder / kind).iterdir():
        if fault == "missing":
            path.unlink()
        else:
            os.truncate(path, path.stat().st_size // 2)
    with pytest.raises((swath.StorageError, swath.CorruptError)):
        swath.open(repository.url)["plain"][...]


def test_many_virtual_chunks(repository):
    """As many as icechunk compresses the locations of."""
    count = 5000
    (repository.source / "x").write_bytes(bytes(range(250)) * 20)

    def fill(store):
        zarr.create_array(store, name="many", shape=(count,), chunks=(1,), dtype="u1", compressors=None)
        store.set_virtual_refs(
            "many", [icechunk.VirtualChunkSpec([at], f"{repository.prefix}x", at, 1) for at in range(count)]
        )

    repository.commit("many", fill)
    array = swath.open(repository.url, storage_options=repository.options)["many"]
    before = swath.stats()["logical_reads"]
    np.testing.assert_array_equal(array[...], np.tile(np.arange(250, dtype="u1"), 20))
    assert swath.stats()["logical_reads"] - before == 1 + count
