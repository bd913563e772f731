"""The libraries of the table: how each reads a whole array, and writes one whose document is there."""

from __future__ import annotations

import importlib.metadata
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Values = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Library:
    """A library under the name that the table has for it."""

    name: str
    package: str
    read: Callable[[Path, int], Values]
    write: Callable[[Path, int, Values], None]

    @property
    def version(self) -> str:
        """The version that is installed."""
        return importlib.metadata.version(self.package)


def swath_reads(path: Path, _zarr_format: int) -> Values:
    """Read by swath."""
    import swath

    return np.asarray(swath.open_array(path, mode="r")[...])


def swath_writes(path: Path, _zarr_format: int, values: Values) -> None:
    """Write by swath."""
    import swath

    swath.open_array(path, mode="r+")[...] = values


def zarr_python_reads(path: Path, _zarr_format: int) -> Values:
    """Read by zarr-python."""
    import zarr

    with warnings.catch_warnings(), zarr.config.set({"array.rectilinear_chunks": True}):
        warnings.simplefilter("ignore")
        return np.asarray(zarr.open_array(path, mode="r")[...])


def zarr_python_writes(path: Path, _zarr_format: int, values: Values) -> None:
    """Write by zarr-python."""
    import zarr

    with warnings.catch_warnings(), zarr.config.set({"array.rectilinear_chunks": True}):
        warnings.simplefilter("ignore")
        zarr.open_array(path, mode="r+")[...] = values


def tensorstore_spec(path: Path, zarr_format: int) -> dict[str, Any]:
    """Describe an array to TensorStore."""
    driver = "zarr" if zarr_format == 2 else "zarr3"
    return {"driver": driver, "kvstore": {"driver": "file", "path": str(path)}}


def tensorstore_reads(path: Path, zarr_format: int) -> Values:
    """Read by TensorStore."""
    import tensorstore

    return np.asarray(tensorstore.open(tensorstore_spec(path, zarr_format)).result().read().result())


def tensorstore_writes(path: Path, zarr_format: int, values: Values) -> None:
    """Write by TensorStore."""
    import tensorstore

    tensorstore.open(tensorstore_spec(path, zarr_format)).result().write(values).result()


def zarrs_reads(path: Path, _zarr_format: int) -> Values:
    """Read by zarrs, through zarrista."""
    from zarrista import Array
    from zarrista.store import FilesystemStore

    tensor = Array.open(FilesystemStore(str(path))).retrieve_array_subset(...)
    return np.array(tensor.to_numpy())


def zarrs_writes(path: Path, _zarr_format: int, values: Values) -> None:
    """Write by zarrs, through zarrista."""
    from zarrista import Array
    from zarrista.store import FilesystemStore

    Array.open(FilesystemStore(str(path))).store_array_subset(..., np.ascontiguousarray(values))


LIBRARIES = (
    Library("swath", "swath", swath_reads, swath_writes),
    Library("zarr-python", "zarr", zarr_python_reads, zarr_python_writes),
    Library("zarrs", "zarrista", zarrs_reads, zarrs_writes),
    Library("TensorStore", "tensorstore", tensorstore_reads, tensorstore_writes),
)
