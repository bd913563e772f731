"""zarr-python over obstore: the selections of a pass gathered as coroutines, with one of the codec pipelines.

``more`` of the location holds ``pipeline`` (default or fused), ``concurrency`` (zarr-python's own, 10 by
default) and ``threads``.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
from collections.abc import Sequence
from typing import Any, override

import zarr
from zarr.core.sync import sync
from zarr.storage import ObjectStore

from benches.cloud.readers.location import Location
from benches.cloud.readers.obstore_store import bucket_store
from benches.peers.zarr_python.reader import PIPELINES
from benches.readers.protocol import ArrayReader, Case, Selection, Values, main


class ZarrReader(ArrayReader):
    """An array opened over obstore."""

    def __init__(self, location: Location) -> None:
        pipeline = str(location.more["pipeline"])
        concurrency, threads = int(location.more["concurrency"]), int(location.more["threads"])
        versions = [
            f"zarr {importlib.metadata.version('zarr')}",
            f"obstore {importlib.metadata.version('obstore')}",
        ]
        self.version = ", ".join(versions)
        self.details = f"{PIPELINES[pipeline]}, async.concurrency {concurrency}, {threads} threads"
        zarr.config.set(
            {
                "codec_pipeline.path": PIPELINES[pipeline],
                "async.concurrency": concurrency,
                "threading.max_workers": threads,
            }
        )
        store = ObjectStore(bucket_store(location), read_only=True)
        self.array: Any = zarr.open_array(store, path=location.key, mode="r")

    @override
    def read_batch(self, selections: Sequence[Selection], out: Values) -> None:
        sync(self._gather(selections, out))

    async def _gather(self, selections: Sequence[Selection], out: Values) -> None:
        async def one(selection: Selection, target: Values) -> None:
            target[...] = await self.array.async_array.getitem(selection)

        await asyncio.gather(*map(one, selections, out))

    @override
    def read_one(self, selection: Selection, out: Values) -> None:
        out[...] = self.array[selection]


def open_array(case: Case, variant: str) -> ArrayReader:
    """Open the array at the variant's location."""
    del case
    return ZarrReader(Location.parse(variant))


if __name__ == "__main__":
    main(open_array)
