"""Reads that a coroutine of xarray's waits for without a loop, because `loading` drives it."""

from __future__ import annotations

from collections.abc import Generator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from swath.xarray.batch import Request

IS_DRIVEN: ContextVar[bool] = ContextVar("swath_xarray_is_driven", default=False)
"""Whether `loading` drives the coroutine, and no event loop does."""


@dataclass(frozen=True, slots=True)
class Driven:
    """A read that is handed to whoever drives the coroutine, and whose result comes back from there."""

    request: Request

    def __await__(self) -> Generator[Driven, npt.NDArray[Any], npt.NDArray[Any]]:
        """Hand the read over, and take what was read."""
        return (yield self)
