"""The files of a conversion, and how they are reached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import Any

from swath.errors import InvalidError
from swath.options import Provider, split

type File = str | PathLike[str]
type Files = File | Iterable[File]
type Sources = tuple[dict[str, str], Provider | None]


def names_of(files: Files) -> list[str]:
    """Return the paths and URLs of one file or of several."""
    names = [name_of(file) for file in ([files] if isinstance(files, str | PathLike) else files)]
    if not names:
        raise InvalidError("wanted at least one file, found none")
    return names


def name_of(file: File) -> str:
    """Return the path or URL of a file."""
    name = fspath(file)
    if not isinstance(name, str):
        raise InvalidError(f"wanted paths and URLs of files as text, found {name!r}")
    return name


def sources_of(storage_options: Mapping[str, Any] | None) -> Sources:
    """Return how files are reached."""
    return split(storage_options)
