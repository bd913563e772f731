"""Memory of batches: used again, and never while anybody holds anything of it."""

import gc
import os
import weakref
from pathlib import Path

import numpy as np
import pytest
import swath
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from swath import train
from swath.train.memory import RecycledArrays

SHAPE = (64, 5, 40)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    path = tmp_path_factory.mktemp("memory") / "a.zarr"
    values = np.arange(np.prod(SHAPE), dtype="float32").reshape(SHAPE)
    zarr.create_array(path, data=values, chunks=(4, 5, 20), dimension_names=("time", "channel", "x"))
    crops = {"time": train.Window(1, history=2), "x": train.Patch(8)}
    source = train.source(swath.open_array(path), crops=crops)
    return train.Dataset({"a": source, "b": source})


def address(array):
    return array.__array_interface__["data"][0]


HOLDERS = {
    "array": lambda array: array,
    "view": lambda array: array[1:, ::2],
    "view of a view": lambda array: array.T[0].reshape(-1)[3:],
    "memoryview": memoryview,
    "capsule": lambda array: array.__dlpack__(),
    "from a capsule": np.from_dlpack,
    "other type": lambda array: array.view("uint8"),
    "buffer": lambda array: np.frombuffer(array, "uint16"),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_memory_that_is_held_is_not_given_again(holder):
    outputs = RecycledArrays(2)
    array, same = outputs.take((4, 6), np.dtype("f4"))
    assert array is same and array.shape == (4, 6) and array.dtype == np.float32 and array.flags.writeable
    array[:] = 7
    place, held = address(array), HOLDERS[holder](array)
    del array, same
    gc.collect()
    others = [outputs.take((4, 6), np.dtype("f4"))[0] for _ in range(5)]
    for number, other in enumerate(others):
        other[:] = number
    assert place not in {address(other) for other in others}
    del held, others
    gc.collect()
    # As many blocks as are kept: one of them comes again.
    again = [outputs.take((4, 6), np.dtype("f4"))[0] for _ in range(2)]
    assert len({address(one) for one in again}) == 2


def test_memory_comes_again():
    outputs = RecycledArrays(3)
    places = set()
    for _ in range(10):
        array, _ = outputs.take((100,), np.dtype("f8"))
        places.add(address(array))
        del array, _
    assert len(places) == 1
    # A smaller batch may lie in it, a larger one may not.
    small, _ = outputs.take((90,), np.dtype("f8"))
    assert address(small) in places
    large, _ = outputs.take((1000,), np.dtype("f8"))
    assert not np.shares_memory(small, large)


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_no_two_arrays_that_are_held_share_memory(data):
    outputs, held = RecycledArrays(data.draw(st.integers(0, 3))), []
    for number in range(data.draw(st.integers(1, 30))):
        if held and data.draw(st.booleans()):
            held.pop(data.draw(st.integers(0, len(held) - 1)))
        else:
            array, _ = outputs.take((data.draw(st.sampled_from([3, 50, 51, 4000])),), np.dtype("i4"))
            array[:] = number
            held.append((number, array))
            del array, _
        for wanted, array in held:
            assert (array == wanted).all()


@pytest.mark.parametrize("prefetch", [0, 1, 4])
def test_batches_that_are_held_keep_their_data(dataset, prefetch):
    loader = train.Loader(dataset, 32, prefetch=prefetch, to="numpy")
    plain = [
        dataset.read(batch.samples, loader.seed, 0)
        for batch in train.Loader(dataset, 32, prefetch=0, to="numpy")
    ]
    batches = list(loader)
    assert len(batches) == len(plain) == len(loader)
    for batch, wanted in zip(batches, plain, strict=True):
        for name in wanted:
            np.testing.assert_array_equal(batch[name], wanted[name])
    places = [address(array) for batch in batches for array in batch.values()]
    assert len(set(places)) == len(places)


def test_a_loop_uses_few_blocks(dataset):
    """However long an epoch is, its batches lie in the memory of those that are read ahead and held."""
    places = {"a": set(), "b": set()}
    batches = 0
    for _ in range(3):
        for batch in train.Loader(dataset, 16, prefetch=2, drop_last=True, to="numpy"):
            batches += 1
            for name, array in batch.items():
                places[name].add(address(array))
    assert 300 < batches
    # Each of the three loaders has two batches ahead, one in the loop, and one that is about to replace it.
    assert all(len(blocks) <= 3 * 4 for blocks in places.values())


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc says how much memory there is")
def test_memory_is_flat(dataset):
    """Thousands of batches take what the first hundred took: of each that was kept, 40 KB would be left."""
    batch_bytes, sizes = 64 * 2 * 2 * 5 * 8 * 4, []
    loader = train.Loader(dataset, 64, prefetch=3, to="numpy")
    seen = 0
    while seen < 2_400:
        for batch in loader:
            assert seen or batch.nbytes == batch_bytes
            seen += 1
            if seen % 400 == 0:
                del batch
                gc.collect()
                sizes.append(
                    int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
                )
    # Two thousand batches of 41 KB would be 82 MB; the allocator's own ways are some MB.
    assert max(sizes[1:]) - sizes[0] < 12 << 20, sizes


def test_blocks_end_with_their_loader(dataset):
    loader = train.Loader(dataset, 16, to="numpy")
    batch = next(iter(loader))
    gone = weakref.ref(loader)
    del loader
    gc.collect()
    assert gone() is None
    np.testing.assert_array_equal(batch["a"], batch["b"])


def test_transforms_may_keep_what_they_are_given(dataset):
    kept = []

    def keep(batch):
        kept.append(batch["a"][:, 0])
        return batch["a"].sum(axis=(1, 2, 3))

    sums = [found.copy() for found in train.Loader(dataset, 64, transform=keep, to="numpy", prefetch=3)]
    loader = train.Loader(dataset, 64, to="numpy", prefetch=0)
    parts = {part[0, 0, 0]: part for part in kept}
    for batch, found in zip(loader, sums, strict=True):
        np.testing.assert_array_equal(parts[batch["a"][0, 0, 0, 0]], batch["a"][:, 0])
        np.testing.assert_array_equal(found, batch["a"].sum(axis=(1, 2, 3)))
