"""Datasets in the layout of anemoi-datasets: one array of all variables, over cells, with missing dates."""

import numpy as np
import pytest
import swath
import zarr
from swath import train

TIMES, VARIABLES, CELLS = 12, ["t2m", "lsm", "u10"], 50
START = np.datetime64("2021-03-01T00:00:00", "s")
DATES = START + np.arange(TIMES) * np.timedelta64(6, "h")
MISSING = [4, 9]


@pytest.fixture(params=[2, 3], ids=["v2", "v3"])
def stored(request, tmp_path):
    """A path to such a dataset, and what its array holds."""
    random = np.random.default_rng(8)
    values = random.normal(3, 2, (TIMES, 3, 2, CELLS)).astype("f4")
    values[:, 1] = 7
    values[MISSING] = np.nan
    group = zarr.create_group(tmp_path / "a.zarr", zarr_format=request.param)
    group.create_array("data", data=values, chunks=(1, 3, 1, CELLS))
    group.create_array("dates", data=DATES)
    known = np.delete(values, MISSING, 0)
    group.create_array("mean", data=known.mean(axis=(0, 2, 3), dtype="f8"))
    group.create_array("stdev", data=known.std(axis=(0, 2, 3), dtype="f8"))
    missing = [str(DATES[place]) for place in MISSING]
    group.attrs.update({"variables": VARIABLES, "frequency": "6h", "missing_dates": missing})
    return tmp_path / "a.zarr", values


def read(source):
    dataset = train.Dataset({"a": source})
    samples = dataset.samples(np.arange(len(dataset)), np.arange(len(dataset)))
    return dataset, samples.origins["time"], dataset.read(samples, 0, 0)["a"]


def test_windows_hold_no_missing_date(stored):
    path, values = stored
    group = swath.open_group(path)
    dataset, origins, found = read(train.anemoi(group, history=2, forecast=1, variables=["u10", "lsm"]))
    # Of twelve, the first has no history and the last no forecast; each missing date is in three windows.
    places = [place for place in range(1, TIMES - 1) if not {place - 1, place, place + 1} & set(MISSING)]
    assert origins.astype("M8[s]").tolist() == DATES[places].tolist()
    mean, spread = np.asarray(group["mean"][...]), np.asarray(group["stdev"][...])
    spread[1] = 1
    normal = (values - mean.astype("f4")[:, None, None]) / spread.astype("f4")[:, None, None]
    assert found.shape == (len(places), 3, 2, CELLS)
    for place, sample in zip(places, found, strict=True):
        np.testing.assert_array_max_ulp(sample, normal[place - 1 : place + 2, [2, 1], 0], 1)
    assert np.isfinite(found).all() and (found[:, :, 1] == 0).all()
    # Missing dates are no origins to begin with.
    assert sum(dataset.refused.values()) == TIMES - len(MISSING) - len(places)


def test_members_and_cells_are_chosen(stored):
    path, values = stored
    chosen = np.arange(CELLS) % 7 == 2
    source = train.anemoi(swath.open_group(path), ensemble=slice(None), cells=chosen, normalise=False)
    _, origins, found = read(source)
    assert len(origins) == TIMES - len(MISSING)
    np.testing.assert_array_equal(found[:, 0], np.delete(values, MISSING, 0)[..., chosen])


def test_what_says_less_is_understood(stored):
    path, _ = stored
    group = zarr.open_group(path)
    attributes = {"name_to_index": {"u10": 2, "t2m": 0, "lsm": 1}, "frequency": 6}
    group.attrs.put(attributes)
    assert len(train.Dataset({"a": train.anemoi(swath.open_group(path), history=3)})) == TIMES - 2
    group.attrs.put({"variables": VARIABLES})
    assert len(train.Dataset({"a": train.anemoi(swath.open_group(path), history=3)})) == TIMES - 2


def test_other_groups_are_refused(stored, tmp_path):
    path, _ = stored
    with pytest.raises(swath.InvalidError, match=r"t2m, lsm, u10, found msl"):
        train.anemoi(swath.open_group(path), variables=["t2m", "msl"])
    other = zarr.create_group(tmp_path / "b.zarr")
    with pytest.raises(swath.InvalidError, match="no array 'data'"):
        train.anemoi(swath.open_group(tmp_path / "b.zarr"))
    other.create_array("data", data=np.zeros((1, 1, 1, 4)))
    other.create_array("dates", data=DATES[:1])
    with pytest.raises(swath.InvalidError, match="attribute 'variables'"):
        train.anemoi(swath.open_group(tmp_path / "b.zarr"))
    other.attrs["variables"] = ["a"]
    with pytest.raises(swath.InvalidError, match="array 'stdev'"):
        train.anemoi(swath.open_group(tmp_path / "b.zarr"))
    with pytest.raises(swath.InvalidError, match="two dates"):
        train.anemoi(swath.open_group(tmp_path / "b.zarr"), normalise=False)


def test_cells_around_places_are_of_its_own_coordinates(stored):
    path, values = stored
    # On the equator, a degree apart: the nearest cells are neighbours.
    zarr.open_group(path).create_array("latitudes", data=np.zeros(CELLS))
    zarr.open_group(path).create_array("longitudes", data=np.arange(CELLS) * 1.0)
    group = swath.open_group(path)
    source = train.anemoi(group, around=3, normalise=False, variables=["u10"])
    origins = {("latitude", "longitude"): [[1.0, 6.9], [0.0, 359.0]]}
    dataset = train.Dataset({"a": source}, origins=origins)
    samples = dataset.samples(np.arange(len(dataset)), np.arange(len(dataset)))
    read = dataset.read(samples, 0, 0)["a"]
    assert read.shape == (len(dataset), 1, 1, 3) and len(dataset) == 2 * (TIMES - len(MISSING))
    for number, (time, longitude) in enumerate(
        zip(samples.origins["time"], samples.origins["longitude"], strict=True)
    ):
        place = int(np.flatnonzero(DATES == time.astype("M8[s]"))[0])
        cells = [7, 6, 8] if longitude == 6.9 else [0, 1, 2]
        np.testing.assert_array_equal(read[number, 0, 0], values[place, 2, 0, cells])
    with pytest.raises(swath.InvalidError, match="found both"):
        train.anemoi(group, around=3, cells=[0])
