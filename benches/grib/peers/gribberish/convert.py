"""gribberish and xarray as a converter: `python convert.py SOURCE TARGET`."""

from __future__ import annotations

import sys

import xarray
from zarr.codecs import BloscCodec

# What swath chooses for these fields by itself.
CODEC = BloscCodec(cname="zstd", clevel=1, shuffle="bitshuffle", typesize=4, blocksize=256 << 10)
# Of ten levels, as swath has them in a shard of up to 128 MiB.
SHARD_TIMES = 3
# What gribberish calls the only hypercube of the file.
GROUP = "/isobar/instant"


def main() -> None:
    """Read every variable, and write it in chunks of a field."""
    source, target = sys.argv[1:]
    dataset = xarray.open_dataset(source, engine="gribberish", group=GROUP)
    encoding = {}
    for name, variable in dataset.data_vars.items():
        shards = [min(SHARD_TIMES, variable.shape[0]), *variable.shape[1:]]
        chunks = [*[1] * (variable.ndim - 2), *variable.shape[-2:]]
        encoding[name] = {"chunks": chunks, "shards": shards, "compressors": [CODEC]}
    dataset.to_zarr(target, mode="w", zarr_format=3, encoding=encoding)


if __name__ == "__main__":
    main()
