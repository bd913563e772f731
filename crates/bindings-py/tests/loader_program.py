"""One run of PyTorch's DataLoader over an array, as a program.

Run as ``python loader_program.py PATH METHOD WORKERS SEED``, it prints how many crops it was given, once all
of them had the right values. SIGUSR1 has it and its workers print the stacks of all their threads.
"""

import asyncio
import faulthandler
import multiprocessing
import signal
import sys
import threading
from contextlib import contextmanager

import numpy as np
import swath
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

# Here, so that workers that import this module do it too.
faulthandler.register(signal.SIGUSR1)

SHAPE, SIDE = (48, 2, 96, 96), 40
STARTS = [(t, y, x) for t in range(0, 46, 3) for y in (0, 33) for x in (5, 56)]
# Batches, and workers that start anew for each pass, or once.
BATCH, PASSES = 5, 2


def values():
    """Give what the array holds."""
    return np.arange(np.prod(SHAPE), dtype="int32").reshape(SHAPE)


def index(number):
    t, y, x = STARTS[number]
    return np.s_[t : t + 2, :, y : y + SIDE, x : x + SIDE]


class Crops(Dataset):
    """Reads one crop at a time."""

    def __init__(self, array):
        self.array = array

    def __len__(self):
        return len(STARTS)

    def __getitem__(self, number):
        return number, self.array[index(number)]


class Batches(Crops):
    """Reads all of a batch at once."""

    def __getitems__(self, numbers):
        crops = self.array.read_many([index(number) for number in numbers], stack=False)
        return list(zip(numbers, crops, strict=True))


class Awaits(IterableDataset):
    """Awaits all that is the worker's."""

    def __init__(self, array):
        self.array = array

    def __iter__(self):
        worker = get_worker_info()
        numbers = range(worker.id, len(STARTS), worker.num_workers)

        async def crops():
            reads = (self.array.async_array.getitem(index(number)) for number in numbers)
            return await asyncio.gather(*reads)

        return iter(list(zip(numbers, asyncio.run(crops()), strict=True)))


DATASETS = [Crops, Batches, Awaits]


@contextmanager
def reads_beside(array, are_wanted):
    """Have two threads of this process read all the while."""
    stop = threading.Event()

    def read_on():
        while not stop.wait(0.005):
            array.read_many([index(number) for number in range(0, len(STARTS), 7)])

    threads = [threading.Thread(target=read_on) for _ in range(2 if are_wanted else 0)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def loader(dataset, method, workers, preloads=False, **options):
    context = multiprocessing.get_context(method)
    if preloads:
        # The server has imported swath when it forks, and has read nothing.
        context.set_forkserver_preload(["torch", "swath"])
    return DataLoader(
        dataset, batch_size=BATCH, num_workers=workers, multiprocessing_context=context, **options
    )


def main(path, method, workers, seed):
    expected, array = values(), swath.open_array(path)
    # The engine, its lanes and the thread of awaited reads exist before there are workers.
    np.testing.assert_array_equal(array[...], expected)
    asyncio.run(array.async_array.getitem(0))
    # In other pairs with the ways of starting workers each time round.
    dataset = DATASETS[(seed + seed // 3 + seed // 9) % len(DATASETS)](array)
    seen = 0
    with reads_beside(array, seed // 2 % 2):
        preloads = method == "forkserver" and bool(seed // 9 % 2)
        loading = loader(dataset, method, workers, preloads, persistent_workers=bool(seed % 2))
        for _ in range(PASSES):
            for numbers, crops in loading:
                for number, crop in zip(numbers.tolist(), crops, strict=True):
                    assert torch.equal(crop, torch.from_numpy(expected[index(number)])), number
                    seen += 1
            np.testing.assert_array_equal(array[seed % 48], expected[seed % 48])
    assert seen == PASSES * len(STARTS)
    print(f"loaded {seen}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
