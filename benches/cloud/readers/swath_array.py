"""swath's wheel reading an array from a URL: ``read_many(selections, out=)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, override

import swath

from benches.cloud.readers.location import Location
from benches.readers.protocol import ArrayReader, Case, Selection, Values, main


class SwathReader(ArrayReader):
    """An array opened by swath as it is installed."""

    def __init__(self, location: Location) -> None:
        self.version = swath.__version__
        self.details = f"concurrency {location.connections or 'by default'}"
        options: dict[str, Any] = {}
        if location.scheme != "file":
            options["storage_options"] = location.storage_options()
        self.array: Any = swath.open_array(location.url, **options)

    @override
    def read_batch(self, selections: Sequence[Selection], out: Values) -> None:
        self.array.read_many(selections, out=out)

    @override
    def read_one(self, selection: Selection, out: Values) -> None:
        self.array.read(selection, out=out)


def open_array(case: Case, variant: str) -> ArrayReader:
    """Open the array at the variant's location."""
    del case
    return SwathReader(Location.parse(variant))


if __name__ == "__main__":
    main(open_array)
