"""The readers that the demo compares: each opens an array once and then reads all crops in one pass.

Each library is imported where it is opened, so that the process of one reader holds no other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, override

import numpy as np
import numpy.typing as npt

from demo.crops import Selection

type Crops = Sequence[npt.NDArray[Any]] | npt.NDArray[Any]

FUSED_PIPELINE = "zarr.core.codec_pipeline.FusedCodecPipeline"
TENSORSTORE_CACHE_BYTES = 256_000_000


class Reader(ABC):
    """An opened array."""

    @abstractmethod
    def read(self, crops: Sequence[Selection]) -> Crops:
        """Return the values of every crop, in order."""


class SwathReader(Reader):
    """swath's ``read_many``: one stacked array."""

    def __init__(self, path: Path) -> None:
        import swath

        self.array = swath.open_array(str(path))

    @override
    def read(self, crops: Sequence[Selection]) -> Crops:
        return np.asarray(self.array.read_many(list(crops)))


class TensorStoreReader(Reader):
    """TensorStore with one batch for all crops: one array for each."""

    def __init__(self, path: Path, cache_bytes: int | None = None) -> None:
        import tensorstore as ts

        self.batch: Callable[[], Any] = ts.Batch
        driver = "zarr3" if (path / "zarr.json").exists() else "zarr"
        spec: dict[str, Any] = {"driver": driver, "kvstore": {"driver": "file", "path": str(path.resolve())}}
        if cache_bytes is not None:
            spec["context"] = {"cache_pool": {"total_bytes_limit": cache_bytes}}
        self.array: Any = ts.open(spec, open=True, read=True).result()

    @override
    def read(self, crops: Sequence[Selection]) -> Crops:
        with self.batch() as batch:
            pending = [self.array[crop].read(batch=batch) for crop in crops]
        return [future.result() for future in pending]


class ZarrReader(Reader):
    """zarr-python, one crop after the other: one array for each."""

    def __init__(self, path: Path, pipeline: str | None = None) -> None:
        import zarr

        if pipeline is not None:
            zarr.config.set({"codec_pipeline.path": pipeline})
        self.array = zarr.open_array(path, mode="r")

    @override
    def read(self, crops: Sequence[Selection]) -> Crops:
        return [np.asarray(self.array[crop]) for crop in crops]


def open_swath(path: Path) -> Reader:
    """Open with swath as it is installed."""
    return SwathReader(path)


def open_tensorstore(path: Path) -> Reader:
    """Open with TensorStore's defaults, which decode on every pass."""
    return TensorStoreReader(path)


def open_tensorstore_cached(path: Path) -> Reader:
    """Open with a TensorStore that keeps decoded chunks between passes."""
    return TensorStoreReader(path, cache_bytes=TENSORSTORE_CACHE_BYTES)


def open_zarr(path: Path) -> Reader:
    """Open with zarr-python's default codec pipeline."""
    return ZarrReader(path)


def open_zarr_fused(path: Path) -> Reader:
    """Open with zarr-python's faster codec pipeline, which one has to ask for."""
    return ZarrReader(path, pipeline=FUSED_PIPELINE)


READERS: dict[str, Callable[[Path], Reader]] = {
    "swath": open_swath,
    "tensorstore": open_tensorstore,
    "tensorstore-cached": open_tensorstore_cached,
    "zarr": open_zarr,
    "zarr-fused": open_zarr_fused,
}

LABELS = {
    "swath": "swath",
    "tensorstore": "TensorStore",
    "tensorstore-cached": "TensorStore, 256 MB cache",
    "zarr": "zarr-python",
    "zarr-fused": "zarr-python, fused pipeline",
}
