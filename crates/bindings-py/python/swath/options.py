"""Options of storage as text: ``storage_options=`` of ``swath.open``, with or without nested dicts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from os import PathLike, fspath
from typing import Any

from swath.errors import InvalidError

type Provider = Callable[[], Any]

# Options about caches, threads and event loops of fsspec's file systems, whose values may be no text.
FSSPEC_ONLY = frozenset({"batch_size", "cache_options", "fill_cache", "get_client", "loop", "session"})


def split(options: Mapping[str, Any] | None) -> tuple[dict[str, str], Provider | None]:
    """Return options as text by dotted names, and the credential provider if there is one.

    Nested dicts become dotted names (``client_kwargs.region_name``), lists are joined by commas, booleans are
    "true" and "false", durations as "1500ms". What is None is left out, as are options that only say how
    fsspec itself caches and runs.
    """
    flat: dict[str, str] = {}
    provider = None
    for name, value in (options or {}).items():
        if name == "credential_provider":
            provider = checked_provider(value)
        elif name not in FSSPEC_ONLY:
            flatten(name, value, flat)
    return flat, provider


def checked_provider(value: Any) -> Provider | None:
    """Return a credential provider if it is one."""
    if value is None:
        return None
    if callable(value):
        provider: Provider = value
        return provider
    message = f"wanted a callable as option credential_provider, found {type(value).__name__}"
    raise InvalidError(message)


def flatten(name: str, value: Any, flat: dict[str, str]) -> None:
    """Add an option and all that is nested in it."""
    if not isinstance(name, str):
        raise InvalidError(f"wanted names of options that are str, found {type(name).__name__}")
    if value is None:
        return
    if isinstance(value, Mapping):
        # gcsfs takes the content of a key file as a dict.
        if name == "token":
            flat[name] = json.dumps(dict(value))
            return
        for below, nested in value.items():
            flatten(f"{name}.{below}", nested, flat)
    elif isinstance(value, list | tuple | set | frozenset):
        items = [text(name, item) for item in value]
        flat[name] = ",".join(sorted(items) if isinstance(value, set | frozenset) else items)
    else:
        flat[name] = text(name, value)


def text(name: str, value: Any) -> str:
    """Return one value as text. Errors name the option, never its value, which may be a secret."""
    match value:
        case str():
            return str(value)
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case bytes() | bytearray():
            return decoded(name, bytes(value))
        case timedelta():
            return duration(value)
        case PathLike():
            return decoded(name, path) if isinstance(path := fspath(value), bytes) else path
    # NumPy's booleans and numbers, for which it has no common class with Python's.
    if hasattr(value, "dtype") and getattr(value, "shape", None) == ():
        return text(name, value.item())
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    raise InvalidError(f"wanted text, a number or a boolean for the option {name}, found {kind}")


def decoded(name: str, value: bytes) -> str:
    """Return bytes as text: certificates and headers."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise InvalidError(f"wanted UTF-8 in the option {name}, found other bytes") from None


def duration(value: timedelta) -> str:
    """Return a duration as object_store writes it, in the largest unit that is exact."""
    microseconds = value // timedelta(microseconds=1)
    for unit, length in (("s", 1_000_000), ("ms", 1_000)):
        if microseconds % length == 0:
            return f"{microseconds // length}{unit}"
    return f"{microseconds}us"
