"""Arrays that swath writes, read by others; and those of others that it writes to."""

import json
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numcodecs
import numpy as np
import pytest
import swath
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

LAYOUTS = {
    "v3": {"chunks": (4, 5)},
    "v3 sharded": {"chunks": (2, 5), "shards": (4, 20)},
    "v3 index first": {"chunks": (2, 5), "shards": {"shape": (4, 20), "index_location": "start"}},
    "v3 raw": {"chunks": (4, 5), "compressors": None},
    "v3 blosc": {"chunks": (4, 5), "compressors": zarr.codecs.BloscCodec(cname="lz4")},
    "v3 told": {
        "chunks": (4, 5),
        "serializer": {"name": "bytes", "configuration": {"endian": "big"}},
        "compressors": [{"name": "blosc", "configuration": {"cname": "zstd", "clevel": 1}}],
        "chunk_key_encoding": {"name": "v2", "separator": "."},
        "dimension_names": ["y", None],
    },
    "v3 transposed": {
        "chunks": (4, 5),
        "shards": (8, 10),
        "filters": [{"name": "transpose", "configuration": {"order": [1, 0]}}],
        "compressors": [{"name": "gzip", "configuration": {"level": 1}}, {"name": "crc32c"}],
    },
    "v2": {"chunks": (4, 5), "zarr_format": 2},
    "v2 raw": {"chunks": (4, 5), "zarr_format": 2, "compressors": None, "order": "F"},
    "v2 zlib": {
        "chunks": (4, 5),
        "zarr_format": 2,
        "compressors": numcodecs.Zlib(3),
        "chunk_key_encoding": {"name": "v2", "separator": "/"},
    },
}
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())


def numbers(shape, dtype="f4"):
    return np.random.default_rng(5).integers(-100, 100, shape).astype(dtype)


def tensorstore_reads(path, zarr_format):
    tensorstore = pytest.importorskip("tensorstore")
    spec = {
        "driver": "zarr" if zarr_format == 2 else "zarr3",
        "kvstore": {"driver": "file", "path": str(path)},
    }
    return tensorstore.open(spec).result().read().result()


@layouts
@pytest.mark.parametrize("dtype", ["f4", "<i2", ">u4", "c16", "?", "u1"])
def test_others_read_what_is_written(tmp_path, layout, dtype):
    values = numbers((11, 23), dtype)
    array = swath.create_array(tmp_path / "a", shape=values.shape, dtype=dtype, fill_value=1, **layout)
    array[...] = values
    array[3:9, ::-2] = values[3:9, ::-2][::-1]
    values[3:9, ::-2] = values[3:9, ::-2][::-1].copy()
    theirs = zarr.open_array(tmp_path / "a", mode="r")
    np.testing.assert_array_equal(theirs[...], values)
    np.testing.assert_array_equal(array[...], values)
    assert theirs.dtype.newbyteorder("=") == array.dtype
    # TensorStore knows no complex numbers in v2, and no fill value but zero of bool.
    if not (layout.get("zarr_format") == 2 and dtype in ("c16", "?")):
        found = tensorstore_reads(tmp_path / "a", theirs.metadata.zarr_format)
        np.testing.assert_array_equal(np.asarray(found), values)


@layouts
def test_documents_are_zarr_pythons(tmp_path, layout):
    options = dict(
        shape=(11, 23), dtype="f4", fill_value=2.5, attributes={"units": "K", "n": [1, None]}, **layout
    )
    swath.create_array(tmp_path / "ours", name="a/b", **options)
    zarr.create_array(str(tmp_path / "theirs"), name="a/b", **options)

    def documents(folder):
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        return {str(path.relative_to(folder)): json.loads(path.read_text()) for path in files}

    assert documents(tmp_path / "ours") == documents(tmp_path / "theirs")


@pytest.mark.parametrize("fill_value", [None, float("nan"), float("-inf"), -0.0, 3])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_fill_values(tmp_path, fill_value, zarr_format):
    array = swath.create_array(
        tmp_path / "a", shape=(4,), dtype="f8", chunks=(2,), fill_value=fill_value, zarr_format=zarr_format
    )
    theirs = zarr.open_array(tmp_path / "a", mode="r")
    np.testing.assert_array_equal(theirs[...], array[...])
    assert str(theirs.fill_value) == str(array.fill_value)
    array[0] = 1
    array[2:] = array[2:]
    np.testing.assert_array_equal(theirs[...], array[...])


@layouts
def test_arrays_of_others_are_written_to(tmp_path, layout):
    values = numbers((11, 23))
    theirs = zarr.create_array(str(tmp_path / "a"), shape=values.shape, dtype="f4", **layout)
    theirs[...] = values
    array = swath.open_array(tmp_path / "a", "r+")
    for index in [np.s_[2], np.s_[:, 4], np.s_[-1, -1], np.s_[3:8, 2:21:3], np.s_[..., ::-1], np.s_[5:5]]:
        new = numbers(values[index].shape) + 1
        array[index] = new
        values[index] = new
        np.testing.assert_array_equal(array[...], values)
        np.testing.assert_array_equal(theirs[...], values)
    # And again by zarr-python, what swath laid out.
    theirs[2:7, 3] = 9
    values[2:7, 3] = 9
    np.testing.assert_array_equal(array[...], values)


def test_inner_chunks_lie_as_zarr_python_lays_them(tmp_path):
    options = {"shape": (40, 60), "dtype": "i4", "chunks": (3, 5), "shards": (12, 30)}
    for folder, library in (("ours", swath), ("theirs", zarr)):
        array = library.create_array(str(tmp_path / folder), compressors=None, **options)
        array[...] = np.arange(2400).reshape(40, 60)
    files = sorted((tmp_path / "theirs" / "c").rglob("*"))
    for file in (file for file in files if file.is_file()):
        assert (tmp_path / "ours" / file.relative_to(tmp_path / "theirs")).read_bytes() == file.read_bytes()


def test_casts_and_broadcasts_are_numpys(tmp_path):
    array = swath.create_array(tmp_path / "a", shape=(4, 6), dtype="i2", chunks=(3, 4))
    expected = np.zeros((4, 6), "i2")
    for index, value in [
        (np.s_[...], 7),
        (np.s_[1], [1.9, -2.9, 3, 4, 5, 6]),
        (np.s_[:, 2:4], np.array([[8], [9], [10], [11]], "u8")),
        (np.s_[2, 3], np.float32(12.5)),
        (np.s_[:2], np.ones((1, 1, 6), ">i4") * 300),
        (np.s_[3, ::2], np.arange(24)[::8]),
        (np.s_[0, 0], True),
        (np.s_[1:3, 1:3], np.asfortranarray([[1, 2], [3, 4]])),
    ]:
        array[index] = value
        expected[index] = np.reshape(value, np.shape(value)[-2:]) if np.ndim(value) == 3 else value
        np.testing.assert_array_equal(array[...], expected)
    with pytest.raises(OverflowError):
        array[0] = 1 << 20
    with pytest.raises(swath.InvalidError, match="broadcast"):
        array[:2] = [1, 2, 3]
    with pytest.raises(swath.OutOfBoundsError):
        array[9] = 1
    np.testing.assert_array_equal(array[...], expected)


@st.composite
def cases(draw):
    shape = tuple(draw(st.lists(st.integers(0, 12), min_size=0, max_size=3)))
    chunks = tuple(draw(st.integers(1, 5)) for _ in shape)
    options = {"shape": shape, "chunks": chunks, "dtype": draw(st.sampled_from(["u1", "<i4", ">f8", "c8"]))}
    options["fill_value"] = draw(st.sampled_from([0, 3]))
    options["zarr_format"] = draw(st.sampled_from([2, 3]))
    if options["zarr_format"] == 2:
        options["order"] = draw(st.sampled_from("CF"))
        options["compressors"] = draw(st.sampled_from([None, {"id": "zlib", "level": 1}, {"id": "lz4"}]))
    else:
        if draw(st.booleans()):
            options["shards"] = tuple(chunk * draw(st.integers(1, 4)) for chunk in chunks)
        options["compressors"] = draw(st.sampled_from(["auto", None, [{"name": "crc32c"}]]))
    writes = draw(st.lists(st.tuples(*(axis(length) for length in shape)), max_size=4))
    return options, writes, draw(st.booleans())


def goes_back(index):
    """Whether zarr-python refuses it."""
    return any(isinstance(part, slice) and part.step is not None and part.step < 1 for part in index)


def axis(length):
    slices = st.slices(length) if length else st.just(slice(None))
    return slices | st.integers(0, length - 1) if length else slices


@settings(deadline=None, max_examples=int(os.environ.get("SWATH_CASES", "150")), print_blob=True)
@given(case=cases())
def test_sequences_of_writes(tmp_path_factory, case):
    options, writes, keeps_empty = case
    folder = tmp_path_factory.mktemp("case")
    array = swath.create_array(folder / "a", config={"write_empty_chunks": keeps_empty}, **options)
    theirs = zarr.open_array(folder / "a", mode="r+")
    expected = np.full(options["shape"], options["fill_value"], options["dtype"])
    random = np.random.default_rng(len(writes))
    for number, index in enumerate(writes):
        values = random.integers(0, 5, np.shape(expected[index])).astype(options["dtype"])
        expected[index] = values
        # Every other one is theirs, so that each goes on from what the other laid out.
        (theirs if number % 3 == 2 and not goes_back(index) else array)[index] = values
        np.testing.assert_array_equal(array[...], expected)
        np.testing.assert_array_equal(theirs[...], expected)


def test_modes(tmp_path):
    path = tmp_path / "new" / "a"
    for mode in ("r", "r+"):
        with pytest.raises(swath.NotFoundError):
            swath.open(path, mode)
    assert swath.open(path, "a", shape=(3,), dtype="i4", fill_value=5)[...].tolist() == [5, 5, 5]
    array = swath.open_array(path, "a", shape=(9,), dtype="i4")
    assert array.shape == (3,) and not array.read_only
    array[1] = 2
    read = swath.open(path)
    assert read.read_only
    with pytest.raises(swath.InvalidError, match="reading only"):
        read[1] = 3
    with pytest.raises(swath.InvalidError, match="read-only"):
        read.attrs["a"] = 1
    for change in (lambda: read.resize(4), lambda: read.append([1])):
        with pytest.raises(swath.InvalidError):
            change()
    with pytest.raises(swath.InvalidError, match="found an array"):
        swath.open(path, "w-", shape=(3,), dtype="i4")
    with pytest.raises(swath.InvalidError, match="found an array"):
        swath.open_group(path, "a")
    with pytest.raises(TypeError, match="shape"):
        swath.open(path, "r+", shape=(3,))
    with pytest.raises(swath.InvalidError, match='found "rw"'):
        swath.open(path, "rw")
    assert array[...].tolist() == [5, 2, 5]
    assert swath.open_array(path, "w", shape=(2,), dtype="u1", zarr_format=2)[...].tolist() == [0, 0]
    assert sorted(file.name for file in path.iterdir()) == [".zarray", ".zattrs"]
    group = swath.open(path, "w", attributes={"a": 1})
    assert isinstance(group, swath.Group) and group.attrs == {"a": 1} and not group.read_only
    assert sorted(file.name for file in path.iterdir()) == ["zarr.json"]


def test_the_mode_is_pickled(tmp_path):
    array = swath.create_array(tmp_path / "a", shape=(4,), dtype="i4", config={"write_empty_chunks": True})
    copy = pickle.loads(pickle.dumps(array))
    copy[:] = 0
    assert (tmp_path / "a" / "c" / "0").exists() and not copy.read_only
    read = pickle.loads(pickle.dumps(swath.open(tmp_path / "a")))
    assert read.read_only
    group = pickle.loads(pickle.dumps(swath.open_group(tmp_path, "a")))
    assert not group.read_only and group["a"][...].tolist() == [0] * 4


def test_groups(tmp_path):
    group = swath.create_group(tmp_path / "g", attributes={"title": "x"})
    array = group.create_array("a/t2m", shape=(4,), dtype="f4", chunks=(2,), attributes={"units": "K"})
    array[:] = 3
    inner = group.create_group("b", attributes={"n": np.int64(3), "list": np.arange(2)})
    assert group.keys() == ("a", "b") and inner.attrs == {"n": 3, "list": [0, 1]}
    theirs = zarr.open_group(tmp_path / "g", mode="r")
    assert dict(theirs.attrs) == {"title": "x"} and theirs["a/t2m"][...].tolist() == [3] * 4
    assert group.require_group("b") == inner and group.require_group("c").attrs == {}
    assert group.require_array("a/t2m", shape=(4,), dtype="f8") == array
    with pytest.raises(swath.InvalidError, match="shape"):
        group.require_array("a/t2m", shape=(5,))
    with pytest.raises(swath.InvalidError, match="dtype"):
        group.require_array("a/t2m", shape=(4,), dtype="f8", exact=True)
    with pytest.raises(swath.InvalidError, match="array"):
        group.require_group("a/t2m")
    assert group.require_array("a/new", shape=2, dtype="i1").shape == (2,)
    with pytest.raises(swath.InvalidError):
        group.create_array("a/t2m", shape=(4,), dtype="f4")
    assert group.create_array("a/t2m", shape=(2,), dtype="f4", overwrite=True)[...].tolist() == [0, 0]
    del group["a"]
    assert group.keys() == ("b", "c") and not (tmp_path / "g" / "a").exists()
    with pytest.raises(KeyError):
        del group["a"]
    with pytest.raises(swath.InvalidError):
        swath.open_group(tmp_path / "g").create_group("d")


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_attributes(tmp_path, zarr_format):
    group = swath.create_group(tmp_path, zarr_format=zarr_format)
    array = group.create_array("a", shape=(2,), dtype="i1")
    for node, path in ((group, tmp_path), (array, tmp_path / "a")):
        attributes = node.attrs
        attributes["a"] = {"b": [1, None]}
        attributes.update({"c": 1.5}, d="x")
        assert attributes == node.attrs == {"a": {"b": [1, None]}, "c": 1.5, "d": "x"}
        del attributes["c"]
        assert dict(zarr.open(path, mode="r").attrs) == {"a": {"b": [1, None]}, "d": "x"}
        attributes.put({"e": 2})
        assert dict(swath.open(path).attrs) == {"e": 2}
        for wrong in (float("nan"), object()):
            with pytest.raises(swath.InvalidError, match="JSON"):
                attributes["f"] = wrong
        with pytest.raises(KeyError):
            del attributes["f"]
        attributes.clear()
        assert node.attrs == {}


@layouts
def test_resize_and_append(tmp_path, layout):
    values = numbers((11, 23))
    array = swath.create_array(tmp_path / "a", data=values, **layout)
    assert array.append(values[:3]) == (14, 23) and array.shape == (14, 23)
    assert array.append(values[:1].repeat(14, 0)[:, :2], axis=1) == (14, 25)
    values = np.concatenate([values, values[:3]])
    values = np.concatenate([values, values[:1].repeat(14, 0)[:, :2]], axis=1)
    theirs = zarr.open_array(tmp_path / "a", mode="r+")
    np.testing.assert_array_equal(array[...], values)
    np.testing.assert_array_equal(theirs[...], values)
    array.resize((5, 30))
    theirs = zarr.open_array(tmp_path / "a", mode="r+")
    assert theirs.shape == (5, 30)
    np.testing.assert_array_equal(array[...], theirs[...])
    np.testing.assert_array_equal(array[:, :25], values[:5])
    # Somebody else makes it longer: whoever does not know that appends behind it all the same.
    theirs.append(values[:1, :1].repeat(30, 1))
    assert array.append(values[1:2, :1].repeat(30, 1)) == (7, 30) == array.shape
    np.testing.assert_array_equal(array[5:], values[:2, :1].repeat(30, 1))


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.filterwarnings("ignore:Consolidated metadata")
def test_consolidated_metadata_is_zarr_pythons(tmp_path, zarr_format):
    group = zarr.create_group(tmp_path / "g", zarr_format=zarr_format, attributes={"a": 1})
    group.create_array("x/y", shape=(3,), dtype="i1", attributes={"b": 2})
    group.create_group("x/z").create_array("deep", shape=(), dtype="f4")
    name = "zarr.json" if zarr_format == 3 else ".zmetadata"
    ours = swath.consolidate_metadata(tmp_path / "g")
    document = json.loads((tmp_path / "g" / name).read_text())
    zarr.consolidate_metadata(tmp_path / "g")
    theirs = json.loads((tmp_path / "g" / name).read_text())
    if zarr_format == 2:
        # zarr-python puts a field of v3 into the groups of v2.
        for entry in theirs["metadata"].values():
            entry.pop("consolidated_metadata", None)
    assert theirs == document
    assert [path for path, _ in ours.walk()] == ["x", "x/y", "x/z", "x/z/deep"]
    # A group to write to looks for what is there, whatever was consolidated.
    writable = swath.open_group(tmp_path / "g", "r+")
    writable.create_array("late", shape=(1,), dtype="i1")
    assert "late" in writable and "late" not in swath.open_group(tmp_path / "g")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shape": (4,)}, "dtype"),
        ({"data": [1], "shape": (1,)}, "either"),
        ({"shape": (-1,), "dtype": "i4"}, "negative"),
        ({"shape": (4,), "dtype": "i4", "chunks": (0,)}, "chunk"),
        ({"shape": (4,), "dtype": "i4", "chunks": (2,), "shards": (3,)}, "shard"),
        ({"shape": (4,), "dtype": "i4", "zarr_format": 1}, "zarr_format"),
        ({"shape": (4,), "dtype": "i4", "zarr_format": 2, "dimension_names": ["x"]}, "dimensions"),
        ({"shape": (4,), "dtype": "i4", "compressors": [{"name": "none such"}]}, "none such"),
        ({"shape": (4,), "dtype": "no such type"}, "no such type"),
    ],
)
def test_what_cannot_be_made_leaves_nothing(tmp_path, options, message):
    with pytest.raises((swath.InvalidError, swath.UnsupportedError), match=message):
        swath.create_array(tmp_path / "a", **options)
    assert not any(file.is_file() for file in tmp_path.rglob("*"))


def test_threads_lose_nothing(tmp_path):
    array = swath.create_array(tmp_path / "a", shape=(64,), dtype="u1", chunks=(4,), shards=(64,))

    def write(first):
        for place in range(first, 64, 4):
            array[place] = place + 1

    threads = [threading.Thread(target=write, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert array[...].tolist() == list(range(1, 65))


WRITER = """
import sys
import numpy as np, swath
array = swath.open_array(sys.argv[1], "r+")
print("ready", flush=True)
for number in range(1, 1 << 30):
    array[...] = np.full(array.shape, number % 250 + 1, "u1")
    array[3:90, 5:70] = number % 250 + 1
"""


@pytest.mark.parametrize("shards", [None, (64, 64)])
def test_killed_writers_leave_whole_objects(tmp_path, shards):
    """Every object holds one value, whichever write it is of: nothing in it is half old and half new."""
    rounds = int(os.environ.get("SWATH_KILLS", "6"))
    array = swath.create_array(tmp_path / "a", shape=(128, 128), dtype="u1", chunks=(32, 32), shards=shards)
    random = np.random.default_rng(11)
    for _ in range(rounds):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "a")], stdout=subprocess.PIPE)
        assert writer.stdout.readline() == b"ready\n"
        killer = threading.Timer(random.uniform(0.0, 0.2), writer.kill)
        killer.start()
        writer.wait()
        values = array[...]
        theirs = zarr.open_array(tmp_path / "a", mode="r")[...]
        np.testing.assert_array_equal(values, theirs)
        step = 64 if shards else 32
        for row in range(0, 128, step):
            for column in range(0, 128, step):
                part = values[row : row + step, column : column + step]
                # Each value is written to the whole of an object first, then again to a part of it.
                assert len(np.unique(part)) == 1
    names = [path.name for path in Path(tmp_path).rglob("*") if path.is_file()]
    assert all(name.isdigit() or name == "zarr.json" or name.startswith(".swath-part-") for name in names)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(
    ("dtype", "fill_value"),
    [
        ("S5", b"xy"),
        ("U3", "é"),
        ("M8[ns]", np.datetime64("NaT", "ns")),
        ("m8[s]", np.timedelta64(3, "s")),
        ("?", True),
    ],
)
def test_fill_values_of_other_types(tmp_path, zarr_format, dtype, fill_value):
    values = np.array([fill_value] * 7, dtype)
    options = {"shape": (7,), "chunks": (3,), "dtype": dtype, "zarr_format": zarr_format}
    array = swath.create_array(tmp_path / "a.zarr", fill_value=fill_value, **options)
    np.testing.assert_array_equal(array[...], values)
    array[4] = values[4] = np.zeros((), dtype)
    np.testing.assert_array_equal(swath.open_array(tmp_path / "a.zarr")[...], values)
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "a.zarr", mode="r")[...], values)


@pytest.mark.parametrize(("name", "fill_value"), [("bfloat16", 1.5), ("bfloat16", np.nan), ("int4", -3)])
def test_types_of_ml_dtypes_are_written(tmp_path, name, fill_value):
    dtype = np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    array = swath.create_array(
        tmp_path / "a.zarr", shape=(5,), chunks=(2,), dtype=dtype, fill_value=fill_value
    )
    array[1:4] = np.array([1, 2, 3]).astype(dtype)
    found = swath.open_array(tmp_path / "a.zarr")
    assert found.dtype == dtype
    wanted = np.array([fill_value, 1, 2, 3, fill_value])
    np.testing.assert_array_equal(found[...].astype(float), wanted)
    with pytest.raises(swath.UnsupportedError, match=name):
        swath.create_array(tmp_path / "b.zarr", shape=(5,), dtype=dtype, zarr_format=2)


def test_structures_are_written(tmp_path):
    dtype = [("x", "<f4"), ("n", "<i2")]
    zarr.create_array(tmp_path / "a.zarr", shape=(3,), chunks=(2,), dtype=dtype, fill_value=0)
    swath.open_array(tmp_path / "a.zarr", "r+")[1] = (2.5, 7)
    wanted = np.array([(0, 0), (2.5, 7), (0, 0)], dtype)
    np.testing.assert_array_equal(swath.open_array(tmp_path / "a.zarr")[...], wanted)
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "a.zarr", mode="r")[...], wanted)


def test_archives_are_not_written_to(tmp_path):
    path = tmp_path / "a.zip"
    with zarr.storage.ZipStore(path, mode="w") as store:
        zarr.create_group(store).create_array("n", data=np.arange(4))
    before = path.read_bytes()
    group = swath.open_group(path, "r+")
    array = group["n"]
    for call in [
        lambda: array.__setitem__(0, 9),
        lambda: array.resize(2),
        lambda: array.append([1]),
        lambda: array.attrs.update(a=1),
        lambda: group.attrs.update(a=1),
        lambda: group.create_array("m", shape=(2,), dtype="i4"),
        lambda: group.create_group("m"),
        lambda: group.__delitem__("n"),
        lambda: swath.open(path, "w"),
        lambda: swath.create_group(path, overwrite=True),
        lambda: swath.consolidate_metadata(path),
    ]:
        with pytest.raises(swath.UnsupportedError, match="archive"):
            call()
    assert path.read_bytes() == before


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_handle_has_the_shape_that_came_last(tmp_path, zarr_format):
    array = swath.create_array(tmp_path / "a", shape=(1,), dtype="u1", zarr_format=zarr_format)

    def resize():
        for length in range(2, 60):
            array.resize(length)

    def label():
        for number in range(60):
            array.attrs[f"n{number}"] = number

    with ThreadPoolExecutor(2) as pool:
        for task in [pool.submit(resize), pool.submit(label)]:
            task.result()
    assert array.shape == (59,) == swath.open(tmp_path / "a").shape
    assert len(array.attrs) == 60 == len(swath.open(tmp_path / "a").attrs)
    # And one that another handle's change passed by learns of it when it changes something itself.
    other = swath.open(tmp_path / "a", "r+")
    array.resize(5)
    other.attrs["last"] = 1
    assert other.shape == (5,)


def test_extents_may_be_arrays(tmp_path):
    array = swath.create_array(
        tmp_path / "a", shape=np.array([8, 6]), dtype="u1", chunks=np.array([2, 3]), shards=np.array([4, 6])
    )
    assert (array.shape, array.chunks, array.shards) == ((8, 6), (2, 3), (4, 6))
