"""New arrays and groups, by zarr-python's names and with its defaults."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.dtypes import StringDType
from numpy.lib.recfunctions import repack_fields

from swath import _swath
from swath.attributes import as_json
from swath.errors import InvalidError, UnsupportedError

if TYPE_CHECKING:
    import numpy.typing as npt

_Codecs = Iterable[Mapping[str, Any] | object] | Mapping[str, Any] | object | None

# A fill value that was not given: None is one that may be.
DEFAULT_FILL_VALUE: Any = type("DefaultFillValue", (), {"__repr__": lambda _: "<default>"})()


def create_array(
    store: str | PathLike[str] | object,
    *,
    name: str | None = None,
    shape: int | Sequence[int] | None = None,
    dtype: npt.DTypeLike | Mapping[str, Any] | None = None,
    data: npt.ArrayLike | None = None,
    chunks: int | Sequence[int | Sequence[int]] | Literal["auto"] = "auto",
    shards: Sequence[int | Sequence[int]] | Mapping[str, Any] | Literal["auto"] | None = None,
    filters: _Codecs = "auto",
    compressors: _Codecs = "auto",
    serializer: Mapping[str, Any] | object = "auto",
    fill_value: Any = DEFAULT_FILL_VALUE,
    order: Literal["C", "F"] | None = None,
    zarr_format: Literal[2, 3] | None = 3,
    attributes: Mapping[str, Any] | None = None,
    chunk_key_encoding: Mapping[str, Any] | None = None,
    dimension_names: Iterable[str | None] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    config: Mapping[str, Any] | None = None,
    write_data: bool = True,
) -> _swath.Array:
    """Make an array.

    Parameters
    ----------
    store : str, os.PathLike or a store
        As for `swath.open`; a directory is made where there is none.
    name : str, optional
        The array's path in the store; the root where it is left out. Groups above it are made too.
    shape : int or tuple of int, optional
        Elements along each axis. Left out where `data` is given.
    dtype : dtype, str or dict, optional
        What an element is: whatever NumPy takes, or the name of a Zarr v3 data type. `str`, "string" and
        NumPy's `StringDType` are strings of any length, "bytes" and "variable_length_bytes" byte strings of
        any length. Left out where `data` is given.
    data : array_like, optional
        What the array is to hold.
    chunks : int, tuple of int or "auto", default "auto"
        Elements of a chunk along each axis; inner chunks, where there are shards. A list of lengths in place
        of one has chunks that differ in length along that axis: `[[1, 3, 2], 4]`, in v3 without shards.
    shards : tuple of int, "auto", dict or None, default None
        Elements of a shard along each axis, or lists of lengths, as of chunks; a dict of `shape` and
        `index_location`. Only Zarr v3 has shards. Those that differ in length are read and written whole.
    filters, compressors : list of codecs, "auto" or None, default "auto"
        What chunks go through: dicts as metadata has them, or codecs of zarr-python or numcodecs. Without
        filters, and with zstd, where they are left out; without any where they are None or empty.
    serializer : dict, codec or "auto", default "auto"
        What makes bytes of elements, in v3: little-endian bytes where it is left out.
    fill_value : scalar, optional
        What elements that are not stored are; zero where it is left out. None is no value in v2, and zero
        in v3.
    order : {"C", "F"}, optional
        The order of elements in the chunks of a v2 array. In v3 it says nothing.
    zarr_format : {2, 3}, default 3
        The format.
    attributes : dict, optional
        The user's attributes.
    chunk_key_encoding : dict, optional
        `{"name": "default" or "v2", "separator": "/" or "."}`.
    dimension_names : list of str or None, optional
        A name or None for each axis, in v3.
    storage_options : dict, optional
        As for `swath.open`.
    overwrite : bool, default False
        Whether what is there already is removed, with all that is below it.
    config : dict, optional
        `{"write_empty_chunks": True}` has chunks that hold nothing but the fill value stored.
    write_data : bool, default True
        Whether `data` is written, or only says shape and dtype.

    Returns
    -------
    Array
        To be written to.

    Raises
    ------
    InvalidError
        There is a node already, or the arguments contradict each other. A ValueError too.
    UnsupportedError
        A codec or data type that swath does not have, or storage that cannot be written to.
    StorageError
        The storage failed.

    Examples
    --------
    >>> array = swath.create_array("new.zarr", shape=(100, 80), dtype="f4", chunks=(10, 80))
    >>> array[:10] = 1.5
    >>> array.append(numpy.zeros((5, 80)))
    (105, 80)
    """
    options = {
        "shape": shape,
        "dtype": dtype,
        "data": data,
        "chunks": chunks,
        "shards": shards,
        "filters": filters,
        "compressors": compressors,
        "serializer": serializer,
        "fill_value": fill_value,
        "order": order,
        "zarr_format": zarr_format,
        "attributes": attributes,
        "chunk_key_encoding": chunk_key_encoding,
        "dimension_names": dimension_names,
        "overwrite": overwrite,
        "config": config,
        "write_data": write_data,
    }
    return _swath._create_array(store, name or "", storage_options, options)


def specification(
    *,
    shape: int | Sequence[int] | None = None,
    dtype: npt.DTypeLike | Mapping[str, Any] | None = None,
    data: npt.ArrayLike | None = None,
    chunks: int | Sequence[int | Sequence[int]] | Literal["auto"] = "auto",
    shards: Sequence[int | Sequence[int]] | Mapping[str, Any] | Literal["auto"] | None = None,
    filters: _Codecs = "auto",
    compressors: _Codecs = "auto",
    serializer: Mapping[str, Any] | object = "auto",
    fill_value: Any = DEFAULT_FILL_VALUE,
    order: Literal["C", "F"] | None = None,
    zarr_format: Literal[2, 3] | None = 3,
    attributes: Mapping[str, Any] | None = None,
    chunk_key_encoding: Mapping[str, Any] | None = None,
    dimension_names: Iterable[str | None] | None = None,
    overwrite: bool = False,
    config: Mapping[str, Any] | None = None,
    write_data: bool = True,
) -> tuple[str, Any]:
    """Check what an array is to be and turn it into JSON; and what is to be written to it, or None."""
    zarr_format = 3 if zarr_format is None else zarr_format
    if zarr_format not in (2, 3):
        raise _invalid(f"wanted zarr_format 2 or 3, found {zarr_format!r}")
    if data is not None:
        if shape is not None or dtype is not None:
            raise _invalid("wanted either `data` or `shape` and `dtype`, found both")
        data = np.asanyarray(data)
        shape, dtype = data.shape, data.dtype
    if shape is None or dtype is None:
        raise _invalid("wanted `shape` and `dtype`, or `data`")
    lengths = _lengths(shape, "shape")
    name, numpy_dtype = _data_type(dtype)
    found: dict[str, Any] = {
        "zarr_format": zarr_format,
        "shape": lengths,
        "dtype": name,
        "overwrite": bool(overwrite),
        "attributes": json.loads(as_json(attributes or {})),
        "write_empty_chunks": bool((config or {}).get("write_empty_chunks", False)),
    }
    if not _is_auto(chunks):
        axes = _axis_chunks(chunks, lengths, "chunks")
        found |= {"chunks": _extents(chunks, lengths, "chunks")} if axes is None else {"axis_chunks": axes}
    if isinstance(shards, Mapping):
        found["index_location"] = shards.get("index_location", "end")
        shards = shards["shape"]
    if shards is not None:
        axes = None if _is_auto(shards) else _axis_chunks(shards, lengths, "shards")
        if axes is not None:
            found["axis_shards"] = axes
        else:
            found["shards"] = "auto" if _is_auto(shards) else _extents(shards, lengths, "shards")
    for key, codecs in (("filters", filters), ("compressors", compressors)):
        if not _is_auto(codecs):
            found[key] = [_codec(codec, zarr_format, numpy_dtype) for codec in _listed(codecs)]
    if not _is_auto(serializer):
        found["serializer"] = _codec(serializer, zarr_format, numpy_dtype)
    if fill_value is not DEFAULT_FILL_VALUE:
        found["fill_value"] = None if fill_value is None else _fill_value(fill_value, numpy_dtype)
    if order is not None:
        found["order"] = order
    if chunk_key_encoding is not None:
        found |= _key_encoding(chunk_key_encoding)
    if dimension_names is not None:
        found["dimension_names"] = list(dimension_names)
    return json.dumps(found), data if write_data else None


def require_array(
    group: _swath.Group, name: str, shape: int | Sequence[int], dtype: Any, exact: bool, **options: Any
) -> _swath.Array:
    """Open an array of a group, or make it: see `Group.require_array`."""
    if name not in group:
        return group.create_array(name, shape=shape, dtype="f8" if dtype is None else dtype, **options)
    found = group[name]
    lengths = tuple(_lengths(shape, "shape"))
    if not isinstance(found, _swath.Array):
        raise _invalid(f"wanted an array at {name!r}, or nothing, found a group")
    if found.shape != lengths:
        raise _invalid(f"wanted {name!r} of shape {lengths}, found {found.shape}")
    if (variable := _variable_length(dtype)) is not None:
        wanted: np.dtype[Any] = StringDType() if variable == "string" else np.dtype(object)
    else:
        wanted = found.dtype if dtype is None else np.dtype(dtype)
    if found.dtype != wanted and (exact or not np.can_cast(found.dtype, wanted)):
        raise _invalid(f"wanted {name!r} of dtype {wanted}, found {found.dtype}")
    return found


def _invalid(message: str) -> InvalidError:
    return InvalidError(message)


def _is_auto(value: Any) -> bool:
    # Arrays compare themselves item by item.
    return isinstance(value, str) and value == "auto"


def _lengths(value: Any, what: str) -> list[int]:
    try:
        lengths = [int(value)] if np.ndim(value) == 0 else [int(length) for length in value]
    except (TypeError, ValueError) as error:
        message = f"wanted {what} as an int or a tuple of ints, found {value!r}"
        raise InvalidError(message) from error
    if any(length < 0 for length in lengths):
        raise _invalid(f"wanted {what} without negative lengths, found {value!r}")
    return lengths


def _extents(value: Any, shape: list[int], what: str) -> list[int]:
    """Complete chunk extents: one int is for every axis, -1 a whole axis, as are those missing at the end."""
    if np.ndim(value) == 0:
        value = [value] * len(shape)
    extents = [
        max(length, 1) if extent == -1 else extent for extent, length in zip(value, shape, strict=False)
    ]
    return _lengths(
        [*extents, *value[len(shape) :], *(max(length, 1) for length in shape[len(extents) :])], what
    )


def _axis_chunks(chunks: Any, shape: list[int], what: str) -> list[Any] | None:
    """Say the chunks, or shards, of each axis where some axis has a list of their lengths; else None."""
    if isinstance(chunks, int) or not any(np.ndim(axis) for axis in chunks):
        return None
    if len(chunks) != len(shape):
        message = f"wanted {what} for each of {len(shape)} axes, found {chunks!r}"
        raise _invalid(message)
    axes = [_lengths(axis, what) if np.ndim(axis) else int(axis) for axis in chunks]
    for axis, length in zip(axes, shape, strict=True):
        if isinstance(axis, list) and sum(axis) < length:
            message = f"wanted {what} for all of {length} elements, found {axis}, which hold {sum(axis)}"
            raise _invalid(message)
    return axes


def _data_type(dtype: Any) -> tuple[Any, np.dtype[Any] | None]:
    """Say a data type as metadata has it, and as NumPy does, if it does."""
    if isinstance(dtype, Mapping):
        return dict(dtype), None
    if hasattr(dtype, "to_json") and hasattr(dtype, "to_native_dtype"):
        # A data type of zarr-python.
        native = dtype.to_native_dtype()
        return dtype.to_json(zarr_format=3), None if native.kind in "TO" else native
    if (variable := _variable_length(dtype)) is not None:
        return variable, None
    try:
        found = np.dtype(dtype)
    except TypeError:
        if isinstance(dtype, str):
            return dtype, None
        raise
    if found.subdtype is not None:
        message = f"data type {found}: elements that are arrays, but for fields of structures"
        raise UnsupportedError(message)
    if found.names is not None:
        packed = repack_fields(found, recurse=True)
        return _fields(packed), packed
    if found.kind == "V" and found.type is not np.void:
        # Those of ml_dtypes, which have the names of v3.
        return found.name, found
    return found.str, found


def _fields(dtype: np.dtype[Any]) -> list[list[Any]]:
    """Say the fields of a structure as v2 metadata has them."""
    fields: list[list[Any]] = []
    described: Mapping[str, Any] = dtype.fields or {}
    for name in dtype.names or ():
        inner, _, *title = described[name]
        if title:
            message = f"the field {name!r} with the title {title[0]!r}"
            raise UnsupportedError(message)
        base, extents = inner.subdtype or (inner, ())
        if base.kind == "V" and base.names is None and base.type is not np.void:
            message = f"the field {name!r} of {base.name}, which has no name in a structure"
            raise UnsupportedError(message)
        said = _fields(base) if base.names is not None else base.str
        fields.append([name, said, list(extents)] if extents else [name, said])
    return fields


def _variable_length(dtype: Any) -> str | None:
    """Name the data type of v3 whose elements have lengths of their own, if it is one."""
    # NumPy takes "str" and "bytes" for strings of a fixed length, zarr-python does not.
    if dtype is str or (isinstance(dtype, str) and dtype in ("str", "string")):
        return "string"
    if isinstance(dtype, str) and dtype in ("bytes", "variable_length_bytes"):
        return "variable_length_bytes"
    return "string" if getattr(dtype, "kind", None) == "T" or dtype is StringDType else None


def _listed(codecs: Any) -> list[Any]:
    if codecs is None:
        return []
    if isinstance(codecs, Mapping) or not isinstance(codecs, Iterable):
        return [codecs]
    return list(codecs)


def _codec(codec: Any, zarr_format: int, dtype: np.dtype[Any] | None) -> dict[str, Any]:
    """Say a codec as metadata has it."""
    if isinstance(codec, Mapping):
        found = dict(codec)
        if found.get("name") == "blosc":
            found["configuration"] = _blosc(dict(found.get("configuration") or {}), dtype)
        return found
    if zarr_format == 2 and hasattr(codec, "get_config"):
        return dict(codec.get_config())
    if zarr_format == 3 and hasattr(codec, "to_dict"):
        text = json.dumps(codec.to_dict(), default=lambda value: getattr(value, "value", str(value)))
        document: dict[str, Any] = json.loads(text)
        if document.get("name") == "blosc":
            # What zarr-python has not been told it decides once it knows the data type.
            undecided = getattr(codec, "_tunable_attrs", ())
            told = {key: value for key, value in document["configuration"].items() if key not in undecided}
            document["configuration"] = _blosc(told, dtype)
        return document
    raise _invalid(f"wanted a codec of Zarr v{zarr_format} as a dict, found {codec!r}")


def _blosc(told: dict[str, Any], dtype: np.dtype[Any] | None) -> dict[str, Any]:
    """Complete a configuration of blosc as zarr-python does."""
    typesize = told.get("typesize") or (1 if dtype is None else dtype.itemsize)
    shuffle = told.get("shuffle") or ("bitshuffle" if typesize == 1 else "shuffle")
    defaults = {"cname": "zstd", "clevel": 5, "blocksize": 0}
    return {**defaults, **told, "typesize": typesize, "shuffle": shuffle}


def _fill_value(value: Any, dtype: np.dtype[Any] | None) -> Any:
    """Say a fill value as v3 metadata has it."""
    if dtype is None:
        return list(value) if isinstance(value, bytes) else value
    if dtype.kind in "mM":
        return "NaT" if np.isnat(np.asarray(value, dtype)) else int(np.asarray(value, dtype).astype("i8"))
    if dtype.kind == "U":
        return value.decode() if isinstance(value, bytes) else str(value)
    if dtype.kind == "S":
        return list(np.asarray(value, dtype).tobytes())
    scalar = np.asarray(value, dtype.newbyteorder("="))[()]
    if dtype.kind == "b":
        return bool(scalar)
    if dtype.kind in "iu":
        return int(scalar)
    if dtype.kind == "f":
        return _float(scalar)
    if dtype.kind == "c":
        return [_float(scalar.real), _float(scalar.imag)]
    if dtype.type is not np.void:
        number = float(np.asarray(value, dtype))
        if "int" in dtype.name:
            return int(number)
        return "NaN" if np.isnan(number) else _float(number)
    return list(np.asarray(value, dtype).tobytes())


def _float(value: Any) -> Any:
    """Say a float, in hexadecimal where it is none that JSON has."""
    if np.isfinite(value):
        return float(value)
    if not np.isnan(value):
        return "Infinity" if 0 < value else "-Infinity"
    return "0x" + np.asarray(value, value.dtype.newbyteorder(">")).tobytes().hex()


def _key_encoding(encoding: Any) -> dict[str, str]:
    if not isinstance(encoding, Mapping):
        encoding = encoding.to_dict()
    name = encoding["name"]
    configuration = encoding.get("configuration", encoding)
    if name not in ("default", "v2"):
        raise _invalid(f"wanted chunk_key_encoding 'default' or 'v2', found {name!r}")
    return {"keys": name, "separator": configuration.get("separator", "/" if name == "default" else ".")}
