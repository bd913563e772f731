"""Decoded chunks that batches near each other share: decoded once, kept within a bound, and dropped."""

import gc
import json
import subprocess
import sys
import threading
import weakref
from functools import partial
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest
import swath
import zarr
from swath import train
from swath._swath import _decoded_bytes
from swath.errors import SwathError

# Arrays, whether torch is installed or not.
Loader = partial(train.Loader, to="numpy", sampler="sequential")
SERVER = Path(__file__).with_name("range_server.py")
TIMES, CHUNKS = 40, 40 * 2
CHUNK_BYTES = 2 * 16 * 16


@pytest.fixture(scope="module")
def values():
    return np.random.default_rng(0).integers(0, 1000, (TIMES, 16, 32)).astype("int16")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, values):
    """An array in chunks of one time, the same in shards, and in two arrays, one behind the other."""
    path = tmp_path_factory.mktemp("near") / "archive.zarr"
    root = zarr.create_group(path)
    names, chunks = ("time", "y", "x"), (1, 16, 16)
    root.create_array("plain", data=values, chunks=chunks, dimension_names=names)
    root.create_array("sharded", data=values, chunks=chunks, shards=(8, 16, 32), dimension_names=names)
    root.create_array("stored", data=values, chunks=chunks, compressors=None, dimension_names=names)
    for name, part in (("early", values[:13]), ("late", values[13:])):
        root.create_group(name).create_array("a", data=part, chunks=chunks, dimension_names=names)
    # What was written a moment ago could be written again unseen, and is not kept.
    sleep(2.1)
    return path


def windows(array, history=3, **options):
    return train.source(array, crops={"time": train.Window(1, history=history, **options)})


def sources_of(folder, kind):
    group = swath.open_group(folder)
    if kind == "joined":
        parts = [group["early"], group["late"]]
        crops = {"time": train.Window(1, history=3)}
        return {"a": train.source(parts, "a", concat="time", crops=crops)}
    if kind == "view":
        xarray = pytest.importorskip("xarray")
        lazy = xarray.open_dataset(folder, engine="swath")["plain"].transpose("x", "time", "y")
        return {"a": windows(lazy)}
    if kind == "two of one array":
        past, next_ = train.Window(1, history=3), train.Window(1, history=0, forecast=1)
        opened = [swath.open_array(folder / "plain") for _ in range(2)]
        return {
            "past": train.source(opened[0], crops={"time": past}),
            "next": train.source(opened[1], crops={"time": next_}),
        }
    return {"a": windows(group[kind])}


def batches_of(loader):
    return [
        (batch.samples.positions.tolist(), {name: batch[name].copy() for name in batch}) for batch in loader
    ]


def assert_same(found, wanted):
    assert [positions for positions, _ in found] == [positions for positions, _ in wanted]
    for (_, one), (_, other) in zip(found, wanted, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name], strict=True)


def kept_bytes(loader):
    """Bytes that are kept by now: all sources of an iteration share a cache."""
    return sum(_decoded_bytes(keeping.arrays[0])[1] for keeping in loader._keepings)


@pytest.mark.parametrize("prefetch", [0, 1])
@pytest.mark.parametrize("kind", ["plain", "sharded", "joined", "view", "two of one array"])
def test_overlapping_windows_decode_each_chunk_once(folder, kind, prefetch):
    dataset = train.Dataset(sources_of(folder, kind))
    # All that a batch has of an array is one read, but of two sources, and where one part ends.
    size = 1 if kind in ("joined", "two of one array") else 2
    loader = Loader(dataset, size, prefetch=prefetch)
    without = Loader(dataset, size, prefetch=prefetch, decoded_cache_bytes=0)
    for epoch in (1, 2):
        assert_same(batches_of(loader), batches_of(without))
        assert loader.stats()["cache_misses"] == epoch * CHUNKS
        assert loader.stats()["cache_hits"] > epoch * CHUNKS / 2
    assert without.stats()["cache_hits"] == without.stats()["cache_misses"] == 0


def test_batches_read_ahead_of_a_loop_that_does_not_wait_decode_each_chunk_once(folder):
    """Those of which no other is read at the same time: all but the first four."""
    read = []
    loader = Loader(train.Dataset(sources_of(folder, "plain")), 2, prefetch=4, transform=read.append)
    for given, _ in enumerate(loader, 1):
        ends = monotonic() + 60
        while len(read) < min(given + 4, len(loader)):
            assert monotonic() < ends
            sleep(0.001)
    # Each of three has two steps of two chunks that the one before it has, too.
    assert CHUNKS <= loader.stats()["cache_misses"] <= CHUNKS + 3 * 2 * 2
    assert CHUNKS / 2 < loader.stats()["cache_hits"]


@pytest.mark.parametrize("prefetch", [4, 40])
def test_batches_read_at_the_same_time_are_right(folder, prefetch):
    for kind in ("plain", "sharded", "joined", "two of one array"):
        dataset = train.Dataset(sources_of(folder, kind))
        loader, without = (
            Loader(dataset, 1, prefetch=prefetch, decoded_cache_bytes=size) for size in (1 << 28, 0)
        )
        assert_same(batches_of(loader), batches_of(without))
        assert loader.stats()["cache_misses"] >= CHUNKS


def test_samples_are_the_same_after_a_resume(folder):
    dataset = train.Dataset(sources_of(folder, "sharded"))
    wanted = batches_of(Loader(dataset, 3, decoded_cache_bytes=0))
    loader = Loader(dataset, 3, prefetch=1)
    begun = iter(loader)
    found = batches_of(next(begun) for _ in range(4))
    resumed = Loader(dataset, 3, prefetch=1)
    resumed.load_state_dict(loader.state_dict())
    assert_same(found + batches_of(resumed), wanted)
    # Twelve samples came, and the next one begins with the thirteenth step.
    assert resumed.stats()["cache_misses"] == CHUNKS - 2 * 12


def test_epochs_that_follow_each_other_decode_each_chunk_once(folder):
    dataset = train.Dataset(sources_of(folder, "plain"))
    loader, without = Loader(dataset, 4, prefetch=1), Loader(dataset, 4, decoded_cache_bytes=0)
    count = 2 * len(loader) + 3
    found, wanted = loader.endless(), without.endless()
    assert_same(batches_of(next(found) for _ in range(count)), batches_of(next(wanted) for _ in range(count)))
    found.close()
    # Two epochs, and of the third what three batches have, and perhaps the one read ahead of the next.
    assert 2 * CHUNKS + 2 * 14 <= loader.stats()["cache_misses"] <= 2 * CHUNKS + 2 * 18
    assert loader.epoch == 2


@pytest.mark.parametrize(
    ("kind", "bytes_max"), [("sharded", 60_000), ("plain", 150_000), ("plain", 1 << 28), ("sharded", 1 << 28)]
)
def test_the_bound_holds_and_what_is_not_needed_goes(folder, kind, bytes_max):
    loader = Loader(train.Dataset(sources_of(folder, kind)), 1, decoded_cache_bytes=bytes_max, prefetch=1)
    most = 0
    for _ in loader:
        most = max(most, kept_bytes(loader))
        assert len(loader._keepings) == 1
    # Of the batch that is trained on and the next one: four steps, beside versions of objects and a name.
    assert 2 * CHUNK_BYTES < most <= min(bytes_max, 8 * (CHUNK_BYTES + 160 + 400) + 2000)
    assert kept_bytes(loader) == 0 and loader.stats()["cache_misses"] == CHUNKS


def test_what_no_batch_needs_is_dropped(folder):
    """Of a cache of forty chunks every one of eighty is kept only if others left before."""
    loader = Loader(train.Dataset(sources_of(folder, "sharded")), 1, decoded_cache_bytes=40_000, prefetch=0)
    list(loader)
    assert loader.stats()["cache_misses"] == CHUNKS


def test_what_does_not_fit_is_not_kept(folder):
    dataset = train.Dataset(sources_of(folder, "plain"))
    for bytes_max in (0, 1, 4 * CHUNK_BYTES):
        loader = Loader(dataset, 2, decoded_cache_bytes=bytes_max)
        for _ in loader:
            assert not loader._keepings
        assert loader.stats()["cache_hits"] == loader.stats()["cache_misses"] == 0
        assert loader.explain().kept_bytes == 0
    with pytest.raises(swath.errors.InvalidError, match="0 <= decoded_cache_bytes, found -1"):
        Loader(dataset, 2, decoded_cache_bytes=-1)


def test_large_chunks_are_kept_beside_small_ones(tmp_path):
    """A cache that is divided for small chunks has none of its parts as large as the others."""
    root = zarr.create_group(tmp_path / "a")
    random, names = np.random.default_rng(0), ("time", "x")
    shapes = {"small": 8, "large": 300_000}
    for name, length in shapes.items():
        values = random.integers(0, 9, (24, length)).astype("u1")
        root.create_array(name, data=values, chunks=(1, length), dimension_names=names)
    sleep(2.1)
    group = swath.open_group(tmp_path / "a")
    loader = Loader(
        train.Dataset({name: windows(group[name]) for name in shapes}),
        1,
        decoded_cache_bytes=1_700_000,
        prefetch=0,
    )
    list(loader)
    assert loader.stats()["cache_misses"] == 24 * 2


def test_nothing_is_kept_of_random_crops_or_what_is_stored_as_it_is(tmp_path, folder):
    array = zarr.create_array(
        tmp_path / "a", shape=(100_000, 512, 512), chunks=(1, 64, 64), dtype="i2", fill_value=0
    )
    assert array.nchunks > 1_000_000
    crops = {0: train.Window(1, history=2), 1: train.Patch(64), 2: train.Patch(64)}
    large = train.source(
        swath.open_array(tmp_path / "a"),
        dims=("t", "y", "x"),
        crops=dict(zip("tyx", crops.values(), strict=True)),
    )
    looked_at = train.Loader(train.Dataset({"a": large}), 8, to="numpy")
    batches = iter(looked_at)
    next(batches)
    batches.close()
    stored = Loader(train.Dataset(sources_of(folder, "stored")), 2)
    list(stored)
    # A user's own cache stays as it was told to be.
    own = swath.open_array(folder / "plain", decoded_cache_bytes=1 << 20)
    kept = Loader(train.Dataset({"a": windows(own)}), 2)
    for loader in (looked_at, stored, kept):
        found = loader.explain()
        assert found.kept_bytes == 0 and not any(cost.is_kept for cost in found.values())
        assert "kept" not in str(found)
    for loader in (looked_at, stored):
        assert loader.stats()["cache_hits"] == loader.stats()["cache_misses"] == 0


def test_leaving_a_loop_drops_what_was_kept(folder):
    loader = Loader(train.Dataset(sources_of(folder, "plain")), 1, prefetch=1)
    held = []
    for number, _ in enumerate(loader):
        held = [weakref.ref(array) for keeping in loader._keepings for array in keeping.arrays]
        if number == 5:
            assert kept_bytes(loader) > 2 * CHUNK_BYTES
            break
    gc.collect()
    assert len(held) == 1 and held[0]() is None and not loader._keepings
    counts = loader.stats()
    assert counts["cache_hits"] > 0
    # The next loop begins with nothing of this one.
    list(loader)
    assert loader.stats()["cache_misses"] - counts["cache_misses"] == CHUNKS


@pytest.mark.parametrize("prefetch", [0, 4])
def test_two_loops_at_once_are_right(folder, prefetch):
    dataset = train.Dataset(sources_of(folder, "plain"))
    wanted = batches_of(Loader(dataset, 2, decoded_cache_bytes=0))
    loader = Loader(dataset, 2, prefetch=prefetch)
    loops = loader.endless(), loader.endless()
    pairs = [batches_of([next(loop) for loop in loops]) for _ in wanted]
    assert len(loader._keepings) == 2
    for loop in loops:
        loop.close()
    assert not loader._keepings
    for place in range(2):
        assert_same([pair[place] for pair in pairs], wanted)


@pytest.fixture
def damaged(tmp_path, values):
    """An array of which one chunk, of time 20, cannot be decoded."""
    path = tmp_path / "damaged.zarr"
    zarr.create_array(path, data=values, chunks=(1, 16, 16), dimension_names=("time", "y", "x"), fill_value=0)
    (path / "c/20/0/1").write_bytes(b"no chunk at all")
    sleep(2.1)
    return swath.open_array(path)


@pytest.mark.parametrize("prefetch", [0, 4])
def test_bad_chunks_are_skipped_all_the_same(damaged, prefetch):
    dataset = train.Dataset({"a": windows(damaged)})
    loader = Loader(dataset, 4, prefetch=prefetch, on_error="skip")
    without = Loader(dataset, 4, prefetch=prefetch, on_error="skip", decoded_cache_bytes=0)
    assert_same(batches_of(loader), batches_of(without))
    assert loader.stats()["skipped"] == without.stats()["skipped"] == 3
    assert loader.stats()["cache_hits"] > CHUNKS / 2


def test_a_batch_that_fails_does_not_stop_those_behind_it(damaged):
    loader = Loader(train.Dataset({"a": windows(damaged)}), 1, prefetch=6)
    given = []
    with pytest.raises(SwathError, match="c/20/0/1"):
        given.extend(loader)
    # Step 20 is first wanted by the sample of steps 18 to 20.
    assert len(given) == 18 and not loader._keepings
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("swath-train")]


class Refusing(train.Window):
    """A window that fails where it is planned for one origin."""

    def indexes(self, axes, origins, draws):
        if 12 in np.asarray(origins):
            raise ZeroDivisionError("of the user's own")
        return super().indexes(axes, origins, draws)


@pytest.mark.parametrize("prefetch", [0, 4])
def test_a_batch_that_cannot_be_planned_fails_when_it_is_due(folder, prefetch):
    array = swath.open_array(folder / "plain")
    dataset = train.Dataset({"a": train.source(array, crops={"time": Refusing(1, history=3)})})
    for first, before in ((2, 10), (11, 1)):
        loader = Loader(dataset.of(dataset.sources), 1, prefetch=prefetch)
        loader.load_state_dict(loader.state_dict() | {"received": first - 2})
        given = []
        with pytest.raises(ZeroDivisionError):
            given.extend(loader)
        assert len(given) == before


def test_explain_says_what_is_kept(folder):
    dataset = train.Dataset(sources_of(folder, "plain"))
    found = Loader(dataset, 2).explain(batches=4)
    # Eight samples of three steps are ten steps; five batches of two are twelve.
    assert found["a"].is_kept and found["a"].chunks == 2 * 10 / 8
    assert found.kept_bytes == 2 * 12 * CHUNK_BYTES
    assert "a: " in str(found) and "kept for the next batches: 0.0123 MB" in str(found)
    without = Loader(dataset, 2, decoded_cache_bytes=0).explain(batches=4)
    assert not without["a"].is_kept and without["a"].chunks == 2 * 4 * 4 / 8 and without.kept_bytes == 0
    # Less than a quarter is shared: windows of which every fourth step is another one's.
    apart = train.Dataset({"a": windows(swath.open_array(folder / "plain"))}, stride={"time": 3})
    assert Loader(apart, 1).explain().kept_bytes == 0


@pytest.mark.parametrize("prefetch", [0, 4])
def test_from_a_server_samples_are_the_same(folder, prefetch):
    program = subprocess.Popen(
        [sys.executable, str(SERVER), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        url = json.loads(program.stdout.readline())["url"]
        dataset = train.Dataset({"a": windows(swath.open_array(f"{url}/sharded"))})
        loader = Loader(dataset, 2, prefetch=prefetch)
        wanted = batches_of(Loader(train.Dataset(sources_of(folder, "sharded")), 2, decoded_cache_bytes=0))
        assert_same(batches_of(loader), wanted)
        assert loader.stats()["cache_hits"] > 0
        if prefetch == 0:
            assert loader.stats()["cache_misses"] == CHUNKS
    finally:
        program.stdin.close()
        program.wait()
        program.stdout.close()
