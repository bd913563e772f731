"""File systems for fsspec whose bytes swath reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, override
from urllib.parse import unquote

import fsspec
import numpy as np
from fsspec.implementations.chained import ChainedFileSystem
from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

from swath._swath import KeyStore
from swath.errors import SwathError, UnsupportedError
from swath.io import get_ranges

__all__ = ["SwathChainedFileSystem", "SwathFile", "SwathFileSystem", "register"]

type Wanted = tuple[str, int | None, int | None]

# Schemes whose URLs name a host, so that fsspec keeps them whole.
_HOSTED = ("http", "https")
_SCHEMES = ("file", "s3", "gs", "gcs", "az", "abfs", "abfss", *_HOSTED)
# What fsspec itself takes beside the options of the storage.
_FSSPEC_OWN = frozenset(
    {"asynchronous", "loop", "skip_instance_cache", "use_listings_cache", "listings_expiry_time"}
)


class SwathFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """Objects of one scheme, by fsspec's names.

    Many ranges or files are one batch: `cat_ranges` and `cat` read them together and merge neighbours where
    that pays. Files that are opened are buffered, and written once they are closed. What swath cannot do
    (versions, signed URLs) raises NotImplementedError.

    Parameters
    ----------
    **storage_options
        As for `swath.open`.
    """

    cachable = True
    protocol: str | tuple[str, ...] = "file"
    root_marker = ""

    def __init__(self, **storage_options: Any) -> None:
        own = {name: value for name, value in storage_options.items() if name not in _FSSPEC_OWN}
        super().__init__(**storage_options)
        self._options = own
        self._stores: dict[str, KeyStore] = {}

    @property
    def _scheme(self) -> str:
        return self.protocol if isinstance(self.protocol, str) else self.protocol[0]

    @classmethod
    @override
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        path = fsspec.utils.stringify_path(path)
        protocols = (cls.protocol,) if isinstance(cls.protocol, str) else cls.protocol
        if any(protocol in _HOSTED for protocol in protocols):
            return path
        for protocol in protocols:
            if path.startswith(f"{protocol}://"):
                path = path[len(protocol) + 3 :]
        if "file" in protocols:
            return _absolute(path)
        return path.rstrip("/") or cls.root_marker

    @override
    def unstrip_protocol(self, name: str) -> str:
        path = self._strip_protocol(name)
        return str(path) if "://" in path else f"{self._scheme}://{path}"

    def _place(self, path: str) -> tuple[KeyStore, str, str]:
        """Give the store that holds a path, the path in it, and what stands before it."""
        path = self._strip_protocol(path)
        scheme, rest = path.split("://", 1) if "://" in path else (self._scheme, path)
        if scheme == "file":
            container, key, before = "/", rest.lstrip("/"), "/"
            url = "/"
        else:
            container, _, key = rest.partition("/")
            url = f"{scheme}://{container}"
            if scheme in _HOSTED:
                if "?" in key or "#" in key:
                    raise UnsupportedError(f"{url}: URLs with a query, which swath.io.get_ranges reads")
                key = unquote(key)
            before = f"{url}/" if "://" in path else f"{container}/"
        store = self._stores.get(url)
        if store is None:
            store = self._stores[url] = KeyStore(url, self._options or None)
        return store, key.strip("/"), before

    @override
    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        store, key, before = self._place(path)
        name = f"{before}{key}".rstrip("/") or "/"
        if key:
            size = store.size(key)
            if size is not None:
                return {"name": name, "size": size, "type": "file"}
        if not key or self._is_folder(store, key):
            return {"name": name, "size": 0, "type": "directory"}
        raise FileNotFoundError(path)

    def _is_folder(self, store: KeyStore, key: str) -> bool:
        if self._scheme == "file":
            return Path(f"/{key}").is_dir()
        # Web servers list nothing.
        with suppress(UnsupportedError):
            return bool(store.entries(key))
        return False

    @override
    def ukey(self, path: str) -> str:
        raise NotImplementedError("swath does not tell versions of files apart by a name")

    @override
    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> list[Any]:
        store, key, before = self._place(path)
        folder = f"{before}{key}/" if key else before
        found = [
            {"name": f"{folder}{name}", "size": 0 if size is None else size,
             "type": "directory" if size is None else "file"}
            for name, size in store.entries(key)
        ]  # fmt: skip
        if not found:
            one = self.info(path)
            found = [one] if one["type"] == "file" else []
        return found if detail else [entry["name"] for entry in found]

    @override
    def find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,
        detail: bool = False,
        **kwargs: Any,
    ) -> Any:
        if maxdepth is not None or withdirs:
            return super().find(path, maxdepth=maxdepth, withdirs=withdirs, detail=detail, **kwargs)
        store, key, before = self._place(path)
        found = {before + below: size for below, size in store.keys(key)}
        if not found and key and (size := store.size(key)) is not None:
            found = {before + key: size}
        entries = {name: {"name": name, "size": found[name], "type": "file"} for name in sorted(found)}
        return entries if detail else list(entries)

    @override
    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any) -> bytes:
        return _raised(self._read([path], [start], [end])[0])

    @override
    def cat(self, path: Any, recursive: bool = False, on_error: str = "raise", **kwargs: Any) -> Any:
        paths = self.expand_path(path, recursive=recursive)
        is_one = isinstance(path, str) and paths == [self._strip_protocol(path)]
        found = self._read(paths, [None] * len(paths), [None] * len(paths))
        if is_one:
            return _raised(found[0])
        if on_error == "raise":
            return {path: _raised(one) for path, one in zip(paths, found, strict=True)}
        kept = zip(paths, found, strict=True)
        return {path: one for path, one in kept if on_error == "return" or isinstance(one, bytes)}

    @override
    def cat_ranges(
        self,
        paths: Sequence[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        on_error: str = "return",
        **kwargs: Any,
    ) -> list[Any]:
        starts = [starts] * len(paths) if not isinstance(starts, Iterable) else list(starts)
        ends = [ends] * len(paths) if not isinstance(ends, Iterable) else list(ends)
        if not len(paths) == len(starts) == len(ends):
            found = f"{len(starts)} and {len(ends)}"
            raise ValueError(f"wanted as many starts and ends as paths, {len(paths)}, found {found}")
        if max_gap is not None and all(map(_is_known, starts, ends)):
            return self._read_merged(paths, starts, ends, max_gap, on_error)
        read = self._read(paths, starts, ends)
        return [_raised(one) for one in read] if on_error == "raise" else read

    def _read_merged(
        self, paths: Sequence[str], starts: list[int], ends: list[int], max_gap: int, on_error: str
    ) -> list[Any]:
        urls = [self._url(path) for path in paths]
        try:
            read = get_ranges(urls, starts=starts, ends=ends, coalesce=max_gap, storage_options=self._options)
        except SwathError:
            # One that fails must not fail the others.
            found = self._read(paths, starts, ends)
            return [_raised(one) for one in found] if on_error == "raise" else found
        return [one.tobytes() for one in read.split()]

    def _url(self, path: str) -> str:
        path = self._strip_protocol(path)
        return path if self._scheme == "file" else self.unstrip_protocol(path)

    def _read(
        self, paths: Sequence[str], starts: Sequence[int | None], ends: Sequence[int | None]
    ) -> list[bytes | Exception]:
        """Read what paths hold, those of one bucket or host together; exceptions stand for what failed."""
        batches: dict[int, tuple[KeyStore, list[int], list[Wanted]]] = {}
        for number, (path, start, end) in enumerate(zip(paths, starts, ends, strict=True)):
            store, key, _ = self._place(path)
            if (start or 0) < 0 or (end is not None and end < 0):
                start, end = _from_the_end(start, end, store.size(key) or 0)
            _, numbers, wanted = batches.setdefault(id(store), (store, [], []))
            numbers.append(number)
            wanted.append((key, None, None) if not start and end is None else (key, start or 0, end))
        found: list[bytes | Exception] = [FileNotFoundError(path) for path in paths]
        for store, numbers, wanted in batches.values():
            for number, one in zip(numbers, _gotten(store, wanted), strict=True):
                if one is not None:
                    found[number] = one
        return found

    @override
    def pipe_file(
        self, path: str, value: Any, mode: Literal["create", "overwrite"] = "overwrite", **kwargs: Any
    ) -> None:
        store, key, _ = self._place(path)
        if not store.put(key, np.frombuffer(value, np.uint8), mode == "create"):
            raise FileExistsError(path)
        self.invalidate_cache()

    @override
    def rm_file(self, path: str) -> None:
        store, key, _ = self._place(path)
        if store.size(key) is None:
            raise FileNotFoundError(path)
        store.delete(key)

    _rm = rm_file

    @override
    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        if not recursive or maxdepth is not None:
            for one in self.expand_path(path, recursive=recursive, maxdepth=maxdepth):
                self.rm_file(one)
            return
        for one in [path] if isinstance(path, str) else path:
            store, key, _ = self._place(one)
            if self._scheme == "file" and Path(f"/{key}") in (Path("/"), Path.cwd(), *Path.cwd().parents):
                raise ValueError(f"refuses to remove the working directory: {one!r}")
            if self.info(one)["type"] == "file":
                store.delete(key)
            else:
                store.delete_below(key)

    @override
    def cp_file(self, path1: str, path2: str, **kwargs: Any) -> None:
        if self.isdir(path1):
            return
        self.pipe_file(path2, self.cat_file(path1))

    @override
    def mv(self, path1: Any, path2: Any, recursive: bool = False, **kwargs: Any) -> None:
        if self._strip_protocol(path1) != self._strip_protocol(path2):
            super().mv(path1, path2, recursive=recursive, **kwargs)

    # Folders are there once something is in them.

    @override
    def mkdir(self, path: str, create_parents: bool = True, **kwargs: Any) -> None:
        pass

    @override
    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        pass

    @override
    def rmdir(self, path: str) -> None:
        pass

    @override
    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        cache_options: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> SwathFile:
        return SwathFile(
            self, path, mode, block_size or "default", autocommit, cache_options=cache_options, **kwargs
        )


class SwathFile(AbstractBufferedFile):  # type: ignore[misc]
    """A file of a `SwathFileSystem`: read by blocks that are kept, written whole once it is closed."""

    fs: SwathFileSystem

    def _fetch_range(self, start: int, end: int) -> bytes:
        return self.fs.cat_file(self.path, start, end)

    def _initiate_upload(self) -> None:
        self._parts: list[bytes] = []
        if self.mode == "ab":
            # What fails otherwise must not be taken for an empty file.
            with suppress(FileNotFoundError):
                self._parts.append(self.fs.cat_file(self.path))

    def _upload_chunk(self, final: bool = False) -> bool:
        self._parts.append(self.buffer.getvalue())
        if final and self.autocommit:
            self.commit()
        return True

    def commit(self) -> None:
        """Write the file."""
        self.fs.pipe_file(
            self.path, b"".join(self._parts), mode="create" if self.mode == "xb" else "overwrite"
        )

    def discard(self) -> None:
        """Write nothing."""
        self._parts = []


class SwathChainedFileSystem(ChainedFileSystem, SwathFileSystem):  # type: ignore[misc]
    """The same behind `swath::`, for any scheme: `fsspec.open("swath::s3://bucket/key")`.

    Parameters
    ----------
    target_protocol : str
        The scheme that the paths are of.
    target_options : dict, optional
        As `storage_options` for `swath.open`.

    Examples
    --------
    >>> fsspec.get_mapper("swath::s3://bucket/archive.zarr")["zarr.json"]
    """

    protocol = "swath"

    def __init__(
        self,
        target_protocol: str | None = None,
        target_options: Mapping[str, Any] | None = None,
        fo: str | None = None,
        **storage_options: Any,
    ) -> None:
        super().__init__(**storage_options)
        if target_protocol is None:
            raise ValueError("wanted a URL behind `swath::`, as in swath::s3://bucket/key, found none")
        self._target_protocol = target_protocol
        self._options |= dict(target_options or {})

    @property
    @override
    def _scheme(self) -> str:
        return self._target_protocol

    @classmethod
    @override
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        path = fsspec.utils.stringify_path(path).removeprefix("swath::").removeprefix("swath://")
        scheme, separator, rest = path.partition("://")
        if separator and scheme not in _HOSTED:
            path = rest
        return path.rstrip("/") or "/" if path.startswith("/") else path.rstrip("/")


def register(*protocols: str) -> None:
    """Have fsspec, and all that uses it, read URLs of these schemes by swath.

    Parameters
    ----------
    *protocols : str
        Such as "s3", "gs", "az", "https", "file"; without any, all that swath reads.

    Examples
    --------
    >>> swath.fsspec.register("s3", "gs")
    >>> with fsspec.open("s3://bucket/table.csv") as file:
    ...     file.readline()
    """
    for protocol in protocols or _SCHEMES:
        fsspec.register_implementation(protocol, file_system(protocol), clobber=True)


def file_system(protocol: str) -> type[SwathFileSystem]:
    """Return the class of file systems of a scheme."""
    if protocol not in _SCHEMES:
        raise UnsupportedError(f"wanted one of the schemes {', '.join(_SCHEMES)}, found {protocol!r}")
    found: type[SwathFileSystem] = globals()[_class_name(protocol)]
    return found


def _class_name(protocol: str) -> str:
    return f"Swath{protocol.capitalize()}FileSystem"


# One class a scheme, by names that pickles find.
for _protocol in _SCHEMES:
    _name = _class_name(_protocol)
    globals()[_name] = type(_name, (SwathFileSystem,), {"protocol": _protocol, "__module__": __name__})


def _absolute(path: str) -> str:
    return Path(path.removeprefix("file:")).expanduser().absolute().as_posix()


def _is_known(start: int | None, end: int | None) -> bool:
    return start is not None and end is not None and 0 <= start <= end


def _from_the_end(start: int | None, end: int | None, size: int) -> tuple[int, int]:
    """Resolve offsets as slices do."""
    first, last, _ = slice(start, end).indices(size)
    return first, max(first, last)


def _raised(found: bytes | Exception) -> bytes:
    if isinstance(found, Exception):
        raise found
    return found


def _gotten(store: KeyStore, wanted: list[Wanted]) -> Sequence[bytes | Exception | None]:
    """Read what keys hold; where some cannot be read, each by itself."""
    try:
        return store.get(wanted)
    except SwathError as failed:
        if len(wanted) == 1:
            return [failed]
        return [_gotten(store, [one])[0] for one in wanted]
