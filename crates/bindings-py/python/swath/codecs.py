"""Codecs that swath lacks: those of numcodecs and zarr-python, and what the user registered with them.

Whatever is read or written through them holds the GIL and is slow: each array that needs one is named by a
``SwathWarning`` when it is opened, and ``swath.stats()["python_codec_calls"]`` counts the calls.
"""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, override

import numpy as np


class PythonCodec(Protocol):
    """What the native module calls: bytes in, bytes out.

    ``shape`` and ``dtype`` are those of the elements that are encoded, in C order and native byte order; None
    where the codec encodes what another codec made, or elements that are no numbers.
    """

    kind: str

    def decode(self, encoded: bytes, shape: tuple[int, ...] | None, dtype: str | None) -> bytes:
        """Decode one chunk."""

    def encode(self, decoded: bytes, shape: tuple[int, ...] | None, dtype: str | None) -> bytes:
        """Encode one chunk."""


class NumcodecsCodec:
    """A codec of numcodecs' registry: elements or bytes in, bytes out."""

    kind = "bytes-to-bytes"

    def __init__(self, codec: Any) -> None:
        self.codec = codec

    def decode(self, encoded: bytes, shape: tuple[int, ...] | None, dtype: str | None) -> bytes:
        """Decode one chunk."""
        del shape, dtype
        return _bytes(self.codec, self.codec.decode(encoded))

    def encode(self, decoded: bytes, shape: tuple[int, ...] | None, dtype: str | None) -> bytes:
        """Encode one chunk, as an array where it is one of numbers."""
        content: Any = decoded
        if shape is not None and dtype is not None:
            content = np.frombuffer(decoded, dtype).reshape(shape)
        return _bytes(self.codec, self.codec.encode(content))


class ZarrBytesCodec:
    """A ``zarr.abc.codec.BytesBytesCodec``."""

    kind = "bytes-to-bytes"

    def __init__(self, codec: Any) -> None:
        self.codec = codec

    def decode(self, encoded: bytes, shape: tuple[int, ...] | None, dtype: str | None) -> bytes:
        """Decode one chunk."""
        return self.run("decode", encoded, shape, dtype)

    def encode(self, decoded: bytes, shape: tuple[int, ...] | None, dtype: str | None) -> bytes:
        """Encode one chunk."""
        return self.run("encode", decoded, shape, dtype)

    def run(self, what: str, content: bytes, shape: tuple[int, ...] | None, dtype: str | None) -> bytes:
        """Call the codec's own method."""
        spec = _spec(shape or (len(content),), dtype or "uint8")
        buffer = spec.prototype.buffer.from_bytes(content)
        done = _awaited(getattr(self.codec, f"_{what}_single")(buffer, spec))
        if done is None:
            raise ValueError(f"wanted the bytes of a chunk, found None from {type(self.codec).__name__}")
        return bytes(done.to_bytes())


class ZarrArrayCodec(ZarrBytesCodec):
    """A ``zarr.abc.codec.ArrayBytesCodec``: it decodes and encodes arrays of numbers."""

    kind = "array-to-bytes"

    @override
    def decode(self, encoded: bytes, shape: tuple[int, ...] | None, dtype: str | None) -> bytes:
        spec = _array_spec(shape, dtype)
        buffer = spec.prototype.buffer.from_bytes(encoded)
        codec = self.codec.evolve_from_array_spec(spec)
        decoded = np.asarray(_awaited(codec._decode_single(buffer, spec)).as_numpy_array())
        if decoded.shape != shape:
            raise ValueError(f"wanted a chunk of shape {shape}, found {decoded.shape}")
        return np.ascontiguousarray(decoded, dtype).tobytes()

    @override
    def encode(self, decoded: bytes, shape: tuple[int, ...] | None, dtype: str | None) -> bytes:
        spec = _array_spec(shape, dtype)
        values = np.frombuffer(decoded, dtype).reshape(spec.shape)
        array = spec.prototype.nd_buffer.from_numpy_array(values)
        codec = self.codec.evolve_from_array_spec(spec)
        encoded = _awaited(codec._encode_single(array, spec))
        if encoded is None:
            raise ValueError(f"wanted the bytes of a chunk, found None from {type(codec).__name__}")
        return bytes(encoded.to_bytes())


def find(entry: str) -> PythonCodec | None:
    """Find the codec for a metadata entry in JSON; None where neither library has one of this name.

    An entry of Zarr v2 (with an ``id``) is numcodecs' only. One of v3 is looked for with zarr-python first,
    then, as ``numcodecs.NAME``, with numcodecs.
    """
    fields = json.loads(entry)
    if "id" in fields:
        return _of_numcodecs(fields)
    found = _of_zarr(fields)
    bare = fields["name"].removeprefix("numcodecs.")
    if found is None and bare != fields["name"]:
        found = _of_numcodecs({"id": bare, **(fields.get("configuration") or {})})
    return found


def _of_numcodecs(config: dict[str, Any]) -> PythonCodec | None:
    try:
        registry = importlib.import_module("numcodecs.registry")
    except ImportError:
        return None
    # Pickle runs what the bytes say.
    if config["id"] == "pickle":
        return None
    try:
        return NumcodecsCodec(registry.get_codec(dict(config)))
    except (ValueError, KeyError):
        if config["id"] in registry.codec_registry:
            raise
        return None


def _of_zarr(fields: dict[str, Any]) -> PythonCodec | None:
    try:
        from zarr.abc.codec import ArrayBytesCodec, BytesBytesCodec
        from zarr.errors import UnknownCodecError
        from zarr.registry import get_codec_class
    except ImportError:
        return None
    try:
        made = get_codec_class(fields["name"])
    except (KeyError, UnknownCodecError):
        return None
    codec = made.from_dict(fields)
    if isinstance(codec, BytesBytesCodec):
        return ZarrBytesCodec(codec)
    if isinstance(codec, ArrayBytesCodec):
        return ZarrArrayCodec(codec)
    raise TypeError("wanted a codec that makes bytes, found one that makes another array")


def _bytes(codec: Any, content: Any) -> bytes:
    """Give what a codec returned as bytes: some return arrays, in any order."""
    if isinstance(content, np.ndarray):
        # The bytes of such an array are addresses.
        if content.dtype.hasobject:
            raise TypeError(f"wanted bytes or numbers from {codec!r}, found an array of Python objects")
        return np.ascontiguousarray(content).tobytes()
    return bytes(content)


def _array_spec(shape: tuple[int, ...] | None, dtype: str | None) -> Any:
    if shape is None or dtype is None:
        raise TypeError("wanted an array of numbers, found elements that swath has no NumPy dtype for here")
    return _spec(shape, dtype)


def _spec(shape: tuple[int, ...], dtype: str) -> Any:
    """Describe a chunk to zarr-python."""
    from zarr.core.array_spec import ArrayConfig, ArraySpec
    from zarr.core.buffer import default_buffer_prototype
    from zarr.dtype import parse_dtype

    parsed = parse_dtype(dtype, zarr_format=3)
    config = ArrayConfig(order="C", write_empty_chunks=True)
    return ArraySpec(shape, parsed, parsed.default_scalar(), config, default_buffer_prototype())


def _awaited(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end, on whatever thread this is."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
