"""Icechunk: where the stores of its Python package point, and the URLs of repositories."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from swath.errors import InvalidError, UnsupportedError

OPTIONS = frozenset({"authorize_virtual_chunk_access", "branch", "snapshot_id", "tag"})
"""Options of ``swath.open`` that are about a repository, by the names of icechunk's arguments."""


def url_of(repository: str, options: Mapping[str, Any]) -> str:
    """Return the URL of a repository at a URL or path, with what options of icechunk say."""
    _, _, place = repository.partition("::")
    fields = [
        (field, options[name])
        for name, field in (("branch", "branch"), ("tag", "tag"), ("snapshot_id", "snapshot"))
        if options.get(name) is not None
    ]
    authorized: Iterable[str] = options.get("authorize_virtual_chunk_access") or ()
    if isinstance(authorized, str):
        authorized = [authorized]
    # A dict has what icechunk logs in with as its values, which are no options of swath's.
    fields += [("virtual", prefix) for prefix in authorized]
    told = repository.partition("::")[0].partition("://")[2]
    texts = [told] if told else []
    texts += [f"{name}={escaped(name, value)}" for name, value in fields]
    return f"icechunk://{'&'.join(texts)}::{place}"


def escaped(name: str, value: Any) -> str:
    """Return a text as it stands in a URL."""
    if not isinstance(value, str):
        raise InvalidError(f"wanted text as {name} of an Icechunk repository, found {type(value).__name__}")
    return quote(value, safe="/: ").replace("::", "%3A%3A")


def session_place(store: Any) -> tuple[str, dict[str, str]]:
    """Return the URL of the snapshot that an IcechunkStore reads, and how to get there."""
    session = store.session
    if session.has_uncommitted_changes:
        raise UnsupportedError("an Icechunk session with changes that are not committed cannot be read")
    try:
        state = unpacked(session._session.as_bytes())
        storage, prefixes = state[2], list(state[4][1])
        root, options = storage_place(storage)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise UnsupportedError(
            "this version of icechunk says in an unknown way where its stores are: "
            "wanted the URL of the repository, such as icechunk::s3://bucket/repository"
        ) from error
    url = url_of(
        f"icechunk::{root}",
        {"snapshot_id": session.snapshot_id, "authorize_virtual_chunk_access": prefixes},
    )
    return url, options


def storage_place(storage: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """Return the URL of what icechunk calls a storage, and how to get there."""
    backend = storage.get("backend", storage)
    kind = backend.get("object_store_provider_type", storage["type"])
    if kind == "local_file_system_object_store_provider":
        return str(backend["path"]), {}
    if (
        kind in ("S3Storage", "s3_object_store_provider")
        and backend.get("key_layout", "Standard") == "Standard"
    ):
        prefix = (backend.get("prefix") or "").strip("/")
        root = f"s3://{backend['bucket']}/{prefix}".rstrip("/")
        return root, s3_options(backend.get("config")) | s3_credentials(backend.get("credentials"))
    raise UnsupportedError(
        f"stores of icechunk in storage of kind {kind} cannot be read as they are: "
        "wanted the URL of the repository, such as icechunk::gs://bucket/repository, with storage_options"
    )


def s3_options(config: list[Any] | None) -> dict[str, str]:
    """Return icechunk's S3Options as options."""
    if config is None:
        return {}
    region, endpoint, anonymous, allow_http, path_style = config[:5]
    options = {"region": region, "endpoint": endpoint}
    found = {name: value for name, value in options.items() if value is not None}
    if anonymous:
        found["skip_signature"] = "true"
    if allow_http:
        found["allow_http"] = "true"
    if path_style:
        found["virtual_hosted_style_request"] = "false"
    if len(config) > 6 and config[6]:
        found["request_payer"] = "true"
    return found


def s3_credentials(credentials: list[Any] | str | None) -> dict[str, str]:
    """Return icechunk's S3Credentials as options."""
    kind, *values = [credentials] if isinstance(credentials, str) else credentials or ["from_env"]
    match kind:
        case "from_env":
            return {}
        case "anonymous":
            return {"skip_signature": "true"}
        case "static":
            names = ("access_key_id", "secret_access_key", "session_token")
            return {name: value for name, value in zip(names, values, strict=False) if value is not None}
    raise UnsupportedError(
        f"stores of icechunk with credentials of kind {kind} cannot be read as they are: "
        "wanted the URL of the repository, with a credential_provider in storage_options"
    )


def unpacked(data: bytes) -> Any:
    """Return what MessagePack holds."""
    value, end = value_at(data, 0)
    if end != len(data):
        raise ValueError("bytes behind a value")
    return value


# What the first byte of a value says: how many bytes its length or number takes, and what it is.
SIZED = {
    **{0xC4 + power: (1 << power, "bytes") for power in range(3)},
    **{0xCC + power: (1 << power, "unsigned") for power in range(4)},
    **{0xD0 + power: (1 << power, "signed") for power in range(4)},
    **{0xD9 + power: (1 << power, "text") for power in range(3)},
    **{0xDC + power: (2 << power, "list") for power in range(2)},
    **{0xDE + power: (2 << power, "dict") for power in range(2)},
}


def value_at(data: bytes, at: int) -> tuple[Any, int]:
    """Return a value of MessagePack, and where it ends."""
    first, at = data[at], at + 1
    if first in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[first], at
    if first in (0xCA, 0xCB):
        width = 4 << (first - 0xCA)
        return struct.unpack_from(">f" if width == 4 else ">d", data, at)[0], at + width
    if first in SIZED:
        width, kind = SIZED[first]
        number = int.from_bytes(data[at : at + width], "big", signed=kind == "signed")
        at += width
    elif first < 0x80 or first >= 0xE0:
        return first - (first >= 0xE0) * 256, at
    elif first < 0xC0:
        number, kind = first & (31 if first >= 0xA0 else 15), "text"
        if first < 0xA0:
            kind = "dict" if first < 0x90 else "list"
    else:
        raise ValueError("a value of an unknown kind")
    if kind in ("signed", "unsigned"):
        return number, at
    if kind in ("text", "bytes"):
        raw = data[at : at + number]
        if len(raw) != number:
            raise ValueError("bytes that end early")
        return (raw.decode() if kind == "text" else raw), at + number
    found = []
    for _ in range(number * (2 if kind == "dict" else 1)):
        value, at = value_at(data, at)
        found.append(value)
    if kind == "list":
        return found, at
    keys = (tuple(key) if isinstance(key, list) else key for key in found[::2])
    return dict(zip(keys, found[1::2], strict=True)), at
