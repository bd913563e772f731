"""Loading of many xarray objects at once, by `swath.xarray.load` and by tasks of event loops."""

import asyncio
import os
import threading
from pathlib import Path

import numpy as np
import pytest
import swath

xr = pytest.importorskip("xarray")

import swath.xarray  # noqa: E402
from swath.xarray import batch  # noqa: E402
from xarray_data import dataset, keys  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:Failed to open Zarr store with consolidated metadata"),
    pytest.mark.filterwarnings("ignore:Consolidated metadata is currently not part"),
    pytest.mark.filterwarnings("ignore:.*does not have a Zarr V3 specification"),
]


def test_load_is_one_batch(stored, reads):
    found = xr.open_dataset(stored, engine="swath")
    crops = [found[["packed", "raw"]].isel(time=slice(start, start + 3)) for start in (0, 8, 3)]
    reads.clear()
    swath.xarray.load(*crops, found.area, found.flag.variable)
    assert reads == [(4, 8)]
    assert all(crop.packed.variable._in_memory for crop in crops)
    expected = xr.open_dataset(stored, engine="zarr")
    for crop, start in zip(crops, (0, 8, 3), strict=True):
        same_crop = expected[["packed", "raw"]].isel(time=slice(start, start + 3))
        xr.testing.assert_identical(crop, same_crop)
    reads.clear()
    assert found.swath.load() is found
    assert found.raw.swath.load().variable._in_memory
    assert len(reads) == 1
    xr.testing.assert_identical(found, expected)
    reads.clear()
    swath.xarray.load(found)
    assert reads == []


def test_load_takes_what_else_there_is(stored):
    pytest.importorskip("dask")
    mixed = xr.open_dataset(stored, engine="swath")[["raw"]]
    mixed["dask"] = xr.open_dataset(stored, engine="swath", chunks={}).packed
    mixed["zarr"] = xr.open_dataset(stored, engine="zarr").packed
    mixed["memory"] = dataset().raw
    swath.xarray.load(mixed)
    assert all(variable._in_memory for variable in mixed.variables.values())
    np.testing.assert_array_equal(mixed.dask, mixed.zarr)
    with pytest.raises(swath.SwathError, match="wanted a Dataset"):
        swath.xarray.load(np.arange(3))


def break_chunk(stored, name):
    """Cut one chunk of an array short."""
    files = sorted(path for path in (Path(stored) / name).rglob("*") if path.is_file())
    chunks = [path for path in files if not path.name.startswith((".z", "zarr.json"))]
    os.truncate(chunks[0], 3)


def test_errors_leave_the_rest(stored):
    break_chunk(stored, "area")
    found = xr.open_dataset(stored, engine="swath")
    with pytest.raises(swath.CorruptError, match="area"):
        swath.xarray.load(found)
    assert found.raw.variable._in_memory
    assert not found.area.variable._in_memory
    again = xr.open_dataset(stored, engine="swath")

    async def both():
        loading = [again[name].variable.load_async() for name in ("raw", "area")]
        return await asyncio.gather(*loading, return_exceptions=True)

    good, bad = asyncio.run(both())
    np.testing.assert_array_equal(good, dataset().raw)
    assert isinstance(bad, swath.CorruptError)


def test_async_loading_is_one_batch(stored):
    found = xr.open_dataset(stored, engine="swath", decode_cf=False)
    crops = [found.isel(time=slice(start, start + 2)) for start in (0, 1, 0)]

    def reads(load):
        """Count what the engine is asked for."""
        before = swath.stats()["logical_reads"]
        load()
        return swath.stats()["logical_reads"] - before

    async def all_at_once():
        await asyncio.gather(*(crop.copy().load_async() for crop in crops))

    def one_by_one():
        for crop in crops:
            crop.copy().load()

    # The crops share chunks, which one batch reads once.
    assert 2 * reads(lambda: asyncio.run(all_at_once())) <= reads(one_by_one)
    asyncio.run(all_at_once())
    expected = xr.open_dataset(stored, engine="zarr", decode_cf=False)
    for crop, start in zip(crops, (0, 1, 0), strict=True):
        asyncio.run(crop.load_async())
        xr.testing.assert_identical(crop, expected.isel(time=slice(start, start + 2)))


def test_async_selections(stored):
    found = xr.open_dataset(stored, engine="swath")
    for key in keys().values():
        one = found.raw.isel(**key)
        asyncio.run(one.load_async())
        np.testing.assert_array_equal(one, dataset().raw.isel(**key))
        assert one.variable._in_memory


def test_cancelled_tasks_leave_the_others(stored):
    found = xr.open_dataset(stored, engine="swath")

    async def some():
        names = ("raw", "packed", "area")
        tasks = [asyncio.ensure_future(found[name].variable.load_async()) for name in names]
        await asyncio.sleep(0)
        tasks[1].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    one, cancelled, other = asyncio.run(some())
    assert isinstance(cancelled, asyncio.CancelledError)
    assert one._in_memory and other._in_memory
    assert not found.packed.variable._in_memory


def test_loops_of_several_threads(stored):
    found = xr.open_dataset(stored, engine="swath")
    results = []

    def run(start):
        async def one():
            crop = found[["raw"]].isel(time=slice(start, None))
            results.append((start, await crop.load_async()))

        asyncio.run(one())

    threads = [threading.Thread(target=run, args=(start,)) for start in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    for start, crop in results:
        np.testing.assert_array_equal(crop.raw, dataset().raw[start:])


def test_load_within_a_running_loop(stored):
    found = xr.open_dataset(stored, engine="swath")

    async def one():
        return found.swath.load()

    xr.testing.assert_identical(asyncio.run(one()), xr.open_dataset(stored, engine="zarr"))


def test_interrupts_end_a_batch(stored, monkeypatch):
    found = xr.open_dataset(stored, engine="swath")
    cancelled = []

    class Watched:
        def __init__(self, awaited):
            self.awaited = awaited

        def cancel(self):
            cancelled.append(self.awaited.cancel())

    class Interrupted(batch._Batch):
        def start(self, requests):
            super().start(requests)
            self._started = [Watched(awaited) for awaited in self._started]

        def finish(self):
            raise KeyboardInterrupt

    monkeypatch.setattr(batch, "_Batch", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        swath.xarray.load(found)
    assert 4 <= len(cancelled)
    monkeypatch.undo()
    xr.testing.assert_identical(found.swath.load(), xr.open_dataset(stored, engine="zarr"))
