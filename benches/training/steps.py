"""What a batch is trained on with: steps of about a tenth of a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from typing import Any

STEP_S = 0.1

type Step = Callable[[Any], None]


def nothing() -> Step:
    """Return a step that takes no time."""
    return lambda batch: None


def sleeps() -> Step:
    """Return a step that sleeps, as one does that waits for a device."""
    return lambda batch: time.sleep(STEP_S)


def holds_the_gil() -> Step:
    """Return a step that sorts numbers in one call, which no other thread of Python interrupts."""
    random = Random(0)
    numbers = [random.random() for _ in range(20_000)]
    begun = time.perf_counter()
    sorted(numbers)
    rate = len(numbers) / (time.perf_counter() - begun)
    # Sorting grows a little faster than its length.
    numbers = [random.random() for _ in range(int(rate * STEP_S * 0.75))]

    def step(batch: Any) -> None:
        sorted(numbers)

    return step


def trains() -> Step:
    """Return a step of torch: forward, backward and update of a small net of convolutions, on one core."""
    import torch

    torch.set_num_threads(1)
    net: Any = None

    def step(batch: Any) -> None:
        nonlocal net
        inputs = torch.cat([tensor.flatten(1, 2) for tensor in batch.values()], 1)
        inputs = (inputs - 260) / 20
        if net is None:
            net = torch.nn.Sequential(
                torch.nn.Conv2d(inputs.shape[1], 32, 3, padding=1),
                torch.nn.ReLU(),
                torch.nn.Conv2d(32, inputs.shape[1], 3, padding=1),
            )
            net.update = torch.optim.SGD(net.parameters(), lr=1e-4)
        net.update.zero_grad()
        torch.nn.functional.mse_loss(net(inputs), inputs).backward()
        net.update.step()

    return step


STEPS: dict[str, Callable[[], Step]] = {
    "nothing": nothing,
    "sleeps": sleeps,
    "trains": trains,
    "holds the GIL": holds_the_gil,
}
