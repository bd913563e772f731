"""zarr-python with a codec pipeline that does nothing: what its own planning of reads takes.

Nothing is read, so there is nothing to check.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, override

from zarr.abc.codec import GetResult
from zarr.core.buffer import NDBuffer
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.registry import register_pipeline

from benches.peers.zarr_python.reader import PIPELINES, ZarrReader
from benches.readers.protocol import ArrayReader, Case, main


class NothingPipeline(BatchedCodecPipeline):
    """A pipeline that leaves the output as it is."""

    @override
    async def read(
        self, batch_info: Iterable[Any], out: NDBuffer, drop_axes: tuple[int, ...] = ()
    ) -> tuple[GetResult, ...]:
        del out, drop_axes
        return (GetResult(status="present"),) * len(list(batch_info))


class PlanningReader(ZarrReader):
    """An array of which reads are planned only."""

    has_values = False


def open_array(case: Case, variant: str) -> ArrayReader:
    """Open a case's array; there is one variant."""
    del variant
    register_pipeline(NothingPipeline)
    PIPELINES["nothing"] = f"{NothingPipeline.__module__}.{NothingPipeline.__qualname__}"
    return PlanningReader(case, "nothing")


if __name__ == "__main__":
    main(open_array)
