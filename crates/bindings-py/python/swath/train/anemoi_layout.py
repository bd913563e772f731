"""Datasets as anemoi-datasets writes them: all variables in one array, over cells of any grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from swath._swath import Group
from swath.errors import InvalidError
from swath.train.arrays import Values
from swath.train.cells import Cells
from swath.train.crop import Crop
from swath.train.sources import Source, source
from swath.train.times import coordinates
from swath.train.window import Window

DIMS = ("time", "variable", "ensemble", "cell")


def anemoi(
    group: Group,
    *,
    history: int = 1,
    forecast: int = 0,
    variables: Sequence[str] | None = None,
    ensemble: int | slice = 0,
    cells: npt.ArrayLike | None = None,
    around: int | None = None,
    normalise: bool = True,
    fill: float | None = None,
    dtype: npt.DTypeLike = "float32",
) -> Source:
    """Say how windows of time are cut from a dataset of anemoi-datasets.

    Its array ``data`` has the axes time, variable, ensemble and cell. Dates that its attribute
    ``missing_dates`` names are never found: a window that would hold one is refused, and counted.

    Parameters
    ----------
    group : swath.Group
        The dataset.
    history, forecast : int
        Steps up to the origin, its own included, and behind it, each as long as the attribute ``frequency``
        says, or as the first two dates are apart.
    variables : sequence of str, optional
        Names of what is taken, in this order; by default all.
    ensemble : int or slice, default 0
        Which members; a single one has no axis.
    cells : array_like, optional
        Which cells: their positions, or a flag for each. By default all.
    around : int, optional
        How many cells around the origin's ``latitude`` and ``longitude`` a sample has, in place of the same
        cells always: see `Cells`.
    normalise : bool, default True
        Whether the dataset's own ``mean`` and ``stdev`` of each variable normalise it; what does not vary
        becomes 0.
    fill, dtype
        As of `source`.

    Raises
    ------
    InvalidError
        The group is no such dataset, or has no such variables; or both `cells` and `around` are told.
    """
    for wanted in ("data", "dates"):
        if wanted not in group:
            raise InvalidError(f"wanted a dataset of anemoi-datasets, found no array {wanted!r}")
    if cells is not None and around is not None:
        raise InvalidError("wanted cells= or around=, found both")
    names = _names(group)
    chosen = names if variables is None else list(variables)
    unknown = [name for name in chosen if name not in names]
    if unknown:
        raise InvalidError(f"wanted variables of {', '.join(names)}, found {', '.join(unknown)}")
    select: dict[str, Any] = {"variable": [names.index(name) for name in chosen], "ensemble": ensemble}
    if cells is not None:
        select["cell"] = np.asarray(cells)
    normal: dict[str, Any] = {}
    if normalise:
        spread = _values(group, "stdev")
        normal = {"mean": _values(group, "mean"), "std": np.where(spread == 0, 1, spread), "per": "variable"}
    dates = coordinates(group["dates"])
    crops: dict[str | tuple[str, ...], Crop] = {
        "time": Window(_step(group, dates), history=history, forecast=forecast)
    }
    if around is not None:
        crops["cell"] = Cells(around, latitude="latitudes", longitude="longitudes")
    return source(
        group,
        "data",
        dims=DIMS,
        coords={"time": _known(dates, group.attrs.get("missing_dates") or ())},
        crops=crops,
        select=select,
        fill=fill,
        dtype=dtype,
        **normal,
    )


def _names(group: Group) -> list[str]:
    names = group.attrs.get("variables")
    if names is None:
        numbers = group.attrs.get("name_to_index") or {}
        names = sorted(numbers, key=lambda name: int(numbers[name]))
    if not names:
        raise InvalidError("wanted the names of a dataset's variables as attribute 'variables', found none")
    return list(names)


def _values(group: Group, name: str) -> Values:
    if name not in group:
        raise InvalidError(
            f"wanted the array {name!r} to normalise by, found none: normalise=False needs none"
        )
    stored: Any = group[name]
    values: Values = np.asarray(stored[...], np.float64)
    return values


def _known(dates: Values, missing: Sequence[str]) -> Values:
    """Return dates with NaT in place of those that are missing."""
    absent = np.array([np.datetime64(date) for date in missing], dates.dtype)
    return np.where(np.isin(dates, absent), np.array("NaT", dates.dtype), dates)


def _step(group: Group, dates: Values) -> Any:
    told = group.attrs.get("frequency")
    if isinstance(told, str):
        return told
    if told is not None:
        # Older datasets say a number of hours.
        return np.timedelta64(int(told), "h")
    if len(dates) < 2:
        raise InvalidError(f"wanted two dates to know how far they are apart, found {len(dates)}")
    return dates[1] - dates[0]
