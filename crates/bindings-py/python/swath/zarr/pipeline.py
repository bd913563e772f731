"""zarr-python's codec pipeline, by swath."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, override

import zarr
from zarr.abc.codec import GetResult
from zarr.abc.store import ByteGetter, ByteSetter
from zarr.core.array import create_codec_pipeline
from zarr.core.array_spec import ArraySpec
from zarr.core.buffer import Buffer, NDBuffer
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.core.common import concurrent_map
from zarr.registry import _pipeline_registry

from swath.zarr.chunks import Chunks, Refused
from swath.zarr.fallback import count, fall_back, note
from swath.zarr.native import FAILURES, INLINE_BYTES_MAX, NativeArray, Read

if TYPE_CHECKING:
    from zarr.abc.store import Store
    from zarr.core.indexing import SelectorTuple
    from zarr.core.metadata import ArrayMetadata

type Reads = Iterable[tuple[ByteGetter, ArraySpec, SelectorTuple, SelectorTuple, bool]]
type Writes = Iterable[tuple[ByteSetter, ArraySpec, SelectorTuple, SelectorTuple, bool]]

PATH = "swath.zarr.CodecPipeline"

# Decoded bytes of a group of chunks that come through a store's own methods, and groups that are in hand at
# once: one is decoded while the next arrives.
GROUP_BYTES_MAX = 32 << 20
GROUPS = 2

# What is told of a chunk that was read natively.
PRESENT = (GetResult(status="present"),)


@dataclass(frozen=True)
class SwathCodecPipeline(BatchedCodecPipeline):
    """Reads and writes the chunks of zarr-python's arrays by swath: see `swath.zarr` for which way they go.

    Two of the same codecs are equal, and so are pickled ones.
    """

    def __post_init__(self) -> None:
        self._set("_known", {})
        self._set("_array", None)
        self._set("_has_warned", False)

    def _set(self, name: str, value: Any) -> None:
        # What is no field is no part of what two pipelines are compared by.
        object.__setattr__(self, name, value)

    _known: ClassVar[dict[Any, Chunks | Refused]]
    _array: ClassVar[NativeArray | None]
    _has_warned: ClassVar[bool]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": {}}

    @classmethod
    @override
    def from_array_metadata_and_store(cls, array_metadata: ArrayMetadata, store: Store) -> Self:
        pipeline = create_codec_pipeline(array_metadata)
        if type(pipeline) is not cls:
            raise NotImplementedError("another pipeline is configured")
        pipeline._set("_array", NativeArray(array_metadata))
        return pipeline

    @override
    async def read(
        self, batch_info: Reads, out: NDBuffer, drop_axes: tuple[int, ...] = ()
    ) -> tuple[GetResult, ...]:
        batch = batch_info if type(batch_info) is list else list(batch_info)
        if not batch:
            return ()
        # A pipeline of no array is one within shards: that of the array has noted what falls back.
        if self._array is not None:
            if not drop_axes and self._array.read_quickly(batch, out):
                return PRESENT * len(batch)
            refused = self._array.refused(self, batch[0][1])
            if refused.everything is not None:
                return await self._read_by_zarr(batch, out, drop_axes, refused.everything)
            if self._array.is_plain(batch, out):
                read = self._array.reader(batch, out.as_numpy_array(), drop_axes)
                if read is not None and await self._read_natively(read, batch):
                    return PRESENT * len(batch)
            if refused.chunks is not None:
                return await self._read_by_zarr(batch, out, drop_axes, refused.chunks)
        if self.supports_partial_decode:
            return await super().read(batch, out, drop_axes)
        groups = [(group, out, drop_axes) for group in grouped(batch)]
        results = await concurrent_map(groups, self.read_batch, GROUPS)
        return tuple(result for group in results for result in group)

    async def _read_natively(self, read: Read, batch: Sequence[Any]) -> bool:
        """Read a batch; False where that failed, so that zarr-python's own way is to say what is wrong."""
        try:
            if read.bytes_here <= INLINE_BYTES_MAX:
                read.run()
            else:
                await asyncio.to_thread(read.run)
        except FAILURES as error:
            self._fall_back(batch, "a native read failed", str(error))
            return False
        count("native_reads")
        return True

    async def _read_by_zarr(
        self, batch: list[Any], out: NDBuffer, drop_axes: tuple[int, ...], reason: str
    ) -> tuple[GetResult, ...]:
        self._fall_back(batch, reason)
        return await super().read(batch, out, drop_axes)

    @override
    async def write(self, batch_info: Writes, value: NDBuffer, drop_axes: tuple[int, ...] = ()) -> None:
        batch = list(batch_info)
        if not batch:
            return
        refused = None if self._array is None else self._array.refused(self, batch[0][1]).chunks
        if refused is not None:
            self._fall_back(batch, refused)
        if refused is not None or self.supports_partial_encode:
            await super().write(batch, value, drop_axes)
            return
        groups = [(group, value, drop_axes) for group in grouped(batch)]
        await concurrent_map(groups, self.write_batch, GROUPS)

    @override
    async def decode(
        self, chunk_bytes_and_specs: Iterable[tuple[Buffer | None, ArraySpec]]
    ) -> Iterable[NDBuffer | None]:
        return await self._each(list(chunk_bytes_and_specs), "decode")

    @override
    async def encode(
        self, chunk_arrays_and_specs: Iterable[tuple[NDBuffer | None, ArraySpec]]
    ) -> Iterable[Buffer | None]:
        return await self._each(list(chunk_arrays_and_specs), "encode")

    async def _each(self, items: Sequence[tuple[Any, ArraySpec]], what: str) -> list[Any]:
        """Decode or encode what there is of chunks and specs: runs of equal specs at once."""
        results: list[Any] = [None] * len(items)
        for numbers in runs(items):
            given, specs = zip(*(items[number] for number in numbers), strict=True)
            for number, result in zip(numbers, await self._run(given, specs, what), strict=True):
                results[number] = result
        return results

    async def _run(self, given: Sequence[Any], specs: Sequence[ArraySpec], what: str) -> Sequence[Any]:
        try:
            chunks = self._chunks(specs[0])
            work: Callable[..., Sequence[Any]] = getattr(chunks, what)
            is_small = chunks.dtype.itemsize * len(given) * size(specs[0]) <= INLINE_BYTES_MAX
            done = work(given, specs) if is_small else await asyncio.to_thread(work, given, specs)
        except Refused:
            return await self._run_by_zarr(given, specs, what)
        except FAILURES as error:
            note(f"native {what.removesuffix('e')}ing failed", str(error))
            return await self._run_by_zarr(given, specs, what)
        count(f"{what}d", len(given))
        return done

    async def _run_by_zarr(
        self, given: Sequence[Any], specs: Sequence[ArraySpec], what: str
    ) -> Sequence[Any]:
        own = super().decode if what == "decode" else super().encode
        return list(await own(zip(given, specs, strict=True)))

    def _chunks(self, spec: ArraySpec) -> Chunks:
        """Return the native codecs of chunks; `Refused` where there are none."""
        key = (spec.shape, spec.dtype, spec.order, spec.prototype)
        known = self._known.get(key)
        if known is None:
            try:
                known = Chunks(tuple(self), spec)
            except Refused as refused:
                known = refused
            self._known[key] = known
        if isinstance(known, Refused):
            raise known
        return known

    def _fall_back(self, batch: Sequence[tuple[Any, ...]], reason: str, detail: str = "") -> None:
        fall_back(str(batch[0][0]), reason, detail, is_known=self._has_warned)
        self._set("_has_warned", True)


def runs(items: Sequence[tuple[Any, ArraySpec]]) -> list[list[int]]:
    """Return the numbers of items that there are, in runs of one spec."""
    found: list[list[int]] = []
    last: ArraySpec | None = None
    for number, (item, spec) in enumerate(items):
        if item is None:
            continue
        if last is None or (spec is not last and spec != last):
            found.append([])
            last = spec
        found[-1].append(number)
    return found


def grouped[T: tuple[Any, ...]](batch: Sequence[T]) -> list[list[T]]:
    """Cut a batch into groups of chunks that are in hand at once."""
    groups: list[list[T]] = []
    left = 0
    for item in batch:
        spec: ArraySpec = item[1]
        taken = size(spec) * spec.dtype.to_native_dtype().itemsize
        if not groups or left < taken:
            groups.append([])
            left = max(GROUP_BYTES_MAX, taken)
        groups[-1].append(item)
        left -= taken
    return groups


def size(spec: ArraySpec) -> int:
    """Return how many elements a chunk has."""
    return math.prod(spec.shape)


def enable(*, strict: bool = False) -> AbstractContextManager[object]:
    """Have the arrays that zarr-python opens from now on read and written by swath.

    Parameters
    ----------
    strict : bool, default False
        Whether what swath has no native way for is an error, and not left to zarr-python's own pipeline.

    Returns
    -------
    contextlib.AbstractContextManager
        What ``zarr.config.set`` gives: in a ``with`` statement, it ends with the block.

    Examples
    --------
    >>> with swath.zarr.enable():
    ...     array = zarr.open_array("example.zarr", mode="r")
    >>> array[0, :, :4, :4].shape
    (3, 4, 4)
    """
    options = {"codec_pipeline.path": PATH, "codec_pipeline.strict": strict}
    found: AbstractContextManager[object] = zarr.config.set(options)
    return found


# The name in the configuration is the public one, whose class says in tracebacks and pickles whose it is.
for name in (PATH, "swath.zarr.SwathCodecPipeline"):
    _pipeline_registry.register(SwathCodecPipeline, qualname=name)
