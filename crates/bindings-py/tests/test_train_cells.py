"""Cells of no grid, by how near they lie to a place: against distances to every one of them."""

import pickle

import numpy as np
import pytest
import swath
import xarray as xr
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from swath import train

TIMES, CELLS = 6, 400
RADIUS_KM = 6371.0088


def angles(place, latitudes, longitudes):
    """Great-circle angles by the haversine formula, which the code under test does not use."""
    first, second = np.deg2rad(place[0]), np.deg2rad(latitudes)
    apart = np.deg2rad(longitudes - place[1])
    half = np.sin((second - first) / 2) ** 2 + np.cos(first) * np.cos(second) * np.sin(apart / 2) ** 2
    return 2 * np.arcsin(np.sqrt(np.clip(half, 0, 1)))


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A group of values over cells all round the Earth, three of which are nowhere, and what it holds."""
    random = np.random.default_rng(5)
    latitudes = np.rad2deg(np.arcsin(random.uniform(-1, 1, CELLS)))
    longitudes = random.uniform(-180, 360, CELLS)
    latitudes[7], longitudes[8], latitudes[9] = np.nan, np.nan, np.nan
    values = random.normal(size=(TIMES, 2, CELLS)).astype("f4")
    path = tmp_path_factory.mktemp("cells") / "icon.zarr"
    group = zarr.create_group(path)
    group.create_array("data", data=values, chunks=(1, 2, 64), dimension_names=("time", "variable", "cell"))
    group.create_array("latitude", data=latitudes, dimension_names=("cell",))
    group.create_array("longitude", data=longitudes, dimension_names=("cell",))
    return path, values, latitudes, longitudes


def around(group, count, *, name="data", **options):
    crops = {"cell": train.Cells(count, **options)}
    if name == "data":
        crops["time"] = train.Window(1, history=2)
    return train.source(group, name, crops=crops)


@settings(max_examples=40, deadline=None)
@given(
    count=st.integers(1, 12),
    places=st.lists(st.tuples(st.floats(-90, 90), st.floats(-400, 400)), min_size=1, max_size=5, unique=True),
)
def test_samples_hold_the_nearest_cells_nearest_first(stored, count, places):
    path, values, latitudes, longitudes = stored
    group = swath.open_group(path)
    sources = {
        "data": around(group, count),
        "latitude": around(group, count, name="latitude"),
        "longitude": around(group, count, name="longitude"),
    }
    dataset = train.Dataset(sources, origins={("latitude", "longitude"): np.array(places), "time": [3, 5]})
    assert len(dataset) == 2 * len(places)
    samples = dataset.samples(np.arange(len(dataset)), np.arange(len(dataset)))
    read = dataset.read(samples, 0, 0)
    assert read["data"].shape == (len(dataset), 2, 2, count)
    at = zip(samples.origins["time"], samples.origins["latitude"], samples.origins["longitude"], strict=True)
    for number, (time, *place) in enumerate(at):
        every = angles(place, latitudes, longitudes)
        wanted = np.sort(every[np.isfinite(every)])[:count]
        found = angles(place, read["latitude"][number].astype("f8"), read["longitude"][number].astype("f8"))
        # Coordinates came as float32: a millionth of a radian is 6 m.
        np.testing.assert_allclose(found, wanted, atol=1e-6)
        cells = np.argsort(np.where(np.isfinite(every), every, np.inf), kind="stable")[:count]
        if len(np.unique(np.round(wanted, 5))) == count:
            np.testing.assert_array_equal(read["data"][number], values[time - 1 : time + 1][:, :, cells])


def test_origins_are_the_cells_by_default(stored):
    path, values, latitudes, longitudes = stored
    dataset = train.Dataset({"data": around(swath.open_group(path), 3)})
    somewhere = np.flatnonzero(np.isfinite(latitudes) & np.isfinite(longitudes))
    assert len(dataset) == (TIMES - 1) * (CELLS - 3) == (TIMES - 1) * len(somewhere)
    loader = train.Loader(dataset, 50, seed=3, to="numpy")
    seen = set()
    for batch in loader:
        origins = batch.samples.origins
        for number, time in enumerate(origins["time"]):
            place = origins["latitude"][number], origins["longitude"][number]
            cell = int(np.flatnonzero((latitudes == place[0]) & (longitudes == place[1]))[0])
            # The nearest cell to a cell is that cell.
            np.testing.assert_array_equal(
                batch["data"][number, :, :, 0], values[time - 1 : time + 1, :, cell]
            )
            seen.add((int(time), cell))
    assert len(seen) == len(dataset)
    strided = train.Dataset({"data": around(swath.open_group(path), 3)}, stride={"latitude": 5})
    assert len(strided) == (TIMES - 1) * sum(cell % 5 == 0 for cell in somewhere)


def test_a_regular_source_is_met_at_places(stored, tmp_path):
    path, values, latitudes, longitudes = stored
    grid = np.arange(4 * 8, dtype="f4").reshape(4, 8)
    coords = {"latitude": np.array([60.0, 20, -20, -60]), "longitude": np.arange(8) * 45.0}
    coarse = train.source(
        grid,
        dims=("latitude", "longitude"),
        coords=coords,
        crops={"latitude": train.Patch(2), "longitude": train.Patch(2, wrap=True)},
    )
    dataset = train.Dataset({"coarse": coarse, "data": around(swath.open_group(path), 4)})
    assert len(dataset) == 3 * 8 * (TIMES - 1)
    samples = dataset.samples(np.arange(len(dataset)), np.arange(len(dataset)))
    read = dataset.read(samples, 0, 0)
    for number in range(0, len(dataset), 7):
        place = samples.origins["latitude"][number], samples.origins["longitude"][number]
        time = samples.origins["time"][number]
        cells = np.argsort(np.nan_to_num(angles(place, latitudes, longitudes), nan=9))[:4]
        np.testing.assert_array_equal(read["data"][number], values[time - 1 : time + 1][:, :, cells])


def test_what_lies_too_far_is_refused(stored):
    path, _, latitudes, longitudes = stored
    group = swath.open_group(path)
    random = np.random.default_rng(1)
    places = np.stack([random.uniform(-90, 90, 200), random.uniform(-180, 180, 200)], axis=1)
    third = np.array([np.sort(angles(place, latitudes, longitudes))[2] for place in places]) * RADIUS_KM
    within = float(np.median(third))
    origins = {("latitude", "longitude"): np.concatenate([places, [[np.nan, 0]]])}
    dataset = train.Dataset({"data": around(group, 3, within_km=within)}, origins=origins)
    kept = places[third <= within]
    assert dataset.refused == {
        "data: too far along latitude, longitude": 200 - len(kept),
        "data: nowhere along latitude, longitude": 1,
        "data: gap along time": 1,
    }
    assert len(dataset) == (TIMES - 1) * len(kept)
    np.testing.assert_array_equal(dataset.space.groups[0].values["latitude"], kept[:, 0])
    apart = {"latitude": [0.0, 10], "longitude": [5.0]}
    with pytest.raises(swath.InvalidError, match="together, found them apart"):
        train.Dataset({"data": around(group, 3, within_km=within)}, origins=apart)
    assert len(train.Dataset({"data": around(group, 3)}, origins=apart)) == 2 * (TIMES - 1)


NOWHERE = [(np.nan, 5.0), (50.0, np.nan), (np.inf, 5.0), (50.0, -np.inf), (90.5, 5.0), (-91.0, 0.0)]
# The first time has none before it.
GAP = {"data: gap along time": 1}


def test_origins_that_are_nowhere_are_refused_and_counted(stored):
    group, places = swath.open_group(stored[0]), [(10.0, 20.0), *NOWHERE, (-30.0, 40.0)]
    dataset = train.Dataset({"data": around(group, 3)}, origins={("latitude", "longitude"): places})
    assert dataset.refused == {"data: nowhere along latitude, longitude": len(NOWHERE)} | GAP
    np.testing.assert_array_equal(dataset.space.groups[0].values["latitude"], [10, -30])
    assert len(list(train.Loader(dataset, 4, to="numpy"))) == len(dataset) / 4 + 0.5
    apart = {"latitude": [np.nan, 10.0, np.inf, 91.0], "longitude": [185.0, np.nan]}
    dataset = train.Dataset({"data": around(group, 3)}, origins=apart)
    assert dataset.refused == {"data: nowhere along latitude": 3, "data: nowhere along longitude": 1} | GAP
    assert len(dataset) == TIMES - 1 and dataset[0]["data"].shape == (2, 2, 3)


@pytest.mark.parametrize("place", NOWHERE)
def test_origins_that_were_not_looked_at_are_named_when_read(stored, place):
    """`Dataset.of` takes origins as they are."""
    cells = around(swath.open_group(stored[0]), 2, name="latitude")
    origins = {"latitude": np.array([1.0, place[0]]), "longitude": np.array([2.0, place[1]])}
    with pytest.raises(
        swath.InvalidError, match=f"latitude from -90 to 90 and a longitude, found .*{place[1]}"
    ):
        cells.indexes(origins, np.zeros(2))


def test_datasets_are_pickled_and_sorted_by_chunk(stored):
    path, *_ = stored
    dataset = train.Dataset({"data": around(swath.open_group(path), 5)})
    again = pickle.loads(pickle.dumps(dataset))
    np.testing.assert_array_equal(again[70]["data"], dataset[70]["data"])
    sampler = train.ChunkAware(train.blocks_of(dataset), buffer=4)
    batches = train.Loader(dataset, 64, sampler=sampler, to="numpy")
    assert sum(len(batch["data"]) for batch in batches) == len(dataset)
    assert train.explain(dataset).sources["data"].chunks > 1


def test_xarray_and_joined_archives_say_where_cells_are(stored):
    path, values, latitudes, longitudes = stored
    for engine in ("swath", "zarr"):
        opened = xr.open_dataset(path, engine=engine).set_coords(["latitude", "longitude"])
        crops = {"time": train.Window(1, history=2), "cell": train.Cells(4)}
        place = {("latitude", "longitude"): [[10.0, 20.0]], "time": [2]}
        found = train.Dataset({"a": train.source(opened, "data", crops=crops)}, origins=place)[0]["a"]
        cells = np.argsort(np.nan_to_num(angles((10, 20), latitudes, longitudes), nan=9))[:4]
        np.testing.assert_array_equal(found, values[1:3][:, :, cells])
    parts = [swath.open_group(path)] * 2
    both = train.source(parts, "data", crops=crops, concat="time")
    found = train.Dataset({"a": both}, origins=place | {"time": [6]})[0]["a"]
    np.testing.assert_array_equal(found, values[[5, 0]][:, :, cells])
    with pytest.raises(swath.InvalidError, match="another dimension than cell, which"):
        train.source(parts, "data", crops={"cell": train.Cells(4)}, concat="cell")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "one cell at least"),
        ({"count": 2, "within_km": 0}, "within_km above 0"),
        ({"count": 2, "along": "cell"}, "two dimensions of origins"),
        ({"count": 2, "latitude": "lat"}, "coordinates 'lat', beside the array or told, found none"),
        ({"count": CELLS - 2}, "cells or more that are somewhere, found 397"),
    ],
)
def test_what_does_not_fit_is_refused(stored, options, message):
    group = swath.open_group(stored[0])
    with pytest.raises(swath.InvalidError, match=message):
        dataset = train.Dataset({"a": train.source(group, "data", crops={"cell": train.Cells(**options)})})
        dataset[0]


def test_latitudes_and_longitudes_the_wrong_way_round_are_refused(stored):
    swapped = train.Cells(2, latitude="longitude", longitude="latitude")
    with pytest.raises(swath.InvalidError, match="latitudes from -90 to 90"):
        train.Dataset({"a": train.source(swath.open_group(stored[0]), "data", crops={"cell": swapped})})[0]
