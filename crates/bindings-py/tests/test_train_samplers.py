"""Orders through a loader: the same samples read ahead, after a resume, and on several ranks."""

import threading
from itertools import pairwise

import numpy as np
import pytest
from swath import train

LENGTH = 40
SAMPLERS = {
    "sequential": lambda dataset: "sequential",
    "random": lambda dataset: "random",
    "weighted": lambda dataset: train.Weighted(np.arange(len(dataset)), samples=50),
    "stratified": lambda dataset: train.Stratified(np.arange(len(dataset)) % 3, [1, 2, 1], samples=35),
    "chunk-aware": lambda dataset: train.ChunkAware(train.blocks_of(dataset), buffer=3),
}


@pytest.fixture(scope="module")
def dataset():
    values = np.arange(LENGTH, dtype="f4") ** 2
    return train.Dataset({"a": train.source(values, dims=("t",), crops={"t": train.Window(1, history=2)})})


def seen(batches):
    """Return the number of the sample at each position, having looked at what it holds."""
    found = {}
    for batch in batches:
        for place, (position, number) in enumerate(
            zip(batch.samples.positions, batch.samples.numbers, strict=True)
        ):
            time = batch.samples.origins["t"][place]
            np.testing.assert_array_equal(batch["a"][place], np.float32([(time - 1) ** 2, time**2]))
            if not batch.samples.padding[place]:
                assert int(position) not in found
                found[int(position)] = int(number)
    return dict(sorted(found.items()))


@pytest.mark.parametrize("name", SAMPLERS)
def test_orders_do_not_depend_on_how_they_are_loaded(dataset, name):
    def loader(batch_size=4, **options):
        sampler = SAMPLERS[name](dataset)
        return train.Loader(dataset, batch_size, sampler=sampler, seed=11, to="numpy", **options)

    wanted = seen(loader(prefetch=0))
    assert list(wanted) == list(range(len(loader().sampler)))
    assert seen(loader(prefetch=5)) == wanted
    ranks = {}
    for rank in range(3):
        ranks |= seen(loader(share=train.Share(rank, 3)))
    assert dict(sorted(ranks.items())) == wanted
    first = loader()
    batches = iter(first)
    found = seen(next(batches) for _ in range(3))
    state = first.state_dict()
    batches.close()
    for rank in range(2):
        second = loader(5, share=train.Share(rank, 2))
        second.load_state_dict(state)
        found |= seen(second)
    assert dict(sorted(found.items())) == wanted
    other = loader()
    other.set_epoch(1)
    assert (seen(other) == wanted) == (name == "sequential")


@pytest.mark.parametrize("prefetch", [1, 4])
def test_transforms_run_beside_the_loop(dataset, prefetch):
    loader = train.Loader(dataset, 4, transform=lambda batch: threading.get_ident(), prefetch=prefetch)
    assert threading.get_ident() not in set(loader)
    # Without reading ahead there is nobody else.
    loader = train.Loader(dataset, 4, transform=lambda batch: threading.get_ident(), prefetch=0)
    assert set(loader) == {threading.get_ident()}


@pytest.mark.parametrize("medium", train.MEDIA)
def test_media_that_are_not_here_are_simulated(medium):
    """For 1 to 64 loaders: what they get together is more the more they are, and never above the medium's."""
    archive = train.Described(shape=(1000, 4, 512, 512), chunks=(1, 4, 128, 128), dtype="int16")
    crops = {"t": train.Window(1, history=4), "y": train.Patch(128), "x": train.Patch(128)}
    source = train.source(archive, dims=("t", "c", "y", "x"), crops=crops)
    plan = train.explain(train.Dataset({"a": source}), medium=medium, cores=16)
    found = [
        train.simulate(plan, batch_size=8, step_s=0.2, loaders=loaders, prefetch=4, steps=20)
        for loaders in (1, 4, 16, 64)
    ]
    rates = [one.bytes_per_s for one in found]
    assert all(before < after * 1.02 for before, after in pairwise(rates)), rates
    assert 0 < rates[0] and rates[-1] <= train.MEDIA[medium].bytes_per_s * 1.05
    waits = [one.mean_wait_s for one in found]
    assert waits[0] <= waits[-1] + 1e-9 and all(one.first_batch_s > 0 for one in found)
