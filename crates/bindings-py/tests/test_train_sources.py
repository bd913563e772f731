"""Sources: what is selected, which coordinates count, and what does not fit."""

import numpy as np
import pytest
import swath
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from swath import train
from swath.train.sampler import digest

START = np.datetime64("2020-01-01", "ns")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A group in a group, each with a time of its own, and an array of six channels."""
    path = tmp_path_factory.mktemp("sources") / "archive.zarr"
    root = zarr.create_group(path)
    values = np.arange(4 * 6 * 5, dtype="int16").reshape(4, 6, 5)
    for group, hours in ((root, [0, 1, 2, 3]), (root.create_group("low"), [0, 6, 12, 18])):
        group.create_array("a", data=values, chunks=(2, 3, 5), dimension_names=("time", "channel", "x"))
        times = group.create_array("time", data=np.array(hours, "int32"), dimension_names=("time",))
        times.attrs["units"] = "hours since 2020-01-01"
    return path, values


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_is_selected_is_what_numpy_selects(stored, data):
    path, values = stored
    entry = data.draw(
        st.one_of(
            st.integers(-6, 5),
            st.lists(st.integers(-6, 5), min_size=1, max_size=7),
            st.lists(st.booleans(), min_size=6, max_size=6),
            st.slices(6),
        )
    )
    means = np.arange(6) * 10.0
    wanted = (values - means.reshape(6, 1))[1][np.asarray(entry) if isinstance(entry, list) else entry]
    for array in (swath.open_group(path)["a"], values):
        source = train.source(
            array,
            dims=("time", "channel", "x"),
            crops={"time": train.Point()},
            select={"channel": entry},
            mean=means,
            per="channel",
        )
        assert source.sample_shape == wanted.shape
        np.testing.assert_array_equal(train.Dataset({"a": source})[1]["a"], wanted.astype("f4"))


@pytest.mark.parametrize("entry", [6, -7, [0, 6], 1.5, [True, False], "a", [[0]]])
def test_what_cannot_be_selected_is_refused(stored, entry):
    with pytest.raises(swath.InvalidError, match=r"channel as select="):
        train.source(stored[1], dims=("t", "channel", "x"), crops={}, select={"channel": entry})


def test_coordinates_are_those_beside_the_array(stored):
    group = swath.open_group(stored[0])
    for name, hours in (("a", 1), ("low/a", 6), ("/low/a", 6)):
        source = train.source(group, name, crops={"time": train.Window(f"{hours}h", history=4)})
        np.testing.assert_array_equal(
            source.axes["time"].values, START + np.arange(4) * np.timedelta64(hours, "h")
        )
        assert len(train.Dataset({"a": source})) == 1


def test_steps_are_lengths_of_their_axis(stored):
    group = swath.open_group(stored[0])
    for crop in (train.Window(1), train.Observations(1, 2)):
        with pytest.raises(swath.InvalidError, match="duration such as"):
            train.Dataset({"a": train.source(group, "a", crops={"time": crop})})
    for crop in (train.Window("1h"), train.Observations("1h", 2, along="x")):
        with pytest.raises(swath.InvalidError, match="wanted a number"):
            train.Dataset({"a": train.source(group, "a", crops={"x": crop})})
    with pytest.raises(swath.InvalidError, match="compared with"):
        train.Dataset(
            {"a": train.source(group, "a", crops={"time": train.Point()})}, origins={"time": [0, 1]}
        )
    with pytest.raises(swath.InvalidError, match="name one"):
        train.source(group, crops={})


def test_small_and_unsigned_coordinates_have_room():
    for dtype in ("uint8", "int8", "uint16", "uint64"):
        axis = train.Axis(np.array([100, 20, 3], dtype))
        assert list(axis.nearest(np.array([0, 4, 95, 127, 150]))) == [2, 2, 0, 0, -1]
    with pytest.raises(swath.InvalidError, match="below"):
        train.Axis(np.array([2**63], "uint64"))


def test_forecasts_along_numbers():
    values = np.arange(12.0).reshape(3, 4)
    source = train.source(
        values,
        dims=("init", "step"),
        coords={"init": [0, 2, 4]},
        crops={("init", "step"): train.Forecast(train.Window(1, history=1, forecast=1), along="time")},
    )
    dataset = train.Dataset({"a": source}, origins={"time": np.arange(8)})
    found = {
        int(dataset.samples(np.array([n]), np.array([n])).origins["time"][0]) for n in range(len(dataset))
    }
    assert found == {0, 1, 2, 3, 4, 5, 6} and list(dataset[3]["a"]) == [5, 6]


def test_orders_that_are_drawn_by_arrays_name_them():
    weights = np.array([1.0, 2.0, 3.0])
    names = {train.Weighted(told).signature() for told in (weights, weights[::-1], weights * 2)}
    strata = np.array([0, 0, 1])
    names |= {train.Stratified(strata, shares).signature() for shares in ([1, 1], [1, 2])}
    names.add(train.Stratified(strata[::-1]).signature())
    assert len(names) == 6
    assert train.Weighted(weights).signature() == train.Weighted(list(weights)).signature()
    # A name that saved states have.
    assert digest(strata) == "d6097eebfa1083a0"


def test_observations_that_are_not_there_do_not_count_as_statistics():
    times = START + np.array([0, 1, 5, 6]) * np.timedelta64(1, "h")
    source = train.source(
        np.array([1.0, 2.0, 10.0, 20.0]),
        dims=("time",),
        coords={"time": times},
        crops={"time": train.Observations("2h", 3)},
    )
    found = train.statistics(train.Dataset({"a": source}), "a")
    seen = [1, 1, 2, 10, 10, 20]
    assert found.count == 6 and found.mean == np.mean(seen)
    np.testing.assert_allclose(found.std, np.std(seen))
