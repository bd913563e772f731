"""Datasets and loaders over stored arrays, against samples that NumPy cuts one by one."""

import itertools
import pickle
import subprocess
import sys
from functools import partial
from time import sleep

import numpy as np
import pytest
import swath
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from swath import train

# Arrays, whether torch is installed or not.
Loader = partial(train.Loader, to="numpy")
HOURS = 40
HOUR = np.timedelta64(1, "h")
START = np.datetime64("2020-01-01", "ns")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An archive with a gap and a repeat in its times, and a coarser forecast of the same place."""
    path = tmp_path_factory.mktemp("train") / "archive.zarr"
    group = zarr.create_group(path)
    random = np.random.default_rng(0)
    hours = [hour for hour in range(HOURS) if hour != 17]
    hours[30] = hours[29]
    packed = random.integers(-5, 1000, (len(hours), 3, 24, 32)).astype("int16")
    array = group.create_array(
        "image",
        data=packed,
        chunks=(2, 3, 8, 8),
        shards=(4, 3, 16, 16),
        fill_value=0,
        dimension_names=("time", "channel", "y", "x"),
    )
    array.attrs.update({"scale_factor": 0.5, "add_offset": 200.0, "_FillValue": -5, "valid_range": [-4, 990]})
    times = group.create_array("time", data=np.array(hours), dimension_names=("time",))
    times.attrs.update({"units": "hours since 2020-01-01", "calendar": "standard"})
    group.create_array("y", data=np.arange(24) * 2.0, dimension_names=("y",))
    group.create_array("x", data=np.arange(32) * 2.0, dimension_names=("x",))
    weather = random.normal(size=(8, 9, 6, 8)).astype("float32")
    group.create_array(
        "wind", data=weather, chunks=(1, 3, 6, 8), dimension_names=("init_time", "step", "lat", "lon")
    )
    inits = group.create_array("init_time", data=np.arange(8) * 6, dimension_names=("init_time",))
    inits.attrs["units"] = "hours since 2020-01-01"
    group.create_array("step", data=np.arange(9), dimension_names=("step",)).attrs["units"] = "hours"
    group.create_array("lat", data=np.arange(6) * 8.0 + 3, dimension_names=("lat",))
    group.create_array("lon", data=np.arange(8) * 8.0 + 3, dimension_names=("lon",))
    return path


@pytest.fixture(scope="module")
def group(folder):
    return swath.open_group(folder)


MEAN, STD = np.array([300.0, 400.0, 500.0]), np.array([50.0, 60.0, 70.0])


def image(group, **options):
    return train.source(
        group,
        "image",
        crops={
            "time": train.Window("1h", history=2, forecast=1),
            "y": train.Patch(8),
            "x": train.Patch(8),
        },
        **{"mean": MEAN, "std": STD, "per": "channel", "fill": 0.0, **options},
    )


def wind(group, **options):
    return train.source(
        group,
        "wind",
        crops={
            ("init_time", "step"): train.Forecast(train.Window("1h", forecast=1), "3h", **options),
            "lat": train.Patch(2, "center", along="y"),
            "lon": train.Patch(2, "center", along="x"),
        },
        decode=False,
    )


def decoded(group):
    """What xarray's decoding followed by float32 NumPy makes of the image."""
    stored = group["image"][...]
    scaled = stored.astype("f8") * 0.5 + 200.0
    scaled[(stored == -5) | (stored < -4) | (990 < stored)] = np.nan
    shape = (1, 3, 1, 1)
    normal = (scaled.astype("f4") - MEAN.astype("f4").reshape(shape)) / STD.astype("f4").reshape(shape)
    return np.nan_to_num(normal, nan=0.0)


@pytest.fixture(scope="module")
def dataset(group):
    return train.Dataset({"image": image(group), "wind": wind(group)})


def naive(times, image, wind, time, y, x):
    """The sample of an origin, or None: by looking for each coordinate."""
    places = []
    for offset in (-1, 0, 1):
        found = [place for place, value in enumerate(times) if value == time + offset * HOUR]
        if len(found) != 1:
            return None
        places += found
    row, column = int(y / 2), int(x / 2)
    if 24 < row + 8 or 32 < column + 8:
        return None
    hour = int((time - START) / HOUR)
    begun = (hour - 3) // 6
    steps = [hour - begun * 6, hour + 1 - begun * 6]
    if begun < 0 or 7 < begun or 8 < max(steps):
        return None
    lat, lon = round((y - 3) / 8), round((x - 3) / 8)
    if lat < 1 or lon < 1 or 6 < lat + 1 or 8 < lon + 1:
        return None
    return {
        "image": image[places, :, row : row + 8, column : column + 8],
        "wind": wind[begun][steps, lat - 1 : lat + 1, lon - 1 : lon + 1],
    }


def test_every_sample_that_can_be_cut_and_no_other(group, dataset):
    times, values, winds = list(START + group["time"][...] * HOUR), decoded(group), group["wind"][...]
    wanted = {}
    for time in dict.fromkeys(times):
        for y in np.arange(24) * 2.0:
            for x in np.arange(32) * 2.0:
                sample = naive(times, values, winds, time, y, x)
                if sample is not None:
                    wanted[time, y, x] = sample
    assert len(dataset) == len(wanted)
    found = set()
    for start in range(0, len(dataset), 997):
        numbers = np.arange(start, min(start + 5, len(dataset)))
        batch = dataset.read(dataset.samples(numbers, numbers), 0, 0)
        for place in range(len(numbers)):
            origin = tuple(batch.samples.origins[dim][place] for dim in ("time", "y", "x"))
            found.add(origin)
            for name, values_of in batch.sample(place).items():
                assert values_of.dtype == np.float32
                np.testing.assert_array_max_ulp(values_of, wanted[origin][name], 1)
    assert found <= set(wanted)
    every = dataset.samples(np.arange(len(dataset)), np.arange(len(dataset))).origins
    assert set(zip(every["time"], every["y"], every["x"], strict=True)) == set(wanted)
    # Of the hours 0, 16, 18, 32 and 39 a neighbour is missing; 30 is there twice, next to 29.
    assert dataset.refused["image: gap along time"] == 5
    assert dataset.refused["image: repeated along time"] == 3


def test_what_swath_reads_numpy_reads_too(group):
    """The steps in NumPy, for arrays that are not swath's, equal the fused ones."""
    stored = group["image"]
    told = {
        "dims": ("time", "channel", "y", "x"),
        "coords": {"time": train.Axis(np.arange(HOURS - 1)).values},
    }
    crops = {"time": train.Window(1, history=2), "y": train.Patch(8, wrap=True), "x": train.Point()}
    steps = {"mask": [-5], "valid_range": (-4, None), "scale": 0.5, "offset": 200.0}
    for options in (
        {"decode": steps},
        {"decode": steps, "mean": MEAN, "std": STD, "per": "channel", "fill": -1.0, "dtype": "float64"},
        {"decode": steps, "select": {"channel": [2, 0]}, "mean": MEAN, "std": 2.0, "per": "channel"},
        {"decode": False, "select": {"channel": 1}, "dtype": "uint8"},
        {"decode": steps, "fill": 3, "dtype": "int32", "select": {"channel": slice(0, 3, 2)}},
    ):
        ours = train.Dataset({"a": train.source(stored, crops=crops, **told, **options)})
        theirs = train.Dataset({"a": train.source(stored[...], crops=crops, **told, **options)})
        numbers = np.arange(0, len(ours), 331)
        assert len(ours) == len(theirs)
        found = ours.read(ours.samples(numbers, numbers), 0, 0)["a"]
        wanted = theirs.read(theirs.samples(numbers, numbers), 0, 0)["a"]
        assert found.dtype == wanted.dtype == np.dtype(options.get("dtype", "float32"))
        assert found.shape == wanted.shape == (len(numbers), *ours.sources["a"].sample_shape)
        np.testing.assert_array_equal(found, wanted)


def test_attributes_say_the_steps(group):
    steps = train.source(group, "image", crops={"y": train.Patch(1)}).decoding
    assert (steps.mask, steps.valid_range, steps.scale, steps.offset) == ((-5,), (-4, 990), 0.5, 200.0)


def samples_of(loader):
    return [
        (tuple(batch.samples.numbers), {name: array.copy() for name, array in batch.items()})
        for batch in loader
    ]


def assert_same(found, wanted):
    assert [numbers for numbers, _ in found] == [numbers for numbers, _ in wanted]
    for (_, one), (_, other) in zip(found, wanted, strict=True):
        for name in other:
            np.testing.assert_array_equal(one[name], other[name])


@pytest.fixture(scope="module")
def small(group):
    """A dataset of few samples, with dropout."""
    sources = {
        "image": image(group),
        "wind": wind(group, dropout=train.Dropout(0.5, ("1h",))),
    }
    return train.Dataset(
        sources, origins={"time": START + np.arange(40) * HOUR, ("y", "x"): [[16.0, 16.0], [8.0, 32.0]]}
    )


def test_prefetch_changes_nothing(small):
    wanted = samples_of(Loader(small, 4, seed=3, prefetch=0))
    assert sum(len(numbers) for numbers, _ in wanted) == len(small)
    for prefetch in (1, 3, 50):
        assert_same(samples_of(Loader(small, 4, seed=3, prefetch=prefetch)), wanted)


def test_epochs_differ_and_come_again(small):
    loader = Loader(small, 4, seed=3)
    first, second = samples_of(loader), samples_of(loader)
    assert loader.epoch == 2
    assert [numbers for numbers, _ in first] != [numbers for numbers, _ in second]
    loader.set_epoch(0)
    assert_same(samples_of(loader), first)


@settings(max_examples=25, deadline=None)
@given(
    batch_size=st.integers(1, 6),
    taken=st.integers(0, 5),
    worlds=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    prefetch=st.integers(0, 3),
)
def test_a_resume_goes_on_where_it_was(small, batch_size, taken, worlds, prefetch):
    order = [number for numbers, _ in samples_of(Loader(small, 1, seed=9, prefetch=0)) for number in numbers]
    before, after = worlds
    states, seen = [], []
    for rank in range(before):
        loader = Loader(small, batch_size, seed=9, share=train.Share(rank, before), prefetch=prefetch)
        batches = iter(loader)
        for _ in range(min(taken, len(loader))):
            seen += list(next(batches).samples.positions)
        states.append(pickle.loads(pickle.dumps(loader.state_dict())))
        batches.close()
    assert len({state["received"] for state in states}) == 1
    received = states[0]["received"]
    assert set(range(received)) == set(seen)
    left = []
    for rank in range(after):
        loader = Loader(small, 3, seed=0, share=train.Share(rank, after), prefetch=prefetch)
        loader.load_state_dict(states[0])
        if received == len(order):
            assert loader.epoch == 1
            return
        for batch in loader:
            kept = ~batch.samples.padding
            left += zip(batch.samples.positions[kept], batch.samples.numbers[kept], strict=True)
    assert sorted(left) == list(enumerate(order))[received:]


def assert_equal_batches(found, wanted):
    assert found.samples.numbers.tolist() == wanted.samples.numbers.tolist()
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values)


@pytest.mark.parametrize("prefetch", [0, 3])
def test_epochs_follow_without_an_end(small, prefetch):
    """The batches of a loader without end are those of its epochs, and a state of it goes on with them."""
    loader = train.Loader(small, 7, seed=4, prefetch=prefetch)
    wanted = [batch for _ in range(3) for batch in loader]
    each = len(wanted) // 3
    endless = train.Loader(small, 7, seed=4, prefetch=prefetch)
    batches = endless.endless()
    stop = each + each // 2
    for number in range(stop):
        assert_equal_batches(next(batches), wanted[number])
        assert endless.epoch == number // each
    state = endless.state_dict()
    batches.close()
    resumed = train.Loader(small, 7, prefetch=prefetch)
    resumed.load_state_dict(state)
    for number, batch in zip(range(stop, 3 * each), resumed.endless(), strict=False):
        assert_equal_batches(batch, wanted[number])
    # After the last batch of an epoch the next one is due.
    ended = train.Loader(small, 7, seed=4, prefetch=prefetch)
    batches = ended.endless()
    for _ in range(each):
        next(batches)
    resumed.load_state_dict(ended.state_dict())
    assert_equal_batches(next(iter(resumed)), wanted[each])
    batches.close()
    with pytest.raises(swath.InvalidError, match="a batch at least"):
        train.Loader(small, 10_000_000, drop_last=True).endless()


def test_states_of_other_orders_are_refused(small):
    loader = Loader(small, 4)
    with pytest.raises(swath.InvalidError, match="Sequential"):
        loader.load_state_dict(Loader(small, 4, sampler="sequential").state_dict())


def test_batches_are_distinct(small):
    batches = list(Loader(small, 3, prefetch=2))
    arrays = [batch["image"] for batch in batches]
    assert not any(np.shares_memory(one, other) for one, other in itertools.pairwise(arrays))
    assert_same(
        [(tuple(batch.samples.numbers), batch) for batch in batches],
        samples_of(Loader(small, 3, prefetch=0)),
    )


def test_a_loop_that_stops_early_leaves_nothing_behind(small):
    import threading

    loader = Loader(small, 2, prefetch=3)
    batches = iter(loader)
    next(batches)
    batches.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("swath-train")]
    # What was read ahead does not count.
    assert loader.state_dict()["received"] == 2
    assert len(samples_of(loader)) == -(-len(small) // 2)


def test_transforms_and_counts(small):
    loader = Loader(small, 4, transform=lambda batch: batch["image"].sum(), drop_last=True)
    assert len(list(loader)) == len(small) // 4
    counts = loader.stats()
    assert counts["batches"] == len(small) // 4 == sum(counts["waits"])
    assert counts["samples"] == len(small) // 4 * 4 and counts["skipped"] == 0
    assert counts["bytes"] == counts["samples"] * 4 * (3 * 3 * 64 + 2 * 4)


def test_chunks_of_decoded_caches_are_counted(tmp_path):
    values = np.arange(12 * 8, dtype="int16").reshape(12, 8)
    root = zarr.create_group(tmp_path / "a")
    for name in "ab":
        root.create_array(name, data=values, chunks=(4, 4), dimension_names=("t", "x"))
    # What was written a moment ago could be written again unseen, and is not kept.
    sleep(2.1)
    group = swath.open_group(tmp_path / "a", decoded_cache_bytes=1 << 20)
    sources = {name: train.source(group, name, crops={"t": train.Window(1, history=2)}) for name in "ab"} | {
        "numpy": train.source(values, dims=("t", "x"), crops={"t": train.Window(1, history=2)})
    }
    # Steps 0 to 7: two chunks along time and two along space, of each array.
    loader = Loader(train.Dataset(sources, origins={"t": [1, 3, 5, 7]}), 1, prefetch=0, sampler="sequential")
    assert loader.stats()["cache_hits"] == loader.stats()["cache_misses"] == 0
    for _ in range(2):
        list(loader)
    counts = loader.stats()
    assert (counts["cache_misses"], counts["cache_hits"]) == (8, 8 + 16)
    assert Loader(loader.dataset, 1).stats()["cache_hits"] == 0
    plain = train.source(swath.open_group(tmp_path / "a"), "a", crops={"t": train.Window(1, history=2)})
    without = Loader(train.Dataset({"a": plain}), 4, decoded_cache_bytes=0)
    list(without)
    assert without.stats()["cache_hits"] == without.stats()["cache_misses"] == 0


def test_a_report_shows_waits(small, tmp_path):
    loader = Loader(small, 4)
    loader.report(tmp_path / "empty.html")
    assert "No batch came yet" in (tmp_path / "empty.html").read_text()
    for _ in loader:
        pass
    loader.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    counts = loader.stats()
    # A bar of waiting and one of training for each batch, and one for each power of the histogram.
    assert text.count("<rect") == 2 * counts["batches"] + len(counts["waits"])
    assert f"<td>samples</td><td>{counts['samples']}</td>" in text
    assert 0 < counts["waited_s"] and 0 < counts["samples_per_s"]


def test_torchs_way(dataset):
    again = pickle.loads(pickle.dumps(dataset))
    numbers = [5, 1000, 17]
    for one, other in zip(again.__getitems__(numbers), (dataset[number] for number in numbers), strict=True):
        for name in other:
            np.testing.assert_array_equal(one[name], other[name])
    with pytest.raises(IndexError):
        dataset[len(dataset)]


def test_splits_hold_whole_windows(group, dataset):
    splits = train.Splits(
        {"train": ("2020-01-01", "2020-01-01T20"), "test": ("2020-01-01T20", "2020-01-03")}, gap="4h"
    )
    parts = {name: dataset.split(splits, name) for name in splits}
    for name, (first, last) in {"train": (0, 19), "test": (24, 48)}.items():
        origins = (
            parts[name].samples(np.arange(len(parts[name])), np.arange(len(parts[name]))).origins["time"]
        )
        hours = (origins - START) / HOUR
        assert len(hours) and first <= hours.min() - 1 and hours.max() + 1 <= last
    assert 0 < len(parts["train"]) + len(parts["test"]) < len(dataset)
    whole = train.Dataset({"image": train.source(group, "image", crops={"time": train.Point()})})
    with pytest.raises(swath.InvalidError, match="Window"):
        whole.split(splits, "train")


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_masks_forbid_what_they_say(group, data):
    seed = data.draw(st.integers(0, 1000))
    random = np.random.default_rng(seed)
    crops = {"time": train.Window("1h", history=2), "y": train.Patch(20), "x": train.Patch(28)}
    sources = {"image": train.source(group, "image", crops=crops)}
    free = train.Dataset(sources)
    masks = {"time": random.random(HOURS - 1) < 0.7}
    if data.draw(st.booleans()):
        masks["y", "x"] = random.random((24, 32)) < 0.6
    else:
        masks = {("x", "time"): random.random((32, HOURS - 1)) < 0.6, "y": random.random(24) < 0.6}
    masked = train.Dataset(sources, masks=masks)
    every = free.samples(np.arange(len(free)), np.arange(len(free))).origins
    wanted = set()
    candidates = {dim: sources["image"].axes[dim].values for dim in every}
    for origin in zip(*every.values(), strict=True):
        at = dict(zip(every, origin, strict=True))
        # Repeated times are several candidates; here none of them is valid.
        places = {dim: int(np.flatnonzero(candidates[dim] == value)[0]) for dim, value in at.items()}
        if all(
            mask[tuple(places[dim] for dim in ([dims] if isinstance(dims, str) else dims))]
            for dims, mask in masks.items()
        ):
            wanted.add((at["time"], at["y"], at["x"]))
    if not wanted:
        assert len(masked) == 0
        return
    found = masked.samples(np.arange(len(masked)), np.arange(len(masked))).origins
    assert set(zip(found["time"], found["y"], found["x"], strict=True)) == wanted
    assert len(masked) == len(wanted)


def test_late_sources_are_withheld(group):
    crops = {"time": train.Window("1h", history=3, forecast=1, dropout=train.Dropout(0.5, ("1h", "2h")))}
    late = train.Dataset({"image": train.source(group, "image", crops=crops)})
    plain = train.Dataset({"image": train.source(group, "image", crops={"time": train.Window("1h", 3, 1)})})
    loader = Loader(late, len(late), sampler="sequential", seed=1)
    (batch,) = loader
    (whole,) = Loader(plain, len(plain), sampler="sequential")
    gone = np.isnan(batch["image"]).all(axis=(2, 3, 4))
    # The newest step is withheld where it is late by an hour, the two newest by two; what is ahead never is.
    counts = [
        int((gone == pattern).all(axis=1).sum()) for pattern in ([0, 0, 0, 0], [0, 0, 1, 0], [0, 1, 1, 0])
    ]
    assert sum(counts) == len(late) and all(counts)
    np.testing.assert_array_equal(batch["image"][~gone], whole["image"][~gone])


@settings(max_examples=15, deadline=None)
@given(buffer=st.integers(1, 40), seed=st.integers(0, 50))
def test_chunk_aware_order_stays_in_its_blocks(dataset, buffer, seed):
    blocks = train.blocks_of(dataset, "image")
    sampler = train.ChunkAware(blocks, buffer)
    order = sampler.at(seed, 0, np.arange(len(dataset)))
    assert np.array_equal(np.sort(order), np.arange(len(dataset)))
    some = np.random.default_rng(seed).integers(0, len(dataset), 40)
    assert np.array_equal(sampler.at(seed, 0, some), order[some])
    # The shard in which each sample begins, by its own index.
    image = dataset.sources["image"]
    indexes = dataset.plan(dataset.samples(order, order), 0, 0)["image"]
    begins = [
        tuple(entry[0] if isinstance(entry, list) else entry.start for entry in (one[0], one[2], one[3]))
        for one in indexes
    ]
    shards = [(time // 4, y // 16, x // 16) for time, y, x in begins]
    assert len(set(shards)) == len(blocks) and image.array.shards == (4, 3, 16, 16)
    # Once left, a shard does not come again, and at most `buffer` are open at once.
    last = {shard: place for place, shard in enumerate(shards)}
    first = {shard: place for place, shard in reversed(list(enumerate(shards)))}
    steps = np.zeros(len(shards) + 1, int)
    for shard in last:
        steps[first[shard]] += 1
        steps[last[shard] + 1] -= 1
    assert np.cumsum(steps).max() <= buffer
    assert 0 <= sampler.distance(8) <= 1
    assert (sampler.distance(8) == 0) == (len(blocks) <= buffer)


def test_pairs_of_one_block_come_as_often_as_the_bound_says(group):
    """The share of neighbouring pairs from one block, over many seeds, against the exact one."""
    values = np.zeros((60, 2))
    data = train.Dataset(
        {
            "a": train.source(
                zarr.array(values, chunks=(5, 2)), dims=("time", "x"), crops={"time": train.Window(1)}
            )
        }
    )
    sampler = train.ChunkAware(train.blocks_of(data), 4)
    together = 0
    for seed in range(3000):
        one, other = sampler.at(seed, 0, np.array([0, 1])) // 5
        together += int(one == other)
    wanted = 4 / 19
    assert sampler.distance(2) == pytest.approx(wanted)
    assert abs(together / 3000 - wanted) < 4 * np.sqrt(wanted / 3000)


def test_explain_counts_chunks(group):
    crops = {"time": train.Window("1h", 2), "y": train.Patch(8), "x": train.Patch(8)}
    data = train.Dataset(
        {"image": train.source(group, "image", crops=crops)}, stride={"y": 8, "x": 8, "time": 2}
    )
    cost = train.explain(data, samples=1000)["image"]
    assert cost.bytes_wanted == 2 * 3 * 64 * 2
    # Patches lie on the grid; windows of two hours begin in the middle of a chunk of two, or at its begin.
    assert 1 <= cost.chunks <= 2 and cost.bytes_decoded == cost.chunks * 2 * 3 * 64 * 2
    assert cost.amplification == pytest.approx(cost.chunks)
    assert 1 <= cost.objects <= cost.chunks


def test_statistics_are_those_of_numpy(group, tmp_path):
    crops = {"time": train.Window("1h"), "y": train.Patch(24), "x": train.Patch(32)}
    data = train.Dataset(
        {"image": train.source(group, "image", crops=crops, select={"channel": [0, 2]}, fill=0)}
    )
    found = train.statistics(data, "image", per="channel")
    stored = group["image"][...].astype("f8")
    times = group["time"][...]
    stored = stored[[list(times).count(time) == 1 for time in times]]
    values = np.where((stored == -5) | (stored < -4) | (990 < stored), np.nan, stored * 0.5 + 200)
    np.testing.assert_allclose(found.mean[[0, 2]], np.nanmean(values, axis=(0, 2, 3))[[0, 2]], rtol=1e-12)
    np.testing.assert_allclose(found.std[[0, 2]], np.nanstd(values, axis=(0, 2, 3))[[0, 2]], rtol=1e-12)
    assert np.isnan(found.mean[1]) and found.count[1] == 0
    assert list(found.count[[0, 2]]) == list((~np.isnan(values)).sum(axis=(0, 2, 3))[[0, 2]])
    found.save(tmp_path / "statistics.json")
    again = train.Statistics.load(tmp_path / "statistics.json")
    for name in ("mean", "std", "count"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    (tmp_path / "other.json").write_text('{"mean": 1}')
    with pytest.raises(swath.InvalidError, match="other"):
        train.Statistics.load(tmp_path / "other.json")
    whole = train.statistics(data, "image")
    np.testing.assert_allclose(whole.mean, np.nanmean(values[:, [0, 2]]), rtol=1e-12)


@pytest.fixture
def broken(tmp_path):
    values = np.arange(10 * 4, dtype="f4").reshape(10, 4)
    zarr.create_array(tmp_path / "a.zarr", data=values, chunks=(1, 4), dimension_names=("time", "x"))
    (tmp_path / "a.zarr" / "c" / "3" / "0").write_bytes(b"not zstd")
    array = swath.open_array(tmp_path / "a.zarr")
    return values, train.Dataset({"a": train.source(array, crops={"time": train.Window(1, 2)})})


def test_a_bad_chunk_raises_with_its_place(broken):
    _, dataset = broken
    loader = Loader(dataset, 2, sampler="sequential", prefetch=3)
    with pytest.raises(swath.CorruptError, match="c/3/0") as caught:
        list(loader)
    assert "source 'a'" in caught.value.__notes__[0]
    assert loader.state_dict()["received"] == 2


def test_bad_samples_are_skipped_where_asked(broken):
    values, dataset = broken
    loader = Loader(dataset, 4, sampler="sequential", on_error="skip")
    found = {
        int(number): array
        for batch in loader
        for number, array in zip(batch.samples.numbers, batch["a"], strict=True)
    }
    assert set(found) == set(range(9)) - {2, 3} and loader.stats()["skipped"] == 2
    for number, array in found.items():
        np.testing.assert_array_equal(array, values[number : number + 2])
    assert sorted(origin["time"] for origin, _ in loader.errors) == [3, 4]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"crops": {"z": train.Point()}}, "z"),
        ({"crops": {("time", "y"): train.Window(1), "y": train.Point()}}, "one crop"),
        ({"coords": {"y": [1, 2]}}, "24 coordinates"),
        ({"mean": [1, 2]}, "numbers along"),
        ({"mean": [1, 2], "per": "channel"}, "3 numbers"),
        ({"dims": ("a", "b")}, "a name for each"),
    ],
)
def test_sources_that_make_no_sense(group, change, message):
    with pytest.raises(swath.InvalidError, match=message):
        train.source(group, "image", **{"crops": {"y": train.Patch(2)}, **change})


def test_importing_swath_does_not_import_it():
    code = "import sys, swath; assert not [name for name in sys.modules if name.startswith('swath.train')]"
    subprocess.run([sys.executable, "-c", code], check=True)
