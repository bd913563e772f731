"""Arrays whose chunks differ in length: made, written to and grown, with NumPy and zarr-python as oracles."""

import json

import numpy as np
import pytest
import swath
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


@pytest.fixture(autouse=True)
def rectilinear():
    with zarr.config.set({"array.rectilinear_chunks": True}):
        yield


def grid(folder):
    return json.loads((folder / "zarr.json").read_text())["chunk_grid"]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(data=st.data())
def test_what_is_written_reads_as_numpy_has_it(data, tmp_path_factory):
    draw, folder = data.draw, tmp_path_factory.mktemp("rectilinear")
    rank = draw(st.integers(1, 3))
    chunks = [draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)) for _ in range(rank)]
    # zarr-python takes lists only that come to the axis exactly.
    shape = tuple(sum(axis) for axis in chunks)
    if rank != 1 and draw(st.booleans()):
        chunks[-1] = draw(st.integers(1, 4))
    inner = [draw(st.integers(1, 3)) for _ in range(rank)] if draw(st.booleans()) else None
    if inner is not None:
        of_axis = [
            [extent * axis] if isinstance(axis, int) else [extent * each for each in axis]
            for extent, axis in zip(inner, chunks, strict=True)
        ]
        chunks = [
            of_axis[axis] if isinstance(chunks[axis], list) else of_axis[axis][0] for axis in range(rank)
        ]
        shape = tuple(length * extent for length, extent in zip(shape, inner, strict=True))
    text = inner is None and draw(st.booleans())
    options = {
        "shape": shape,
        "dtype": str if text else "i4",
        **({"chunks": chunks} if inner is None else {"chunks": inner, "shards": chunks}),
        "fill_value": "7" if text else 7,
    }
    array = swath.create_array(folder / "a", **options)
    zarr.create_array(folder / "z", **options)
    assert grid(folder / "a") == grid(folder / "z")
    oracle = np.full(shape, 7)

    def given_as(value):
        return np.asarray(value).astype(np.dtypes.StringDType()) if text else value

    for number in range(draw(st.integers(1, 4))):
        index = tuple(
            slice(
                *sorted((draw(st.integers(0, length)), draw(st.integers(0, length)))), draw(st.integers(1, 3))
            )
            for length in shape
        )
        value = np.arange(oracle[index].size).reshape(oracle[index].shape) + 100 * number
        way = draw(st.sampled_from(["basic", "oindex", "mask"]))
        if way == "basic":
            array[index] = given_as(value)
            oracle[index] = value
        elif way == "oindex":
            rows = draw(st.permutations(range(shape[0])))[: draw(st.integers(1, shape[0]))]
            index = (list(rows), *index[1:])
            value = np.arange(oracle[index].size).reshape(oracle[index].shape) + 100 * number
            array.oindex[index] = given_as(value)
            oracle[index] = value
        else:
            mask = np.random.default_rng(draw(st.integers(0, 1 << 32))).random(shape) < 0.5
            value = np.arange(mask.sum()) + 100 * number
            array.vindex[mask] = given_as(value)
            oracle[mask] = value
        assert np.array_equal(array[...].astype("i8"), oracle)
    assert np.array_equal(zarr.open_array(folder / "a")[...].astype("i8"), oracle)
    # zarr-python adds a shard of just these rows, whole inner chunks or not.
    rows = draw(st.integers(1, 5)) * (1 if inner is None else inner[0])
    added = np.full((rows, *shape[1:]), 9)
    array.append(given_as(added))
    zarr.open_array(folder / "z", mode="r+").append(given_as(added))
    oracle = np.concatenate([oracle, added])
    assert grid(folder / "a") == grid(folder / "z")
    assert np.array_equal(swath.open_array(folder / "a")[...].astype("i8"), oracle)
    assert np.array_equal(zarr.open_array(folder / "a")[...].astype("i8"), oracle)


def test_what_is_no_grid_is_refused(tmp_path):
    for chunks in ([[1, 2]], [[1, 2], [3], [4]], [[0, 3], [4]]):
        with pytest.raises(swath.InvalidError):
            swath.create_array(tmp_path / "a", shape=(4, 4), dtype="i2", chunks=chunks)
    with pytest.raises(swath.UnsupportedError, match="rectilinear"):
        swath.create_array(tmp_path / "a", shape=(4, 4), dtype="i2", chunks=[[1, 3], 4], shards=(4, 4))
    with pytest.raises(swath.InvalidError, match="multiples of 2 elements along axis 0"):
        swath.create_array(tmp_path / "a", shape=(4, 4), dtype="i2", chunks=(2, 2), shards=[[1, 4], 4])
    with pytest.raises(swath.InvalidError, match="chunks beside shards of different lengths"):
        swath.create_array(tmp_path / "a", shape=(4, 4), dtype="i2", shards=[[1, 3], 4])
    assert not any((tmp_path / "a").iterdir())


def test_a_shape_that_no_codec_takes_is_not_stored(tmp_path):
    compressors = {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 1, "shuffle": "noshuffle"}}
    array = swath.create_array(tmp_path, shape=(10,), dtype="i1", chunks=[[3, 7]], compressors=[compressors])
    array[:] = 4
    with pytest.raises(swath.SwathError):
        array.resize(3 * 10**9)
    assert swath.open_array(tmp_path).shape == (10,)
    assert (swath.open_array(tmp_path)[:] == 4).all()


def test_shards_that_differ_say_what_they_are(tmp_path):
    array = swath.create_array(tmp_path, shape=(6, 5), dtype="i4", chunks=(2, 5), shards=[[2, 4], [5]])
    array[...] = np.arange(30).reshape(6, 5)
    assert array.chunks == (2, 5)
    assert array.read_chunk_sizes == ((2, 2, 2), (5,))
    assert array.write_chunk_sizes == ((2, 4), (5,))
    assert array.cdata_shape == (3, 1)
    with pytest.raises(NotImplementedError, match="write_chunk_sizes"):
        _ = array.shards
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == ["0", "1"]
    found = zarr.open_array(tmp_path)
    assert found.chunks == array.chunks
    assert (found[2:5, 1:3] == array[2:5, 1:3]).all()
    # A part of a shard; the inner chunks beside it stay.
    array[3, 2:4] = -1
    wanted = np.arange(30).reshape(6, 5)
    wanted[3, 2:4] = -1
    assert (zarr.open_array(tmp_path)[...] == wanted).all()
    array.append(np.full((3, 5), 8))
    assert array.write_chunk_sizes == ((2, 4, 3), (5,))
    assert grid(tmp_path)["configuration"]["chunk_shapes"] == [[2, [4, 2]], [5]]
    assert (zarr.open_array(tmp_path)[6:] == 8).all()
    assert "at most (4, 5)" in str(array.info)
