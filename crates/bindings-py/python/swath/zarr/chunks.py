"""Chunks that zarr-python has the bytes of: decoded and encoded natively."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from zarr.abc.codec import Codec
from zarr.codecs import ShardingCodec
from zarr.codecs._v2 import V2Codec
from zarr.core.array_spec import ArraySpec
from zarr.core.buffer import Buffer, NDBuffer, cpu

from swath._swath import ChunkCodec
from swath.errors import InvalidError, UnsupportedError

type Bytes = npt.NDArray[np.uint8]


class Refused(Exception):  # noqa: N818, it is no error
    """There is no native way; the message says why."""


class Chunks:
    """The native codecs of chunks of one shape and data type."""

    def __init__(self, codecs: Sequence[Codec], spec: ArraySpec) -> None:
        """Compile the codecs; `Refused` where swath does not know them as zarr-python does."""
        try:
            self.codec = ChunkCodec(document(codecs, spec))
        except (InvalidError, UnsupportedError) as error:
            raise Refused(str(error)) from error
        self.shape = spec.shape
        self.dtype = require_dtype(spec, self.codec.dtype)
        if (reason := why_no_chunks(self.dtype)) is not None:
            raise Refused(reason)

    def decode(self, chunks: Sequence[Buffer], specs: Sequence[ArraySpec]) -> list[NDBuffer]:
        """Decode chunks."""
        found = np.empty((len(chunks), *self.shape), self.codec.dtype)
        self.codec.decode([bytes_of(chunk.as_numpy_array()) for chunk in chunks], found)
        found = found.astype(self.dtype, copy=False)
        return [
            spec.prototype.nd_buffer.from_ndarray_like(found[number, ...])
            for number, spec in enumerate(specs)
        ]

    def encode(self, chunks: Sequence[NDBuffer], specs: Sequence[ArraySpec]) -> list[Buffer]:
        """Encode chunks."""
        arrays = [np.asarray(chunk.as_numpy_array()) for chunk in chunks]
        for array in arrays:
            if array.shape != self.shape or array.dtype.newbyteorder("=") != self.codec.dtype:
                raise Refused(f"a chunk of shape {array.shape} and dtype {array.dtype}")
        encoded = self.codec.encode(
            [bytes_of(array.astype(self.codec.dtype, copy=False)) for array in arrays]
        )
        return [spec.prototype.buffer.from_bytes(chunk) for spec, chunk in zip(specs, encoded, strict=True)]


# Arrays that are views of one memory are each looked at beside all others of it when they are handed over. Of
# 32,768 chunks of a byte in one shard that took a hundred times as long as decoding them. Small ones are
# copied; of larger ones there are not so many in a group.
COPIED_BYTES_MAX = 4 << 10


def bytes_of(array: npt.NDArray[Any]) -> Bytes:
    """Return the bytes of an array's elements in C order."""
    found = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return found.copy() if found.size <= COPIED_BYTES_MAX else found


def document(codecs: Sequence[Codec], spec: ArraySpec) -> str:
    """Return the metadata of an array of one chunk of these codecs."""
    for codec in codecs:
        require_known(codec)
    if not issubclass(spec.prototype.buffer, cpu.Buffer) or not issubclass(
        spec.prototype.nd_buffer, cpu.NDBuffer
    ):
        raise Refused(f"buffers of class {named(spec.prototype.buffer)}")
    shape = list(spec.shape)
    try:
        if len(codecs) == 1 and isinstance(codecs[0], V2Codec):
            return json.dumps(v2_document(codecs[0], spec, shape))
        return json.dumps(v3_document(codecs, spec, shape))
    # Data types of others may have no JSON of their own, and say so in many ways.
    except (NotImplementedError, TypeError, ValueError) as error:
        raise Refused(f"data type {spec.dtype}: {error}") from error


def v2_document(codec: V2Codec, spec: ArraySpec, shape: list[int]) -> dict[str, Any]:
    """Return a `.zarray`."""
    dtype = spec.dtype.to_json(zarr_format=2)
    return {
        "zarr_format": 2,
        "shape": shape,
        "chunks": shape,
        "dtype": dtype["name"],
        "order": spec.order,
        "fill_value": None,
        "filters": [filter.get_config() for filter in codec.filters or ()] or None,
        "compressor": codec.compressor.get_config() if codec.compressor else None,
    }


def v3_document(codecs: Sequence[Codec], spec: ArraySpec, shape: list[int]) -> dict[str, Any]:
    """Return a `zarr.json`."""
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": spec.dtype.to_json(zarr_format=3),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shape}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": spec.dtype.to_json_scalar(spec.fill_value, zarr_format=3),
        "codecs": [codec.to_dict() for codec in codecs],
    }


def require_dtype(spec: ArraySpec, found: np.dtype[Any]) -> np.dtype[Any]:
    """Return zarr-python's dtype; refuse it unless swath has the same, whatever the byte order."""
    wanted: np.dtype[Any] = spec.dtype.to_native_dtype()
    if not is_same_but_for_order(wanted, found):
        raise Refused(f"elements that zarr-python has as {wanted} and swath as {found}")
    if has_bare_times(wanted):
        raise Refused("times without a unit")
    return wanted


def is_same_but_for_order(wanted: np.dtype[Any], found: np.dtype[Any]) -> bool:
    """Return whether dtypes differ in the order of bytes at most; what is found is in the machine's."""
    # Strings of any length have no order to ask for.
    return wanted == found or (wanted.kind != "T" and wanted.newbyteorder("=") == found)


def why_no_chunks(dtype: np.dtype[Any]) -> str | None:
    """Return why chunks that are given as bytes have no native way; None where they have."""
    return f"elements of any length, which are {dtype}" if dtype.hasobject or dtype.kind == "T" else None


def has_bare_times(dtype: np.dtype[Any]) -> bool:
    """Return whether elements are times without a unit, which NumPy neither compares nor swaps as others."""
    if dtype.fields is not None:
        return any(has_bare_times(field[0]) for field in dtype.fields.values())
    return dtype.kind in "mM" and np.datetime_data(dtype)[0] == "generic"


def require_known(codec: Codec) -> None:
    """Refuse codecs but zarr-python's and numcodecs' own: others may have been put in their place."""
    if type(codec) is V2Codec:
        parts: Iterable[Any] = (*(codec.filters or ()), *([codec.compressor] if codec.compressor else []))
        for part in parts:
            if not type(part).__module__.startswith("numcodecs."):
                raise Refused(f"codec {named(type(part))}")
    elif type(codec) is ShardingCodec:
        for inner in (*codec.codecs, *codec.index_codecs):
            require_known(inner)
    elif not type(codec).__module__.startswith("zarr.codecs."):
        raise Refused(f"codec {named(type(codec))}")


def named(kind: type) -> str:
    """Return a class's name with its module."""
    return f"{kind.__module__}.{kind.__qualname__}"
