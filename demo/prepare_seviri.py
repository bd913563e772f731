"""Rewrites real SEVIRI HRV images, Zarr v2 in bz2 chunks, into a sharded Zarr v3 array.

The source is the array ``data`` of ocf_seviri_hrv.zarr (Open Climate Fix, satellite counts (c) EUMETSAT):
25 images of 891 x 1843 int16.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import zarr

from demo.prepare import INNER_CHUNK, blosc
from demo.readers import FUSED_PIPELINE

USAGE = "usage: make demo-seviri SOURCE=path/to/ocf_seviri_hrv.zarr"


def rewrite(source: Path, target: Path) -> None:
    """Write the images into one shard each, in chunks of 64 x 64, LZ4 after a bit shuffle."""
    images = zarr.open_array(source, mode="r", zarr_format=2)
    _, height, width = images.shape
    frame = [-(-length // INNER_CHUNK) * INNER_CHUNK for length in (height, width)]
    rewritten = zarr.create_array(
        store=target,
        shape=images.shape,
        shards=(1, *frame),
        chunks=(1, INNER_CHUNK, INNER_CHUNK),
        dtype=images.dtype,
        compressors=[blosc()],
        dimension_names=["time", "y", "x"],
    )
    # The source's chunks hold seven times: read it a chunk's worth at once, so that each is decoded once.
    step = images.chunks[0]
    for start in range(0, images.shape[0], step):
        rewritten[start : start + step] = images[start : start + step]


def main() -> None:
    """Rewrite the array given first to the path given second, unless it is there."""
    if len(sys.argv) != 3 or not sys.argv[1]:
        sys.exit(USAGE)
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    if target.exists():
        return
    array = source / "data" if (source / "data").is_dir() else source
    if not (array / ".zarray").is_file():
        sys.exit(f"There is no Zarr v2 array at {array}. {USAGE}")
    print(f"Rewriting {array} to {target} (once) ...", flush=True)
    partial = target.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.parent.mkdir(parents=True, exist_ok=True)
    with zarr.config.set({"codec_pipeline.path": FUSED_PIPELINE}):
        rewrite(array, partial)
    partial.rename(target)


if __name__ == "__main__":
    main()
