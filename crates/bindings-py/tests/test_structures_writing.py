"""Structures whose fields have either byte order, and JSON in Fortran order, against zarr-python."""

import numcodecs
import numpy as np
import pytest
import swath
import zarr

DTYPES = {
    "native": [("a", "<i4"), ("b", "u1"), ("c", "<f8")],
    "foreign": [("a", ">i4"), ("b", "u1"), ("c", ">f8")],
    "mixed": [("a", ">i4"), ("b", "S3"), ("c", "<c8"), ("d", ">i8"), ("e", "<U2")],
    "nested": [("a", ">u2"), ("b", [("x", ">f4"), ("y", "<i8")])],
}
dtypes = pytest.mark.parametrize("dtype", [np.dtype(fields) for fields in DTYPES.values()], ids=DTYPES.keys())
LAYOUTS = {
    "v2": {"zarr_format": 2},
    "v2 F": {"zarr_format": 2, "order": "F", "compressors": numcodecs.Zlib(1)},
    "v3": {"zarr_format": 3},
    "v3 sharded": {"zarr_format": 3, "shards": (6, 4)},
    "v3 big": {"zarr_format": 3, "serializer": {"name": "bytes", "configuration": {"endian": "big"}}},
}
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())


def structures(dtype, shape):
    """Give elements of which every field is drawn."""
    random = np.random.default_rng(3)
    found = np.zeros(shape, dtype)
    for name in dtype.names:
        field = dtype[name]
        if field.names is not None:
            found[name] = structures(field, shape)
        elif field.kind in "SU":
            found[name] = random.choice(np.array(["", "x", "yz"], field), shape)
        else:
            found[name] = random.integers(0, 200, shape).astype("i8").astype(field)
    return found


@dtypes
@layouts
@pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning")
def test_zarr_reads_structures_that_swath_wrote(tmp_path, dtype, layout):
    values = structures(dtype, (7, 5))
    array = swath.create_array(tmp_path / "a", shape=(7, 5), dtype=dtype, chunks=(3, 2), **layout)
    array[...] = values
    array[1:6:2, 3] = values[0:3, 0]
    values[1:6:2, 3] = values[0:3, 0]
    peer = zarr.open_array(tmp_path / "a", mode="r")
    found = peer[...]
    assert found.dtype.names == dtype.names
    if layout["zarr_format"] == 2:
        assert peer.dtype == dtype
    np.testing.assert_array_equal(found.astype(dtype), values)
    np.testing.assert_array_equal(swath.open(tmp_path / "a")[...].astype(dtype), values)


@dtypes
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning")
def test_swath_writes_to_structures_that_zarr_made(tmp_path, dtype, zarr_format):
    values = structures(dtype, (9,))
    peer = zarr.create_array(
        tmp_path / "a", shape=(9,), dtype=dtype, chunks=(4,), zarr_format=zarr_format, fill_value=values[3]
    )
    peer[:5] = values[:5]
    array = swath.open(tmp_path / "a", mode="r+")
    array[2:7] = values[2:7][::-1]
    wanted = np.full(9, values[3], dtype)
    wanted[:5] = values[:5]
    wanted[2:7] = values[2:7][::-1]
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "a", mode="r")[...].astype(dtype), wanted)


def test_structures_have_fill_values(tmp_path):
    dtype = np.dtype([("a", ">i4"), ("b", "<f4")])
    for zarr_format in (2, 3):
        path = tmp_path / str(zarr_format)
        fill = (7, 1.5)
        swath.create_array(path, shape=(3,), dtype=dtype, fill_value=fill, zarr_format=zarr_format)
        assert zarr.open_array(path, mode="r")[1].item() == fill
        assert swath.open(path)[1].item() == fill


def test_what_structures_cannot_be_is_refused(tmp_path):
    titled = np.dtype([(("title", "a"), "i4")])
    for dtype in (titled, np.dtype(("i4", (2,)))):
        with pytest.raises(swath.UnsupportedError):
            swath.create_array(tmp_path / "a", shape=(3,), dtype=dtype, zarr_format=2)
    with pytest.raises(swath.UnsupportedError, match="an array"):
        swath.create_array(tmp_path / "a", shape=(3,), dtype=[("a", "i4", (2,))])
    array = swath.create_array(tmp_path / "b", shape=(3,), dtype=[("a", ">i4", (2,))], zarr_format=2)
    array[1] = np.array(([5, 6],), array.dtype)
    assert array[1]["a"].tolist() == [5, 6]


def test_strings_in_json_have_the_order_that_zarr_gives_them(tmp_path):
    """As zarr-python 2 takes them, for zarr-python 3 has no data type of strings in JSON."""

    def taken(stored):
        return numcodecs.JSON().decode(stored).reshape(-1, order="A").reshape((2, 3), order="F").tolist()

    values = np.array([["a", "b", "c"], ["d", "e", "f"]], object)
    options = {"shape": (2, 3), "chunks": (2, 3), "zarr_format": 2, "order": "F", "compressors": None}
    array = swath.create_array(tmp_path / "a", dtype=str, filters=[{"id": "json2"}], **options)
    array[...] = values
    assert swath.open(tmp_path / "a")[...].tolist() == values.tolist()
    chunk = tmp_path / "a" / "0.0"
    assert taken(chunk.read_bytes()) == values.tolist()
    # What it stored of such a chunk it reads in another order than it was given, and so does swath.
    chunk.write_bytes(numcodecs.JSON().encode(np.asfortranarray(values)))
    assert swath.open(tmp_path / "a")[...].tolist() == taken(chunk.read_bytes())
