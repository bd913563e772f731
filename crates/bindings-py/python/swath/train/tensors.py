"""Batches of tensors, where torch is installed: in recycled memory, in pinned memory, or on a device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from swath.errors import InvalidError
from swath.train.arrays import Values
from swath.train.batch import Batch, Fetched
from swath.train.memory import Outputs, RecycledArrays

if TYPE_CHECKING:
    import torch


class RecycledTensors(RecycledArrays):
    """Tensors of the recycled memory of `RecycledArrays`: nothing is copied."""

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Values, Any]:
        """See `Outputs.take`."""
        from torch import from_numpy

        array, _ = super().take(shape, dtype)
        return array, from_numpy(array)


class PinnedTensors(Outputs):
    """Tensors in pinned memory, which a device copies by itself.

    It is torch's own pinned memory: torch uses it again once nobody holds the tensor and every copy that was
    begun from it has ended, on whatever stream.
    """

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Values, Any]:
        """See `Outputs.take`."""
        import torch

        kind = torch.from_numpy(np.empty(0, dtype)).dtype
        tensor = torch.empty(shape, dtype=kind, pin_memory=True)
        array: Values = tensor.numpy()
        return array, tensor


@dataclass(frozen=True, slots=True)
class OnDevice:
    """What is on its way to a device, on a stream of its own."""

    result: Any
    copied: Any

    def received(self) -> Any:
        """Have the current stream wait for the copies, and return what they made."""
        import torch

        if self.copied is not None:
            current = torch.cuda.current_stream(self.copied.device)
            current.wait_event(self.copied)
            # The memory is of the copying stream; until this one has used it, it is not given to others.
            mapped(self.result, lambda tensor: tensor.record_stream(current))
        return self.result


class Device:
    """Copies batches to a device, ahead of who takes them.

    Parameters
    ----------
    device : torch.device
        Where to. Of CUDA, copies go over a stream of their own, from pinned memory; others copy as they can.
    """

    def __init__(self, device: torch.device) -> None:
        import torch

        self.device = device
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    def send(self, result: Any) -> OnDevice:
        """Begin to copy every tensor of a result; CUDA's copies may still be under way on return."""
        import torch

        if self._stream is None:
            return OnDevice(mapped(result, lambda tensor: tensor.to(self.device)), None)
        with torch.cuda.stream(self._stream):
            moved = mapped(result, lambda tensor: tensor.to(self.device, non_blocking=True))
            return OnDevice(moved, self._stream.record_event())


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value with every tensor in it changed: in dicts, lists and tuples, however deep."""
    import torch

    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, Batch):
        return Batch({name: mapped(entry, change) for name, entry in value.items()}, value.samples)
    if isinstance(value, dict):
        return {name: mapped(entry, change) for name, entry in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(entry, change) for entry in value))
    if isinstance(value, list | tuple):
        return type(value)(mapped(entry, change) for entry in value)
    return value


def chosen(target: Any, kept: int) -> tuple[Callable[[], Outputs], Device | None]:
    """Return what makes the outputs of a source, and the device that batches go to, if any.

    Parameters
    ----------
    target : str or torch.device
        As `to` of `swath.train.Loader`.
    kept : int
        How many blocks of memory each output keeps for later.

    Raises
    ------
    InvalidError
        It is no device, or torch or CUDA is not there.
    """
    if target == "auto":
        target = "numpy" if find_spec("torch") is None else "torch"
    if target == "numpy":
        return (lambda: RecycledArrays(kept)), None
    if find_spec("torch") is None:
        raise InvalidError(f"wanted torch for batches on {target!r}, found none installed")
    import torch

    if target == "torch":
        return (PinnedTensors if torch.cuda.is_available() else lambda: RecycledTensors(kept)), None
    try:
        device = torch.device(target)
    except RuntimeError as error:
        raise InvalidError(f"wanted 'auto', 'numpy', 'torch' or a device, found {target!r}") from error
    if device.type == "cpu":
        return (lambda: RecycledTensors(kept)), None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InvalidError(f"wanted CUDA for batches on {target!r}, found none")
    return (PinnedTensors if device.type == "cuda" else lambda: RecycledTensors(kept)), Device(device)


def collate(samples: list[Any]) -> Any:
    """Make a batch of tensors of samples: `collate_fn` of a torch DataLoader over a `Dataset`.

    What ``Dataset.__getitems__`` read at once is stacked already, and is not copied; other samples are
    stacked by torch's own function. The `Batch` says in `samples` where each is from.
    """
    from torch import from_numpy
    from torch.utils.data import default_collate

    if not isinstance(samples, Fetched):
        return default_collate(samples)
    whole = samples.batch
    return Batch({name: from_numpy(array) for name, array in whole.items()}, whole.samples)
