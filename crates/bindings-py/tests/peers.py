"""Random arrays by their documents: shape, chunks, shards, type, codecs, fill value; and who can take each.

Each part of a document is a row of docs/compatibility.md, which says what every library reads and writes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from compatibility.features import BYTES, named, regular
from hypothesis import strategies as st

PAGE = Path(__file__).parents[3] / "docs" / "compatibility.md"
ONE_BYTE = {"name": "bytes"}
BIG = named("bytes", endian="big")
CHECKED = {"name": "crc32c"}

TYPES_V3 = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]
TYPES_V2 = ["|b1", "|i1", "<i2", ">i2", "<i8", "|u1", "<u2", ">u4", "<f2", "<f4", ">f8", "<c8", "<c16"]

# Codecs of bytes, by their rows.
PACKED_V3 = {
    "gzip": named("gzip", level=1),
    "zstd": named("zstd", level=1, checksum=False),
    "zstd with checksum": named("zstd", level=1, checksum=True),
    "crc32c": CHECKED,
    "numcodecs.zlib": named("numcodecs.zlib", level=1),
    "numcodecs.lz4": named("numcodecs.lz4", acceleration=1),
    "numcodecs.bz2": named("numcodecs.bz2", level=1),
    "numcodecs.lzma": named("numcodecs.lzma", format=1, check=-1, preset=None, filters=None),
    "numcodecs.adler32": named("numcodecs.adler32", location="start"),
    "numcodecs.fletcher32": named("numcodecs.fletcher32"),
    "numcodecs.jenkins_lookup3": named("numcodecs.jenkins_lookup3", initval=0, prefix=None),
}
BLOSC_V3 = ["lz4, shuffle", "lz4, bitshuffle", "lz4, noshuffle", "blosclz, shuffle", "zstd, bitshuffle"]
PACKED_V2 = {
    "zlib": {"id": "zlib", "level": 1},
    "gzip": {"id": "gzip", "level": 1},
    "zstd": {"id": "zstd", "level": 1},
    "blosc": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
    "lz4": {"id": "lz4", "acceleration": 1},
    "bz2": {"id": "bz2", "level": 1},
    "lzma": {"id": "lzma", "format": 1, "check": -1, "preset": None, "filters": None},
}
FILTERS_V2 = {name: {"id": name} for name in ("crc32", "adler32", "fletcher32")}


@dataclass(frozen=True)
class Case:
    """An array that is to be written: its document, and the rows of the table that it takes."""

    zarr_format: int
    document: dict[str, Any]
    dtype: np.dtype[Any]
    fill_value: int
    rows: frozenset[tuple[str, str]]

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape."""
        return tuple(self.document["shape"])

    def able(self, library: str, letter: str) -> bool:
        """Tell whether the table has a library read (``r``) or write (``w``) all that the array takes."""
        return all(letter in table()[row].get(library, "") for row in self.rows)


@cache
def table() -> dict[tuple[str, str], dict[str, str]]:
    """Read the table: by section and row, what each library does."""
    found, section, names = {}, "", []
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells and not cells[0]:
            names = cells[1:]
        elif cells and not cells[0].startswith("---"):
            found[section, cells[0]] = dict(zip(names, cells[1:], strict=True))
    return found


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw an array of v3 or v2."""
    shape = tuple(draw(st.lists(st.integers(1, 9) | st.integers(0, 20), min_size=1, max_size=3)))
    if draw(st.integers(0, 19)) == 0:
        shape = ()
    return draw(cases_v3(shape) if draw(st.booleans()) else cases_v2(shape))


@st.composite
def cases_v3(draw: st.DrawFn, shape: tuple[int, ...]) -> Case:
    """Draw an array of v3 of a shape."""
    name = draw(st.sampled_from(TYPES_V3))
    rows = {("Data types, v3", name)} | shape_rows(shape)
    dtype = np.dtype(name)
    inner = tuple(draw(lengths(length)) for length in shape)
    codecs, taken = draw(chains(shape, dtype))
    chunks = inner
    if shape and draw(st.booleans()):
        chunks = tuple(length * draw(st.integers(1, 4)) for length in inner)
        codecs, more = draw(shards(inner, codecs))
        taken |= more
    keys = draw(st.sampled_from(sorted(KEYS)))
    taken |= {keys} - {""}
    # "Grids and keys" has the rows of keys, "Codecs" all others.
    rows |= {("Grids and keys, v3" if row.startswith("keys") else "Codecs, v3", row) for row in taken}
    fill = draw(st.integers(0, 1 if name == "bool" else 3))
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": name,
        "chunk_grid": regular(chunks),
        "chunk_key_encoding": KEYS[keys],
        "fill_value": bool(fill) if name == "bool" else [float(fill), 0.0] if dtype.kind == "c" else fill,
        "codecs": codecs,
        "attributes": {},
    }
    return Case(3, document, dtype, fill, frozenset(rows))


def lengths(length: int) -> st.SearchStrategy[int]:
    """Give chunk lengths along an axis: up to 5 chunks, for zarr-python takes its time over each."""
    return st.integers(max(1, -(-length // 5)), length + 2)


KEYS = {
    "": named("default", separator="/"),
    "keys `c.0.0`": named("default", separator="."),
    "keys `0.0` (v2)": named("v2", separator="."),
    "keys `0/0` (v2)": named("v2", separator="/"),
}


def shape_rows(shape: tuple[int, ...]) -> set[tuple[str, str]]:
    """Return the rows that a shape takes."""
    section = "Grids and keys, v3"
    if not shape:
        return {(section, "no dimensions")}
    return {(section, "a dimension of length 0")} if 0 in shape else set()


@st.composite
def chains(draw: st.DrawFn, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[list[Any], set[str]]:
    """Draw codecs of chunks, and their rows."""
    codecs, rows = [], set()
    if 1 < len(shape) and draw(st.booleans()):
        codecs.append(named("transpose", order=draw(st.permutations(range(len(shape))))))
        rows.add("transpose")
    if dtype.itemsize == 1:
        codecs.append(ONE_BYTE)
    elif draw(st.booleans()):
        codecs.append(BIG)
        rows.add("bytes, big-endian")
    else:
        codecs.append(BYTES)
    if draw(st.booleans()):
        inner = draw(st.sampled_from(BLOSC_V3))
        cname, shuffle = inner.split(", ")
        codecs.append(
            named("blosc", cname=cname, clevel=5, shuffle=shuffle, typesize=dtype.itemsize, blocksize=0)
        )
        rows.add(f"blosc, {inner}")
    for name in draw(st.lists(st.sampled_from(sorted(PACKED_V3)), max_size=2, unique=True)):
        codecs.append(PACKED_V3[name])
        rows.add(name)
    return codecs, rows


@st.composite
def shards(draw: st.DrawFn, inner: tuple[int, ...], codecs: list[Any]) -> tuple[list[Any], set[str]]:
    """Draw how chunks lie in shards, and the rows of that."""
    rows = {"sharding"}
    index = [BYTES, CHECKED]
    location = draw(st.sampled_from(["start", "end"]))
    if location == "start":
        rows.add("sharding, index first")
    if draw(st.booleans()):
        index = [BYTES]
        rows.add("sharding, index without checksum")
    return [
        named(
            "sharding_indexed",
            chunk_shape=list(inner),
            codecs=codecs,
            index_codecs=index,
            index_location=location,
        )
    ], rows


@st.composite
def cases_v2(draw: st.DrawFn, shape: tuple[int, ...]) -> Case:
    """Draw an array of v2 of a shape."""
    name = draw(st.sampled_from(TYPES_V2))
    rows = {("Data types, v2", name)} | shape_rows(shape)
    packed = draw(st.sampled_from(["", *sorted(PACKED_V2)]))
    filters = draw(st.lists(st.sampled_from(sorted(FILTERS_V2)), max_size=1))
    order = draw(st.sampled_from("CF"))
    separator = draw(st.sampled_from("./"))
    fill = draw(st.integers(0, 1 if name == "|b1" else 3))
    taken = {packed, *filters, "order F" * (order == "F"), "dimension_separator /" * (separator == "/")} - {
        ""
    }
    dtype = np.dtype(name)
    document = {
        "zarr_format": 2,
        "shape": list(shape),
        "chunks": [draw(lengths(length)) for length in shape],
        "dtype": name,
        "compressor": PACKED_V2.get(packed),
        "fill_value": bool(fill) if name == "|b1" else [float(fill), 0.0] if dtype.kind == "c" else fill,
        "order": order,
        "filters": [FILTERS_V2[one] for one in filters] or None,
        "dimension_separator": separator,
    }
    return Case(2, document, dtype, fill, frozenset(rows | {("Codecs, v2", one) for one in taken}))
