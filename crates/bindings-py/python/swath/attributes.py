"""The user's attributes of an array or a group."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, override


class Attributes(Mapping[str, Any]):
    """A read-only mapping of names to JSON values, in the order of the metadata document.

    Equal to any mapping with the same items.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any]) -> None:
        self._items = dict(items)

    @override
    def __getitem__(self, name: str) -> Any:
        return copy.deepcopy(self._items[name])

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    @override
    def __len__(self) -> int:
        return len(self._items)

    def asdict(self) -> dict[str, Any]:
        """Return the attributes as a new dict, free to change."""
        return copy.deepcopy(self._items)

    @override
    def __repr__(self) -> str:
        return f"Attributes({self._items!r})"
