"""The epoch of a dataset, as its worker processes see it."""

from __future__ import annotations

from multiprocessing.context import get_spawning_popen
from multiprocessing.sharedctypes import RawValue
from typing import Any

from swath.errors import InvalidError

EPOCH_MAX = (1 << 63) - 1


class SharedEpoch:
    """A number that a process and the workers it starts have together: what one sets, the others see.

    Workers are processes that are given the object as `multiprocessing` starts them, by fork, forkserver or
    spawn, which is how torch's DataLoader has its own. Pickled for anything else, a file, a queue or another
    machine, it becomes a number of its own with the same value.

    Parameters
    ----------
    value : int
        From 0 to 2**63 - 1.
    """

    __slots__ = ("_cell",)

    def __init__(self, value: int) -> None:
        # In memory that processes share: one aligned word, which is written and read whole.
        self._cell: Any = RawValue("q", _checked(value))

    @property
    def value(self) -> int:
        """The epoch, as whoever set it last said."""
        return int(self._cell.value)

    @value.setter
    def value(self, value: int) -> None:
        self._cell.value = _checked(value)

    def copied(self) -> SharedEpoch:
        """Return a number of its own with the same value."""
        return SharedEpoch(self.value)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        # Shared memory can be handed to a process only while it is started.
        if get_spawning_popen() is None:
            return SharedEpoch, (self.value,)
        return _attached, (self._cell,)


def _attached(cell: Any) -> SharedEpoch:
    found = SharedEpoch.__new__(SharedEpoch)
    found._cell = cell
    return found


def _checked(value: int) -> int:
    # The cell would wrap around without a word.
    if not 0 <= value <= EPOCH_MAX:
        raise InvalidError(f"wanted an epoch from 0 to 2**63 - 1, found {value}")
    return value
