"""TensorStore reading an array from a URL: all reads of a pass in one ``ts.Batch``."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from typing import Any, override

import tensorstore as ts

from benches.cloud.readers.location import REGION, Location
from benches.readers.protocol import ArrayReader, Case, Selection, Values, main


def kvstore(location: Location) -> dict[str, Any]:
    """Return the specification of a location's store."""
    if location.scheme == "s3":
        return {
            "driver": "s3",
            "bucket": location.bucket,
            "path": f"{location.key}/",
            "endpoint": location.endpoint,
            "aws_region": REGION,
        }
    return {
        "driver": "http",
        "base_url": f"{location.endpoint}/{location.bucket}/",
        "path": f"{location.key}/",
    }


class TensorStoreReader(ArrayReader):
    """An array opened without a cache of decoded chunks, with so many requests at a time."""

    def __init__(self, location: Location) -> None:
        self.version = importlib.metadata.version("tensorstore")
        self.details = f"ts.Batch, requests at a time: {location.connections or 'by default'}"
        context: dict[str, Any] = {"cache_pool": {"total_bytes_limit": 0}}
        if location.connections:
            name = "s3_request_concurrency" if location.scheme == "s3" else "http_request_concurrency"
            context[name] = {"limit": location.connections}
        spec = {
            "driver": "zarr3",
            "kvstore": kvstore(location),
            "context": context,
            "recheck_cached_metadata": "open",
            "recheck_cached_data": "open",
        }
        self.array: Any = ts.open(spec, open=True, read=True).result()

    @override
    def read_batch(self, selections: Sequence[Selection], out: Values) -> None:
        with ts.Batch() as batch:
            pending = [self.array[selection].read(batch=batch) for selection in selections]
        for target, future in zip(out, pending, strict=True):
            target[...] = future.result()

    @override
    def read_one(self, selection: Selection, out: Values) -> None:
        out[...] = self.array[selection].read().result()


def open_array(case: Case, variant: str) -> ArrayReader:
    """Open the array at the variant's location."""
    del case
    return TensorStoreReader(Location.parse(variant))


if __name__ == "__main__":
    main(open_array)
