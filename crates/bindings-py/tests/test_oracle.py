"""Random arrays, as zarr-python writes and reads them."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
import swath
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numcodecs import LZ4, Blosc, GZip, Zlib, Zstd
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec

DTYPES = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "V3"]
DTYPES += ["U3", "S3", "M8[ns]", "m8[25us]", [("x", "i2"), ("b", ">i8"), ("in", [("y", "f4"), ("t", "U2")])]]
CNAMES = ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]


def blosc(draw, itemsize):
    shuffle = draw(st.sampled_from(["noshuffle", "shuffle", "bitshuffle"]))
    return BloscCodec(cname=draw(st.sampled_from(CNAMES)), clevel=5, shuffle=shuffle, typesize=itemsize)


def has_order(dtype):
    if dtype.fields:
        return any(has_order(field) for field, _ in dtype.fields.values())
    return 1 < dtype.itemsize and dtype.kind not in "VS"


def v3_codecs(draw, rank, dtype):
    codecs = {"serializer": "auto", "filters": []}
    if has_order(dtype):
        codecs["serializer"] = BytesCodec(endian=draw(st.sampled_from(["little", "big"])))
    if draw(st.booleans()):
        codecs["filters"] = [TransposeCodec(order=draw(st.permutations(range(rank))))]
    compressors = {
        "none": [],
        "gzip": [GzipCodec(level=1)],
        "zstd": [ZstdCodec(level=1, checksum=draw(st.booleans()))],
        "blosc": [blosc(draw, dtype.itemsize)],
    }
    chosen = compressors[draw(st.sampled_from(sorted(compressors)))]
    checksum = [Crc32cCodec()] if draw(st.booleans()) else []
    return codecs | {"compressors": [*chosen, *checksum]}


def v2_codecs(draw, dtype):
    compressors = {
        "none": None,
        "gzip": GZip(1),
        "zlib": Zlib(1),
        "zstd": Zstd(1),
        "lz4": LZ4(),
        "blosc": Blosc(draw(st.sampled_from(CNAMES)), 5, draw(st.sampled_from([0, 1, 2]))),
    }
    order = draw(st.sampled_from("CF"))
    return {"compressors": compressors[draw(st.sampled_from(sorted(compressors)))], "order": order}


def fill_value(draw, dtype):
    if dtype.fields:
        return np.array([(7, 77, (1.5, "ab"))], dtype)[0]
    if dtype.kind in "US":
        return dtype.type(draw(st.sampled_from(["", "ab", "abc"])), *(["ascii"] if dtype.kind == "S" else []))
    if dtype.kind in "Mm":
        return np.array(draw(st.sampled_from([0, 77, -(2**63)]))).view(dtype)[()]
    if dtype.kind == "V":
        return np.frombuffer(draw(st.binary(min_size=3, max_size=3)), dtype)[0]
    if dtype.kind in "fc":
        return dtype.type(draw(st.sampled_from([0, 1.5, np.nan, np.inf, -np.inf])))
    return dtype.type(draw(st.sampled_from([0, 1, 77])))


@st.composite
def arrays(draw):
    """Arguments of ``zarr.create_array``, and values for some of its chunks."""
    rank = draw(st.integers(0, 4))
    zarr_format = draw(st.sampled_from([2, 3]))
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = tuple(draw(st.integers(0 if zarr_format == 2 else 1, 9)) for _ in range(rank))
    chunks = tuple(draw(st.integers(1, 5)) for _ in range(rank))
    arguments = {
        "shape": shape,
        "chunks": chunks,
        "zarr_format": zarr_format,
        "fill_value": fill_value(draw, dtype),
    }
    if zarr_format == 2:
        big = has_order(dtype) and draw(st.booleans())
        arguments |= {"dtype": dtype.newbyteorder(">") if big else dtype} | v2_codecs(draw, dtype)
        separator = draw(st.sampled_from("./"))
        arguments["chunk_key_encoding"] = {"name": "v2", "separator": separator}
    else:
        arguments |= {"dtype": dtype} | v3_codecs(draw, rank, dtype)
        name = draw(st.sampled_from(["default", "v2"]))
        arguments["chunk_key_encoding"] = {"name": name, "separator": draw(st.sampled_from("./"))}
        if 0 < rank and not arguments["filters"] and draw(st.booleans()):
            times = [draw(st.integers(1, 3)) for _ in range(rank)]
            arguments["shards"] = tuple(chunk * time for chunk, time in zip(chunks, times, strict=True))
    return arguments


def bounds(draw, length):
    bound = st.none() | st.integers(-length - 3, length + 3)
    return slice(draw(bound), draw(bound), draw(st.none() | st.sampled_from([1, 2, 3, -1, -2, -5])))


def selection(draw, shape):
    entries = []
    for length in shape:
        if length and draw(st.integers(0, 3)) == 0:
            entries.append(draw(st.integers(-length, length - 1)))
        else:
            entries.append(bounds(draw, length))
    kept = draw(st.integers(0, len(shape)))
    match draw(st.sampled_from(["all", "fewer", "ellipsis"])):
        case "fewer":
            entries = entries[:kept]
        case "ellipsis":
            gap = draw(st.integers(kept, len(shape)))
            entries[kept:gap] = [...]
    return entries[0] if len(entries) == 1 and draw(st.booleans()) else tuple(entries)


def random_values(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    if dtype.fields:
        values = np.empty(shape, dtype)
        for name, (field, _) in dtype.fields.items():
            values[name] = random_values(shape, field, seed)
        return values
    if dtype.kind == "U":
        return rng.choice(["", "a", "né", "x\U0001f600z"], shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "fc":
        return rng.integers(-50, 50, shape).astype(dtype)
    return np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).reshape(shape)


def write_parts(array, draw, dtype):
    """Write random values to some parts of the array, so that others are not stored."""
    for number in range(draw(st.integers(0, 3))):
        part = tuple(slice(*sorted(draw(st.integers(0, length)) for _ in "ab")) for length in array.shape)
        shape = tuple(bounds.stop - bounds.start for bounds in part)
        if 0 not in shape:
            array[part] = random_values(shape, dtype, number)


@pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning")
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_reads_what_zarr_python_reads(data):
    arguments = data.draw(arrays())
    dtype = np.dtype(arguments["dtype"]).newbyteorder("=")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.zarr"
        theirs = zarr.create_array(path, **arguments)
        write_parts(theirs, data.draw, dtype)
        expected = np.asarray(theirs[...]).astype(dtype)
        array = swath.open_array(path)
        assert array.dtype == dtype
        assert array.shape == theirs.shape
        assert array.chunks == theirs.chunks
        assert array.shards == theirs.shards
        indexes = [..., *(selection(data.draw, theirs.shape) for _ in range(4))]
        many = array.read_many(indexes, stack=False)
        for index, one in zip(indexes, many, strict=True):
            wanted = np.asarray(expected[index], dtype=dtype)
            for found in (array[index], one):
                if isinstance(found, np.str_ | np.bytes_):
                    # A scalar of text is as long as its own text.
                    found = np.asarray(found, dtype=wanted.dtype)
                assert found.shape == wanted.shape
                assert found.dtype == wanted.dtype
                assert np.asarray(found).tobytes() == wanted.tobytes(), index
