"""gribberish and xarray as a converter: `python convert.py SOURCE TARGET`."""

from __future__ import annotations

import sys

import xarray
from zarr.codecs import ZstdCodec

# Messages of a shard, as swath has them.
SHARD_FIELDS = 16


def main() -> None:
    """Read every variable, and write it in chunks of a field."""
    source, target = sys.argv[1:]
    dataset = xarray.open_dataset(source, engine="gribberish")
    encoding = {}
    for name, variable in dataset.data_vars.items():
        outer = [1] * (variable.ndim - 2)
        shards = [min(SHARD_FIELDS, variable.shape[0]), *outer[1:], *variable.shape[-2:]]
        chunks = [*outer, *variable.shape[-2:]]
        encoding[name] = {"chunks": chunks, "shards": shards, "compressors": [ZstdCodec(level=3)]}
    dataset.to_zarr(target, mode="w", zarr_format=3, encoding=encoding)


if __name__ == "__main__":
    main()
