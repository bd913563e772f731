"""Samples of xarray's datasets, and rollouts that grow."""

import numpy as np
import pytest
import swath
from swath import train

xr = pytest.importorskip("xarray")

START = np.datetime64("2020-01-01", "ns")
SIX = np.timedelta64(6, "h")


@pytest.fixture
def stored(tmp_path):
    """A path to a dataset whose elements are packed, in chunks."""
    random = np.random.default_rng(4)
    made = xr.Dataset(
        {"t": (("time", "y", "x"), random.normal(280, 9, (20, 6, 10)))},
        coords={"time": START + np.arange(20) * SIX, "y": np.arange(6.0), "x": np.arange(10.0)},
    )
    made.t[0, :2] = np.nan
    encoding = {
        "dtype": "i2",
        "scale_factor": 0.01,
        "add_offset": 280.0,
        "_FillValue": -32768,
        "chunks": (3, 4, 4),
    }
    path = str(tmp_path / "dataset.zarr")
    made.to_zarr(path, zarr_format=3, encoding={"t": encoding}, consolidated=False)
    return path


CROPS = {"time": train.Window("6h", history=2), "y": train.Patch(3), "x": train.Point()}


def read(dataset):
    numbers = np.arange(0, len(dataset), 7)
    return dataset.read(dataset.samples(numbers, numbers), 0, 0)


def test_attributes_give_what_xarray_decodes(stored):
    """The fused steps are within a unit in the last place of xarray's decoding and a cast."""
    ours = read(train.Dataset({"t": train.source(swath.open_group(stored), "t", crops=CROPS)}))
    dataset = xr.open_dataset(stored, engine="zarr")
    theirs = read(train.Dataset({"t": train.source(dataset, "t", crops=CROPS)}))
    assert ours["t"].dtype == theirs["t"].dtype == np.float32
    np.testing.assert_array_max_ulp(ours["t"], theirs["t"], 1)
    origins = ours.samples.origins
    for place in range(len(ours.samples)):
        wanted = dataset["t"].sel(
            time=[origins["time"][place] - SIX, origins["time"][place]],
            y=origins["y"][place] + np.arange(3),
            x=origins["x"][place],
        )
        np.testing.assert_array_max_ulp(ours["t"][place], wanted.values.astype("f4"), 1)


def changed(dataset):
    return (
        dataset.isel(time=slice(2, 18, 2), x=[7, 1, 2, 9])
        .rename(y="lat", t="temperature")
        .transpose("x", "time", "lat")["temperature"]
    )


@pytest.mark.filterwarnings("ignore:temperature. evaluated by xarray:UserWarning")
@pytest.mark.parametrize("way", ["lazy", "dask", "computed", "loaded"])
def test_what_was_selected_and_computed_is_evaluated(stored, way):
    if way == "dask":
        pytest.importorskip("dask")
    dataset = xr.open_dataset(stored, engine="swath", chunks={} if way == "dask" else None)
    array = changed(dataset) * 2 if way == "computed" else changed(dataset)
    array = array.load() if way == "loaded" else array
    crops = {"time": train.Window("12h", history=2, forecast=1), "x": train.Point(), "lat": train.Patch(2)}
    data = train.Dataset({"t": train.source(array, crops=crops, mean=280.0, fill=-1)})
    whole = changed(xr.open_dataset(stored, engine="zarr").load())
    whole = whole * 2 if way == "computed" else whole
    wanted = whole.values.astype("f4") - np.float32(280)
    wanted = np.nan_to_num(wanted, nan=-1)
    # Eight times of which six begin a whole window, four columns, five patches.
    assert len(data) == 6 * 4 * 5
    batch = read(data)
    for place, number in enumerate(batch.samples.numbers):
        # The order of origins is that of the crops.
        time, column, row = np.unravel_index(number, (6, 4, 5))
        np.testing.assert_array_equal(batch["t"][place], wanted[column, time : time + 3, row : row + 2])


def test_all_samples_of_a_batch_are_one_read(stored):
    dataset = xr.open_dataset(stored, engine="swath")
    data = train.Dataset({"t": train.source(dataset, "t", crops=CROPS)})
    read(data)
    before = swath.stats()["logical_reads"]
    read(data)
    # Seven chunks of time, two of y, three of x: each is read once, though samples share them.
    assert swath.stats()["logical_reads"] - before <= 7 * 2 * 3


def test_explain_takes_the_chunks_of_xarray(stored):
    dataset = xr.open_dataset(stored, engine="swath")
    cost = train.explain(train.Dataset({"t": train.source(dataset, "t", crops=CROPS)}))["t"]
    assert 1 <= cost.chunks <= 4


def test_a_rollout_grows_without_new_samples(stored):
    group = swath.open_group(stored)
    crops = {"time": train.Window("6h", history=1, forecast=4)}
    whole = train.Dataset({"t": train.source(group, "t", crops=crops)})
    assert len(whole) == 16
    longest = whole[5]["t"]
    for steps in (0, 1, 4, 9):
        part = whole.shortened(steps)
        assert len(part) == 16
        np.testing.assert_array_equal(part[5]["t"], longest[: 1 + steps])
    loader = train.Loader(whole.shortened(1), 4, seed=2)
    first = list(loader)
    loader.dataset = whole.shortened(3)
    loader.set_epoch(0)
    for one, other in zip(first, loader, strict=True):
        assert other["t"].shape[1] == 4
        np.testing.assert_array_equal(one["t"], other["t"][:, :2])
