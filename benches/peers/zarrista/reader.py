"""zarrista, the Rust library zarrs in its own interface: a pass's selections by a thread for each core."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import override

from zarrista import Array, FixedLengthTensor
from zarrista.store import FilesystemStore

from benches.readers.protocol import ArrayReader, Case, Selection, Values, main


class ZarristaReader(ArrayReader):
    """An opened array."""

    def __init__(self, case: Case) -> None:
        self.version = importlib.metadata.version("zarrista")
        self.array = Array.open(FilesystemStore(str(case.array)))
        self.threads = ThreadPoolExecutor(os.cpu_count() or 1)

    @override
    def read_batch(self, selections: Sequence[Selection], out: Values) -> None:
        if len(selections) == 1:
            self.read_one(selections[0], out[0])
        else:
            list(self.threads.map(self.read_one, selections, out))

    @override
    def read_one(self, selection: Selection, out: Values) -> None:
        tensor = self.array.retrieve_array_subset(selection)
        assert isinstance(tensor, FixedLengthTensor), "wanted numbers"
        out[...] = tensor.to_numpy()


def open_array(case: Case, variant: str) -> ArrayReader:
    """Open a case's array; there is one variant."""
    del variant
    return ZarristaReader(case)


if __name__ == "__main__":
    main(open_array)
