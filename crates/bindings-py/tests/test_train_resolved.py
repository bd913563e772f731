"""Lazy arrays of xarray as views of stored arrays: held against xarray's own selecting and decoding."""

import base64
import struct
import warnings

import numpy as np
import pytest
import swath
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from swath import train
from swath.train.resolved import Resolved, Unresolved, resolved
from swath.train.view import View

xr = pytest.importorskip("xarray")

SHAPE = (7, 6, 5)
DIMS = ("time", "y", "x")

# By name: the stored dtype, and attributes of CF.
STORED = {
    "plain": ("f4", {}),
    "doubles": ("f8", {}),
    "packed": ("i2", {"scale_factor": 0.01, "add_offset": 280.0, "_FillValue": -3}),
    "scaled": ("i4", {"scale_factor": 0.1}),
    "moved": ("u1", {"add_offset": -40.0}),
    "masked": ("i2", {"_FillValue": 2}),
    "masked_ints": ("i4", {"missing_value": 7}),
    # xarray has such numbers of floats in base64.
    "masked_floats": ("f4", {"_FillValue": base64.b64encode(struct.pack("<d", 3.0)).decode()}),
    "never_masked": ("u1", {"_FillValue": 255}),
    "names": ("i8", {}),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("resolved") / "dataset.zarr")
    group = swath.create_group(path)
    random = np.random.default_rng(3)
    for name, (dtype, attributes) in STORED.items():
        array = group.create_array(name, shape=SHAPE, dtype=dtype, chunks=(3, 4, 2), dimension_names=DIMS)
        array[...] = random.integers(-8 if np.dtype(dtype).kind != "u" else 0, 9, SHAPE).astype(dtype)
        array.attrs.update(attributes)
    for name, extent in zip(DIMS, SHAPE, strict=True):
        array = group.create_array(
            name, shape=(extent,), dtype="i8", chunks=(extent,), dimension_names=(name,)
        )
        array[...] = np.arange(extent) * 10
    return path


def entries(extent):
    """What one axis is indexed by, in positions that are there."""
    position = st.integers(-extent, extent - 1)
    # xarray's own lazy arrays take a start before the first element, of slices backwards, for the last one.
    bound = st.none() | st.integers(-extent, extent + 1)
    step = st.sampled_from([None, 1, 2, 3, -1, -2])
    return st.one_of(
        position, st.builds(slice, bound, bound, step), st.lists(position, min_size=1, max_size=5)
    )


def changed(draw, array, count):
    """Return an array that went through some lazy operations, each drawn."""
    for _ in range(count):
        kind = draw(st.sampled_from(["isel", "sel", "transpose", "rename"]))
        if not array.ndim:
            break
        dim = draw(st.sampled_from(array.dims))
        if kind == "isel":
            entry = draw(entries(array.sizes[dim]) if array.sizes[dim] else st.just(slice(None)))
            array = array.isel({dim: entry})
        elif kind == "sel" and array.sizes[dim] and dim in array.coords:
            known = sorted(set(array[dim].values.tolist()))
            wanted = draw(st.sampled_from(known))
            if len(known) == array.sizes[dim]:
                array = array.sel({dim: wanted if draw(st.booleans()) else [wanted]})
        elif kind == "transpose":
            array = array.transpose(*draw(st.permutations(array.dims)))
        elif kind == "rename":
            array = array.rename({dim: dim + "_"})
    return array


def read_whole(source):
    dataset = train.Dataset({"a": source}, origins=None)
    numbers = np.arange(len(dataset))
    return dataset.read(dataset.samples(numbers, numbers), 0, 0)["a"]


@pytest.mark.parametrize("engine", ["swath", "zarr"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_what_was_selected_lazily_is_a_view(path, engine, data):
    name = data.draw(st.sampled_from(sorted(STORED)))
    lazy = xr.open_dataset(path, engine=engine, consolidated=False)[name]
    count = data.draw(st.integers(0, 4))
    seen = changed(data.draw, lazy, count)
    if not seen.ndim or 0 in seen.shape:
        return
    found = resolved(seen.variable)
    assert isinstance(found, Resolved), found
    assert found.view.shape == seen.shape
    wanted = seen.copy(deep=True).load()
    dim = data.draw(st.sampled_from(seen.dims))
    size = data.draw(st.integers(1, seen.sizes[dim]))
    told = data.draw(st.sampled_from([{}, {"mean": 3.0, "std": 0.5}, {"fill": -1.0}, {"dtype": "f8"}]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source = train.source(
            seen, crops={dim: train.Patch(size)}, coords={dim: np.arange(seen.sizes[dim])}, **told
        )
    assert not hasattr(source.array, "variable")
    read = read_whole(source)
    axis = seen.dims.index(dim)
    assert len(read) == seen.sizes[dim] - size + 1
    for start, sample in enumerate(read):
        values = wanted.values.take(np.arange(start, start + size), axis).astype(told.get("dtype", "f4"))
        if "mean" in told:
            values = (values - np.float32(3)) / np.float32(0.5)
        if "fill" in told:
            values = np.nan_to_num(values, nan=-1)
        assert sample.dtype == values.dtype
        np.testing.assert_array_max_ulp(sample, values, 1)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_numbers_along_an_axis_stay_with_it(path, data):
    lazy = xr.open_dataset(path, engine="swath")["packed"]
    seen = changed(data.draw, lazy, 3)
    if seen.ndim < 2 or 0 in seen.shape:
        return
    per, dim = data.draw(st.permutations(seen.dims))[:2]
    mean, std = np.arange(seen.sizes[per]) + 270.0, np.arange(seen.sizes[per]) + 1.0
    with warnings.catch_warnings():
        # Positions that repeat may have several numbers: xarray evaluates those.
        warnings.simplefilter("ignore")
        crops = {dim: train.Patch(1)}
        source = train.source(
            seen, crops=crops, coords={dim: np.arange(seen.sizes[dim])}, mean=mean, std=std, per=per
        )
    shape = [-1 if one == per else 1 for one in seen.dims]
    wanted = seen.values.astype("f4") - mean.astype("f4").reshape(shape)
    wanted = wanted / std.astype("f4").reshape(shape)
    read = np.concatenate(list(read_whole(source)), seen.dims.index(dim))
    np.testing.assert_array_max_ulp(read, wanted, 1)


def test_a_whole_array_is_itself(path):
    source = train.source(xr.open_dataset(path, engine="swath"), "packed", crops={"time": train.Patch(2)})
    assert isinstance(source.array, swath.Array) and source.decoding.scale == 0.01
    turned = xr.open_dataset(path, engine="swath")["packed"].transpose("x", "y", "time")
    view = train.source(turned, crops={"time": train.Patch(2)}).array
    assert isinstance(view, View) and view.order == (2, 1, 0) and view.array.chunks == (3, 4, 2)


def test_a_batch_of_a_view_reads_its_chunks_once(path):
    lazy = xr.open_dataset(path, engine="swath")["plain"].isel(y=slice(1, 5)).transpose("x", "y", "time")
    dataset = train.Dataset({"a": train.source(lazy, crops={"time": train.Patch(3)})})
    numbers = np.arange(len(dataset))
    before = swath.stats()["logical_reads"]
    dataset.read(dataset.samples(numbers, numbers), 0, 0)
    # Three chunks of time, two of y, three of x.
    assert swath.stats()["logical_reads"] - before == 18
    cost = train.explain(dataset)["a"]
    assert not cost.is_evaluated and cost.bytes_wanted == 5 * 4 * 3 * 4


EVALUATED = {
    "dask": (lambda array: array.chunk({"time": 2}), "dask"),
    "points": (lambda array: array.isel(y=("place", [0, 3, 2]), x=("place", [4, 1, 1])), "point by point"),
}


@pytest.mark.parametrize("way", EVALUATED)
def test_what_is_evaluated_is_said_so_once(path, way):
    if way == "dask":
        pytest.importorskip("dask")
    change, why = EVALUATED[way]
    array = change(xr.open_dataset(path, engine="swath")["packed"])
    assert isinstance(resolved(array.variable), Unresolved)
    with pytest.warns(UserWarning, match=f"packed: evaluated by xarray.*{why}"):
        source = train.source(array, crops={"time": train.Patch(2)})
    dataset = train.Dataset({"a": source})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = dataset.read(dataset.samples(np.arange(3), np.arange(3)), 0, 0)["a"]
        found = train.explain(dataset)
    for start in range(3):
        wanted = array.values[start : start + 2].astype("f4")
        np.testing.assert_array_max_ulp(read[start], wanted, 1)
    assert found.evaluated == 1 and "1 of 1 sources evaluated by xarray" in str(found)


def test_what_is_in_memory_is_an_array(path):
    array = xr.open_dataset(path, engine="swath")["packed"].load() * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        source = train.source(array, crops={"time": train.Patch(2)})
    assert isinstance(source.array, np.ndarray)
    np.testing.assert_array_equal(read_whole(source)[1], array.values[1:3].astype("f4"))
    assert train.explain(train.Dataset({"a": source})).evaluated == 0


def test_integers_are_left_to_xarray(path):
    array = xr.open_dataset(path, engine="swath")["masked"]
    with pytest.warns(UserWarning, match="cast to integers"):
        source = train.source(array, crops={"time": train.Patch(2)}, dtype="i4", fill=-9)
    wanted = np.nan_to_num(array.values, nan=-9).astype("i4")
    np.testing.assert_array_equal(read_whole(source)[2], wanted[2:4])


@pytest.fixture(scope="module")
def years(tmp_path_factory):
    """Paths to arrays that follow one another in time, each packed in its own way, and xarray's join."""
    folder, random = tmp_path_factory.mktemp("years"), np.random.default_rng(5)
    paths, start = [], 0
    for year, length in enumerate((4, 1, 6)):
        made = xr.Dataset(
            {"t": (DIMS, random.normal(280, 9, (length, 4, 3)))},
            coords={"time": (start + np.arange(length)) * 10, "y": np.arange(4.0), "x": np.arange(3.0)},
        )
        start += length
        encoding = {
            "dtype": "i2",
            "scale_factor": 0.01 * (year + 1),
            "add_offset": 280.0,
            "_FillValue": -32768,
            "chunks": (2, 3, 3),
        }
        paths.append(str(folder / f"{year}.zarr"))
        made.to_zarr(paths[-1], zarr_format=3, encoding={"t": encoding}, consolidated=False)
    whole = xr.concat([xr.open_dataset(path, engine="zarr", consolidated=False) for path in paths], "time")
    return paths, whole


@pytest.mark.parametrize("way", ["swath", "xarray", "zarr", "turned"])
def test_arrays_that_follow_one_another(years, way):
    paths, whole = years
    if way == "swath":
        parts = [swath.open_group(path) for path in paths]
    else:
        engine = "zarr" if way == "zarr" else "swath"
        parts = [xr.open_dataset(path, engine=engine, consolidated=False) for path in paths]
    if way == "turned":
        parts = [part.isel(y=[3, 0, 2]).transpose("x", "time", "y") for part in parts]
        whole = whole.isel(y=[3, 0, 2]).transpose("x", "time", "y")
    crops = {"time": train.Window(10, history=3), "x": train.Patch(2)}
    joined = train.source(parts, "t", concat="time", crops=crops, select={"y": [2, 0]}, mean=280.0)
    dataset = train.Dataset({"t": joined})
    assert len(dataset) == (11 - 2) * 2 and joined.array.shape == whole["t"].shape
    samples = dataset.samples(np.arange(len(dataset)), np.arange(len(dataset)))
    batch = dataset.read(samples, 0, 0)["t"]
    origins = samples.origins
    for place, sample in enumerate(batch):
        times = origins["time"][place] - np.array([20, 10, 0])
        wanted = whole["t"].isel(y=[2, 0]).sel(time=times, x=origins["x"][place] + np.arange(2))
        wanted = wanted.transpose(*whole["t"].dims).values.astype("f4") - np.float32(280)
        np.testing.assert_array_max_ulp(sample, wanted, 1)
    # A loader gives the same.
    found = {}
    for one in train.Loader(dataset, 5, seed=3, prefetch=2, to="numpy"):
        found |= dict(zip(one.samples.numbers.tolist(), one["t"], strict=True))
    for number, sample in enumerate(batch):
        np.testing.assert_array_equal(found[number], sample)
    cost = train.explain(dataset)["t"]
    assert cost.bytes_wanted == 3 * 2 * 2 * 2 and not cost.is_evaluated
    told = train.statistics(dataset, "t", samples=18)
    assert abs(told.mean[0] - 280) < 9


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_pieces_put_together_are_the_whole(years, data):
    paths, whole = years
    joined = train.source([swath.open_group(path) for path in paths], "t", concat="time", crops={}).array
    index = []
    for extent in joined.shape:
        position = st.integers(0, extent - 1)
        steps = st.builds(slice, position, st.just(extent), st.integers(1, 3))
        index.append(data.draw(st.one_of(position, steps, st.lists(position, min_size=1, max_size=6))))
    wanted = whole["t"].isel(dict(zip(DIMS, index, strict=True))).values
    found = np.full(wanted.shape, np.nan)
    for piece in joined.pieces(index):
        part = xr.open_dataset(paths[piece.part], engine="zarr", consolidated=False)["t"]
        values = part.isel(dict(zip(DIMS, piece.index, strict=True))).values
        assert values.shape == piece.shape
        found[piece.target] = values
    np.testing.assert_array_equal(found, wanted)


def test_what_does_not_follow_is_refused(years, path):
    paths, _ = years
    groups = [swath.open_group(one) for one in paths]
    crops = {"time": train.Window(10)}
    with pytest.raises(swath.InvalidError, match="differ along time only"):
        train.source([groups[0]["t"], swath.open_group(path)["plain"]], concat="time", crops=crops)
    with pytest.raises(swath.InvalidError, match="found none"):
        train.source([], "t", concat="time", crops=crops)
    with pytest.raises(swath.InvalidError, match="dimension to join along"):
        train.source(groups, "t", concat="level", crops=crops)
    with pytest.raises(swath.InvalidError, match="other dimensions than time"):
        train.source(groups, "t", concat="time", crops=crops, select={"time": [0]})
