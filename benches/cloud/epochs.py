"""Two epochs with a cache on disk: crops of ``sat_raw``, one batch after the other, 20 ms away."""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict
from typing import Any

from benches.cloud.arrays import KEY, LATENCY_MS, cases
from benches.cloud.programs import last_line
from benches.cloud.readers.location import Location
from benches.cloud.record import CloudRecord
from benches.cloud.server import Link, Server
from benches.cloud.settings import Settings
from benches.runner.errors import BenchError
from benches.runner.prepare import prepare

BATCH = 4
# As swath.open takes them, with the folder.
CACHE = {"cache": "2GB", "cache_freshness": "immutable"}


def epochs(record: CloudRecord, settings: Settings) -> None:
    """Read two epochs in new processes, each with an empty cache."""
    (case,) = cases(("sat_raw",))
    prepare([case], settings.data)
    bucket = case.workload.name
    cache_dir = settings.data / "cloud-cache"
    found: dict[str, Any] = {
        "latency_ms": LATENCY_MS,
        "batch": BATCH,
        "freshness": CACHE["cache_freshness"],
        "passes": [],
    }
    record.found["epochs"] = found
    with Server({bucket: case.data_folder(settings.data)}) as server:
        server.set(Link(latency_ms=LATENCY_MS))
        more = {"batch": BATCH, "cache": {**CACHE, "cache_dir": str(cache_dir.resolve())}}
        location = Location("s3", server.endpoint, bucket, KEY, more=more)
        command = [sys.executable, "-m", "benches.cloud.readers.once", "epochs", location.text()]
        try:
            for _ in range(settings.passes):
                shutil.rmtree(cache_dir, ignore_errors=True)
                server.take()
                answer = last_line([*command, str(case.case_file(settings.data).resolve())])
                found["passes"].append({**answer, **asdict(server.take())})
                if len(set(answer["checksums"])) != 1:
                    raise BenchError(f"the epochs differ: checksums {', '.join(answer['checksums'])}")
        except BenchError as error:
            found["error"] = str(error)
        finally:
            shutil.rmtree(cache_dir, ignore_errors=True)
