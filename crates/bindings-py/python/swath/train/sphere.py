"""Places on the Earth, found by how near they are."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from swath.errors import InvalidError, UnsupportedError
from swath.train.arrays import Flags, Positions, Values
from swath.train.axis import Axis

# Of a sphere that stands for the Earth: the mean radius R1 of IUGG.
RADIUS_KM = 6371.0088


class Sphere:
    """Places in a tree: each search takes a time that grows with the logarithm of their number.

    Distances are those through the Earth, which are in the order of those along its great circles, and have
    no seam at 180 degrees and none at the poles.

    Parameters
    ----------
    latitudes, longitudes : numpy.ndarray
        In degrees, of shape (n,); a place that lacks one of them is never found.

    Raises
    ------
    UnsupportedError
        SciPy is not installed.
    """

    def __init__(self, latitudes: Values, longitudes: Values) -> None:
        try:
            from scipy.spatial import cKDTree
        except ImportError as error:
            raise UnsupportedError("wanted SciPy to find cells by their places, found none") from error
        places = np.stack([latitudes, longitudes], axis=1).astype("f8")
        somewhere: Flags = np.isfinite(places).all(axis=1)
        if np.any(np.abs(places[somewhere, 0]) > 90):
            raise InvalidError("wanted latitudes from -90 to 90 degrees, found others")
        self._positions: Positions = np.flatnonzero(somewhere).astype(np.int64)
        self._tree: Any = cKDTree(_points(places[somewhere]))

    def __len__(self) -> int:
        return len(self._positions)

    def nearest(self, origins: Values, count: int) -> Positions:
        """Return the positions of the places nearest to each origin, (origins, count), nearest first.

        Raises
        ------
        InvalidError
            An origin is nowhere.
        """
        nowhere = is_nowhere(origins[:, 0], origins[:, 1])
        if nowhere.any():
            place = tuple(np.asarray(origins, "f8")[nowhere][0].tolist())
            raise InvalidError(f"wanted origins of a latitude from -90 to 90 and a longitude, found {place}")
        _, found = self._search(origins, count)
        return self._positions[found]

    def distances_km(self, origins: Values, count: int) -> Values:
        """Return how far the `count`-th nearest place is from each origin; NaN from one that is nowhere."""
        sound = np.isfinite(np.asarray(origins, "f8")).all(axis=1)
        distances: Values = np.full(len(origins), np.nan)
        chords, _ = self._search(np.asarray(origins)[sound], count)
        distances[sound] = 2 * RADIUS_KM * np.arcsin(np.clip(chords[:, -1] / 2, 0, 1))
        return distances

    def _search(self, origins: Values, count: int) -> tuple[Values, Positions]:
        # A list of numbers keeps the axis of neighbours where there is but one.
        distances, found = self._tree.query(_points(np.asarray(origins, "f8")), k=list(range(1, count + 1)))
        return distances, found


def is_nowhere(latitudes: Values, longitudes: Values) -> Flags:
    """Return which places are none: of a latitude beyond a pole, or where one of both is NaN or infinite."""
    beyond: Flags = ~(np.abs(np.asarray(latitudes, "f8")) <= 90)
    return beyond | ~np.isfinite(np.asarray(longitudes, "f8"))


def _points(places: Values) -> Values:
    latitudes, longitudes = np.deg2rad(places[:, 0]), np.deg2rad(places[:, 1])
    across = np.cos(latitudes)
    return np.stack([across * np.cos(longitudes), across * np.sin(longitudes), np.sin(latitudes)], axis=1)


_SPHERES: WeakKeyDictionary[Axis, tuple[Axis, Sphere]] = WeakKeyDictionary()


def sphere_of(latitudes: Axis, longitudes: Axis) -> Sphere:
    """Return the sphere of places, made once for two axes; each process makes its own."""
    known = _SPHERES.get(latitudes)
    if known is None or known[0] is not longitudes:
        known = (longitudes, Sphere(latitudes.values, longitudes.values))
        _SPHERES[latitudes] = known
    return known[1]
