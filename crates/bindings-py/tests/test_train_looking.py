"""What is said of samples before they are read, and of loops while they run."""

import ctypes
import itertools
import json
import os
import sys

import numpy as np
import pytest
import swath
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from swath import train

DIMS = ("t", "c", "y", "x")


def described(shape=(1000, 8, 512, 512), chunks=(4, 8, 64, 64), shards=(16, 8, 256, 256), dtype="int16"):
    return train.Described(shape, chunks, shards, dtype)


def dataset(array, size=128, history=4, **options):
    crops = {"t": train.Window(1, history=history), "y": train.Patch(size), "x": train.Patch(size)}
    return train.Dataset({"a": train.source(array, dims=DIMS, crops=crops, **options)})


@settings(max_examples=30, deadline=None)
@given(batch_size=st.integers(1, 9), seed=st.integers(0, 20))
def test_a_loader_counts_shared_chunks_once(batch_size, seed):
    array = described((40, 2, 96, 80), (3, 2, 20, 32), (6, 2, 40, 64))
    data = dataset(array, size=24)
    found = train.Loader(data, batch_size, seed=seed, to="numpy").explain(batches=3)["a"]
    chunks = objects = count = 0
    order = train.Random(len(data)).at(seed, 0, np.arange(3 * batch_size))
    for part in np.split(order, 3):
        touched, held = set(), set()
        for index in data.plan(data.samples(part, part), seed, 0)["a"]:
            for lengths, cells in ((array.chunks, touched), (array.shards, held)):
                cells |= set(
                    itertools.product(
                        *(
                            range(entry.indices(extent)[0] // n, (entry.indices(extent)[1] - 1) // n + 1)
                            for entry, extent, n in zip(index, array.shape, lengths, strict=True)
                        )
                    )
                )
        chunks, objects, count = chunks + len(touched), objects + len(held), count + len(part)
    assert found.chunks == chunks / count and found.objects == objects / count
    assert found.bytes_decoded == chunks * 3 * 2 * 20 * 32 * 2 / count
    assert found.bytes_wanted == 4 * 2 * 24 * 24 * 2


def test_explain_says_what_bounds():
    data = dataset(described())
    slow = train.explain(data, medium="cloud", cores=64)
    assert slow.bound_by == "reading" and slow.samples_per_s == slow.reads_samples_per_s
    fast = train.explain(data, medium="nvme", decoded_per_s=1e8)
    assert fast.bound_by == "decoding"
    assert fast.samples_per_s == pytest.approx(1e8 / fast["a"].bytes_decoded)
    text = str(slow)
    for part in ("a: ", "samples/s from cloud, bound by reading", "would suit"):
        assert part in text
    assert len(slow) == 1 and list(slow) == ["a"]
    with pytest.raises(swath.InvalidError, match="page cache, nvme, lustre, cloud"):
        train.explain(data, medium="tape")
    with pytest.raises(swath.InvalidError, match="only described"):
        data[0]


@pytest.mark.parametrize(
    ("size", "history", "chunks"),
    [(128, 4, (1, 8, 2048, 2048)), (16, 24, (1, 8, 512, 512)), (512, 1, (100, 1, 32, 32))],
)
def test_what_would_suit_costs_less(size, history, chunks):
    """The layout that is named is counted as cheaper when it is asked about in turn."""
    shape = (1000, 8, 4096, 4096)
    medium = train.Medium("m", 1e5, 2e9, 1e-4)

    def cost(array):
        found = train.explain(dataset(array, size, history), 200, medium=medium)["a"]
        return found.chunks / medium.reads_per_s + found.bytes_decoded * (1e-9 + 1 / 2e9), found

    now, found = cost(train.Described(shape, chunks, dtype="int16"))
    layout = found.layout
    better, again = cost(train.Described(shape, layout.chunks, layout.shards, "int16"))
    assert better < now
    assert again.amplification == pytest.approx(layout.amplification, rel=0.15)
    assert all(shard % chunk == 0 for shard, chunk in zip(layout.shards, layout.chunks, strict=True))


def simulated(medium, **options):
    data = dataset(described(), 64)
    told = {"batch_size": 4, "step_s": 0.1, "steps": 40, "medium": medium, **options}
    return train.simulate(train.explain(data), **told)


def test_simulated_loops_wait_for_what_is_slow():
    fast = simulated(train.Medium("fast", 1e6, 1e10, 1e-4), decoded_per_s=1e10)
    assert fast.longest_wait_s == 0 and fast.samples_per_s == pytest.approx(40 * 4 / (40 * 0.1), rel=0.02)
    # Decoding alone: every batch takes as long as its bytes.
    size = train.explain(dataset(described(), 64))["a"].bytes_decoded
    decoding = simulated(train.Medium("m", 1e9, 1e12, 0.0), decoded_per_s=1e7, step_s=0.0)
    assert decoding.samples_per_s == pytest.approx(1e7 / size, rel=0.05)
    # A medium that gives so many bytes a second gives them, and no more.
    narrow = simulated(train.Medium("m", 1e9, 1e7, 0.0), step_s=0.0, decoded_per_s=1e12)
    assert narrow.bytes_per_s == pytest.approx(1e7, rel=0.05)
    # One read in flight at a time, of a fifth of a second each.
    alone = simulated(train.Medium("m", 1e9, 1e12, 0.2, parallel_reads=1), step_s=0.0, steps=5)
    reads = round(4 * train.explain(dataset(described(), 64))["a"].chunks)
    assert alone.samples_per_s == pytest.approx(4 / (0.2 * reads), rel=0.05)


def test_loaders_share_a_medium():
    medium = train.Medium("m", 1e9, 1e8, 1e-3)
    one, many = (simulated(medium, loaders=count, step_s=0.0, steps=10) for count in (1, 16))
    assert many.bytes_per_s == pytest.approx(1e8, rel=0.1)
    assert one.bytes_per_s <= many.bytes_per_s * 1.1 and many.mean_wait_s > 5 * one.mean_wait_s
    assert many == simulated(medium, loaders=16, step_s=0.0, steps=10)


def test_reading_ahead_hides_slow_reads():
    medium = train.Medium("m", 1e6, 1e10, 0.02, slow_share=0.01, slow_s=0.5)
    waits = [simulated(medium, prefetch=depth, steps=200).p99_wait_s for depth in (1, 8)]
    assert waits[1] == 0 < waits[0]


def test_statistics_of_a_split():
    values = np.concatenate([np.arange(50.0), np.full(50, 1e6)])
    source = train.source(values, dims=("t",), crops={"t": train.Window(1)})
    splits = train.Splits({"train": (0, 50), "test": (50, 100)}, along="t")
    found = train.statistics(train.Dataset({"a": source}), "a", split=(splits, "train"))
    assert found.mean == np.arange(50).mean() and found.count == 50


def test_a_line_says_how_it_goes(capfd):
    source = train.source(np.arange(40.0), dims=("x",), crops={"x": train.Patch(1)})
    lines = []
    for _ in train.Loader(train.Dataset({"a": source}), 8, progress=lines.append, to="numpy"):
        pass
    assert lines[-1].startswith("epoch 0: batch 5/5, ") and "p99" in lines[-1]
    for _ in train.Loader(train.Dataset({"a": source}), 8, progress=True, to="numpy"):
        pass
    assert "batch 5/5" in capfd.readouterr().err


def test_the_99th_of_100_waits():
    from swath.train.waits import _p99

    assert _p99([]) == 0 and _p99([3.0]) == 3
    assert _p99([float(number) for number in range(100)]) == 98


def device(folder):
    """What tells the device of a folder from others, as a calibration's file names it."""
    number, found = folder.stat().st_dev, ctypes.create_string_buffer(512)
    assert ctypes.CDLL(None).statfs(os.fsencode(folder), found) == 0
    system = int.from_bytes(found.raw[:4], sys.byteorder)
    return {"device_major": os.major(number), "device_minor": os.minor(number), "file_system": system}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="devices are calibrated on Linux")
def test_a_calibrated_device_is_counted_on(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    values = np.zeros((40, 2, 64, 64), "int16")
    zarr.create_array(tmp_path / "a", data=values, chunks=(4, 2, 32, 32))
    data = dataset(swath.open_array(tmp_path / "a"), size=16)
    assert train.explain(data).medium is train.MEDIA["page cache"]
    key = device(tmp_path)
    measured = {"version": 1, **key, "measured_on": "2026-11-23", "lanes": 2}
    for name in ("cached_ring", "cached_threads", "cached_mapping"):
        measured[f"{name}_reads_per_s"] = 1e6
    measured |= {"page_cache_request_cost_ns": 300.0, "page_cache_byte_cost_ns": 0.1}
    for depth, small, large in ((8, 2e3, 100.0), (32, 3.9e3, 250.0), (128, 4e3, 200.0)):
        measured[f"direct_4k_depth_{depth}_reads_per_s"] = small
        measured[f"direct_1m_depth_{depth}_reads_per_s"] = large
    (cache / "swath").mkdir(parents=True)
    name = f"calibration-{key['device_major']}-{key['device_minor']}-{key['file_system']:x}.json"
    (cache / "swath" / name).write_text(json.dumps(measured))
    wanted = train.Medium("calibrated", 4e3, 250 * 2**20, 16 / 2e3, parallel_reads=64)
    for found in (
        train.explain(data),
        train.Loader(data, 4, to="numpy").explain(),
        train.explain(dataset(values, size=16), medium=train.Medium.calibrated(tmp_path)),
    ):
        assert found.medium == wanted
    assert train.explain(data).bound_by == "reading" and "from calibrated" in str(train.explain(data))
    assert train.Medium.calibrated(tmp_path / "a" / "zarr.json") == wanted
    assert train.Medium.calibrated("s3://bucket/a") is None
    # What no device is known of is assumed, and so is what is told.
    assert train.explain(dataset(values, size=16)).medium is train.MEDIA["page cache"]
    assert train.explain(data, medium="nvme").medium is train.MEDIA["nvme"]
    monkeypatch.setenv("SWATH_CALIBRATION", "off")
    assert train.Medium.calibrated(tmp_path) is None
