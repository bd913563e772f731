"""A store for zarr-python whose bytes swath reads and writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Self, override

import numpy as np
from zarr.abc.store import (
    ByteRequest,
    OffsetByteRequest,
    RangeByteRequest,
    Store,
    SuffixByteRequest,
)
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype

from swath._swath import KeyStore

type Wanted = tuple[str, int | None, int | None]
type Sized = list[tuple[str, int]]


class SwathStore(Store):
    """A store of zarr-python's whose bytes swath reads and writes: wherever `swath.open` reads from.

    Reads of many keys or ranges are one batch of swath's, which merges neighbours where that pays. Zip
    archives and references can be read only. A pickle holds the URL without secrets: see `swath.open`.

    Parameters
    ----------
    url : str, os.PathLike or a store
        A directory, a URL or a store object, as for `swath.open`.
    read_only : bool, default False
        Whether writing is refused. A local directory is made where there is none, unless it is.
    storage_options : dict, optional
        As for `swath.open`.

    Examples
    --------
    >>> store = swath.zarr.Store("example.zarr", read_only=True)
    >>> zarr.open_array(store, mode="r").shape
    (8, 3, 256, 256)
    """

    supports_writes: bool = True
    supports_deletes: bool = True
    supports_listing: bool = True

    def __init__(
        self,
        url: str | PathLike[str] | object,
        *,
        read_only: bool = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(read_only=read_only)
        self._keys = KeyStore(url, storage_options)

    @property
    def url(self) -> str:
        """The directory or the URL, without credentials."""
        return self._keys.name

    @override
    def with_read_only(self, read_only: bool = False) -> Self:
        store = type(self).__new__(type(self))
        Store.__init__(store, read_only=read_only)
        store._keys = self._keys
        return store

    @override
    async def _open(self) -> None:
        await asyncio.to_thread(self._ensure)
        await super()._open()

    @override
    async def _ensure_open(self) -> None:
        # Several may get here at once, and each may find the store not open yet.
        if not self._is_open:
            await asyncio.to_thread(self._ensure)
            self._is_open = True

    def _ensure_open_sync(self) -> None:
        if not self._is_open:
            self._ensure()
            self._is_open = True

    def _ensure(self) -> None:
        if not self._keys.is_remote:
            self._keys.ensure(not self.read_only)

    def __str__(self) -> str:
        return self.url if "://" in self.url else f"file://{self.url}"

    def __repr__(self) -> str:
        return f"SwathStore('{self}')"

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._keys == other._keys

    __hash__ = None  # type: ignore[assignment]

    # What is done at once; the others wait for these in threads.

    def get_sync(
        self,
        key: str,
        *,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        """Return what a key holds, or a range of it; None where nothing is stored."""
        self._ensure_open_sync()
        return self._get([wanted(key, byte_range)], prototype or default_buffer_prototype())[0]

    def set_sync(self, key: str, value: Buffer) -> None:
        """Write what a key holds."""
        self._ensure_open_sync()
        self._put(key, value, if_absent=False)

    def delete_sync(self, key: str) -> None:
        """Remove what a key holds, if it holds something."""
        self._ensure_open_sync()
        self._check_writable()
        self._keys.delete(key)

    @override
    def get_ranges_sync(
        self,
        key: str,
        byte_ranges: Sequence[ByteRequest | None],
        *,
        prototype: BufferPrototype,
        max_gap_bytes: int = 0,
        max_coalesced_bytes: int = 0,
    ) -> Sequence[tuple[int, Buffer | None]]:
        """Return ranges of what a key holds; how neighbours are merged is swath's own to say."""
        del max_gap_bytes, max_coalesced_bytes
        self._ensure_open_sync()
        return self._ranges(key, byte_ranges, prototype)

    def _get(self, wanted: list[Wanted], prototype: BufferPrototype) -> list[Buffer | None]:
        make = prototype.buffer.from_bytes
        return [None if found is None else make(found) for found in self._keys.get(wanted)]

    def _ranges(
        self, key: str, byte_ranges: Sequence[ByteRequest | None], prototype: BufferPrototype
    ) -> Sequence[tuple[int, Buffer | None]]:
        found = self._get([wanted(key, byte_range) for byte_range in byte_ranges], prototype)
        if any(buffer is None for buffer in found):
            raise BaseExceptionGroup("ranges of a key that is not stored", [FileNotFoundError(key)])
        return list(enumerate(found))

    def _put(self, key: str, value: Buffer, *, if_absent: bool) -> None:
        self._check_writable()
        if not isinstance(value, Buffer):
            raise TypeError(
                f"SwathStore.set(): `value` must be a Buffer instance. "
                f"Got an instance of {type(value)} instead."
            )
        content = np.ascontiguousarray(value.as_numpy_array()).reshape(-1).view(np.uint8)
        self._keys.put(key, content, if_absent)

    # The same, awaited.

    @override
    async def get(
        self,
        key: str,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        found = await self.get_partial_values(prototype or default_buffer_prototype(), [(key, byte_range)])
        return found[0]

    @override
    async def get_partial_values(
        self,
        prototype: BufferPrototype,
        key_ranges: Iterable[tuple[str, ByteRequest | None]],
    ) -> list[Buffer | None]:
        await self._ensure_open()
        asked = [wanted(key, byte_range) for key, byte_range in key_ranges]
        return await asyncio.to_thread(self._get, asked, prototype)

    @override
    async def get_ranges(
        self,
        key: str,
        byte_ranges: Sequence[ByteRequest | None],
        *,
        prototype: BufferPrototype,
        max_concurrency: int = 0,
        max_gap_bytes: int = 0,
        max_coalesced_bytes: int = 0,
    ) -> AsyncIterator[Sequence[tuple[int, Buffer | None]]]:
        """Read ranges of what a key holds, in one batch; how neighbours are merged is swath's own to say."""
        del max_concurrency, max_gap_bytes, max_coalesced_bytes
        await self._ensure_open()
        if byte_ranges:
            yield await asyncio.to_thread(self._ranges, key, byte_ranges, prototype)

    @override
    async def exists(self, key: str) -> bool:
        await self._ensure_open()
        return await asyncio.to_thread(self._keys.size, key) is not None

    @override
    async def getsize(self, key: str) -> int:
        await self._ensure_open()
        size = await asyncio.to_thread(self._keys.size, key)
        if size is None:
            raise FileNotFoundError(key)
        return size

    @override
    async def getsize_prefix(self, prefix: str) -> int:
        return sum(size for _, size in await self._below(folder(prefix)))

    @override
    async def set(self, key: str, value: Buffer) -> None:
        await self._ensure_open()
        await asyncio.to_thread(self._put, key, value, if_absent=False)

    @override
    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        await self._ensure_open()
        await asyncio.to_thread(self._put, key, value, if_absent=True)

    @override
    async def delete(self, key: str) -> None:
        self._check_writable()
        await self._ensure_open()
        await asyncio.to_thread(self._keys.delete, key)

    @override
    async def delete_dir(self, prefix: str) -> None:
        self._check_writable()
        await self._ensure_open()
        await asyncio.to_thread(self._keys.delete_below, prefix.strip("/"))

    @override
    async def clear(self) -> None:
        await self.delete_dir("")

    @override
    async def is_empty(self, prefix: str) -> bool:
        return not await self._below(folder(prefix))

    @override
    async def list(self) -> AsyncIterator[str]:
        for key, _ in await self._below(""):
            yield key

    @override
    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        for key, _ in await self._below(prefix):
            yield key

    @override
    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        await self._ensure_open()
        for name in await asyncio.to_thread(self._keys.names, prefix.strip("/")):
            yield name

    async def _below(self, prefix: str) -> Sized:
        """Return the keys that begin with a prefix, and how many bytes they hold."""
        await self._ensure_open()
        path = prefix.rpartition("/")[0]
        found = await asyncio.to_thread(self._keys.keys, path)
        return [(key, size) for key, size in found if key.startswith(prefix)]


def folder(prefix: str) -> str:
    """Return a prefix that names a folder as one of the keys below it."""
    return prefix if not prefix or prefix.endswith("/") else f"{prefix}/"


def wanted(key: str, byte_range: ByteRequest | None) -> Wanted:
    """Return a key and a range of it as the native module takes them."""
    match byte_range:
        case None:
            return key, None, None
        case RangeByteRequest(start, end):
            return key, start, end
        case OffsetByteRequest(offset):
            return key, offset, None
        case SuffixByteRequest(suffix):
            return key, None, suffix
    raise ValueError(f"Unexpected byte_range, got {byte_range}.")
