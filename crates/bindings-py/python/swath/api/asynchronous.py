"""What opens and makes arrays and groups, awaited: each as the function of the same name in `swath`."""

from __future__ import annotations

from functools import partial
from typing import Any

from swath import _swath
from swath import creation as _creation
from swath.asynchronous import AsyncArray, AsyncGroup, opened, wrapped
from swath.awaiting import in_thread

__all__ = [
    "AsyncArray",
    "AsyncGroup",
    "consolidate_metadata",
    "create_array",
    "create_group",
    "open",
    "open_array",
    "open_group",
]


async def open(store: Any, **options: Any) -> AsyncArray | AsyncGroup:
    """Open an array or a group: see `swath.open`."""
    return wrapped(await in_thread(lambda: opened(_swath.open(store, **options))))


async def open_array(store: Any, **options: Any) -> AsyncArray:
    """Open an array: see `swath.open_array`."""
    return AsyncArray(await in_thread(partial(_swath.open_array, store, **options)))


async def open_group(store: Any, **options: Any) -> AsyncGroup:
    """Open a group: see `swath.open_group`."""
    return AsyncGroup(await in_thread(partial(_swath.open_group, store, **options)))


async def create_array(store: Any, **options: Any) -> AsyncArray:
    """Make an array: see `swath.create_array`."""
    return AsyncArray(await in_thread(partial(_creation.create_array, store, **options)))


async def create_group(store: Any, **options: Any) -> AsyncGroup:
    """Make a group: see `swath.create_group`."""
    return AsyncGroup(await in_thread(partial(_swath.create_group, store, **options)))


async def consolidate_metadata(store: Any, **options: Any) -> AsyncGroup:
    """Write a group's consolidated metadata: see `swath.consolidate_metadata`."""
    return AsyncGroup(await in_thread(partial(_swath.consolidate_metadata, store, **options)))
