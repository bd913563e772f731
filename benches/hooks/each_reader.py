"""swath without zarr-python, crop by crop: one `read` each, as zarr-python is asked for them.

What `direct` takes is less: it is handed all crops of a pass at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import override

from benches.readers.protocol import ArrayReader, Case, Selection, Values, main
from benches.readers.swath_python import SwathReader


class EachReader(SwathReader):
    """An array whose crops are read one after the other."""

    @override
    def read_batch(self, selections: Sequence[Selection], out: Values) -> None:
        for selection, target in zip(selections, out, strict=True):
            self.read_one(selection, target)


def open_array(case: Case, variant: str) -> ArrayReader:
    """Open a case's array; there is one variant."""
    del variant
    return EachReader(case, 0)


if __name__ == "__main__":
    main(open_array)
