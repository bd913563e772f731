"""swath's wheel: ``read_many(selections, out=)``, or ``read(selection, out=)`` a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import override

import swath

from benches.readers.protocol import ArrayReader, Case, Selection, Values, main


class SwathReader(ArrayReader):
    """An array opened by swath as it is installed."""

    def __init__(self, case: Case) -> None:
        self.version = swath.__version__
        self.array = swath.open_array(str(case.array))

    @override
    def read_batch(self, selections: Sequence[Selection], out: Values) -> None:
        self.array.read_many(selections, out=out)

    @override
    def read_one(self, selection: Selection, out: Values) -> None:
        self.array.read(selection, out=out)


def open_array(case: Case, variant: str) -> ArrayReader:
    """Open a case's array; there is one variant."""
    del variant
    return SwathReader(case)


if __name__ == "__main__":
    main(open_array)
