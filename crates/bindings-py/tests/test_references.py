"""References: kerchunk's documents, fsspec's mappers of them, dicts, and stores that are in memory."""

import json
import pickle

import fsspec
import numpy as np
import obstore
import pytest
import swath
import zarr
from swath import stores

VALUES = np.arange(12 * 20, dtype="<i4").reshape(12, 20)


@pytest.fixture
def refs(tmp_path):
    """References to chunks in one file that is no Zarr store, as kerchunk would write them."""
    (tmp_path / "data").mkdir()
    raw, found = bytearray(b"head"), {".zgroup": '{"zarr_format": 2}', ".zattrs": '{"title": "referenced"}'}
    found["a/.zarray"] = json.dumps(
        {
            "zarr_format": 2,
            "shape": [12, 20],
            "chunks": [5, 10],
            "dtype": "<i4",
            "fill_value": 0,
            "compressor": None,
            "filters": None,
            "order": "C",
        }
    )
    padded = np.zeros((15, 20), "<i4")
    padded[:12] = VALUES
    for row in range(3):
        for column in range(2):
            chunk = padded[row * 5 : row * 5 + 5, column * 10 : column * 10 + 10].tobytes()
            found[f"a/{row}.{column}"] = ["{{folder}}/raw.bin", len(raw), len(chunk)]
            raw += chunk + b"gap"
    (tmp_path / "data" / "raw.bin").write_bytes(raw)
    return {"version": 1, "templates": {"folder": str(tmp_path / "data")}, "refs": found}


def check(group):
    assert group.attrs["title"] == "referenced"
    np.testing.assert_array_equal(group["a"][...], VALUES)
    np.testing.assert_array_equal(group["a"][1:11:3, 7:13], VALUES[1:11:3, 7:13])


def test_documents_and_dicts(refs, tmp_path, monkeypatch):
    path = tmp_path / "refs.json"
    path.write_text(json.dumps(refs))
    for place in (path, str(path), f"reference::{path}", path.as_uri(), refs, json.loads(json.dumps(refs))):
        check(swath.open(place))
    relative = json.loads(json.dumps(refs))
    relative["templates"]["folder"] = "data"
    path.write_text(json.dumps(relative))
    check(swath.open(path))
    check(swath.open(path, storage_options={"anon": True}))
    monkeypatch.chdir(tmp_path)
    group = swath.open("refs.json")
    check(group)
    copies = [pickle.dumps(group), pickle.dumps(swath.open(refs))]
    monkeypatch.chdir("/")
    for copy in copies:
        check(pickle.loads(copy))


def test_mappers_of_fsspec(refs, tmp_path):
    path = tmp_path / "refs.json"
    path.write_text(json.dumps(refs))
    check(swath.open(fsspec.get_mapper("reference://", fo=str(path), remote_protocol="file")))
    mapper = fsspec.get_mapper("reference://", fo=refs, remote_protocol="file")
    check(swath.open(mapper))
    below = fsspec.get_mapper("reference://a", fo=refs, remote_protocol="file")
    np.testing.assert_array_equal(swath.open(below)[...], VALUES)


def test_options_of_fsspec(refs, tmp_path):
    path = tmp_path / "refs.json"
    path.write_text(json.dumps(refs))
    for options in (
        {"fo": str(path)},
        {"fo": path},
        {"fo": refs, "remote_protocol": "file"},
        {"fo": path.as_uri(), "target_options": {"anon": True}, "remote_options": {"anon": True}},
        {"fo": str(path), "target_protocol": "file", "max_gap": 5, "skip_instance_cache": True},
    ):
        group = swath.open("reference://", storage_options=options)
        check(group)
        check(pickle.loads(pickle.dumps(group)))
        np.testing.assert_array_equal(swath.open("reference://a", storage_options=options)[...], VALUES)
    check(
        swath.open(str(path), storage_options={"remote_protocol": "file", "remote_options": {"anon": True}})
    )
    nameless = json.loads(json.dumps(refs))
    for reference in nameless["refs"].values():
        if isinstance(reference, list):
            reference[0] = None
    check(swath.open(nameless, storage_options={"target": str(tmp_path / "data" / "raw.bin")}))
    for wrong in ({}, {"fo": None}, {"fo": str(path), "fs": fsspec.filesystem("file")}):
        with pytest.raises(swath.SwathError):
            swath.open("reference://", storage_options=wrong)
    with pytest.raises(swath.UnsupportedError, match="regoin"):
        swath.open(path, storage_options={"remote_options": {"regoin": "x"}})


def test_pickles_hold_no_secrets_of_targets(refs):
    options = {"remote_options": {"key": "AKIA", "secret": "S3CRET", "region": "x"}}
    group = swath.open(refs, storage_options=options)
    text = pickle.dumps(group)
    assert b"S3CRET" not in text and b"region" in text
    assert "remote_options.secret_access_key" in repr(pickle.loads(text))
    check(pickle.loads(text))


def test_references_are_not_written(refs):
    group = swath.open(refs, mode="r+")
    with pytest.raises(swath.UnsupportedError, match="references"):
        group["a"][0, 0] = 1
    with pytest.raises(swath.UnsupportedError, match="references"):
        group.create_array("b", shape=(1,), dtype="i4")
    np.testing.assert_array_equal(group["a"][...], VALUES)


def test_stores_in_memory():
    store = zarr.storage.MemoryStore()
    group = zarr.create_group(store, attributes={"title": "referenced"})
    array = group.create_array("a", shape=VALUES.shape, chunks=(5, 10), dtype="<i4")
    array[:] = VALUES
    check(swath.open(store))
    np.testing.assert_array_equal(swath.open(zarr.storage.StorePath(store, "a"))[...], VALUES)
    check(swath.open({key: value.to_bytes() for key, value in store._store_dict.items()}))


def test_what_is_not_there(refs):
    refs["templates"]["folder"] = "/nowhere"
    array = swath.open(refs)["a"]
    with pytest.raises(swath.StorageError, match="not there"):
        array[...]
    with pytest.raises(swath.InvalidError):
        swath.open({"a": 1})
    with pytest.raises(swath.NotFoundError):
        swath.open({})


class Some:
    """Stands for an object that has these fields."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


class ManifestStore:
    """Stands for VirtualiZarr's where that is not installed: what swath reads of it, by the same names."""

    def __init__(self, group, *, registry):
        self._group = group
        self._registry = registry


ManifestStore.__module__ = "virtualizarr.manifests.store"


def manifest_store(metadata, arrays, registry):
    """A store of VirtualiZarr's own, or what stands for it."""
    try:
        from obspec_utils.registry import ObjectStoreRegistry
        from virtualizarr import manifests
    except ImportError:
        entries = {url: Some(store=store, children={}) for url, store in registry.items()}
        made = {
            name: Some(metadata=metadata, manifest=Some(_paths=p, _offsets=o, _lengths=n, _inlined=inlined))
            for name, (metadata, (p, o, n), inlined) in arrays.items()
        }
        return ManifestStore(Some(metadata=metadata, arrays=made, groups={}), registry=Some(map=entries))
    made = {}
    for name, (array, (paths, offsets, lengths), inlined) in arrays.items():
        manifest = manifests.ChunkManifest.from_arrays(
            paths=paths, offsets=offsets, lengths=lengths, inlined=inlined, validate_paths=False
        )
        made[name] = manifests.ManifestArray(metadata=array, chunkmanifest=manifest)
    group = manifests.ManifestGroup(arrays=made, attributes=metadata.attributes)
    return manifests.ManifestStore(group, registry=ObjectStoreRegistry(registry))


@pytest.fixture
def manifests(refs, tmp_path):
    """Group and array metadata, and a manifest whose last chunk is held in memory."""
    group = zarr.create_group(zarr.storage.MemoryStore(), attributes={"title": "referenced"})
    array = group.create_array("a", shape=VALUES.shape, chunks=(5, 10), dtype="<i4", compressors=None)
    ranges = [refs["refs"][f"a/{row}.{column}"][1:] for row in range(3) for column in range(2)]
    offsets, lengths = (np.array(part, "uint64").reshape(3, 2) for part in zip(*ranges, strict=True))
    raw = tmp_path / "data" / "raw.bin"
    paths = np.full((3, 2), raw.as_uri(), dtype=np.dtypes.StringDType())
    offset, length = ranges[-1]
    inlined = {(2, 1): raw.read_bytes()[offset : offset + length]}
    paths[2, 1] = "__inlined__"
    return group.metadata, array.metadata, (paths, offsets, lengths), inlined


def test_manifests(manifests):
    group, array, parts, inlined = manifests
    registry = {"file://": obstore.store.LocalStore()}
    store = manifest_store(group, {"a": (array, parts, inlined)}, registry)
    check(swath.open(store))
    check(pickle.loads(pickle.dumps(swath.open(store))))
    paths, offsets, lengths = (part.copy() for part in parts)
    paths[0, 0] = ""
    offsets[0, 0] = lengths[0, 0] = 0
    store = manifest_store(group, {"a": (array, (paths, offsets, lengths), inlined)}, registry)
    assert (swath.open(store)["a"][:5, :10] == 0).all()
    np.testing.assert_array_equal(swath.open(store)["a"][5:], VALUES[5:])


def test_manifests_take_the_options_of_their_registry(manifests):
    group, array, parts, inlined = manifests
    one = obstore.store.S3Store("one", region="x", skip_signature=True)
    other = obstore.store.S3Store("other", region="y", skip_signature=True)
    place = stores.place(manifest_store(group, {"a": (array, parts, inlined)}, {"s3://one": one}), None)
    assert place.options["region"] == "x"
    store = manifest_store(group, {"a": (array, parts, inlined)}, {"s3://one": one, "s3://other": other})
    with pytest.raises(swath.UnsupportedError, match="different options"):
        swath.open(store)
