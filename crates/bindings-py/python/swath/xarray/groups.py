"""The group that is opened, and what lies below it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

from swath._swath import Array, Group, open_group
from swath.errors import InvalidError, MemberNotFoundError, NotFoundError, UnsupportedError

type Arrays = dict[str, Array]


@dataclass(frozen=True, slots=True)
class Opening:
    """How a group is opened: by the names of the engine ``zarr``, with what `swath.open` takes besides.

    Attributes
    ----------
    group : str or None
        The group's path in the store; the root where it is left out.
    consolidated : bool or None
        False where consolidated metadata is passed over, as it may be older than what is stored.
    zarr_format : {2, 3} or None
        What is wanted; whatever is found where it is left out.
    options : mapping
        What `swath.open` takes by name.
    """

    group: str | None = None
    consolidated: bool | None = None
    zarr_format: Literal[2, 3] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def open(self, source: Any) -> Group:
        """Open the group in a store.

        Raises
        ------
        NotFoundError
            There is no such group.
        InvalidError
            It is an array, or of another format. A ValueError too.
        UnsupportedError, StorageError
            As `swath.open`.
        """
        path = (self.group or "").strip("/")
        try:
            group = self._member(self._root(source), path)
        except MemberNotFoundError:
            raise
        except NotFoundError:
            # A store may hold groups without being a group itself.
            if not path or not isinstance(source, str | PathLike):
                raise
            group = self._root(f"{fspath(source).rstrip('/')}/{path}")
        if self.zarr_format is not None and group.zarr_format != self.zarr_format:
            message = (
                f"wanted a group of Zarr format {self.zarr_format} at {group.store_path}, "
                f"found one of format {group.zarr_format}"
            )
            raise InvalidError(message)
        return group

    def _root(self, source: Any) -> Group:
        if isinstance(source, Group):
            return source
        place = _absolute(source)
        if self.consolidated is False:
            try:
                # Groups that may be written to are read as they are stored now.
                return open_group(place, "r+", **self.options)
            except UnsupportedError:
                pass
        return open_group(place, **self.options)

    def _member(self, root: Group, path: str) -> Group:
        node = root[path] if path else root
        if not isinstance(node, Group):
            message = f"wanted a group at {node.store_path}, found an array"
            raise InvalidError(message)
        return node


def _absolute(source: Any) -> Any:
    """Write a local path as xarray does; URLs and stores are left as they are."""
    if isinstance(source, PathLike):
        source = fspath(source)
    if not isinstance(source, str) or "://" in source or "::" in source:
        return source
    return str(Path(source).expanduser().absolute())


def arrays_of(group: Group) -> Arrays:
    """Open the arrays directly below a group."""
    return dict(group.arrays())


def groups_below(root: Group) -> dict[str, tuple[Group, Arrays]]:
    """Open a group and all groups below it, each with the arrays that lie directly in it.

    Returns
    -------
    dict of str to (Group, dict of str to Array)
        By path relative to the root, which is "" itself; each group before what it holds.
    """
    found: dict[str, tuple[Group, Arrays]] = {"": (root, {})}
    for path, node in root.walk():
        if isinstance(node, Group):
            found[path] = (node, {})
            continue
        parent, _, name = path.rpartition("/")
        if parent in found:
            found[parent][1][name] = node
    return found
