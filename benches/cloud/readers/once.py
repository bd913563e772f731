"""Programs that do one thing and say what it took in a line of JSON: opening a group, and reading epochs.

``python -m benches.cloud.readers.once THING LOCATION [CASE]``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benches.cloud.readers.location import Location
from benches.readers.protocol import Case, array_checksum


def open_group_swath(location: Location) -> int:
    """Open a group and every array of it with swath, and count the arrays."""
    import swath

    library: Any = swath
    group = library.open_group(location.url, storage_options=location.storage_options())
    return len(list(group.arrays()))


def open_group_zarr(location: Location) -> int:
    """Open a group and every array of it with zarr-python over obstore, and count the arrays."""
    import zarr
    from zarr.storage import ObjectStore

    from benches.cloud.readers.obstore_store import bucket_store

    store = ObjectStore(bucket_store(location), read_only=True)
    group = zarr.open_group(store, path=location.key, mode="r")
    return len(list(group.arrays()))


def group(location: Location, count: Callable[[Location], int]) -> dict[str, Any]:
    """Open a group, and say how long it took."""
    started = time.perf_counter()
    arrays = count(location)
    return {"seconds": time.perf_counter() - started, "arrays": arrays}


def epochs(location: Location, case: Case) -> dict[str, Any]:
    """Read all crops in batches, one after the other, twice, with a cache on disk."""
    import swath

    library: Any = swath
    settings: dict[str, Any] = location.more["cache"]
    array = library.open_array(location.url, storage_options=location.storage_options(), **settings)
    batch = int(location.more["batch"])
    out = np.ones((len(case.selections), *case.selection_shape), case.dtype)
    seconds, checksums = [], []
    for _ in range(2):
        started = time.perf_counter()
        for first in range(0, len(case.selections), batch):
            array.read_many(case.selections[first : first + batch], out=out[first : first + batch])
        seconds.append(time.perf_counter() - started)
        checksums.append(array_checksum(out))
        out.fill(1)
    return {"seconds": seconds, "checksums": checksums}


def main() -> None:
    """Do what the command line says."""
    thing, location = sys.argv[1], Location.parse(sys.argv[2])
    if thing == "group-swath":
        answer = group(location, open_group_swath)
    elif thing == "group-zarr":
        answer = group(location, open_group_zarr)
    else:
        answer = epochs(location, Case.load(Path(sys.argv[3])))
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
