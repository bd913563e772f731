"""Where the store objects of other libraries point: known by their classes' names, never imported."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable, Mapping
from operator import index
from os import PathLike, fspath
from typing import Any, NamedTuple

from swath._swath import _option_name
from swath.errors import InvalidError, UnsupportedError
from swath.icechunk import OPTIONS as ICECHUNK_OPTIONS
from swath.icechunk import session_place, url_of
from swath.options import Provider, checked_provider, split


class References(NamedTuple):
    """What is known of references besides their URL."""

    document: str | None = None
    """The references in JSON, where they are no object of their own: the URL is then only their name."""
    protocol: str | None = None
    """Of targets that are named without one."""
    target: str | None = None
    """Of references that name none."""
    options: dict[str, str] | None = None
    """Of targets, where they are others than those of the document."""
    folder: str = ""
    """The path of a node among the keys."""


class Place(NamedTuple):
    """A URL, or the path of a local directory, and how to get there."""

    url: str
    options: dict[str, str]
    provider: Provider | None
    references: References | None = None
    folder: str = ""
    """The path of a node in the store that the URL names, of an Icechunk repository."""


def place(store: Any, storage_options: Mapping[str, Any] | None) -> Place:
    """Return where a path, a URL or a store object points; given options go before its own."""
    if is_reference(store, storage_options):
        return reference_place(store, storage_options or {})
    if is_icechunk(store, storage_options):
        named = storage_options or {}
        store = url_of(as_icechunk(store), named)
        storage_options = {name: value for name, value in named.items() if name not in ICECHUNK_OPTIONS}
    given, provider = split(storage_options)
    found = located(store)
    # An option may have another spelling in the store.
    names = {_option_name(name) for name in given}
    own = {name: value for name, value in found.options.items() if _option_name(name) not in names}
    return found._replace(options=own | given, provider=provider or found.provider)


def located(store: Any) -> Place:
    """Return where a path, a URL or a store object points."""
    if isinstance(store, str):
        return Place(store, {}, None)
    # pathlib's paths, and everything that stands for a local path.
    if isinstance(store, PathLike):
        path = fspath(store)
        return Place(path if isinstance(path, str) else path.decode(), {}, None)
    if isinstance(store, dict):
        return in_memory(store, "references")
    kind = type(store)
    package = kind.__module__.partition(".")[0]
    known = READERS.get((package, kind.__qualname__))
    if known is not None and kind.__module__ != "obstore.fsspec":
        return known(store)
    if package == "builtins":
        raise TypeError(f"wanted a URL, a path or a store, found {kind.__qualname__}")
    raise unsupported(store)


def unsupported(store: Any, why: str = "") -> UnsupportedError:
    """Return the error that names a store's class."""
    name = f"{type(store).__module__}.{type(store).__qualname__}"
    wanted = (
        "a URL, a path, or a store of obstore, zarr-python or fsspec for S3, GCS, Azure, HTTP or local files"
    )
    return UnsupportedError(f"stores of class {name} cannot be read{why}: wanted {wanted}")


def joined(root: str, path: str) -> str:
    """Return a path below a URL or a directory."""
    path = path.strip("/")
    if root.startswith("zip://::"):
        return f"zip://{path}::{root.removeprefix('zip://::')}"
    return f"{root.rstrip('/')}/{path}" if path else root


# obstore: what a store was made with is what it pickles.


def arguments(store: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return what an obstore store was made with."""
    positional, named = store.__getnewargs_ex__()
    return positional, named


def obstore(scheme: str, bucket_names: tuple[str, ...]) -> Callable[[Any], Place]:
    """Return the reader of an obstore class for one scheme; its bucket is the first of these names."""

    def read(store: Any) -> Place:
        _, named = arguments(store)
        config = dict(named.get("config") or {})
        buckets = [config.pop(name) for name in bucket_names if name in config]
        if not buckets:
            raise InvalidError(
                f"wanted a store with a bucket or a container, found {type(store).__qualname__}"
            )
        options, _ = split(config)
        options |= requests(named)
        root = f"{scheme}://{buckets[0]}"
        provider = checked_provider(named.get("credential_provider"))
        return Place(joined(root, str(named.get("prefix") or "")), options, provider)

    return read


def requests(named: Mapping[str, Any]) -> dict[str, str]:
    """Return the options of an obstore store that are about requests."""
    names = ("client_options", "retry_config")
    return split({name: named[name] for name in names if name in named})[0]


def obstore_http(store: Any) -> Place:
    """Return where an obstore HTTPStore points."""
    positional, named = arguments(store)
    url = positional[0] if positional else named["url"]
    return Place(str(url), requests(named), None)


def obstore_local(store: Any) -> Place:
    """Return where an obstore LocalStore points."""
    positional, named = arguments(store)
    prefix = positional[0] if positional else named.get("prefix")
    return Place("/" if prefix is None else str(prefix), {}, None)


# Icechunk.


def is_icechunk(store: Any, options: Mapping[str, Any] | None) -> bool:
    """Return whether options are those of an Icechunk repository, which a URL or a path names."""
    return isinstance(store, str | PathLike) and any(name in ICECHUNK_OPTIONS for name in options or {})


def as_icechunk(store: Any) -> str:
    """Return the URL of a repository with what says that it is one."""
    url = located(store).url
    scheme = url.partition("::")[0].partition("://")[0]
    return url if "::" in url and scheme.lower() == "icechunk" else f"icechunk::{url}"


def icechunk(store: Any) -> Place:
    """Return where icechunk's IcechunkStore points: the snapshot that it reads now."""
    url, options = session_place(store)
    return Place(url, options, None)


# zarr-python.


def zarr_local(store: Any) -> Place:
    """Return where zarr-python's LocalStore points."""
    return Place(str(store.root), {}, None)


def zarr_object(store: Any) -> Place:
    """Return where the obstore store in zarr-python's ObjectStore points."""
    return located(store.store)


def zarr_fsspec(store: Any) -> Place:
    """Return where zarr-python's FsspecStore points."""
    return file_system(store.fs, store.path)


def zarr_zip(store: Any) -> Place:
    """Return where zarr-python's ZipStore points."""
    return Place(f"zip://::{store.path}", {}, None)


def zarr_path(path: Any) -> Place:
    """Return where a path in a store of zarr-python points."""
    found = located(path.store)
    if found.references is not None:
        folder = joined(found.references.folder, path.path).lstrip("/")
        return found._replace(references=found.references._replace(folder=folder))
    if found.url.startswith("icechunk://"):
        return found._replace(folder=path.path.strip("/"))
    return found._replace(url=joined(found.url, path.path))


def zarr_memory(store: Any) -> Place:
    """Return a place of what zarr-python's MemoryStore holds now."""
    return in_memory(store._store_dict, "memory")


# References, and what is in memory: handed over as references.

REFERENCE_OPTIONS = frozenset(
    {
        "fo",
        "ref_storage_args",
        "remote_options",
        "remote_protocol",
        "target",
        "target_options",
        "target_protocol",
    }
)

# Options of fsspec's ReferenceFileSystem that say how it reads, and merges reads.
REFERENCE_ONLY = frozenset(
    {"asynchronous", "cache_size", "max_block", "max_gap", "simple_templates", "skip_instance_cache"}
)


def is_reference(store: Any, options: Mapping[str, Any] | None) -> bool:
    """Return whether a URL or its options are those of fsspec's references."""
    if isinstance(store, str) and store.startswith("reference://") and not store.startswith("reference://::"):
        return True
    is_named = isinstance(store, str | PathLike | dict)
    return is_named and any(name in REFERENCE_OPTIONS for name in options or {})


def reference_place(store: Any, options: Mapping[str, Any]) -> Place:
    """Return a place of references, by the options of fsspec's ReferenceFileSystem."""
    named = {name: value for name, value in options.items() if name not in REFERENCE_ONLY}
    fo, folder = named.pop("fo", None), ""
    if isinstance(store, str) and store.startswith("reference://"):
        store, folder = fo, store.removeprefix("reference://").strip("/")
    if store is None:
        raise InvalidError('wanted the references of "reference://" as option fo, found none')
    for name in ("fs", "template_overrides"):
        if named.pop(name, None) is not None:
            raise UnsupportedError(f"the option {name} of references is not known: wanted remote_protocol")
    protocol, target = named.pop("remote_protocol", None), named.pop("target", None)
    targets, provider = split(remote) if (remote := named.pop("remote_options", None)) else (None, None)
    own = (named.pop("ref_storage_args", None) or {}) | (named.pop("target_options", None) or {})
    scheme = named.pop("target_protocol", None)
    found = located(with_protocol(store, scheme))
    given, own_provider = split(named | own)
    references = found.references or References()
    references = references._replace(protocol=protocol, target=target, options=targets, folder=folder)
    return found._replace(
        options=given, provider=own_provider or provider or found.provider, references=references
    )


def with_protocol(store: Any, protocol: str | None) -> Any:
    """Return the URL of what is named without a protocol."""
    if not isinstance(store, str) or "://" in store or protocol in (None, "file", "local"):
        return store
    return f"{protocol}://{store}"


def in_memory(mapping: Mapping[str, Any], name: str) -> Place:
    """Return a place of what a mapping of keys to bytes or to kerchunk's references holds now."""
    return Place(name, {}, None, References(json.dumps(mapping, default=as_json)))


def as_json(value: Any) -> Any:
    """Return bytes, buffers of zarr-python's and NumPy's integers in a form that JSON has."""
    if hasattr(value, "to_bytes") and not isinstance(value, int):
        value = value.to_bytes()
    if isinstance(value, bytes | bytearray | memoryview):
        return "base64:" + base64.b64encode(value).decode()
    return index(value)


def manifests(store: Any) -> Place:
    """Return a place of the chunks that VirtualiZarr's ManifestStore points to, now."""
    found: dict[str, Any] = {}
    add_group(store._group, "", found)
    options, provider = options_of_registry(store._registry)
    place = in_memory(found, "manifests")
    return place._replace(options=options, provider=provider)


def add_group(group: Any, path: str, found: dict[str, Any]) -> None:
    """Add the documents and the chunks of a ManifestGroup."""
    found[f"{path}zarr.json"] = json.dumps(group.metadata.to_dict())
    for name, array in group.arrays.items():
        add_array(array, f"{path}{name}/", found)
    for name, member in group.groups.items():
        add_group(member, f"{path}{name}/", found)


def add_array(array: Any, path: str, found: dict[str, Any]) -> None:
    """Add the document and the chunks of a ManifestArray."""
    found[f"{path}zarr.json"] = json.dumps(array.metadata.to_dict())
    manifest = array.manifest
    key = array.metadata.chunk_key_encoding.encode_chunk_key
    parts = (manifest._paths, manifest._offsets, manifest._lengths)
    rows = zip(*(part.ravel().tolist() for part in parts), strict=True)
    inlined = manifest._inlined
    for at, (url, offset, length) in zip(itertools.product(*map(range, parts[0].shape)), rows, strict=True):
        if at in inlined:
            found[path + key(at)] = bytes(inlined[at])
        # What is not stored has no URL.
        elif url:
            found[path + key(at)] = [url, offset, length]


def options_of_registry(registry: Any) -> tuple[dict[str, str], Provider | None]:
    """Return the options of the one obstore store that a ManifestStore reads from over a network."""
    stores = registry_stores(getattr(registry, "map", {}).values())
    places = [found for found in map(located, stores) if "://" in found.url]
    known = [(found.options, found.provider) for found in places]
    if any(one != known[0] for one in known):
        raise UnsupportedError(
            "manifests whose stores are reached with different options: wanted one set of storage_options"
        )
    return known[0] if known else ({}, None)


def registry_stores(entries: Any) -> list[Any]:
    """Return the stores at all depths of a registry's tree of paths."""
    found = []
    for entry in entries:
        if getattr(entry, "store", None) is not None:
            found.append(entry.store)
        found.extend(registry_stores(getattr(entry, "children", {}).values()))
    return found


# fsspec.


def mapper(mapping: Any) -> Place:
    """Return where what ``fsspec.get_mapper`` gave points."""
    return file_system(mapping.fs, mapping.root)


def file_system(fs: Any, path: str) -> Place:
    """Return where a path of an fsspec file system points."""
    kind = type(fs)
    name = (kind.__module__.partition(".")[0], kind.__qualname__)
    if name == ("fsspec", "AsyncFileSystemWrapper"):
        return file_system(fs.sync_fs, path)
    if name == ("fsspec", "ReferenceFileSystem"):
        fo = fs.storage_args[:1] or [None]
        options = {"fo": fo[0], **fs.storage_options}
        return reference_place(f"reference://{path.strip('/')}", options)
    if name == ("fsspec", "ZipFileSystem"):
        return zip_file_system(fs, path)
    scheme = FILE_SYSTEMS.get(name)
    if scheme is None:
        raise unsupported(fs)
    if scheme == "file":
        return Place(path, {}, None)
    if fs.storage_args:
        raise unsupported(fs, " where they were given options by position instead of by name")
    options, provider = split(fs.storage_options)
    url = path if scheme == "http" else f"{scheme}://{path.lstrip('/')}"
    return Place(url, options, provider)


def zip_file_system(fs: Any, path: str) -> Place:
    """Return where a path in the archive of an fsspec ZipFileSystem points."""
    named = dict(fs.storage_options)
    archive = named.get("fo", fs.storage_args[0] if fs.storage_args else None)
    if not isinstance(archive, str):
        raise unsupported(fs, " of an open file")
    protocol = named.get("target_protocol")
    if "://" not in archive and protocol not in (None, "file", "local"):
        archive = f"{protocol}://{archive}"
    options, provider = split(named.get("target_options"))
    return Place(f"zip://{path.strip('/')}::{archive}", options, provider)


FILE_SYSTEMS = {
    ("s3fs", "S3FileSystem"): "s3",
    ("gcsfs", "GCSFileSystem"): "gs",
    ("adlfs", "AzureBlobFileSystem"): "abfs",
    ("fsspec", "HTTPFileSystem"): "http",
    ("fsspec", "LocalFileSystem"): "file",
}

READERS: dict[tuple[str, str], Callable[[Any], Place]] = {
    ("obstore", "S3Store"): obstore("s3", ("bucket", "bucket_name", "aws_bucket", "aws_bucket_name")),
    ("obstore", "GCSStore"): obstore("gs", ("bucket", "bucket_name", "google_bucket", "google_bucket_name")),
    ("obstore", "AzureStore"): obstore("az", ("container_name", "azure_container_name")),
    ("obstore", "HTTPStore"): obstore_http,
    ("obstore", "LocalStore"): obstore_local,
    ("zarr", "LocalStore"): zarr_local,
    ("zarr", "ObjectStore"): zarr_object,
    ("zarr", "FsspecStore"): zarr_fsspec,
    ("zarr", "ZipStore"): zarr_zip,
    ("zarr", "MemoryStore"): zarr_memory,
    ("zarr", "StorePath"): zarr_path,
    ("virtualizarr", "ManifestStore"): manifests,
    ("icechunk", "IcechunkStore"): icechunk,
    ("fsspec", "FSMap"): mapper,
}
