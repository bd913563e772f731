"""100,000 random ranges of 4 KiB over 100 objects of 64 MB, without an added latency."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benches.cloud import pattern
from benches.cloud.race import ZARR_PYTHON, Entry, Race
from benches.cloud.readers.location import Scheme
from benches.cloud.record import CloudRecord, compare_checksums
from benches.cloud.server import Server
from benches.cloud.settings import Settings

OBJECTS, OBJECT_BYTES = 100, 64_000_000
RANGES, RANGE_BYTES = 100_000, 4096
SEED = 4
BUCKET = "pattern"
# The fastest of those tried.
AT_ONCE = 8
SWATH, OBJECT_STORE, OBSTORE = "swath-rust", "object_store", "obstore"


def readers() -> list[Entry]:
    """Return the readers."""
    more: dict[str, Any] = {"object_bytes": OBJECT_BYTES, "at_once": AT_ONCE}
    peer = "benches/cloud/peers/object_store/target/release/reader-object-store-cloud"
    return [
        Entry(SWATH, ("benches/cloud/target/release/swath-ranges",), more=more),
        Entry(OBJECT_STORE, (peer,), more=more),
        Entry(OBSTORE, (ZARR_PYTHON, "-m", "benches.cloud.readers.obstore_ranges"), more=more),
    ]


def write_case(folder: Path) -> tuple[Path, str]:
    """Write what readers are told, and return its path and the checksum of what is wanted."""
    folder.mkdir(parents=True, exist_ok=True)
    offsets = folder / "cloud-ranges.u64"
    wanted = pattern.write_offsets(offsets, OBJECTS, OBJECT_BYTES, RANGE_BYTES, RANGES, SEED)
    described = {
        "name": "ranges",
        "kind": "ranges",
        "root": "",
        "keys": [str(number) for number in range(OBJECTS)],
        "offsets_file": str(offsets.resolve()),
        "range_len": RANGE_BYTES,
    }
    case = folder / "cloud-ranges.json"
    case.write_text(json.dumps(described))
    return case, wanted


def ranges(record: CloudRecord, settings: Settings) -> None:
    """Race on the ranges, and hold everyone against what the bytes are."""
    case, wanted = write_case(settings.data / "cases")
    record.found["ranges"] = {"wanted_bytes": RANGES * RANGE_BYTES}
    schemes: tuple[Scheme, ...] = ("web",) if settings.quick else ("web", "s3")
    for scheme in schemes:
        with Server(patterns={BUCKET: f"{OBJECTS}x{OBJECT_BYTES}"}) as server:
            race = Race("ranges", "ranges", case, scheme, server, BUCKET, "")
            record.rows += race.run(readers(), settings.passes)
    compare_checksums(record.of("ranges"), wanted)
