"""Writes the arrays of workloads with zarr-python, whole shards at a time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numcodecs
import zarr
from zarr.codecs import BloscCodec, BytesCodec, ShardingCodec, ZstdCodec

from benches.runner.errors import BenchError
from benches.runner.fields import Values
from benches.runner.workload import Workload
from demo.readers import FUSED_PIPELINE

# zarr-python's names of the orders in which the inner chunks lie in a shard.
WRITE_ORDERS = {"morton": "morton", "c": "lexicographic"}


def write_array(workload: Workload, inner_order: str, target: Path) -> None:
    """Write a workload's array; ``inner_order`` is empty where it has no shards."""
    data = workload.data
    array = create_array(workload, inner_order, target)
    values = Values(workload.shape, workload.dtype, int(data["seed"]), data["values"])
    # zarr-python's opt-in pipeline writes the same bytes in a third of the time.
    with zarr.config.set({"codec_pipeline.path": FUSED_PIPELINE}):
        for block, content in values.blocks(data.get("shards", data["chunks"])):
            array[block] = content


def create_array(workload: Workload, inner_order: str, target: Path) -> zarr.Array[Any]:
    """Create a workload's array, without values; ``inner_order`` is empty where it has no shards."""
    if workload.data["zarr_format"] == 2:
        return _create_v2(workload, target)
    return _create(workload, inner_order, target)


def _create(workload: Workload, inner_order: str, target: Path) -> zarr.Array[Any]:
    data = workload.data
    compressors = _compressors(data["codec"])
    if "shards" not in data:
        return zarr.create_array(
            store=target,
            shape=workload.shape,
            dtype=data["dtype"],
            chunks=workload.chunks,
            compressors=compressors,
            zarr_format=3,
        )
    # `create_array`'s own `shards` knows the default order only, so the sharding codec is spelled out.
    sharding = ShardingCodec(
        chunk_shape=workload.chunks,
        codecs=[BytesCodec(), *compressors],
        subchunk_write_order=WRITE_ORDERS[inner_order],  # type: ignore[arg-type]
    )
    return zarr.create_array(
        store=target,
        shape=workload.shape,
        dtype=data["dtype"],
        chunks=tuple(data["shards"]),
        serializer=sharding,
        compressors=None,
        filters=None,
        zarr_format=3,
    )


def _create_v2(workload: Workload, target: Path) -> zarr.Array[Any]:
    codec = workload.data["codec"]
    if codec["name"] != "blosc":
        raise BenchError(f"workload {workload.name}: v2 arrays are written with blosc only")
    shuffle = getattr(numcodecs.Blosc, codec["shuffle"].upper())
    return zarr.create_array(
        store=target,
        shape=workload.shape,
        dtype=workload.data["dtype"],
        chunks=workload.chunks,
        compressors=numcodecs.Blosc(cname=codec["cname"], clevel=codec["clevel"], shuffle=shuffle),
        zarr_format=2,
    )


def _compressors(codec: Mapping[str, Any]) -> tuple[BloscCodec | ZstdCodec, ...]:
    settings = {key: value for key, value in codec.items() if key != "name"}
    match codec["name"]:
        case "none":
            return ()
        case "blosc":
            return (BloscCodec(**settings),)
        case "zstd":
            return (ZstdCodec(**settings),)
        case other:
            raise BenchError(f"codec {other}: the runner writes none, blosc and zstd")
