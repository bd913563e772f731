"""GRIB messages as chunks: references to them, read by swath, xarray and zarr-python."""

import json
import struct

import fsspec
import numcodecs
import numpy as np
import pytest
import swath
import xarray
import zarr
from swath.grib import GribCodec, SwathGribCodec

PRODUCT = [0, 0, 0, 0, 0, 0, 2, 0, 128, 0, 0, 0, 1, 0, 0, 0, 6]


def section(number, content):
    return struct.pack(">IB", len(content) + 5, number) + content


def message(first, scanning=0):
    """Two rows of three points, whose six values count from ``first`` on in the order of the file."""
    grid = bytearray(67)
    grid[4], grid[28], grid[32], grid[66] = 6, 3, 2, scanning
    grid[41:45], grid[45:49] = struct.pack(">I", 60_000_000), struct.pack(">I", 10_000_000)
    grid[50:54], grid[54:58] = struct.pack(">I", 59_000_000), struct.pack(">I", 12_000_000)
    grid[58:62] = grid[62:66] = struct.pack(">I", 1_000_000)
    packing = bytearray(16)
    packing[3], packing[14] = 6, 8
    sections = b"".join(
        [
            section(1, bytes([0, 98, 0, 0, 2, 0, 1, 0x07, 0xE3, 3, 1, 6, 0, 0, 0, 1])),
            section(3, bytes(grid)),
            section(4, bytes([*PRODUCT, 100, 0, 0, 0, 0xC3, 0x50]) + b"\xff" * 6),
            section(5, bytes(packing)),
            section(6, b"\xff"),
            section(7, bytes(range(first, first + 6))),
        ]
    )
    return b"GRIB\0\0\0\x02" + struct.pack(">Q", len(sections) + 20) + sections + b"7777"


def counted(first):
    return np.arange(first, first + 6, dtype="float32").reshape(2, 3)


# The third field of `t` is not there; `u` is stored column by column, and `lat` is where its points are.
WANTED = {
    "t": np.stack([counted(1), counted(11), np.full((2, 3), np.nan, "float32")]),
    "u": np.array([[21, 23, 25], [22, 24, 26]], "float32"),
    "lat": np.array([[60.0] * 3, [59.0] * 3]),
}


def array(shape, dtype, codec, **fields):
    chunks = [1] * (len(shape) - 2) + list(shape[-2:])
    document = {"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": dtype, "order": "C"}
    filters = [{**codec, "dtype": np.dtype(dtype).name}]
    return json.dumps({**document, "compressor": None, "filters": filters, "fill_value": None, **fields})


@pytest.fixture
def refs(tmp_path):
    """References to messages in one file, as `swath convert references` and kerchunk write them."""
    parts = [b"heading", message(1), message(11), message(21, scanning=0x20)]
    (tmp_path / "a.grib2").write_bytes(b"".join(parts))
    starts = np.cumsum([len(part) for part in parts]).tolist()

    def part(number):
        return [str(tmp_path / "a.grib2"), starts[number], len(parts[number + 1])]

    found = {
        ".zgroup": '{"zarr_format": 2}',
        "t/.zarray": array([3, 2, 3], "<f4", {"id": "grib", "var": "t"}, fill_value="NaN"),
        "t/.zattrs": '{"_ARRAY_DIMENSIONS": ["step", "y", "x"]}',
        "t/0.0.0": part(0),
        "t/1.0.0": part(1),
        "u/.zarray": array([2, 3], "<f4", {"id": "swath_grib", "var": "u"}),
        "u/.zattrs": '{"_ARRAY_DIMENSIONS": ["y", "x"]}',
        "u/0.0": part(2),
        "lat/.zarray": array([2, 3], "<f8", {"id": "grib", "var": "latitude"}),
        "lat/.zattrs": '{"_ARRAY_DIMENSIONS": ["y", "x"]}',
        "lat/0.0": part(0),
    }
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"version": 1, "refs": found}), encoding="utf-8")
    return path


def test_swath_reads_messages_in_place(refs):
    before = swath.stats()["python_codec_calls"]
    group = swath.open(refs)
    for name, wanted in WANTED.items():
        read = group[name][...]
        assert read.dtype == wanted.dtype
        np.testing.assert_array_equal(read, wanted)
    crops = group["t"].read_many([np.s_[0:2, 1, 1:], np.s_[1:3, 0, :2]])
    np.testing.assert_array_equal(crops, np.stack([WANTED["t"][0:2, 1, 1:], WANTED["t"][1:3, 0, :2]]))
    assert swath.stats()["python_codec_calls"] == before


@pytest.mark.filterwarnings("error")
def test_nobody_is_warned_of_codecs_that_are_not_python(refs):
    group = swath.open(refs)
    for name in ("t", "u"):
        group[name][...]


def test_xarray_reads_messages_in_place(refs):
    with xarray.open_dataset(refs, engine="swath") as dataset:
        assert dataset["t"].dims == ("step", "y", "x")
        for name, wanted in WANTED.items():
            np.testing.assert_array_equal(dataset[name].to_numpy(), wanted)


def test_zarr_python_decodes_messages(refs):
    mapper = fsspec.get_mapper("reference://", fo=str(refs))
    group = zarr.open_group(mapper, mode="r")
    for name, wanted in WANTED.items():
        np.testing.assert_array_equal(group[name][...], wanted)


def test_numcodecs_finds_both_codecs():
    for codec_id, codec, wanted in (
        ("grib", GribCodec, [1, 2, 3, 4, 5, 6]),
        ("swath_grib", SwathGribCodec, [1, 3, 5, 2, 4, 6]),
    ):
        found = numcodecs.get_codec({"id": codec_id, "var": "t", "dtype": "float64"})
        assert type(found) is codec
        decoded = found.decode(message(1, scanning=0x20))
        assert decoded.dtype == "float64"
        assert decoded.tolist() == wanted
        out = np.zeros((2, 3))
        assert found.decode(np.frombuffer(message(1, scanning=0x20), "u1"), out=out) is out
        assert out.ravel().tolist() == wanted
        with pytest.raises(NotImplementedError, match="no GRIB messages"):
            found.encode(b"")
    assert GribCodec("t").decode(message(1)).dtype == "float32"
    assert SwathGribCodec("longitude").decode(message(1)).tolist() == [10.0, 11.0, 12.0] * 2


def test_what_is_no_message_is_an_error(refs, tmp_path):
    whole = message(1)
    other_edition = whole.replace(b"GRIB\0\0\0\x02", b"GRIB\0\0\0\x07")
    for broken in (b"", b"not a message at all", whole[:-7], other_edition):
        with pytest.raises((swath.CorruptError, swath.UnsupportedError)):
            GribCodec("t").decode(broken)
    with pytest.raises(swath.UnsupportedError, match="order in the file"):
        GribCodec("latitude").decode(message(1, scanning=0x20))
    with pytest.raises(ValueError, match="wanted float32 or float64"):
        GribCodec("t", "int16").decode(whole)
    path = tmp_path / "a.grib2"
    path.write_bytes(path.read_bytes().replace(b"GRIB", b"BIRG"))
    wanted = r"t/0\.0\.0: .*bytes 7\.\.\d+ of .*a\.grib2: .*begins with GRIB"
    with pytest.raises(swath.CorruptError, match=wanted):
        swath.open(refs)["t"][0]
