"""gribberish as a contender: a line of JSON asks for a job, and a line of JSON answers how long it took."""

from __future__ import annotations

import importlib.metadata
import json
import sys
import time
from pathlib import Path
from typing import Any

import gribberish
import numpy as np

POINTS = (721, 1440)


def decode(job: dict[str, Any]) -> dict[str, Any]:
    """Decode the file's only message so often, from its bytes in memory: gribberish allocates each result."""
    if job["type"] != "float64":
        return {"reason": "64 bits only"}
    message = Path(job["path"]).read_bytes()
    values: Any = None
    begun = time.perf_counter()
    for _ in range(job["times"]):
        values = gribberish.parse_grib_array(message, 0)
    seconds = (time.perf_counter() - begun) / job["times"]
    if job.get("out"):
        np.asarray(values, "float64").tofile(job["out"])
    return {"seconds": seconds}


def scan(job: dict[str, Any]) -> dict[str, Any]:
    """List the fields of a file, all of which gribberish takes from memory."""
    begun = time.perf_counter()
    found = gribberish.parse_grib_mapping(Path(job["path"]).read_bytes())
    return {"seconds": time.perf_counter() - begun, "count": len(found)}


def main() -> None:
    """Answer each line."""
    version = importlib.metadata.version("gribberish")
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer = {"decode": decode, "scan": scan}[job["do"]](job)
        except Exception as error:
            answer = {"reason": f"{type(error).__name__}: {error}"}
        print(json.dumps({**answer, "version": version}), flush=True)


if __name__ == "__main__":
    main()
