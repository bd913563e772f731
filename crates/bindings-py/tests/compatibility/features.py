"""The features of the table: arrays of known values, by the documents that describe them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

SHAPE = (6, 8)
CHUNKS = (4, 4)
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
ONE_BYTE = {"name": "bytes"}


@dataclass(frozen=True)
class Feature:
    """An array: its document, and the values that are written and have to be read."""

    section: str
    name: str
    zarr_format: int
    document: dict[str, Any]
    values: np.ndarray[Any, Any]
    # How far values that are read may lie from those that were written, for codecs that round.
    tolerance: float = 0


def v3(
    section: str,
    name: str,
    values: np.ndarray[Any, Any] | None = None,
    *,
    tolerance: float = 0,
    **fields: Any,
) -> Feature:
    """Make a feature of a v3 array: int32 in chunks of 4 x 4, but for what `fields` says."""
    values = numbers("i4") if values is None else values
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(values.shape),
        "data_type": "int32",
        "chunk_grid": regular(CHUNKS[: values.ndim]),
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [BYTES],
        "attributes": {},
    }
    return Feature(section, name, 3, document | fields, values, tolerance)


def v2(
    section: str,
    name: str,
    values: np.ndarray[Any, Any] | None = None,
    *,
    tolerance: float = 0,
    **fields: Any,
) -> Feature:
    """Make a feature of a v2 array: as `v3`."""
    values = numbers("i4") if values is None else values
    document = {
        "zarr_format": 2,
        "shape": list(values.shape),
        "chunks": list(CHUNKS[: values.ndim]),
        "dtype": "<i4",
        "compressor": None,
        "fill_value": 0,
        "order": "C",
        "filters": None,
    }
    return Feature(section, name, 2, document | fields, values, tolerance)


def numbers(dtype: Any, shape: tuple[int, ...] = SHAPE) -> np.ndarray[Any, Any]:
    """Give numbers that every type of number can hold, and some negative ones where it can."""
    count = int(np.prod(shape))
    values = np.arange(count) % 7
    if np.dtype(dtype).kind in "ifc":
        values -= 3
    return values.astype(dtype).reshape(shape)


def regular(chunks: tuple[int, ...]) -> dict[str, Any]:
    """Describe a regular grid."""
    return {"name": "regular", "configuration": {"chunk_shape": list(chunks)}}


def named(name: str, **configuration: Any) -> dict[str, Any]:
    """Describe a codec, or another extension point."""
    return {"name": name, "configuration": configuration}


def sharded(**configuration: Any) -> dict[str, Any]:
    """Describe the sharding codec: inner chunks of 2 x 2, little-endian, unless told otherwise."""
    told = {
        "chunk_shape": [2, 2],
        "codecs": [BYTES],
        "index_codecs": [BYTES, {"name": "crc32c"}],
        "index_location": "end",
    }
    return named("sharding_indexed", **(told | configuration))


def data_types_v3() -> list[Feature]:
    """Give the data types of v3, named as there."""
    section = "Data types, v3"
    plain = (
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
    )
    features = [
        v3(
            section,
            name,
            numbers("?" if name == "bool" else name),
            data_type=name,
            fill_value=False if name == "bool" else [0.0, 0.0] if "complex" in name else 0,
            codecs=[ONE_BYTE if np.dtype(name).itemsize == 1 else BYTES],
        )
        for name in plain.split()
    ]
    for name in ["int2", "int4", "uint2", "uint4"]:
        values = (np.arange(48) % 4).reshape(SHAPE) - (2 if name.startswith("int") else 0)
        features.append(
            v3(section, name, values.astype(getattr(ml_dtypes, name)), data_type=name, codecs=[ONE_BYTE])
        )
    small = "e3m4 e4m3 e4m3b11fnuz e4m3fnuz e5m2 e5m2fnuz e8m0fnu"
    for name in ["bfloat16", *(f"float8_{layout}" for layout in small.split())]:
        values = 2.0 ** (np.arange(48) % 4).reshape(SHAPE)
        features.append(
            v3(
                section,
                name,
                values.astype(getattr(ml_dtypes, name)),
                data_type=name,
                fill_value="0x01" if name == "float8_e8m0fnu" else 0.0,
                codecs=[BYTES if name == "bfloat16" else ONE_BYTE],
            )
        )
    dates = numbers("i8").astype("M8[s]")
    structure = np.dtype([("a", "<i2"), ("b", "<f8")])
    fields = np.zeros(SHAPE, structure)
    fields["a"], fields["b"] = numbers("i2"), numbers("f8")
    words = np.array([["", "one", "zwölf"][number % 3] for number in range(48)], object).reshape(SHAPE)
    raw = np.array([bytes([number, 255, 0]) for number in range(48)], "V3").reshape(SHAPE)
    times = {"unit": "s", "scale_factor": 1}
    return [
        *features,
        v3(section, "r24 (raw bits)", raw, data_type="r24", fill_value=[0, 0, 0], codecs=[ONE_BYTE]),
        v3(
            section, "numpy.datetime64", dates, data_type=named("numpy.datetime64", **times), fill_value="NaT"
        ),
        v3(
            section,
            "numpy.timedelta64",
            numbers("i8").astype("m8[s]"),
            data_type=named("numpy.timedelta64", **times),
            fill_value="NaT",
        ),
        v3(
            section,
            "fixed_length_utf32",
            words.astype("<U5"),
            data_type=named("fixed_length_utf32", length_bytes=20),
            fill_value="",
        ),
        v3(
            section,
            "null_terminated_bytes",
            numbers("u1").astype("S3"),
            data_type=named("null_terminated_bytes", length_bytes=3),
            fill_value="",
            codecs=[ONE_BYTE],
        ),
        v3(
            section,
            "structured",
            fields,
            data_type=named("structured", fields=[["a", "int16"], ["b", "float64"]]),
            fill_value="AAAAAAAAAAAAAA==",
        ),
        v3(
            section,
            "struct",
            fields,
            data_type=named(
                "struct",
                fields=[{"name": "a", "data_type": "int16"}, {"name": "b", "data_type": "float64"}],
            ),
            fill_value={"a": 0, "b": 0.0},
        ),
        v3(section, "string", words, data_type="string", fill_value="", codecs=[{"name": "vlen-utf8"}]),
        v3(
            section,
            "bytes",
            np.vectorize(str.encode, otypes=[object])(words),
            data_type="bytes",
            fill_value="",
            codecs=[{"name": "vlen-bytes"}],
        ),
    ]


def codecs_v3() -> list[Feature]:
    """Give the codecs of v3, under the names that documents have."""
    section = "Codecs, v3"
    whole = {"chunk_grid": regular((8, 8))}
    floats = numbers("f4")
    f4: dict[str, Any] = {"data_type": "float32", "fill_value": 0.0}

    def after(*codecs: dict[str, Any], before: dict[str, Any] = BYTES) -> dict[str, Any]:
        return {"codecs": [before, *codecs]}

    def numcodecs(name: str, **configuration: Any) -> Feature:
        return v3(section, f"numcodecs.{name}", **after(named(f"numcodecs.{name}", **configuration)))

    def filtered(name: str, label: str | None = None, /, **configuration: Any) -> Feature:
        codec = named(name, **configuration)
        return v3(section, label or name, floats, **f4, codecs=[codec, BYTES])

    features = [
        v3(section, "bytes, big-endian", codecs=[named("bytes", endian="big")]),
        v3(section, "transpose", codecs=[named("transpose", order=[1, 0]), BYTES]),
        v3(section, "gzip", **after(named("gzip", level=1))),
        v3(section, "zstd", **after(named("zstd", level=1, checksum=False))),
        v3(section, "zstd with checksum", **after(named("zstd", level=1, checksum=True))),
        v3(section, "crc32c", **after({"name": "crc32c"})),
    ]
    for inner in ("lz4", "lz4hc", "blosclz", "zstd", "zlib"):
        for shuffle in ("shuffle", "bitshuffle", "noshuffle"):
            if shuffle == "shuffle" or inner in ("lz4", "zstd"):
                codec = named("blosc", cname=inner, clevel=5, shuffle=shuffle, typesize=4, blocksize=0)
                features.append(v3(section, f"blosc, {inner}, {shuffle}", **after(codec)))
    nested = [sharded(chunk_shape=[2, 2])]
    return [
        *features,
        v3(section, "sharding", codecs=[sharded()], **whole),
        v3(section, "sharding, index first", codecs=[sharded(index_location="start")], **whole),
        v3(section, "sharding, nested", codecs=[sharded(chunk_shape=[4, 4], codecs=nested)], **whole),
        v3(section, "sharding, index without checksum", codecs=[sharded(index_codecs=[BYTES])], **whole),
        v3(
            section,
            "sharding, transposed and compressed inside",
            codecs=[sharded(codecs=[named("transpose", order=[1, 0]), BYTES, named("gzip", level=1)])],
            **whole,
        ),
        v3(
            section,
            "sharding, compressed outside",
            codecs=[sharded(), named("zstd", level=1, checksum=False)],
            **whole,
        ),
        v3(section, "packbits", numbers("?"), data_type="bool", fill_value=False, codecs=[named("packbits")]),
        v3(
            section,
            "packbits of ten bits",
            numbers("u2"),
            data_type="uint16",
            codecs=[named("packbits", first_bit=0, last_bit=9)],
        ),
        v3(section, "reshape", codecs=[named("reshape", shape=[[0, 1]]), BYTES]),
        v3(
            section,
            "squeeze",
            numbers("i4", (6, 1, 8)),
            chunk_grid=regular((4, 1, 4)),
            codecs=[{"name": "squeeze"}, BYTES],
        ),
        filtered("bitround", keepbits=10),
        filtered("scale_offset", offset=1, scale=2),
        v3(section, "cast_value", floats, **f4, codecs=[named("cast_value", data_type="int16"), BYTES]),
        v3(section, "pcodec", codecs=[named("pcodec", level=8)]),
        v3(section, "zfp", floats, **f4, codecs=[named("zfp", mode="reversible")]),
        v3(section, "bz2", **after(named("bz2", level=1))),
        v3(section, "zlib", **after(named("zlib", level=1))),
        v3(section, "adler32", **after({"name": "adler32"})),
        v3(section, "fletcher32", **after({"name": "fletcher32"})),
        v3(section, "shuffle", **after(named("shuffle", elementsize=4))),
        v3(section, "gdeflate", **after(named("gdeflate", level=9))),
        numcodecs("zlib", level=1),
        numcodecs("gzip", level=1),
        numcodecs("zstd", level=1, checksum=False),
        numcodecs("blosc", cname="lz4", clevel=5, shuffle=1, blocksize=0),
        numcodecs("lz4", acceleration=1),
        numcodecs("lzma", format=1, check=-1, preset=None, filters=None),
        numcodecs("bz2", level=1),
        numcodecs("shuffle", elementsize=4),
        numcodecs("crc32", location="start"),
        numcodecs("crc32c", location="end"),
        numcodecs("adler32", location="start"),
        numcodecs("fletcher32"),
        numcodecs("jenkins_lookup3", initval=0, prefix=None),
        filtered("numcodecs.delta", dtype="<f4", astype="<f4"),
        filtered("numcodecs.bitround", keepbits=10),
        filtered("numcodecs.quantize", digits=3, dtype="<f4", astype="<f4"),
        filtered("numcodecs.fixedscaleoffset", offset=-3, scale=10, dtype="<f4", astype="<i2"),
        filtered("numcodecs.astype", encode_dtype="<f8", decode_dtype="<f4"),
        v3(
            section,
            "numcodecs.packbits",
            numbers("?"),
            data_type="bool",
            fill_value=False,
            codecs=[named("numcodecs.packbits"), ONE_BYTE],
        ),
        v3(
            section,
            "numcodecs.pcodec",
            codecs=[named("numcodecs.pcodec", level=8, mode_spec="auto", delta_spec="auto")],
        ),
        v3(
            section,
            "numcodecs.zfpy",
            floats,
            **f4,
            codecs=[named("numcodecs.zfpy", mode=4, tolerance=0.01)],
            tolerance=0.01,
        ),
    ]


def grids_and_keys() -> list[Feature]:
    """Give the grids, and how chunks are called."""
    section = "Grids and keys, v3"
    rectilinear = named("rectilinear", kind="inline", chunk_shapes=[[1, 3, 2], [[4, 2]]])
    return [
        v3(section, "keys `c.0.0`", chunk_key_encoding=named("default", separator=".")),
        v3(section, "keys `0.0` (v2)", chunk_key_encoding=named("v2", separator=".")),
        v3(section, "keys `0/0` (v2)", chunk_key_encoding=named("v2", separator="/")),
        v3(section, "rectilinear grid", chunk_grid=rectilinear),
        v3(
            section,
            "rectilinear grid of shards",
            codecs=[sharded(chunk_shape=[1, 2])],
            chunk_grid=rectilinear,
        ),
        v3(section, "chunks larger than the array", chunk_grid=regular((16, 16))),
        v3(section, "no dimensions", numbers("i4", ()), chunk_grid=regular(())),
        v3(section, "a dimension of length 0", numbers("i4", (0, 8))),
        v3(section, "names of dimensions", dimension_names=["y", None]),
    ]


def data_types_v2() -> list[Feature]:
    """Give the data types of v2, as NumPy writes them."""
    section = "Data types, v2"
    structure = np.dtype([("a", "<i2"), ("b", "<f8")])
    fields = np.zeros(SHAPE, structure)
    fields["a"], fields["b"] = numbers("i2"), numbers("f8")
    words = np.array([["", "one", "zwölf"][number % 3] for number in range(48)], object).reshape(SHAPE)
    plain = ["|b1", "|i1", "<i2", ">i2", "<i8", "|u1", "<u2", ">u4", "<f2", "<f4", ">f8", "<c8", "<c16"]
    return [
        *(v2(section, name, numbers(name), dtype=name, fill_value=None) for name in plain),
        v2(section, "<M8[s]", numbers("i8").astype("<M8[s]"), dtype="<M8[s]", fill_value=None),
        v2(section, "<m8[s]", numbers("i8").astype("<m8[s]"), dtype="<m8[s]", fill_value=None),
        v2(section, "|S3", numbers("u1").astype("S3"), dtype="|S3", fill_value=""),
        v2(section, "<U5", words.astype("<U5"), dtype="<U5", fill_value=""),
        v2(section, "structured", fields, dtype=[["a", "<i2"], ["b", "<f8"]], fill_value=None),
        v2(section, "|O, vlen-utf8", words, dtype="|O", filters=[{"id": "vlen-utf8"}], fill_value=""),
        v2(
            section,
            "|O, vlen-bytes",
            np.vectorize(str.encode, otypes=[object])(words),
            dtype="|O",
            filters=[{"id": "vlen-bytes"}],
            fill_value="",
        ),
    ]


def codecs_v2() -> list[Feature]:
    """Give the compressors and filters of v2."""
    section = "Codecs, v2"
    floats = numbers("f4")

    def compressor(name: str, **configuration: Any) -> Feature:
        return v2(section, name, compressor={"id": name, **configuration})

    def filtered(name: str, **configuration: Any) -> Feature:
        return v2(section, name, floats, dtype="<f4", filters=[{"id": name, **configuration}])

    return [
        compressor("zlib", level=1),
        compressor("gzip", level=1),
        compressor("zstd", level=1),
        compressor("blosc", cname="lz4", clevel=5, shuffle=1, blocksize=0),
        compressor("lz4", acceleration=1),
        compressor("lzma", format=1, check=-1, preset=None, filters=None),
        compressor("bz2", level=1),
        filtered("delta", dtype="<f4", astype="<f4"),
        filtered("shuffle", elementsize=4),
        filtered("bitround", keepbits=10),
        filtered("quantize", digits=3, dtype="<f4", astype="<f4"),
        filtered("fixedscaleoffset", offset=-3, scale=10, dtype="<f4", astype="<i2"),
        filtered("astype", encode_dtype="<f8", decode_dtype="<f4"),
        filtered("crc32"),
        filtered("crc32c"),
        filtered("adler32"),
        filtered("fletcher32"),
        filtered("jenkins_lookup3", initval=0, prefix=None),
        v2(section, "packbits", numbers("?"), dtype="|b1", fill_value=False, filters=[{"id": "packbits"}]),
        v2(section, "pcodec", compressor={"id": "pcodec", "level": 8}),
        v2(
            section,
            "zfpy",
            floats,
            dtype="<f4",
            compressor={"id": "zfpy", "mode": 4, "tolerance": 0.01},
            tolerance=0.01,
        ),
        v2(section, "order F", order="F"),
        v2(section, "dimension_separator /", dimension_separator="/"),
        v2(section, "fill_value null", fill_value=None),
    ]


def every_feature() -> list[Feature]:
    """Give all, in the order of the table."""
    return [*data_types_v3(), *codecs_v3(), *grids_and_keys(), *data_types_v2(), *codecs_v2()]
