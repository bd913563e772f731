"""What an array says of itself, and what indexing it gives."""

import copy
import json

import numpy as np
import pytest
import swath
import zarr


def test_properties(array, path):
    assert array.shape == (5, 6, 70)
    assert array.ndim == 3
    assert array.size == 2100
    assert array.dtype == np.dtype("int16")
    assert array.nbytes == 4200
    assert array.chunks == (1, 3, 16)
    assert array.shards == (2, 6, 80)
    assert array.cdata_shape == (5, 2, 5)
    assert array.nchunks == 50
    assert array.fill_value == -1
    assert type(array.fill_value) is np.int16
    assert array.dimension_names == ("time", None, "x")
    assert array.zarr_format == 3
    assert array.read_only
    assert (array.name, array.path, array.basename, array.store_path) == ("/", "", "", str(path))
    assert array.metadata["node_type"] == "array"
    assert array.nbytes_stored() == sum(file.stat().st_size for file in path.glob("c/**/*") if file.is_file())
    assert array.codecs[0] == "bytes(little)"
    assert len(array.compressors) == 1 and array.compressors[0].startswith("zstd")


def test_an_array_without_shards(tmp_path):
    zarr.create_array(tmp_path / "a", shape=(7,), chunks=(3,), dtype=">f8", compressors=None)
    array = swath.open_array(tmp_path / "a")
    assert array.shards is None
    assert array.compressors == ()
    assert array.dtype == np.dtype("=f8")
    assert array.cdata_shape == (3,)


def test_agrees_with_zarr_python(array, path):
    theirs = zarr.open_array(path, mode="r")
    names = ["shape", "ndim", "size", "dtype", "nbytes", "chunks", "shards", "cdata_shape", "nchunks"]
    names += ["fill_value", "name", "path", "basename"]
    for name in names:
        assert getattr(array, name) == getattr(theirs, name), name
    assert array.attrs.asdict() == theirs.attrs.asdict()
    assert array.metadata == json.loads((path / "zarr.json").read_text())


def test_attributes_are_a_read_only_mapping(array):
    attributes = array.attrs
    assert attributes == {"units": "K", "nested": {"list": [1, None, True, 2.5]}}
    assert list(attributes) == ["units", "nested"]
    assert attributes.get("absent", 3) == 3
    with pytest.raises(swath.InvalidError):
        attributes["units"] = "C"
    attributes["nested"]["list"].append(1)
    attributes.asdict()["units"] = "C"
    assert array.attrs == {"units": "K", "nested": {"list": [1, None, True, 2.5]}}
    assert copy.deepcopy(attributes) == attributes


def test_text(array, path):
    assert repr(array) == f"<swath.Array {path} shape=(5, 6, 70) dtype=int16>"
    info = repr(array.info)
    assert "Shard shape    : (2, 6, 80)" in info
    assert "Fill value     : -1" in info
    assert str(array.info) == info


INDEXES = [
    np.s_[...],
    (),
    2,
    -1,
    np.int64(3),
    np.uint8(3),
    np.array(3),
    (4, -6, 69),
    (4, ..., 69),
    (..., 1, 2, 3),
    np.s_[1:4],
    np.s_[-3:, ::2, 60:1000],
    np.s_[::-1, 5:1:-2, ::-7],
    np.s_[3:1],
    np.s_[..., 5:5],
    np.s_[:, 0, :],
    np.s_[0, ...],
    np.s_[..., -1],
    np.s_[-100:100:3, ..., np.int32(2) : np.int16(50)],
    np.s_[: 2**70, -(2**70) :],
    np.s_[5:-7:-1],
]


@pytest.mark.parametrize("index", INDEXES, ids=str)
def test_indexing(array, values, index):
    expected = np.asarray(values[index])
    for found in (array[index], array.read(index), array.read_many([index, index])[1]):
        np.testing.assert_array_equal(found, expected)
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype
    assert array.read(index).flags.c_contiguous
    out = np.full(expected.shape, 77, "int16")
    assert array.read(index, out=out) is out
    np.testing.assert_array_equal(out, expected)


def test_an_object_with_index(array, values):
    class Two:
        def __index__(self):
            return 2

    np.testing.assert_array_equal(array[Two(), : Two()], values[2, :2])


def test_what_an_object_raises_comes_through(array):
    class Broken:
        def __index__(self):
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        array[Broken()]
    with pytest.raises(RuntimeError, match="broken"):
        array[: Broken()]


def test_scalars_are_given_where_zarr_python_gives_them(tmp_path):
    zarr.create_array(tmp_path / "line", data=np.arange(4, dtype="f4"))
    zarr.create_array(tmp_path / "point", shape=(), dtype="i8", fill_value=5)
    line, point = (swath.open_array(tmp_path / name) for name in ("line", "point"))
    their_line, their_point = (zarr.open_array(tmp_path / name, mode="r") for name in ("line", "point"))
    for index in (1, (1,), (..., 1), (1, ...)):
        assert type(line[index]) is type(their_line[index]), index
        assert line[index] == 1
        assert type(line.read(index)) is np.ndarray
    for index in ((), ...):
        assert type(point[index]) is type(their_point[index]) is np.int64
        assert point[index] == 5
        assert type(point.read(index)) is np.ndarray


def test_read_many_stacks(array, values):
    starts = [(0, 0), (3, 2), (1, 54), (0, 0)]
    indexes = [np.s_[t, :, x : x + 16] for t, x in starts]
    expected = np.stack([values[index] for index in indexes])
    np.testing.assert_array_equal(array.read_many(indexes), expected)
    np.testing.assert_array_equal(array.read_many(iter(indexes)), expected)
    out = np.zeros(expected.shape, "int16")
    assert array.read_many(tuple(indexes), out) is out
    np.testing.assert_array_equal(out, expected)


def test_read_many_gives_lists(array, values):
    indexes = [0, np.s_[1:3, 2], (4, 5, 69), np.s_[2:2], ...]
    found = array.read_many(indexes, stack=False)
    assert type(found) is list
    for one, index in zip(found, indexes, strict=True):
        np.testing.assert_array_equal(one, values[index])
        assert one.shape == np.shape(values[index])
        assert one.flags.writeable
    assert array.read_many([], stack=False) == []


def test_out_may_be_part_of_another_array(array, values):
    batch = np.zeros((4, 6, 70), "int16")
    for number in range(4):
        array.read(number, out=batch[number])
    np.testing.assert_array_equal(batch, values[:4])


def test_out_may_be_a_subclass(array, values, tmp_path):
    mapped = np.memmap(tmp_path / "out.bin", dtype="int16", mode="w+", shape=(6, 70))
    assert array.read(1, out=mapped) is mapped
    mapped.flush()
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out.bin", "int16").reshape(6, 70), values[1])


def test_numpy_reads_arrays(array, values):
    np.testing.assert_array_equal(np.asarray(array), values)
    assert np.asarray(array, dtype="f8").dtype == np.dtype("f8")
    np.testing.assert_array_equal(np.array(array, copy=True) + 1, values + 1)
    with pytest.raises(ValueError, match="copy"):
        np.asarray(array, copy=False)


def test_iteration(array, values):
    assert len(array) == 5
    items = list(array)
    assert len(items) == 5
    np.testing.assert_array_equal(np.stack(items), values)


def test_no_length_without_dimensions(tmp_path):
    zarr.create_array(tmp_path / "point", shape=(), dtype="i8", fill_value=5)
    point = swath.open_array(tmp_path / "point")
    with pytest.raises(TypeError, match="len"):
        len(point)
    with pytest.raises(TypeError):
        iter(point)
    assert (point.shape, point.size, point.nchunks, point.nbytes) == ((), 1, 1, 8)


def test_equality_is_by_place(path, array):
    again = swath.open(path)
    assert array == again
    assert hash(array) == hash(again)
    assert array != str(path)
    assert len({array, again}) == 1


def test_fill_values(tmp_path):
    for dtype, value in [("f4", np.nan), ("c16", 1 - 2j), ("bool", True), ("u8", 2**64 - 1), ("f2", -np.inf)]:
        zarr.create_array(tmp_path / dtype, shape=(2,), dtype=dtype, fill_value=value)
        array = swath.open_array(tmp_path / dtype)
        expected = np.array([value], dtype)
        assert type(array.fill_value) is expected.dtype.type
        np.testing.assert_array_equal(array.fill_value, expected[0])
        np.testing.assert_array_equal(array[...], np.repeat(expected, 2))
    zarr.create_array(tmp_path / "v2", shape=(2,), dtype="i4", fill_value=None, zarr_format=2)
    array = swath.open_array(tmp_path / "v2")
    assert array.fill_value is None
    assert array[...].tolist() == [0, 0]


def test_paths(path, array, monkeypatch):
    assert swath.open(str(path)) == array
    assert swath.open(f"file://{path}") == array
    monkeypatch.chdir(path.parent)
    assert swath.open("array.zarr") == array
    assert swath.open("array.zarr").store_path == str(path)


def test_a_v2_array(tmp_path):
    zarr.create_array(
        tmp_path / "a", data=np.arange(12.0).reshape(3, 4), chunks=(2, 2), order="F", zarr_format=2
    )
    array = swath.open(tmp_path / "a")
    assert array.zarr_format == 2
    assert array.metadata["order"] == "F"
    np.testing.assert_array_equal(array[::-1], np.arange(12.0).reshape(3, 4)[::-1])


class Place:
    """Something that is no int, but stands for one."""

    def __init__(self, place):
        self.place = place

    def __index__(self):
        return self.place


def test_slices_are_pythons(array):
    values = np.asarray(array)
    huge = 1 << 70
    places = [None, *range(-8, 9), 69, 70, 71, huge, -huge]
    places += [True, np.int64(2), np.uint8(3), Place(1), Place(-2)]
    for start in places:
        for stop in places:
            assert (array[start:stop] == values[start:stop]).all(), (start, stop)
            assert (array[:1, :2, start:stop] == values[:1, :2, start:stop]).all(), (start, stop)
        for step in [1, 2, True, -1, Place(3), huge, -huge]:
            assert (array[:1, :2, start::step] == values[:1, :2, start::step]).all(), (start, step)
            assert (array[:1, :2, 1:start:step] == values[:1, :2, 1:start:step]).all(), (start, step)
