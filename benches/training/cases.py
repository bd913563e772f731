"""What is loaded: the arrays, and which samples in which order."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from benches.runner.prepare import prepare as prepare_workloads
from benches.runner.selections import corners
from benches.runner.workload import Case as WorkloadCase
from benches.runner.workload import load_workloads

type Values = np.ndarray[Any, Any]
type Corner = tuple[int, ...]

SEED = 20261122
TIMES, LEVELS, LATITUDES, LONGITUDES = 240, 13, 64, 128
PATCH, OVERLAP, STEPS = 48, 32, 3
VARIABLES = ("temperature", "u_wind", "v_wind")
CHANNELS = 10


@dataclass(frozen=True)
class Case:
    """Arrays of one shape, and the crops that samples are.

    Attributes
    ----------
    name : str
        Of the case.
    paths : tuple of Path
        The arrays: a sample has a crop of each.
    shape : tuple of int
        Of a crop.
    corners : list of tuple of int
        The first corner of each sample, in the order of the epoch.
    batch_size : int
        Samples a batch.
    mean, std : numpy.ndarray or None
        What crops are normalised by, a number a channel (axis 1), in float32.
    """

    name: str
    paths: tuple[Path, ...]
    shape: tuple[int, ...]
    corners: list[Corner]
    batch_size: int
    mean: Values | None = None
    std: Values | None = None

    @property
    def batches(self) -> list[list[int]]:
        """The numbers of the samples of each batch; all batches are full."""
        count = len(self.corners) // self.batch_size
        return np.arange(count * self.batch_size).reshape(count, self.batch_size).tolist()

    @property
    def batch_bytes(self) -> int:
        """Bytes of a batch of float32."""
        return self.batch_size * len(self.paths) * int(np.prod(self.shape)) * 4

    def index(self, number: int) -> tuple[slice, ...]:
        """Return where a sample is."""
        return tuple(
            slice(at, at + length) for at, length in zip(self.corners[number], self.shape, strict=True)
        )

    def finished(self, crop: Values) -> Values:
        """Cast a crop to float32 and normalise it, in NumPy."""
        values: Values = crop.astype(np.float32)
        if self.mean is None or self.std is None:
            return values
        shape = (-1, *(1,) * (crop.ndim - 2))
        values -= self.mean.astype(np.float32).reshape(shape)
        values /= self.std.astype(np.float32).reshape(shape)
        return values


def grid(folder: Path) -> Case:
    """Return the public demo's set-up: three variables of a grid, patches with overlap, batches of 4."""
    paths = tuple(folder / "training" / f"grid.zarr/{name}" for name in VARIABLES)
    rows = range(0, LATITUDES - PATCH + 1, PATCH - OVERLAP)
    columns = range(0, LONGITUDES - PATCH + 1, PATCH - OVERLAP)
    found = [
        (time, 0, row, column)
        for time in range(0, TIMES - STEPS + 1, STEPS)
        for row in rows
        for column in columns
    ]
    order = np.random.default_rng(SEED).permutation(len(found))
    return Case("grid", paths, (STEPS, LEVELS, PATCH, PATCH), [found[place] for place in order], 4)


def crops(folder: Path, count: int) -> Case:
    """Return random crops of satellite-like images, as `sat_blosc` stores them, normalised by channel."""
    stored = satellite()
    shape = stored.workload.selection_shape
    return Case(
        "crops",
        (stored.data_folder(folder) / "array.zarr",),
        shape,
        corners(stored.workload.shape, shape, count, SEED),
        32,
        np.linspace(300, 1200, CHANNELS),
        np.linspace(200, 900, CHANNELS),
    )


def satellite() -> WorkloadCase:
    """Return the workload that crops are of."""
    return next(case for case in load_workloads()["sat_blosc"].cases() if case.inner_order == "morton")


def prepare(folder: Path) -> None:
    """Write what is not there."""
    prepare_workloads([satellite()], folder)
    target = folder / "training" / "grid.zarr"
    if target.exists():
        return
    partial = target.with_suffix(".new")
    shutil.rmtree(partial, ignore_errors=True)
    group = zarr.create_group(partial)
    for number, name in enumerate(VARIABLES):
        group.create_array(
            name,
            data=_fields(number),
            chunks=(1, LEVELS, LATITUDES, LONGITUDES),
            dimension_names=("time", "level", "latitude", "longitude"),
        )
    lengths = {"time": TIMES, "level": LEVELS, "latitude": LATITUDES, "longitude": LONGITUDES}
    for name, length in lengths.items():
        group.create_array(name, data=np.arange(length), dimension_names=(name,))
    partial.rename(target)


def _fields(seed: int) -> Values:
    """Return smooth fields that drift, with noise in their last bits."""
    random = np.random.default_rng(seed)
    rows = np.linspace(0, np.pi, LATITUDES)[:, None]
    columns = np.linspace(0, 4 * np.pi, LONGITUDES)[None]
    times = np.arange(TIMES)[:, None, None, None] * 0.05
    levels = np.arange(LEVELS)[None, :, None, None]
    values = 250 + 3 * levels + 20 * np.sin(rows + times * 0.3) * np.cos(columns + times)
    values = values + random.normal(0, 0.1, values.shape)
    rounded: Values = np.round(values, 2).astype(np.float32)
    return rounded
