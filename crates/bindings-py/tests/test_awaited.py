"""Reads that coroutines await: values, errors, cancelling, loops."""

import asyncio
import gc
import json
import multiprocessing
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import swath
import zarr
from swath import awaiting
from swath.api import asynchronous
from zarr.codecs import BytesCodec, Crc32cCodec

VALUES = np.arange(40 * 30 * 20, dtype="i4").reshape(40, 30, 20)


@pytest.fixture
def stored(tmp_path):
    """Give a folder that holds a sharded array."""
    array = zarr.create_array(
        tmp_path / "a.zarr", shape=VALUES.shape, chunks=(4, 5, 10), shards=(8, 10, 20), dtype="i4"
    )
    array[...] = VALUES
    return tmp_path / "a.zarr"


INDEXES = [
    (slice(1, 9), 3, slice(None, None, -2)),
    (0, 0, 0),
    (Ellipsis, -1),
    ([3, 1, 3], slice(None), 0),
    slice(0, 0),
    (),
]


def same(read, wanted):
    assert type(read) is type(wanted)
    assert read.dtype == wanted.dtype
    np.testing.assert_array_equal(read, wanted)


def test_what_is_awaited_is_what_blocks_give(stored):
    array = swath.open_array(stored)

    async def main():
        awaited = array.async_array
        reads = await asyncio.gather(*(awaited.getitem(index) for index in INDEXES))
        for read, index in zip(reads, INDEXES, strict=True):
            same(read, array[index])
        same(await awaited.oindex.getitem(([3, 1], slice(2), [0, 0])), array.oindex[[3, 1], :2, [0, 0]])
        same(await awaited.vindex.getitem(([3, 1], 0, [0, 5])), array.vindex[[3, 1], 0, [0, 5]])
        mask = VALUES % 7 == 0
        same(await awaited.vindex.getitem(mask), array.vindex[mask])
        same(await awaited.get_mask_selection(mask), array.get_mask_selection(mask))
        same(await awaited.blocks.getitem((1, 0)), array.blocks[1, 0])
        same(await awaited.get_block_selection((1, 0)), array.blocks[1, 0])
        same(await awaited.get_orthogonal_selection([1, 0]), array.oindex[[1, 0]])
        same(await awaited.get_coordinate_selection((1, 2, 3)), array.get_coordinate_selection((1, 2, 3)))

    asyncio.run(main())


def test_converted_reads(stored):
    array = swath.open_array(stored)

    async def main():
        awaited = array.async_array
        same(
            await awaited.read(np.s_[:4], dtype="f4", scale=0.5, downsample=(2, 1, 1)),
            array.read(np.s_[:4], dtype="f4", scale=0.5, downsample=(2, 1, 1)),
        )
        reads = await awaited.read_many([np.s_[:4], np.s_[3, 1:]], mean=3.0, std=2.0)
        for read, index in zip(reads, [np.s_[:4], np.s_[3, 1:]], strict=True):
            same(read, array.read(index, mean=3.0, std=2.0))
        with pytest.raises(TypeError, match="colour"):
            await awaited.read(0, colour="red")

    asyncio.run(main())


def test_results_can_be_written_to_and_outlive_all_else(stored):
    async def main():
        array = await asynchronous.open_array(stored)
        return await asyncio.gather(*(array.getitem(number) for number in range(40)))

    reads = asyncio.run(main())
    gc.collect()
    for read in reads:
        assert read.flags.writeable
        assert read.flags.c_contiguous
        read += 1
    for number, read in enumerate(reads):
        np.testing.assert_array_equal(read, VALUES[number] + 1)


def test_each_wait_has_its_own_error(stored):
    array = swath.open_array(stored).async_array
    shard = stored / "c" / "1" / "0" / "0"
    shard.write_bytes(shard.read_bytes()[:-4] + b"\0\0\0\0")

    async def main():
        return await asyncio.gather(
            array.getitem(0), array.getitem((8, 0, 0)), array.getitem((99,)), array.getitem("x"),
            array.getitem((8, 29, 0)), return_exceptions=True,
        )  # fmt: skip

    first, corrupt, outside, wrong, last = asyncio.run(main())
    np.testing.assert_array_equal(first, VALUES[0])
    assert isinstance(corrupt, swath.CorruptError)
    assert "c/1/0/0" in str(corrupt)
    assert isinstance(outside, swath.OutOfBoundsError)
    assert isinstance(wrong, swath.UnsupportedSelectionError)
    assert last == VALUES[8, 29, 0]


def test_one_turn_is_one_batch(tmp_path):
    shape = (64, 64)
    array = zarr.create_array(tmp_path, shape=shape, chunks=(64, 64), dtype="u2", compressors=None)
    array[...] = np.arange(64 * 64).reshape(shape)
    opened = swath.open_array(tmp_path)
    awaited = opened.async_array

    async def main():
        before = swath.stats()["physical_reads"]
        reads = await asyncio.gather(*(awaited.getitem((row, slice(None))) for row in range(64)))
        return swath.stats()["physical_reads"] - before, reads

    count, reads = asyncio.run(main())
    before = swath.stats()["physical_reads"]
    opened.read_many([(row, slice(None)) for row in range(64)])
    assert count == swath.stats()["physical_reads"] - before
    np.testing.assert_array_equal(np.stack(reads), np.arange(64 * 64).reshape(shape))


def test_a_cancelled_wait_leaves_the_others_alone(stored):
    array = swath.open_array(stored).async_array

    async def main():
        tasks = [asyncio.create_task(array.getitem(number)) for number in range(8)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        for number, result in enumerate(results):
            if number % 2:
                np.testing.assert_array_equal(result, VALUES[number])
            else:
                assert isinstance(result, asyncio.CancelledError)
        timed_out = asyncio.wait_for(array.getitem(0), 0)
        with pytest.raises(TimeoutError):
            await timed_out
        np.testing.assert_array_equal(await array.getitem(0), VALUES[0])

    asyncio.run(main())


class Started:
    """Stands in for an array, and for what it started; counts who cancels that."""

    def __init__(self):
        self.cancels, self.requests = 0, []

    def _start(self, requests, deliver, conversion):
        self.requests, self.deliver = requests, deliver
        return self

    def cancel(self):
        self.cancels += 1


@pytest.mark.parametrize("turns", range(3))
def test_who_leaves_before_the_start_takes_nobody_along(turns):
    async def main():
        array = Started()
        tasks = [asyncio.create_task(awaiting.read(array, number)) for number in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        for _ in range(turns):
            await asyncio.sleep(0)
        tasks[2].cancel()
        await asyncio.wait([tasks[0], tasks[2]])
        while not array.requests:
            await asyncio.sleep(0)
        assert array.cancels == 0 and 1 in array.requests
        array.deliver([number * 10 for number in array.requests])
        assert await tasks[1] == 10
        # All leave: it is ended, once.
        array = Started()
        tasks = [asyncio.create_task(awaiting.read(array, number)) for number in range(2)]
        while not array.requests:
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert array.cancels == 1

    asyncio.run(main())


def test_who_leaves_before_the_start_takes_nobody_along_in_trio():
    trio = pytest.importorskip("trio")

    async def main():
        array, found, scopes = Started(), [], []

        async def read(number):
            with trio.CancelScope() as scope:
                scopes.append(scope)
                found.append(await awaiting.read(array, number))

        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(read, number)
            while len(scopes) < 3:
                await trio.lowlevel.checkpoint()
            scopes[0].cancel()
            while not array.requests:
                await trio.lowlevel.checkpoint()
            for _ in range(3):
                await trio.lowlevel.checkpoint()
            assert array.cancels == 0
            array.deliver([number * 10 for number in array.requests])
        assert len(found) == 2

    trio.run(main)


def test_no_loop_complains_of_a_batch_that_was_cancelled(stored):
    array = swath.open_array(stored).async_array
    complaints = []

    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        for turns in range(6):
            task = asyncio.create_task(array.read_many(list(range(40))))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        # What comes after, in the same order, is settled after.
        np.testing.assert_array_equal(await array.getitem(1), VALUES[1])
        gc.collect()

    asyncio.run(main())
    assert complaints == []


def test_a_loop_that_ends_first(stored):
    array = swath.open_array(stored).async_array

    async def begin():
        task = asyncio.ensure_future(array.getitem(0))
        await asyncio.sleep(0)
        return task

    for _ in range(20):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(begin())
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.close()
    np.testing.assert_array_equal(asyncio.run(array.getitem(3)), VALUES[3])


def test_loops_of_many_threads(stored):
    array = swath.open_array(stored).async_array
    failed = []

    def run(number):
        async def main():
            reads = await asyncio.gather(*(array.getitem(row) for row in range(40)))
            np.testing.assert_array_equal(np.stack(reads), VALUES)

        try:
            for _ in range(5):
                asyncio.run(main())
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_trio_and_anyio(stored):
    trio = pytest.importorskip("trio")
    array = swath.open_array(stored).async_array

    async def main():
        results = {}

        async def one(number):
            results[number] = await array.getitem(number)

        async with trio.open_nursery() as nursery:
            for number in range(40):
                nursery.start_soon(one, number)
        with trio.move_on_after(0) as scope:
            await array.getitem(0)
        assert scope.cancelled_caught
        with pytest.raises(IndexError):
            await array.getitem(99)
        opened = await asynchronous.open_array(stored)
        np.testing.assert_array_equal(await opened.getitem(1), VALUES[1])
        return results

    results = trio.run(main)
    np.testing.assert_array_equal(np.stack([results[number] for number in range(40)]), VALUES)


def test_uvloop(stored):
    uvloop = pytest.importorskip("uvloop")

    async def main():
        array = await asynchronous.open_array(stored)
        return await asyncio.gather(*(array.getitem(number) for number in range(40)))

    np.testing.assert_array_equal(np.stack(uvloop.run(main())), VALUES)


def test_outside_a_loop(stored):
    coroutine = swath.open_array(stored).async_array.getitem(0)
    with pytest.raises(RuntimeError):
        coroutine.send(None)


def test_strings_and_fields(tmp_path):
    words = zarr.create_array(tmp_path / "words", shape=(4,), dtype=str)
    words[...] = np.array(["a", "bc", "", "déf"], dtype=object)
    pairs = np.zeros(3, dtype=[("a", "i2"), ("b", "f8")])
    pairs["a"] = [1, 2, 3]
    structured = zarr.create_array(tmp_path / "pairs", shape=(3,), dtype=pairs.dtype, zarr_format=2)
    structured[...] = pairs

    async def main():
        read = await swath.open_array(tmp_path / "words").async_array.getitem(slice(1, None))
        assert list(read) == ["bc", "", "déf"]
        assert await swath.open_array(tmp_path / "words").async_array.getitem(3) == "déf"
        fields = swath.open_array(tmp_path / "pairs").async_array
        np.testing.assert_array_equal(await fields.getitem("a"), pairs["a"])
        np.testing.assert_array_equal(await fields.getitem(slice(2)), pairs[:2])

    asyncio.run(main())


def test_groups_and_writes(tmp_path):
    async def main():
        group = await asynchronous.create_group(tmp_path / "g.zarr")
        array = await group.create_array("x", shape=(4, 4), chunks=(2, 2), dtype="f4")
        await array.setitem(slice(None), 5)
        assert await array.append(np.ones((2, 4))) == (6, 4)
        await array.resize((5, 4))
        await array.update_attributes({"unit": "K"})
        await group.create_group("inner")
        opened = await asynchronous.open(tmp_path / "g.zarr")
        assert isinstance(opened, asynchronous.AsyncGroup)
        assert sorted([name async for name in opened]) == ["inner", "x"]
        assert [name async for name, _ in opened.arrays()] == ["x"]
        assert [name async for name, _ in opened.groups()] == ["inner"]
        assert await opened.nmembers() == 2
        assert await opened.contains("x")
        member = await opened.getitem("x")
        assert (member.shape, member.attrs["unit"]) == ((5, 4), "K")
        np.testing.assert_array_equal(await member.getitem(...), [[5] * 4] * 4 + [[1] * 4])
        with pytest.raises(KeyError):
            await opened.getitem("y")
        await group.delitem("inner")
        assert await group.nmembers() == 1

    asyncio.run(main())


def test_pickles(stored):
    array = swath.open_array(stored).async_array
    again = pickle.loads(pickle.dumps(array))
    assert again == array
    assert hash(again) == hash(array)
    np.testing.assert_array_equal(asyncio.run(again.getitem(2)), VALUES[2])


def _in_child(stored, array, queue):
    queue.put(np.array_equal(asyncio.run(array.getitem(2)), VALUES[2]))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_in_other_processes(stored, method):
    array = swath.open_array(stored).async_array
    asyncio.run(array.getitem(0))
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(stored, array, queue))
    child.start()
    assert queue.get(timeout=60)
    child.join()
    np.testing.assert_array_equal(asyncio.run(array.getitem(1)), VALUES[1])


def test_checksums(tmp_path):
    array = zarr.create_array(
        tmp_path, shape=(8,), chunks=(4,), dtype="u1", serializer=BytesCodec(), compressors=[Crc32cCodec()]
    )
    array[...] = np.arange(8)
    chunk = tmp_path / "c" / "1"
    chunk.write_bytes(b"\1" + chunk.read_bytes()[1:])
    both = swath.open_array(tmp_path).async_array

    async def main():
        return await asyncio.gather(both.getitem(slice(4)), both.getitem(slice(4, 8)), return_exceptions=True)

    sound, damaged = asyncio.run(main())
    np.testing.assert_array_equal(sound, [0, 1, 2, 3])
    assert isinstance(damaged, swath.CorruptError)


def test_a_scalar_that_fails_leaves_the_others_alone(tmp_path):
    zarr.create_array(tmp_path / "x", shape=(), dtype="i4", compressors=None)[...] = 5
    (tmp_path / "x" / "c").write_bytes(b"x")
    array = swath.open_array(tmp_path / "x").async_array

    async def main():
        return await asyncio.gather(array.getitem(()), array.getitem(...), return_exceptions=True)

    for failed in asyncio.run(main()):
        assert isinstance(failed, swath.CorruptError)


def test_loops_that_take_turns_on_one_thread(stored):
    array = swath.open_array(stored).async_array
    first = asyncio.new_event_loop()

    async def begin():
        return asyncio.ensure_future(array.getitem(1))

    task = first.run_until_complete(begin())
    np.testing.assert_array_equal(asyncio.run(array.getitem(2)), VALUES[2])
    np.testing.assert_array_equal(first.run_until_complete(asyncio.wait_for(task, 30)), VALUES[1])
    first.close()


AWAITS = """
import asyncio, json, sys
from pathlib import Path
import numpy as np
import swath

array, way = swath.open_array(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(2)
starts = zip(*(rng.integers(0, end, 10_000) for end in (8, 4, 385, 385)), strict=True)
crops = [np.s_[t : t + 1, c : c + 1, y : y + 128, x : x + 128] for t, c, y, x in starts]
array[0, 0, :128, :128], asyncio.run(array.async_array.getitem((0, 0)))

async def awaits():
    return await asyncio.gather(*map(array.async_array.getitem, crops))

before = swath.stats()["physical_reads"]
results = asyncio.run(awaits()) if way == "awaits" else array.read_many(crops)
reads = swath.stats()["physical_reads"] - before
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
sums = [int(result.sum(dtype="int64")) for result in results]
print(json.dumps({"reads": reads, "peak": int(peak.split()[1]) << 10, "sums": sums}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory are read from Linux's /proc")
def test_ten_thousand_awaits_read_and_hold_what_one_batch_does(tmp_path):
    values = np.random.default_rng(1).integers(0, 9, (8, 4, 512, 512), "u1")
    zarr.create_array(tmp_path / "a", data=values, chunks=(1, 1, 64, 64), shards=(1, 4, 512, 512))
    told = {}
    for way in ("read_many", "awaits"):
        command = [sys.executable, "-c", AWAITS, tmp_path / "a", way]
        ended = subprocess.run(command, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        told[way] = json.loads(ended.stdout)
    assert told["awaits"]["sums"] == told["read_many"]["sums"]
    assert told["awaits"]["reads"] == told["read_many"]["reads"]
    # Both hold 164 MB of results. A task, a future, a request and an array for each await are 3 KB and more.
    assert told["awaits"]["peak"] - told["read_many"]["peak"] < 64 << 20
