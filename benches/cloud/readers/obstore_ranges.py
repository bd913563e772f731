"""obstore from Python: ranges of many objects by one ``get_ranges_async`` an object, some objects at a time.

``more`` of the location holds ``object_bytes``, the length of every object, and ``at_once``. The case's
offsets count through all objects.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
from collections.abc import Sequence
from pathlib import Path
from typing import override

import obstore

from benches.cloud.readers.location import Location
from benches.cloud.readers.obstore_store import bucket_store
from benches.cloud.readers.ranges_protocol import RangesReader, Wanted, answer_passes


class ObstoreReader(RangesReader):
    """A bucket and the objects that ranges are wanted of."""

    def __init__(self, location: Location) -> None:
        self.version = importlib.metadata.version("obstore")
        self.at_once = int(location.more["at_once"])
        self.details = f"get_ranges_async of {self.at_once} objects at a time"
        self.store = bucket_store(location)

    @override
    def read(self, wanted: Sequence[Wanted]) -> int:
        return asyncio.run(self._read(wanted))

    async def _read(self, wanted: Sequence[Wanted]) -> int:
        turns = asyncio.Semaphore(self.at_once)

        async def one(part: Wanted) -> int:
            async with turns:
                found = await obstore.get_ranges_async(
                    self.store, part.key, starts=part.starts, lengths=part.lengths
                )
                return part.checksum(found)

        return sum(await asyncio.gather(*map(one, wanted)))


def main() -> None:
    """Serve the command line's case."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workload", type=Path, required=True)
    parser.add_argument("--variant", required=True)
    settings = parser.parse_args()
    location = Location.parse(settings.variant)
    answer_passes(ObstoreReader(location), Wanted.load(settings.workload, int(location.more["object_bytes"])))


if __name__ == "__main__":
    main()
