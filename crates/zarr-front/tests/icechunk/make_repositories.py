"""Write the repositories that the tests of Icechunk read: `python make_repositories.py`, in an environment of
icechunk 2.3.0, zarr 3.4.2 and numpy 2.5.5. Ids are drawn anew each time."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import icechunk
import numpy as np
import zarr

HERE = Path(__file__).parent
SOURCE = "file:///swath/source/"
VALUES = np.arange(12 * 20, dtype="<i4").reshape(12, 20)
# What a manifest takes in is told apart by the first axis, two chunks each.
SPLIT = icechunk.ManifestSplittingConfig.from_dict(
    {
        icechunk.ManifestSplitCondition.name_matches("split"): {
            icechunk.ManifestSplitDimCondition.Axis(0): 2,
        }
    }
)


def configuration() -> icechunk.RepositoryConfig:
    """Small chunks are stored in manifests, those of one array in several."""
    config = icechunk.RepositoryConfig.default()
    config.inline_chunk_threshold_bytes = 16
    config.manifest = icechunk.ManifestConfig(splitting=SPLIT)
    store = icechunk.local_filesystem_store("/swath/source")
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(SOURCE, store))
    return config


def fill(group: zarr.Group) -> None:
    """Add an array of each kind of chunks and layouts."""
    plain = {"compressors": None, "fill_value": -1}
    native = group.create_array("native", shape=(12, 20), chunks=(5, 10), dtype="<i4", **plain)
    native[:10] = VALUES[:10]
    inline = group.create_array("g/inline", shape=(7,), chunks=(3,), dtype="<i2", **plain)
    inline[:] = np.arange(7)
    scalar = group.create_array("scalar", shape=(), dtype="<f8")
    scalar[...] = 2.5
    split = group.create_array("split", shape=(9, 4), chunks=(1, 2), dtype="<u2")
    split[:] = np.arange(36).reshape(9, 4)
    sharded = group.create_array("sharded", shape=(8, 16), chunks=(2, 2), shards=(4, 8), dtype="<u2")
    sharded[:] = np.arange(128).reshape(8, 16)
    group.create_array("g/virtual", shape=(8,), chunks=(2,), dtype="<i4", **plain)


def references() -> list[icechunk.VirtualChunkSpec]:
    """Three chunks, with no version, one by an entity tag and one by a time."""
    url = f"{SOURCE}data.bin"
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        icechunk.VirtualChunkSpec([0], url, 4, 8),
        icechunk.VirtualChunkSpec([1], url, 12, 8, etag_checksum="an-old-tag"),
        icechunk.VirtualChunkSpec([3], url, 20, 8, last_updated_at_checksum=moment),
    ]


def make(folder: Path, version: int) -> None:
    """Write a repository of a format."""
    shutil.rmtree(folder, ignore_errors=True)
    repo = icechunk.Repository.create(
        icechunk.local_filesystem_storage(str(folder)), config=configuration(), spec_version=version
    )
    session = repo.writable_session("main")
    fill(zarr.create_group(session.store, attributes={"title": "first"}))
    session.store.set_virtual_refs("g/virtual", references(), validate_containers=False)
    first = session.commit("first")
    repo.create_tag("v1", snapshot_id=first)
    repo.create_branch("dev/two" if version == 2 else "dev", snapshot_id=first)
    session = repo.writable_session("main")
    group = zarr.open_group(session.store, mode="r+")
    group.attrs["title"] = "second"
    group["native"][:5, :10] = -5
    group["split"][8] = 7
    second = session.commit("second")
    repo.create_tag("gone", snapshot_id=second)
    repo.delete_tag("gone")
    # What writing needs, and reading does not.
    for name in ("transactions", "overwritten"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / "first.txt").write_text(first)


for version in (1, 2):
    make(HERE / f"format_{version}", version)
