"""zarr-python: the selections of a pass at once, in the way that suits the codec pipeline.

The variant is the pipeline: ``default``, ``fused``, which one has to ask for, ``zarrs``, which zarrs-python
brings along, or ``swath``. A loop, a thread for each core, and gathered coroutines were tried with each:
threads suit the default pipeline, which takes longer when gathered, and gathering suits the others, which
then read tiny crops faster.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import override

import zarr
from zarr.core.sync import sync

from benches.readers.protocol import ArrayReader, Case, Selection, Values, main

PIPELINES = {
    "default": "zarr.core.codec_pipeline.BatchedCodecPipeline",
    "fused": "zarr.core.codec_pipeline.FusedCodecPipeline",
    "zarrs": "zarrs.ZarrsCodecPipeline",
    "swath": "swath.zarr.CodecPipeline",
}
# The packages of those that are not zarr-python's own.
PACKAGES = {"zarrs": "zarrs", "swath": "swath"}


class ZarrReader(ArrayReader):
    """An array opened with one of the codec pipelines."""

    def __init__(self, case: Case, variant: str) -> None:
        self.version = importlib.metadata.version(PACKAGES.get(variant, "zarr"))
        zarr_version = importlib.metadata.version("zarr")
        self.details = f"{PIPELINES[variant]}, zarr {zarr_version}"
        cores = os.cpu_count() or 1
        zarr.config.set({"codec_pipeline.path": PIPELINES[variant], "threading.max_workers": cores})
        self.gathers = variant != "default"
        self.array = zarr.open_array(case.array, mode="r")
        self.threads = ThreadPoolExecutor(cores)

    @override
    def read_batch(self, selections: Sequence[Selection], out: Values) -> None:
        if len(selections) == 1:
            self.read_one(selections[0], out[0])
        elif self.gathers:
            sync(self._gather(selections, out))
        else:
            list(self.threads.map(self.read_one, selections, out))

    async def _gather(self, selections: Sequence[Selection], out: Values) -> None:
        async def one(selection: Selection, target: Values) -> None:
            target[...] = await self.array.async_array.getitem(selection)

        await asyncio.gather(*map(one, selections, out))

    @override
    def read_one(self, selection: Selection, out: Values) -> None:
        out[...] = self.array[selection]


def open_array(case: Case, variant: str) -> ArrayReader:
    """Open a case's array with the variant's codec pipeline."""
    return ZarrReader(case, variant or "default")


if __name__ == "__main__":
    main(open_array)
