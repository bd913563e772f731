"""xarray: crops by ``isel``, loaded. The variant is the engine, ``zarr`` or ``swath``.

The engine ``zarr`` reads by zarr-python's default pipeline, crops on a thread for each core; coroutines that
are gathered take it longer. The engine ``swath`` loads all crops of a pass by one `swath.xarray.load`.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import override

import xarray
import zarr

from benches.readers.protocol import ArrayReader, CannotReadError, Case, Selection, Values, main

NAME = "values"


class XarrayReader(ArrayReader):
    """A variable of a dataset that an engine has opened."""

    def __init__(self, case: Case, engine: str) -> None:
        package = "xarray" if engine == "zarr" else engine
        self.version = importlib.metadata.version(package)
        self.details = f"engine {engine}, xarray {importlib.metadata.version('xarray')}"
        cores = os.cpu_count() or 1
        zarr.config.set({"threading.max_workers": cores})
        self.folder = tempfile.TemporaryDirectory()
        group = write_group(case.array, Path(self.folder.name))
        self.values = xarray.open_dataset(str(group), engine=engine, consolidated=False)[NAME]
        self.is_batched = engine == "swath"
        self.threads = ThreadPoolExecutor(cores)

    @override
    def read_batch(self, selections: Sequence[Selection], out: Values) -> None:
        if not self.is_batched:
            list(self.threads.map(self.read_one, selections, out))
            return
        import swath.xarray

        crops = [self._crop(selection) for selection in selections]
        swath.xarray.load(*crops)
        for crop, target in zip(crops, out, strict=True):
            target[...] = crop.values

    @override
    def read_one(self, selection: Selection, out: Values) -> None:
        out[...] = self._crop(selection).values

    def _crop(self, selection: Selection) -> xarray.DataArray:
        # Without a copy, as what is selected lazily is another variable anyhow.
        return self.values.isel(dict(zip(self.values.dims, selection, strict=True)))


def write_group(array: Path, folder: Path) -> Path:
    """Make a group of an array, whose dimensions are named; its chunks are linked."""
    document = array / "zarr.json"
    if not document.exists():
        raise CannotReadError("reads Zarr v3")
    metadata = json.loads(document.read_text())
    metadata["dimension_names"] = [f"axis{number}" for number in range(len(metadata["shape"]))]
    target = folder / "group.zarr"
    (target / NAME).mkdir(parents=True)
    (target / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group"}))
    (target / NAME / "zarr.json").write_text(json.dumps(metadata))
    (target / NAME / "c").symlink_to((array / "c").resolve())
    return target


def open_array(case: Case, variant: str) -> ArrayReader:
    """Open a case's array as a dataset."""
    return XarrayReader(case, variant)


if __name__ == "__main__":
    main(open_array)
