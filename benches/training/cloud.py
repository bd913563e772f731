"""Steps that are fed from a server that stands 20 ms away, and is slow now and then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benches.cloud.server import Link, Server
from benches.training.cases import grid
from benches.training.race import Contender, once, summary

LINK = Link(latency_ms=20.0, slow_one_in=100, slow_ms=500.0)
# A batch has this many steps of time to arrive in: a slow request takes five.
PREFETCH = 8
# What the server sends a client that asks for all batches at once, against what the steps need.
SPEED_BATCHES = 100


def cloud(folder: Path, steps: int) -> dict[str, Any]:
    """Have swath's loader feed steps of a tenth of a second, and then load as fast as it can."""
    data = {"training": grid(folder).paths[0].parents[1]}
    with Server(data) as server:
        told = {"prefetch": PREFETCH, "endpoint": server.endpoint}
        server.set(LINK)
        server.take()
        found = once(Contender("swath", "swath", told), folder, "grid", "sleeps", steps)
        counts = server.take()
        waits = summary(found)
        print(f"cloud: {waits}", flush=True)
        if "error" in waits:
            return waits
        server.set(Link())
        fast = once(Contender("swath", "swath", told), folder, "grid", "nothing", SPEED_BATCHES)
        fast_counts = server.take()
    return waits | {
        "steps": steps,
        "prefetch": PREFETCH,
        "latency_ms": LINK.latency_ms,
        "slow_one_in": LINK.slow_one_in,
        "slow_ms": LINK.slow_ms,
        "requests": counts.requests / steps,
        "in_flight_max": counts.in_flight_max,
        "bytes_per_s": counts.body_bytes / (sum(found["waits"]) + sum(found["steps"])),
        "server_bytes_per_s": fast_counts.body_bytes / fast["seconds"] if "seconds" in fast else 0.0,
    }
