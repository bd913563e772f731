"""The user's attributes of an array or a group."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, override

from swath.errors import InvalidError


class Attributes(MutableMapping[str, Any]):
    """A mapping of names to JSON values, in the order of the metadata document.

    Read-only, unless the array or group was opened to be written to: then each change is written at once.
    Equal to any mapping with the same items.
    """

    __slots__ = ("_change", "_items")

    def __init__(
        self, items: Mapping[str, Any], change: Callable[[str, list[str]], dict[str, Any]] | None = None
    ) -> None:
        self._items = dict(items)
        self._change = change

    @override
    def __getitem__(self, name: str) -> Any:
        return copy.deepcopy(self._items[name])

    @override
    def __setitem__(self, name: str, value: Any) -> None:
        self.update({name: value})

    @override
    def __delitem__(self, name: str) -> None:
        self._items[name]
        self._write({}, [name])

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    @override
    def __len__(self) -> int:
        return len(self._items)

    @override
    def update(self, *items: Any, **named: Any) -> None:
        """Add and replace attributes, all in one write."""
        self._write(dict(*items, **named), [])

    @override
    def clear(self) -> None:
        """Remove all attributes, in one write."""
        self._write({}, list(self._items))

    def put(self, items: Mapping[str, Any]) -> None:
        """Replace all attributes by these, in one write."""
        self._write(dict(items), [name for name in self._items if name not in items])

    def asdict(self) -> dict[str, Any]:
        """Return the attributes as a new dict, free to change."""
        return copy.deepcopy(self._items)

    def _write(self, added: dict[str, Any], removed: list[str]) -> None:
        if self._change is None:
            message = "the attributes are read-only: wanted mode 'r+', 'a', 'w' or 'w-' to write, found 'r'"
            raise InvalidError(message)
        self._items = self._change(as_json(added), removed)

    @override
    def __repr__(self) -> str:
        return f"Attributes({self._items!r})"


def as_json(items: Mapping[str, Any]) -> str:
    """Write attributes as JSON; NumPy's scalars and arrays are numbers and lists there.

    Raises
    ------
    InvalidError
        A value that JSON does not have.
    """
    try:
        return json.dumps(dict(items), allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        message = f"wanted attributes that JSON has: {error}"
        raise InvalidError(message) from error


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    message = f"found an object of type {type(value).__name__}"
    raise TypeError(message)
