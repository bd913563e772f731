"""What `swath copy` writes, read by zarr-python; where the command line was built beside the wheel."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec

BINARY = Path(__file__).parents[3] / "target" / "debug" / "swath"

SOURCES: dict[str, dict[str, Any]] = {
    "v3": {"chunks": (4, 20, 5)},
    "v3_blosc": {"chunks": (4, 20, 5), "compressors": [BloscCodec(cname="lz4", shuffle="bitshuffle")]},
    "v3_shards": {
        "chunks": (2, 10, 5),
        "shards": (10, 20, 25),
        "compressors": [GzipCodec(level=3), Crc32cCodec()],
    },
    "v2": {"chunks": (7, 6, 5), "zarr_format": 2},
    "v2_f": {"chunks": (7, 6, 5), "zarr_format": 2, "order": "F"},
}

COPIES: list[list[str]] = [
    [],
    ["--zarr-format", "2"],
    ["--zarr-format", "3"],
    ["--chunks", "30,1,all"],
    ["--shards", "none", "--codec", "zstd:3"],
    ["--zarr-format", "3", "--chunks", "5,5,5", "--shards", "all,all,all"],
]


def run(folder: Path, *arguments: str) -> str:
    """What the binary prints; it must succeed and have nothing to say besides."""
    ran = subprocess.run([BINARY, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, ""), ran
    return ran.stdout


@pytest.mark.skipif(not BINARY.exists(), reason="the command line is not built: cargo build -p swath-cli")
@pytest.mark.parametrize("dtype", ["int16", "float32", "bool", "complex64", "uint64"])
@pytest.mark.parametrize("source", SOURCES)
def test_zarr_python_reads_copies(tmp_path: Path, source: str, dtype: str) -> None:
    values = (np.random.default_rng(5).random((30, 20, 25)) * 200).astype(dtype)
    # Chunks of the fill value are not stored.
    values[3:16] = 0
    written = zarr.create_array(
        tmp_path / "a", shape=values.shape, dtype=dtype, attributes={"units": "K"}, **SOURCES[source]
    )
    written[...] = values
    for number, options in enumerate(COPIES):
        name = f"copy-{number}"
        run(tmp_path, "copy", "a", name, "--verify", *options)
        copy = zarr.open_array(tmp_path / name, mode="r")
        assert copy.dtype == values.dtype
        assert dict(copy.attrs) == {"units": "K"}
        np.testing.assert_array_equal(copy[...], values)
        assert json.loads(run(tmp_path, "validate", name, "--json"))["findings"] == []
        assert run(tmp_path, "diff", "a", name) == ""
