"""swath's wheel: ``read_many(selections, out=)``, or ``read(selection, out=)`` a call.

The variant is the size of its cache of decoded chunks in bytes: 0, its default, or for example 256000000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import override

import swath

from benches.readers.protocol import ArrayReader, Case, Selection, Values, main


class SwathReader(ArrayReader):
    """An array opened by swath as it is installed, with a cache of decoded chunks of so many bytes."""

    def __init__(self, case: Case, cache_bytes: int) -> None:
        self.version = swath.__version__
        self.details = f"decoded_cache_bytes {cache_bytes}" if cache_bytes else ""
        self.array = swath.open_array(str(case.array), decoded_cache_bytes=cache_bytes)

    @override
    def read_batch(self, selections: Sequence[Selection], out: Values) -> None:
        self.array.read_many(selections, out=out)

    @override
    def read_one(self, selection: Selection, out: Values) -> None:
        self.array.read(selection, out=out)


def open_array(case: Case, variant: str) -> ArrayReader:
    """Open a case's array with the variant's cache."""
    return SwathReader(case, int(variant or 0))


if __name__ == "__main__":
    main(open_array)
