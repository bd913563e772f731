"""Arrays behind a link: 20 ms away, and of 1 Gbit/s."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benches.cloud.race import Entry, Race, swath, tensorstore, zarr
from benches.cloud.readers.location import Location, Scheme
from benches.cloud.record import CloudRecord, compare_checksums
from benches.cloud.server import Link, Server
from benches.cloud.settings import Settings
from benches.cloud.wanted import wanted_bytes
from benches.runner.prepare import prepare
from benches.runner.reader_process import ReaderError, ReaderProcess
from benches.runner.selections import output_bytes
from benches.runner.workload import Case, load_workloads

LATENCY_MS = 20.0
# The links of 1 Gbit/s, by the section of the record that has them.
BANDWIDTH_LATENCIES_MS = {"bandwidth": LATENCY_MS, "bandwidth-alone": 0.0}
LINK_BYTES_PER_SECOND = 125_000_000
KEY = "array.zarr"
SWATH = "swath"
LATENCY_READERS = (
    swath(SWATH, 0),
    swath("swath-32", 32),
    swath("swath-256", 256),
    tensorstore(32),
    tensorstore(256),
)
ZARR_READERS = (zarr("fused"), zarr("default"))
# Limits at which swath is held against TensorStore.
CONNECTIONS = (32, 256)


def cases(names: tuple[str, ...]) -> list[Case]:
    """Return the cases of workloads, their inner chunks in zarr-python's own order."""
    workloads = load_workloads()
    return [Case(workloads[name], "morton") for name in names]


def latency(record: CloudRecord, settings: Settings) -> None:
    """Race on ``sat_blosc`` with a latency and no bound of the rate, from a web server and from S3."""
    (case,) = cases(("sat_blosc",))
    prepare([case], settings.data)
    record.found["latency"] = {
        "latency_ms": LATENCY_MS,
        "loopback_bytes_per_second": loopback_rate(case, settings),
        "decode_seconds": local_seconds(case, settings),
        **sizes(case, settings),
    }
    readers: tuple[Entry, ...] = (*LATENCY_READERS, *ZARR_READERS[: 1 if settings.quick else 2])
    schemes: tuple[Scheme, ...] = ("web",) if settings.quick else ("web", "s3")
    link = Link(latency_ms=LATENCY_MS)
    for scheme in schemes:
        race("latency", case, scheme, link, readers, record, settings)
    compare_checksums(record.of("latency"))


def bandwidth(record: CloudRecord, settings: Settings) -> None:
    """Race on a link of 1 Gbit/s that all connections share, with a latency and without."""
    for section in ("bandwidth",) if settings.quick else BANDWIDTH_LATENCIES_MS:
        over_link(section, record, settings)


def over_link(section: str, record: CloudRecord, settings: Settings) -> None:
    """Race on a link of 1 Gbit/s, with the latency of a section."""
    latency_ms = BANDWIDTH_LATENCIES_MS[section]
    found: dict[str, Any] = {"latency_ms": latency_ms, "bytes_per_second": LINK_BYTES_PER_SECOND}
    record.found[section] = found
    link = Link(latency_ms=latency_ms, bytes_per_second=LINK_BYTES_PER_SECOND)
    readers = (swath(SWATH, 0), tensorstore(256), zarr("fused"))
    for case in cases(("sat_blosc",) if settings.quick else ("sat_blosc", "sat_raw")):
        prepare([case], settings.data)
        found[case.name] = sizes(case, settings)
        race(section, case, "web", link, readers, record, settings)
        compare_checksums([row for row in record.of(section) if row.case == case.name])


def race(
    section: str,
    case: Case,
    scheme: Scheme,
    link: Link,
    readers: tuple[Entry, ...],
    record: CloudRecord,
    settings: Settings,
) -> None:
    """Race readers on a case from a server of its own."""
    bucket = case.workload.name
    with Server({bucket: case.data_folder(settings.data)}) as server:
        server.set(link)
        race = Race(section, case.name, case.case_file(settings.data), scheme, server, bucket, KEY)
        record.rows += race.run(readers, settings.passes)


def sizes(case: Case, settings: Settings) -> dict[str, int]:
    """Return what a pass amounts to."""
    return {
        "output_bytes": output_bytes(case.workload),
        "wanted_bytes": wanted_bytes(case, settings.data),
    }


def local_seconds(case: Case, settings: Settings) -> float | None:
    """Return the least time in which swath reads the case from local files: decoding and placing, mostly."""
    location = Location("file", str((case.data_folder(settings.data) / KEY).resolve()), "", "")
    return _least(swath(SWATH, 0), case.case_file(settings.data), location, settings.passes + 1)


def loopback_rate(case: Case, settings: Settings) -> float | None:
    """Return the bytes a second that a client gets from the server without a latency, and throws away."""
    bucket = case.workload.name
    folder = case.data_folder(settings.data)
    shards = sorted(path for path in (folder / KEY / "c").rglob("*") if path.is_file())
    keys = [str(path.relative_to(folder)) for path in shards]
    total = sum(path.stat().st_size for path in shards)
    entry = Entry("floor", ("benches/cloud/target/release/cloud-floor",), 8)
    target = settings.data / "cases" / "cloud-floor.json"
    described = {"keys": keys, "piece_bytes": 256 << 10}
    target.write_text(json.dumps(described))
    with Server({bucket: folder}) as server:
        location = Location("web", server.endpoint, bucket, "", entry.connections)
        seconds = _least(entry, target, location, settings.passes + 1)
    return None if seconds is None else total / seconds


def _least(entry: Entry, case_file: Path, location: Location, passes: int) -> float | None:
    """Return the least seconds of some passes of one process."""
    if entry.missing() is not None:
        return None
    try:
        reader = ReaderProcess(entry.full_command(case_file, location))
    except ReaderError:
        return None
    try:
        if reader.refusal is not None:
            return None
        return min(reader.one_pass().seconds for _ in range(passes))
    except ReaderError:
        return None
    finally:
        reader.close()
