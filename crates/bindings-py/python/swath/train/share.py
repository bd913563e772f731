"""Which positions of an epoch one of several training processes takes."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

import numpy as np

from swath.errors import InvalidError
from swath.train.arrays import Flags, Positions

# Of Slurm the tasks of this step: the script of a job sees those of the whole job, and is alone all the same.
VARIABLES = (
    ("RANK", "WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
)


@dataclass(frozen=True, slots=True)
class Share:
    """Rank `rank` of `world`: it takes every position i with i mod world = rank.

    Positions count from where the epoch, or what is left of it after a resume, begins. All ranks have equally
    many batches of equal sizes. What is left over at the end of an epoch is dropped, or filled up with
    positions from its beginning, which are flagged.
    """

    rank: int = 0
    world: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.rank < self.world:
            raise InvalidError(f"wanted 0 <= rank < world, found rank {self.rank} of {self.world}")

    @classmethod
    def found(cls) -> Share:
        """Return what torch.distributed says, where it was set up; else the environment; else all."""
        distributed = sys.modules.get("torch.distributed")
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return cls(distributed.get_rank(), distributed.get_world_size())
        for rank, world in VARIABLES:
            if rank in os.environ and world in os.environ:
                return cls(_number(rank), _number(world))
        return cls()

    def batches(self, total: int, start: int, batch_size: int, drop_last: bool) -> int:
        """Return how many batches each rank has, of an epoch of `total` positions from `start` on."""
        left = max(total - start, 0)
        if drop_last:
            return left // (batch_size * self.world)
        return -(-self._each(left) // batch_size)

    def positions(
        self, total: int, start: int, batch_size: int, batch: int, drop_last: bool
    ) -> tuple[Positions, Flags]:
        """Return the positions of a batch of this rank, and which of them only fill up."""
        end = (batch + 1) * batch_size
        if not drop_last:
            end = min(end, self._each(total - start))
        places = start + np.arange(batch * batch_size, end, dtype=np.int64) * self.world + self.rank
        return places % total, total <= places

    def received(self, total: int, start: int, batch_size: int, batches: int) -> int:
        """Return before which position all were received, by all ranks, after some batches of each."""
        return min(total, start + batches * batch_size * self.world)

    def _each(self, left: int) -> int:
        return -(-left // self.world)


def _number(variable: str) -> int:
    text = os.environ[variable]
    try:
        return int(text)
    except ValueError:
        raise InvalidError(f"wanted a number in the variable {variable}, found {text!r}") from None
