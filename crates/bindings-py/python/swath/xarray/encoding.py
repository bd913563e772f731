"""How arrays are stored, as xarray's engine for zarr-python says it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from swath._swath import Array

type Lengths = tuple[int | tuple[int, ...], ...]
type Codecs = dict[str, Any]


def encoding_of(
    array: Array, dimensions: Sequence[Any], zarr_format: int, known: dict[str, Codecs]
) -> dict[str, Any]:
    """Return what `Variable.encoding` says of an array.

    Equal to what the engine ``zarr`` says, but for ``preferred_chunks`` of sharded arrays: these are whole
    shards, so that no two tasks of dask read the same one. Codecs are left out where zarr-python is not
    installed, or does not know one of them.

    Parameters
    ----------
    array : Array
        What is stored.
    dimensions : sequence of str
        The name of each axis.
    zarr_format : {2, 3}
        That of the group.
    known : dict
        The codecs of arrays that were looked at before, by their metadata; this one's are added. Making
        them takes zarr-python longer than all else takes swath.
    """
    chunks, shards = _chunks(array), _shards(array)
    encoding: dict[str, Any] = {
        "chunks": chunks,
        "preferred_chunks": dict(zip(dimensions, shards or chunks, strict=True)),
    }
    if array.dtype.kind == "T":
        encoding["dtype"] = array.dtype
    codecs = _codecs(array.metadata, known)
    encoding.update({name: codecs[name] for name in ("compressors", "filters") if name in codecs})
    encoding["shards"] = shards
    if zarr_format == 3 and "serializer" in codecs:
        encoding["serializer"] = codecs["serializer"]
    return encoding


def _chunks(array: Array) -> Lengths:
    try:
        return array.chunks
    except NotImplementedError:
        return _compact(array.read_chunk_sizes)


def _shards(array: Array) -> Lengths | None:
    try:
        return array.shards
    except NotImplementedError:
        return _compact(array.write_chunk_sizes)


def _compact(sizes: Sequence[Sequence[int]]) -> Lengths:
    """Say one length for an axis whose chunks are all alike, but for a shorter last one."""
    return tuple(_of_axis(tuple(lengths)) for lengths in sizes)


def _of_axis(lengths: tuple[int, ...]) -> int | tuple[int, ...]:
    if not lengths:
        return (0,)
    if len(set(lengths[:-1])) <= 1 and lengths[-1] <= lengths[0]:
        return lengths[0]
    return lengths


def _codecs(document: Mapping[str, Any], known: dict[str, Codecs]) -> Codecs:
    """Return zarr-python's objects for an array's codecs, as `to_zarr` takes them; none where it cannot."""
    stored = {name: value for name, value in document.items() if name != "attributes"}
    key = json.dumps(stored)
    if key not in known:
        known[key] = _made_by_zarr(stored)
    return known[key]


def _made_by_zarr(document: dict[str, Any]) -> Codecs:
    try:
        import zarr
        from zarr.storage import MemoryStore, StorePath

        array = zarr.Array.from_dict(StorePath(MemoryStore()), document)
        return {"compressors": array.compressors, "filters": array.filters, "serializer": array.serializer}
    except (ImportError, KeyError, NotImplementedError, TypeError, ValueError):
        return {}
