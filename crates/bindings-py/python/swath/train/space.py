"""All origins that may be sampled, as numbers from 0 on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from swath.errors import InvalidError
from swath.train.arrays import Flags, Positions, Values

type Origins = dict[str, Values]


def together(dims: tuple[str, ...], origins: Origins) -> Values:
    """Return the coordinates of origins along one dimension, or as (origins, dimensions) along several."""
    return origins[dims[0]] if len(dims) == 1 else np.stack([origins[dim] for dim in dims], axis=1)


@dataclass(frozen=True)
class OriginGroup:
    """Origins along one dimension, or along several whose values belong together, as those of stations do."""

    values: Mapping[str, Values]

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions that it gives coordinates of."""
        return tuple(self.values)

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))

    def taken(self, chosen: Flags | Positions) -> OriginGroup:
        """Return the origins of it that are chosen."""
        return OriginGroup({dim: values[chosen] for dim, values in self.values.items()})


@dataclass(frozen=True)
class Space:
    """The product of groups: every origin of one with every origin of the others, the last group fastest.

    It takes the memory of its groups, not of their product.
    """

    groups: tuple[OriginGroup, ...]

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many origins each group has."""
        return tuple(len(group) for group in self.groups)

    def __len__(self) -> int:
        return prod(self.lengths)

    def members(self, numbers: Positions) -> tuple[Positions, ...]:
        """Return which origin of each group numbers stand for."""
        asked = np.asarray(numbers, np.int64)
        if asked.size and not (0 <= int(asked.min()) and int(asked.max()) < len(self)):
            raise InvalidError(f"wanted samples below {len(self)}, found {asked.min()} to {asked.max()}")
        found = []
        for length in reversed(self.lengths):
            found.append(asked % max(length, 1))
            asked = asked // max(length, 1)
        return tuple(reversed(found))

    def number(self, members: Iterable[Positions]) -> Positions:
        """Return the numbers that origins of each group come to: what `members` takes apart."""
        found = np.zeros((), np.int64)
        for length, chosen in zip(self.lengths, members, strict=True):
            found = found * length + chosen
        return np.asarray(found, np.int64)

    def at(self, numbers: Positions) -> Origins:
        """Return the coordinates that numbers stand for, by dimension."""
        origins: Origins = {}
        for group, chosen in zip(self.groups, self.members(numbers), strict=True):
            origins.update({dim: values[chosen] for dim, values in group.values.items()})
        return origins

    def group_of(self, dim: str) -> int:
        """Return which group gives the coordinates of a dimension."""
        for place, group in enumerate(self.groups):
            if dim in group.dims:
                return place
        dims = ", ".join(dim for group in self.groups for dim in group.dims)
        raise InvalidError(f"wanted one of the dimensions of origins ({dims}), found {dim!r}")

    def kept(self, place: int, chosen: Flags) -> Space:
        """Return the space without those origins of one group that are not chosen."""
        groups = list(self.groups)
        groups[place] = groups[place].taken(chosen)
        return Space(tuple(groups))

    def masked(self, dims: tuple[str, ...], allowed: Flags) -> Space:
        """Return the space without what a mask over the candidates of some dimensions' groups forbids.

        The mask has an axis for each group that `dims` name, in their order. Where these are several, they
        become one group that lists the allowed origins: 8 bytes for each of them and each dimension.
        """
        places = list(dict.fromkeys(self.group_of(dim) for dim in dims))
        wanted = tuple(len(self.groups[place]) for place in places)
        if allowed.shape != wanted or allowed.dtype != np.bool_:
            found = f"{allowed.dtype} of shape {allowed.shape}"
            raise InvalidError(
                f"wanted a mask of bool of shape {wanted} along {', '.join(dims)}, found {found}"
            )
        if len(places) == 1:
            return self.kept(places[0], allowed)
        chosen = np.nonzero(allowed)
        values: Origins = {}
        for place, members in zip(places, chosen, strict=True):
            values.update(self.groups[place].taken(members).values)
        merged = OriginGroup(values)
        first = min(places)
        groups = [
            merged if place == first else group
            for place, group in enumerate(self.groups)
            if place == first or place not in places
        ]
        return Space(tuple(groups))
