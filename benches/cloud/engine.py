"""What the engine does under many requests: its memory, the concurrency it finds, and busy cores."""

from __future__ import annotations

import json
import subprocess
import time
from typing import Any

from benches.cloud.arrays import LATENCY_MS
from benches.cloud.programs import RUST, SECONDS_MAX, last_line
from benches.cloud.readers.location import Location
from benches.cloud.record import CloudRecord
from benches.cloud.server import Link, Server
from benches.cloud.settings import Settings
from benches.runner.errors import BenchError
from benches.runner.registry import ROOT

BUCKET = "pattern"
# Objects that are large enough for ranges far from one another.
OBJECTS, OBJECT_BYTES = 100, 1_000_000_000
RANGE_BYTES = 4096
IN_FLIGHT = (10, 100, 1_000, 10_000)
# Long enough for as many requests to be under way as are wanted, before the first is answered.
MEMORY_LATENCY_MS = 200.0
READS_A_REQUEST = 4
ADAPTATION_SECONDS, ADAPTATION_RANGE_BYTES = 9, 64 << 10
THROTTLE_ABOVE, THROTTLE_FROM, THROTTLE_TO = 64, 3.0, 6.0
# Fetches of the starvation case, of which so many are under way at a time.
FETCHES, FETCHES_AT_ONCE, FETCH_BYTES = 2000, 32, 64 << 10


def memory(record: CloudRecord, settings: Settings) -> None:
    """Read with more and more requests in flight, each number in a process of its own."""
    found: dict[str, Any] = {"latency_ms": MEMORY_LATENCY_MS, "range_bytes": RANGE_BYTES, "passes": []}
    record.found["memory"] = found
    with Server(patterns={BUCKET: f"{OBJECTS}x{OBJECT_BYTES}"}) as server:
        server.set(Link(latency_ms=MEMORY_LATENCY_MS))
        for in_flight in IN_FLIGHT[: 3 if settings.quick else None]:
            more = {
                "reads": READS_A_REQUEST * in_flight,
                "range_len": RANGE_BYTES,
                "objects": OBJECTS,
                "object_bytes": OBJECT_BYTES,
            }
            location = Location("web", server.endpoint, BUCKET, "", in_flight, more)
            server.take()
            try:
                answer = last_line([f"{RUST}/swath-memory", location.text()])
            except BenchError as error:
                found["error"] = f"{in_flight} in flight: {error}"
                continue
            found["passes"].append({**answer, "in_flight_seen": server.take().in_flight_max})
            if answer["failures"]:
                found["error"] = f"{in_flight} in flight: {answer['failures']} reads failed"


def adaptation(record: CloudRecord, settings: Settings) -> None:
    """Read on and on, while the server turns requests away for some seconds in the middle."""
    del settings
    found: dict[str, Any] = {
        "latency_ms": LATENCY_MS,
        "throttle_above": THROTTLE_ABOVE,
        "throttle_from": THROTTLE_FROM,
        "throttle_to": THROTTLE_TO,
    }
    record.found["adaptation"] = found
    more = {
        "seconds": ADAPTATION_SECONDS,
        "objects": OBJECTS,
        "object_bytes": OBJECT_BYTES,
        "range_len": ADAPTATION_RANGE_BYTES,
    }
    with Server(patterns={BUCKET: f"{OBJECTS}x{OBJECT_BYTES}"}) as server:
        server.set(Link(latency_ms=LATENCY_MS))
        location = Location("s3", server.endpoint, BUCKET, "", more=more)
        try:
            found |= _throttled(server, location)
        except (BenchError, OSError, ValueError) as error:
            found["error"] = str(error)


def _throttled(server: Server, location: Location) -> dict[str, Any]:
    program = f"{RUST}/swath-adaptation"
    process = subprocess.Popen(
        [program, location.text()], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    started = time.monotonic()
    for at, above in ((THROTTLE_FROM, THROTTLE_ABOVE), (THROTTLE_TO, 0)):
        time.sleep(max(0.0, started + at - time.monotonic()))
        server.set(Link(latency_ms=LATENCY_MS, throttle_above=above))
    try:
        said, errors = process.communicate(timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise BenchError(f"{program} said nothing for {SECONDS_MAX:.0f} s") from None
    lines = said.strip().splitlines()
    if process.returncode or not lines:
        raise BenchError(f"{program} ended with code {process.returncode}: {errors.strip()}")
    answer: dict[str, Any] = json.loads(lines[-1])
    return answer


def starvation(record: CloudRecord, settings: Settings) -> None:
    """Fetch while zstd decoding saturates all cores; each answer tells when it was sent."""
    found: dict[str, Any] = {"latency_ms": LATENCY_MS, "passes": []}
    record.found["starvation"] = found
    with Server(more=["--stamps", "stamps"]) as server:
        # Without, 32 requests at a time would queue for the cores that their own bytes keep busy.
        server.set(Link(latency_ms=LATENCY_MS))
        more = {"fetches": FETCHES, "at_once": FETCHES_AT_ONCE, "range_len": FETCH_BYTES}
        location = Location("web", server.endpoint, "stamps", "", more=more)
        try:
            for _ in range(settings.passes):
                found["passes"].append(last_line([f"{RUST}/swath-starvation", location.text()]))
        except BenchError as error:
            found["error"] = str(error)
