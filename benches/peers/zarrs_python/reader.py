"""zarrs-python: zarr-python's interface over the Rust library zarrs, by its codec pipeline."""

from __future__ import annotations

from benches.peers.zarr_python.reader import ZarrReader
from benches.readers.protocol import ArrayReader, Case, main


def open_array(case: Case, variant: str) -> ArrayReader:
    """Open a case's array; there is one variant."""
    del variant
    return ZarrReader(case, "zarrs")


if __name__ == "__main__":
    main(open_array)
