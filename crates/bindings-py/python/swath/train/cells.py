"""Cells of no grid: those that lie nearest to a place on the Earth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from swath.errors import InvalidError
from swath.train.arrays import AxisIndex, Draws, Values
from swath.train.axis import Axis
from swath.train.crop import Crop, Refused
from swath.train.sphere import Sphere, is_nowhere, sphere_of


@dataclass(frozen=True, slots=True)
class Cells(Crop):
    """The cells nearest to the origin along a great circle, nearest first; of equally near ones any.

    It cuts an axis that runs over cells in no order, of an icosahedral or a reduced Gaussian grid for one, or
    over stations. Which cells they are, is what a source of their latitudes or longitudes has, cut alike.
    Needs SciPy.

    Parameters
    ----------
    count : int
        How many cells.
    within_km : float, optional
        Origins are refused where not so many cells are so near, on a sphere of the Earth's mean radius
        (6,371.0088 km, IUGG). By default only those are that are nowhere, as their latitude is not
        from -90 to 90 or their longitude is not finite: places may be given along both dimensions apart then.
    latitude, longitude : str
        Names of the coordinates of cells, in degrees, each along the axis that is cut.
    along : tuple of str, default ("latitude", "longitude")
        The two dimensions of origins that it follows together, in degrees. By default origins are the cells.
    """

    count: int
    within_km: float | None = None
    latitude: str = "latitude"
    longitude: str = "longitude"
    along: tuple[str, str] = ("latitude", "longitude")

    def __post_init__(self) -> None:
        if self.count < 1:
            raise InvalidError(f"wanted one cell at least, found {self.count}")
        if self.within_km is not None and not 0 < self.within_km:
            raise InvalidError(f"wanted within_km above 0, found {self.within_km}")
        if isinstance(self.along, str) or len(self.along) != 2:
            raise InvalidError(f"wanted two dimensions of origins, found {self.along!r}")

    @property
    def coordinates(self) -> tuple[str, ...]:
        """See `Crop.coordinates`."""
        return self.latitude, self.longitude

    @property
    def draws(self) -> bool:
        """See `Crop.draws`."""
        return False

    @property
    def may_refuse(self) -> bool:
        """See `Crop.may_refuse`."""
        return self.within_km is not None

    def refused_apart(self, dim: str, values: Values) -> Refused:
        """See `Crop.refused_apart`."""
        zeros = np.zeros(len(values))
        return {"nowhere": is_nowhere(*((values, zeros) if dim == self.along[0] else (zeros, values)))}

    def candidates(self, axes: tuple[Axis, ...], stride: int) -> Values:
        """See `Crop.candidates`: every cell that is somewhere."""
        places = np.stack([axis.values[::stride].astype("f8") for axis in axes], axis=1)
        known: Values = places[np.isfinite(places).all(axis=1)]
        return known

    def lengths(self, axes: tuple[Axis, ...]) -> tuple[int, ...]:
        """See `Crop.lengths`."""
        return (self.count,)

    def reach(self) -> tuple[Any, Any] | None:
        """See `Crop.reach`."""
        return None

    def refused(self, axes: tuple[Axis, ...], origins: Values) -> Refused:
        """See `Crop.refused`."""
        nowhere = is_nowhere(origins[:, 0], origins[:, 1])
        if self.within_km is None:
            return {"nowhere": nowhere}
        near = self._sphere(axes).distances_km(origins, self.count) <= self.within_km
        return {"nowhere": nowhere, "too far": ~near & ~nowhere}

    def indexes(self, axes: tuple[Axis, ...], origins: Values, draws: Draws) -> list[tuple[AxisIndex, ...]]:
        """See `Crop.indexes`."""
        return [(row,) for row in self._sphere(axes).nearest(origins, self.count).tolist()]

    def _sphere(self, axes: tuple[Axis, ...]) -> Sphere:
        sphere = sphere_of(*axes)
        if len(sphere) < self.count:
            raise InvalidError(f"wanted {self.count} cells or more that are somewhere, found {len(sphere)}")
        return sphere
