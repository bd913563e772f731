"""A conversion as tasks of dask."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from swath._swath import consolidate_metadata
from swath.convert.plans import Damage, Plan, Report, Target
from swath.errors import InvalidError


def to_dask(
    plan: Plan,
    target: Target,
    *,
    pieces: int,
    journal: str | PathLike[str] | None = None,
    strict: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> Any:
    """Write a plan by tasks of dask, on whichever scheduler computes them: threads, processes, a cluster.

    Nothing is written before it is computed. Workers need to see the files of the plan and the target; what
    is pickled holds no secrets of the plan's options, but all of `storage_options`. A task that was lost may
    run again.

    Parameters
    ----------
    plan : Plan
        What is to be written.
    target : str, os.PathLike or a store
        Where the store is to be, as for `Plan.write_piece`: as workers see it.
    pieces : int
        How many tasks write values: some for each worker. Each uses as many threads as its machine has
        processors.
    journal : str or os.PathLike, optional
        A folder that all workers see, so that a task that runs again does not do again what is done.
    strict : bool, default False
        Whether a field that cannot be read ends the computation.
    storage_options : dict, optional
        How to reach the target, as for `swath.open`.

    Returns
    -------
    dask.delayed.Delayed
        What it computes to is the Report of all pieces.

    Raises
    ------
    ImportError
        There is no dask.
    InvalidError
        There are no pieces.

    Examples
    --------
    >>> plan = swath.convert.plan(["step24.grib2", "step48.grib2"])
    >>> swath.convert.to_dask(plan, "forecast.zarr", pieces=2).compute(scheduler="threads").fields
    2
    """
    from dask.delayed import delayed

    if pieces < 1:
        raise InvalidError(f"wanted at least 1 piece, found {pieces}")
    # The plan is one task's result, which each worker fetches once.
    shared = delayed(plan, traverse=False)
    write = delayed(_piece, pure=False)
    reports = [
        write(shared, number, pieces, target, journal, strict, storage_options) for number in range(pieces)
    ]
    return delayed(_merged, pure=False)(reports, target, storage_options)


def _piece(
    plan: Plan,
    number: int,
    count: int,
    target: Target,
    journal: str | PathLike[str] | None,
    strict: bool,
    storage_options: Mapping[str, Any] | None,
) -> Report:
    return plan.write_piece(
        number, count, target, journal=journal, strict=strict, storage_options=storage_options
    )


def _merged(reports: list[Report], target: Target, storage_options: Mapping[str, Any] | None) -> Report:
    """Say what all pieces have written.

    Their metadata is consolidated once more: workers may share a file system that locks no folders.
    """
    consolidate_metadata(target, storage_options=storage_options)
    damages: list[Damage] = [damage for report in reports for damage in report.damages]
    return Report(sum(report.fields for report in reports), reports[0].variables, damages)
