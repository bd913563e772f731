"""ecCodes and cfgrib as contenders: a line of JSON asks for a job, and one answers how long it took.

Values go into memory that is there, by ecCodes' C library itself: its Python package allocates for each
message.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import cfgrib
import eccodes
import numpy as np
from cfgrib import dataset, messages
from gribapi import gribapi


def decode(job: dict[str, Any]) -> dict[str, Any]:
    """Decode the file's only message so often, from its bytes in memory."""
    message = Path(job["path"]).read_bytes()
    narrow = job["type"] == "float32"
    get = gribapi.lib.grib_get_float_array if narrow else gribapi.lib.grib_get_double_array
    first = eccodes.codes_new_from_message(message)
    values = np.zeros(eccodes.codes_get_size(first, "values"), job["type"])
    eccodes.codes_release(first)
    target = gribapi.ffi.cast("float *" if narrow else "double *", values.ctypes.data)
    count = gribapi.ffi.new("size_t *", len(values))
    begun = time.perf_counter()
    for _ in range(job["times"]):
        handle = eccodes.codes_new_from_message(message)
        gribapi.GRIB_CHECK(get(gribapi.get_handle(handle), b"values", target, count))
        eccodes.codes_release(handle)
    seconds = (time.perf_counter() - begun) / job["times"]
    if job.get("out"):
        values.tofile(job["out"])
    return {"seconds": seconds, "version": eccodes.codes_get_api_version()}


def scan(job: dict[str, Any]) -> dict[str, Any]:
    """List the fields of a file by cfgrib, without an index that it wrote before."""
    begun = time.perf_counter()
    index = dataset.open_fileindex(messages.FileStream(job["path"]), indexpath="")
    seconds = time.perf_counter() - begun
    count = sum(len(fields) for _, fields in index.field_ids_index)
    return {"seconds": seconds, "count": count, "version": cfgrib.__version__}


def main() -> None:
    """Answer each line."""
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer = {"decode": decode, "scan": scan}[job["do"]](job)
        except Exception as error:
            answer = {"reason": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
