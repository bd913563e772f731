"""Read huge Zarr archives by random crops, as fast as the hardware allows, and write them.

``swath.open`` opens an array or a group; ``array[...]`` reads one selection, ``array.read_many`` many at
once, and ``array[...] = values`` writes one. ``swath.create_array`` and ``swath.create_group`` make new ones.
Every error is a ``swath.SwathError``.
"""

import atexit
import importlib
from typing import TYPE_CHECKING, Any

from swath._swath import (
    Array,
    Group,
    Info,
    __version__,
    _end,
    _flush_caches,
    consolidate_metadata,
    create_group,
    open,
    open_array,
    open_group,
    stats,
)
from swath.attributes import Attributes
from swath.configuration import config, set_file_access
from swath.creation import create_array
from swath.errors import (
    CancelledError,
    CorruptError,
    DeadlineExceededError,
    InternalError,
    InvalidError,
    MemberNotFoundError,
    NotFoundError,
    OutOfBoundsError,
    StorageError,
    SwathError,
    SwathWarning,
    UnsupportedError,
    UnsupportedSelectionError,
)

if TYPE_CHECKING:
    from swath import api, convert, io
    from swath.asynchronous import AsyncArray, AsyncGroup


def __getattr__(name: str) -> Any:
    """Import what awaits reads once it is asked for: asyncio takes longer to import than all of swath."""
    if name in ("api", "convert", "io"):
        return importlib.import_module(f"swath.{name}")
    if name in ("AsyncArray", "AsyncGroup"):
        from swath import asynchronous

        return getattr(asynchronous, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# What is cached on disk outlives arrays that live until Python ends.
atexit.register(_flush_caches)
# Threads that came back to Python after its end would end the process. What was registered last runs first.
atexit.register(_end)

__all__ = [
    "Array",
    "AsyncArray",
    "AsyncGroup",
    "Attributes",
    "CancelledError",
    "CorruptError",
    "DeadlineExceededError",
    "Group",
    "Info",
    "InternalError",
    "InvalidError",
    "MemberNotFoundError",
    "NotFoundError",
    "OutOfBoundsError",
    "StorageError",
    "SwathError",
    "SwathWarning",
    "UnsupportedError",
    "UnsupportedSelectionError",
    "__version__",
    "api",
    "config",
    "consolidate_metadata",
    "convert",
    "create_array",
    "create_group",
    "io",
    "open",
    "open_array",
    "open_group",
    "set_file_access",
    "stats",
]
