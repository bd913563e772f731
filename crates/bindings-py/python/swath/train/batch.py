"""What a loader gives: stacked samples, and where each came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from swath.train.arrays import Flags, Positions, Values
from swath.train.space import Origins


@dataclass(frozen=True)
class Samples:
    """Which samples a batch holds.

    Attributes
    ----------
    positions : numpy.ndarray
        The place of each in its epoch's global order.
    numbers : numpy.ndarray
        The number of each in its dataset.
    origins : dict of str to numpy.ndarray
        The coordinates of each one's origin, by dimension: times, places.
    padding : numpy.ndarray
        Which repeat an earlier sample of the epoch, so that ranks have equally many.
    """

    positions: Positions
    numbers: Positions
    origins: Origins
    padding: Flags

    def __len__(self) -> int:
        return len(self.numbers)

    def taken(self, chosen: Positions) -> Samples:
        """Return some of them."""
        origins = {dim: values[chosen] for dim, values in self.origins.items()}
        return Samples(self.positions[chosen], self.numbers[chosen], origins, self.padding[chosen])


class Batch(dict[str, Any]):
    """Arrays by the name of their source, each of shape (samples, ...).

    Attributes
    ----------
    samples : Samples or None
        Which samples these are, in their order; None of a copy made as a plain dict is.
    """

    samples: Samples | None

    def __init__(self, arrays: Any = (), samples: Samples | None = None) -> None:
        super().__init__(arrays)
        self.samples = samples

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(int(getattr(array, "nbytes", 0)) for array in self.values())

    def sample(self, place: int) -> dict[str, Values]:
        """Return one sample: views of the batch's arrays."""
        return {name: array[place] for name, array in self.items()}


class Fetched(list[dict[str, Values]]):
    """The samples of a batch that was read at once, as views of its arrays.

    Attributes
    ----------
    batch : Batch
        The batch itself, which `swath.train.collate` takes in place of the views.
    """

    batch: Batch

    def __init__(self, batch: Batch, count: int) -> None:
        super().__init__(batch.sample(place) for place in range(count))
        self.batch = batch
