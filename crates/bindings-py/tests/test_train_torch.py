"""Batches of tensors, torch's DataLoader over a dataset, ranks of torch.distributed, and torchdata's loader.

`make test-train` installs PyTorch and runs it; without PyTorch nothing is run.
"""

import copy
import gc
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import swath
import zarr
from swath import train

torch = pytest.importorskip("torch", reason="`make test-train` installs PyTorch")

from torch.utils.data import DataLoader  # noqa: E402

SHAPE = (30, 3, 40)
METHODS = ["fork", "forkserver", "spawn"]


def values():
    return np.random.default_rng(1).normal(size=SHAPE).astype("float32")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("torch") / "a.zarr"
    zarr.create_array(
        path, data=values(), chunks=(4, 3, 20), shards=(8, 3, 40), dimension_names=("t", "c", "x")
    )
    return path


def made(path, **options):
    array = swath.open_array(path)
    window = train.source(
        array, crops={"t": train.Window(1, history=2, **options), "x": train.Patch(8)}, mean=0.5
    )
    point = train.source(array, crops={"t": train.Point(), "x": train.Point()}, select={"c": 1})
    return train.Dataset({"window": window, "point": point}, stride={"x": 4})


@pytest.fixture(scope="module")
def dataset(path):
    return made(path)


def assert_right(dataset, batch, origins):
    stored = values()
    times, places = origins["t"], origins["x"]
    assert batch["window"].dtype == batch["point"].dtype == torch.float32
    for number, (time, place) in enumerate(zip(times, places, strict=True)):
        wanted = stored[time - 1 : time + 1, :, place : place + 8] - np.float32(0.5)
        assert torch.equal(batch["window"][number], torch.from_numpy(wanted))
        assert batch["point"][number].item() == stored[time, 1, place]


@pytest.mark.parametrize("to", ["auto", "torch", "cpu", torch.device("cpu")], ids=str)
def test_batches_are_tensors(dataset, to):
    seen = 0
    for batch in train.Loader(dataset, 16, seed=4, to=to):
        assert isinstance(batch, train.Batch)
        assert_right(dataset, batch, batch.samples.origins)
        seen += len(batch.samples)
    assert seen == len(dataset)


def test_they_are_those_of_numpy(dataset):
    arrays = list(train.Loader(dataset, 16, seed=4, to="numpy"))
    tensors = list(train.Loader(dataset, 16, seed=4, prefetch=5))
    for one, other in zip(arrays, tensors, strict=True):
        assert isinstance(one["window"], np.ndarray)
        for name in one:
            assert torch.equal(torch.from_numpy(one[name]), other[name])


@pytest.mark.parametrize(
    "holder",
    [
        lambda tensor: tensor,
        lambda tensor: tensor[1:, 0],
        lambda tensor: tensor.numpy(),
        lambda tensor: tensor.numpy()[2:],
        lambda tensor: torch.utils.dlpack.to_dlpack(tensor),
        lambda tensor: tensor.untyped_storage(),
    ],
)
def test_memory_of_tensors_is_not_given_again_while_it_is_held(dataset, holder):
    loader = train.Loader(dataset, 16, sampler="sequential", prefetch=1)
    batches = iter(loader)
    batch = next(batches)
    place, held = batch["window"].data_ptr(), holder(batch["window"])
    del batch
    places = set()
    for batch in batches:
        places.add(batch["window"].data_ptr())
        del batch
    assert place not in places
    # Its content, too: the loop went over all other batches meanwhile.
    if isinstance(held, torch.Tensor) and held.shape[0] == 16:
        first = next(iter(train.Loader(dataset, 16, sampler="sequential", prefetch=0)))
        assert torch.equal(held, first["window"])
    del held
    gc.collect()


def test_loops_use_memory_again(dataset):
    places = set()
    for _ in range(3):
        loader = train.Loader(dataset, 16, prefetch=2, drop_last=True)
        for batch in loader:
            places.add(batch["window"].data_ptr())
    assert len(places) <= 3 * 4


def test_transforms_are_given_tensors(dataset):
    loader = train.Loader(dataset, 16, transform=lambda batch: (batch["window"].mean(), {"n": 1}), to="cpu")
    for mean, others in loader:
        assert mean.shape == () and others == {"n": 1}


def test_what_is_no_device_is_refused(dataset):
    with pytest.raises(swath.InvalidError, match="'numpy', 'torch' or a device"):
        train.Loader(dataset, 4, to="somewhere")
    if not torch.cuda.is_available():
        with pytest.raises(swath.InvalidError, match="CUDA"):
            train.Loader(dataset, 4, to="cuda")


@pytest.mark.parametrize("collates", ["ours", "torch's"])
@pytest.mark.parametrize("workers", [0, 2])
def test_dataloaders_give_right_values(path, collates, workers):
    dataset = made(path)
    options = {"batch_size": 16, "num_workers": workers}
    loader = dataset.dataloader(**options) if collates == "ours" else DataLoader(dataset, **options)
    count = 0
    for batch in loader:
        numbers = np.arange(count, count + len(batch["window"]))
        if collates == "ours":
            assert list(batch.samples.numbers) == list(numbers)
        assert_right(dataset, batch, dataset.samples(numbers, numbers).origins)
        count += len(numbers)
    assert count == len(dataset)


def test_collating_copies_nothing(dataset):
    fetched = dataset.__getitems__([3, 1, 2])
    batch = train.collate(fetched)
    assert batch["window"].data_ptr() == fetched[0]["window"].__array_interface__["data"][0]
    # What somebody else made of the samples is stacked by torch.
    again = train.collate([fetched[2], fetched[0]])
    assert torch.equal(again["window"], batch["window"][[2, 0]])


PROGRAM = """
import multiprocessing, sys
import numpy as np
import torch
from swath import train
from test_train_torch import made

if __name__ == "__main__":
    dataset = made(sys.argv[1], dropout=train.Dropout(0.5, (1,)))
    dataset[0]
    context = multiprocessing.get_context(sys.argv[2])
    wanted = {}
    for epoch in (0, 1):
        dataset.set_epoch(epoch)
        wanted[epoch] = [batch["window"].clone() for batch in dataset.dataloader(batch_size=16)]
    assert any(not torch.equal(one.isnan(), other.isnan()) for one, other in zip(*wanted.values()))
    loader = dataset.dataloader(
        batch_size=16, num_workers=4, multiprocessing_context=context, persistent_workers=True
    )
    for epoch in (0, 1, 0):
        dataset.set_epoch(epoch)
        found = list(loader)
        assert len(found) == len(wanted[epoch])
        for one, other in zip(found, wanted[epoch]):
            assert torch.equal(one["window"].nan_to_num(-1e9), other.nan_to_num(-1e9)), epoch
    print("same")
"""


@pytest.mark.parametrize("method", METHODS)
def test_workers_of_every_kind_give_the_same(path, tmp_path, method, request):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    ran = subprocess.run(
        [sys.executable, program, path, method],
        capture_output=True,
        text=True,
        timeout=480,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(request.path.parent), *sys.path])},
    )
    assert ran.returncode == 0 and "same" in ran.stdout, ran.stderr


def test_epochs_of_datasets_draw_their_own_dropout(path):
    dataset = made(path, dropout=train.Dropout(0.5, (1,)))
    drawn = []
    for epoch in (0, 1, 0):
        dataset.set_epoch(epoch)
        again = pickle.loads(pickle.dumps(dataset))
        drawn.append(torch.cat([batch["window"].isnan().any(1) for batch in again.dataloader(batch_size=16)]))
    assert torch.equal(drawn[0], drawn[2]) and not torch.equal(drawn[0], drawn[1])


def test_lightnings_moves_keep_batches_whole(dataset):
    """What frameworks do to move a batch: make its type anew of a mapping, or of a copy."""
    batch = next(iter(train.Loader(dataset, 4)))
    again = type(batch)({name: tensor + 0 for name, tensor in batch.items()})
    assert torch.equal(again["window"], batch["window"]) and again.samples is None
    assert copy.copy(batch).samples is batch.samples
    torch.testing.assert_close(dict(pickle.loads(pickle.dumps(batch))), dict(batch))


RANKS = """
import pickle, sys
import torch.distributed as distributed
from swath import train
from test_train_torch import made

if __name__ == "__main__":
    path, rank, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    distributed.init_process_group("gloo", init_method=f"file://{folder}/met", rank=rank, world_size=2)
    loader = train.Loader(made(path), 8, seed=6)
    assert loader.share == train.Share(rank, 2)
    seen = []
    for batch in loader:
        kept = ~batch.samples.padding
        seen.append((batch.samples.positions[kept], batch.samples.numbers[kept], batch["window"][kept]))
    with open(f"{folder}/{rank}", "wb") as file:
        pickle.dump(seen, file)
    distributed.destroy_process_group()
"""


def test_ranks_of_torch_share_an_epoch(path, dataset, tmp_path, request):
    if not torch.distributed.is_available():
        pytest.skip("this torch has no torch.distributed")
    program = tmp_path / "program.py"
    program.write_text(RANKS)
    environment = {**os.environ, "PYTHONPATH": str(request.path.parent)}
    running = [
        subprocess.Popen([sys.executable, program, path, str(rank), tmp_path], env=environment)
        for rank in range(2)
    ]
    assert [process.wait(480) for process in running] == [0, 0]
    found = {}
    for rank in range(2):
        with (tmp_path / str(rank)).open("rb") as file:
            for positions, numbers, windows in pickle.load(file):
                assert (positions % 2 == rank).all()
                found |= {
                    int(position): (int(number), window)
                    for position, number, window in zip(positions, numbers, windows, strict=True)
                }
    wanted = {}
    for batch in train.Loader(dataset, 8, seed=6, share=train.Share(0, 1)):
        for place, position in enumerate(batch.samples.positions):
            wanted[int(position)] = (int(batch.samples.numbers[place]), batch["window"][place])
    assert set(found) == set(wanted)
    for position, (number, window) in wanted.items():
        assert found[position][0] == number and torch.equal(found[position][1], window)


@pytest.mark.parametrize("workers", [0, 2])
def test_torchdatas_loader_resumes(path, workers):
    stateful = pytest.importorskip(
        "torchdata.stateful_dataloader", reason="`make test-train` installs torchdata"
    )
    dataset = made(path)

    def loader():
        return stateful.StatefulDataLoader(
            dataset,
            batch_size=16,
            shuffle=True,
            num_workers=workers,
            collate_fn=train.collate,
            generator=torch.Generator().manual_seed(3),
        )

    whole = [batch["window"].clone() for batch in loader()]
    first = loader()
    batches = iter(first)
    for _ in range(3):
        next(batches)
    state = pickle.loads(pickle.dumps(first.state_dict()))
    second = loader()
    second.load_state_dict(state)
    left = [batch["window"].clone() for batch in second]
    assert len(left) == len(whole) - 3
    for one, other in zip(left, whole[3:], strict=True):
        assert torch.equal(one, other)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA here")
class TestCuda:
    def test_batches_are_pinned(self, dataset):
        for batch in train.Loader(dataset, 16, seed=4):
            assert batch["window"].is_pinned()
            assert_right(dataset, batch, batch.samples.origins)

    @pytest.mark.parametrize("prefetch", [0, 3])
    def test_batches_are_on_the_device(self, dataset, prefetch):
        for batch in train.Loader(dataset, 16, seed=4, to="cuda", prefetch=prefetch):
            assert batch["window"].is_cuda
            moved = {name: tensor.cpu() for name, tensor in batch.items()}
            assert_right(dataset, moved, batch.samples.origins)

    def test_pending_copies_keep_their_memory(self, dataset):
        """Host memory is not written to while a copy that the loop began is still under way."""
        device = torch.device("cuda")
        moved = []
        busy = torch.cuda.Stream()
        loader = train.Loader(dataset, 16, sampler="sequential")
        with torch.cuda.stream(busy):
            torch.cuda._sleep(200_000_000)
            for batch in loader:
                moved.append(batch["window"].to(device, non_blocking=True))
        torch.cuda.synchronize()
        wanted = train.Loader(dataset, 16, sampler="sequential", prefetch=0)
        for found, batch in zip(moved, wanted, strict=True):
            assert torch.equal(found.cpu(), batch["window"])
