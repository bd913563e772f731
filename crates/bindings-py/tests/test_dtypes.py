"""Data types and fill values: those of zarr-python where it has them, of ml_dtypes where NumPy lacks them."""

import json
import subprocess
import sys

import numpy as np
import pytest
import swath
import zarr

STRUCTURE = np.dtype([("x", "<i2"), ("when", "<M8[D]"), ("inner", [("name", "<U3"), ("raw", "S2")])])


def write_v2(path, **fields):
    document = {"zarr_format": 2, "order": "C", "compressor": None, "filters": None, "fill_value": None}
    (path / ".zarray").write_text(json.dumps(document | fields))


@pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning")
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(
    ("dtype", "fill_value"),
    [
        ("<U5", "héy"),
        ("S5", b"ab"),
        ("V3", b"abc"),
        ("<M8[ns]", np.datetime64("2001-02-03T04:05", "ns")),
        ("<M8[10ms]", np.datetime64("NaT", "ms")),
        ("<m8[D]", np.timedelta64(-3, "D")),
        (STRUCTURE, np.array([(1, "1999-01-01", ("ab", b"c"))], STRUCTURE)[0]),
    ],
)
def test_dtypes_and_fill_values_are_zarr_pythons(tmp_path, zarr_format, dtype, fill_value):
    arguments = {"shape": (5,), "chunks": (2,), "zarr_format": zarr_format, "compressors": None}
    theirs = zarr.create_array(tmp_path / "a", dtype=dtype, fill_value=fill_value, **arguments)
    theirs[:2] = np.zeros(2, theirs.dtype)
    array = swath.open_array(tmp_path / "a")
    assert array.dtype == theirs.dtype
    assert type(array.fill_value) is type(theirs.fill_value)
    np.testing.assert_array_equal(array.fill_value, theirs.fill_value)
    np.testing.assert_array_equal(array[...], theirs[...])
    assert array.nbytes == theirs.nbytes


@pytest.mark.parametrize("fill_value", [None, 0, ""])
@pytest.mark.parametrize("dtype", ["<U5", ">U5", "|S5", "|V5", ">M8[s]", [["a", ">i4"], ["b", "|S2"]]])
def test_v2_fill_values_of_other_writers(tmp_path, dtype, fill_value):
    if fill_value == "" and ("M8" in dtype or "V" in dtype or isinstance(dtype, list)):
        pytest.skip("no writer does so")
    write_v2(tmp_path, shape=[3], chunks=[2], dtype=dtype, fill_value=fill_value)
    array = swath.open_array(tmp_path)
    wanted = np.dtype([tuple(field) for field in dtype] if isinstance(dtype, list) else dtype)
    assert array.dtype == wanted.newbyteorder("=")
    assert array[...].tobytes() == bytes(3 * wanted.itemsize)
    assert (array.fill_value is None) == (fill_value is None)


def test_fields_of_every_byte_order(tmp_path):
    dtype = np.dtype([("a", ">f4", (2, 3)), ("b", "|u1"), ("c", "<i8"), ("d", ">c8"), ("", ">U2")])
    values = np.empty(7, dtype)
    for name in dtype.names:
        values[name] = np.arange(values[name].size).reshape(values[name].shape)
    described = [list(field) for field in dtype.descr]
    write_v2(tmp_path, shape=[7], chunks=[4], dtype=described)
    (tmp_path / "0").write_bytes(values[:4].tobytes())
    (tmp_path / "1").write_bytes(values[4:].tobytes() + values[:1].tobytes())
    array = swath.open_array(tmp_path)
    assert array.dtype == dtype.newbyteorder("=")
    np.testing.assert_array_equal(array[...], values)
    np.testing.assert_array_equal(array[5:1:-2], values[5:1:-2])
    out = np.empty((2, 3), array.dtype)
    assert array.read_many([slice(0, 3), slice(4, 7)], out=out) is out
    np.testing.assert_array_equal(out, np.stack([values[:3], values[4:]]))


@pytest.mark.parametrize(
    "dtype",
    [
        "int4",
        "bfloat16",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e4m3b11fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
    ],
)
def test_dtypes_of_ml_dtypes(tmp_path, dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    tensorstore = pytest.importorskip("tensorstore")
    values = np.arange(-8, 8).astype(getattr(ml_dtypes, dtype)).reshape(4, 4)
    theirs = tensorstore.open(
        {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(tmp_path)}},
        create=True,
        dtype=getattr(tensorstore, dtype),
        shape=[6, 4],
        chunk_layout=tensorstore.ChunkLayout(chunk_shape=[4, 3]),
        fill_value=values[0, 3],
    ).result()
    theirs[:4] = values
    array = swath.open_array(tmp_path)
    assert array.dtype == values.dtype
    wanted = theirs.read().result()
    np.testing.assert_array_equal(array[...], wanted)
    np.testing.assert_array_equal(array[4:], np.full((2, 4), values[0, 3]))
    assert array.fill_value == values[0, 3]
    assert type(array.fill_value) is values.dtype.type


def test_a_missing_ml_dtypes_is_named(tmp_path):
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [3],
        "data_type": "bfloat16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3]}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 1.5,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }
    (tmp_path / "zarr.json").write_text(json.dumps(document))
    code = (
        "import sys; sys.modules['ml_dtypes'] = None\n"
        f"import swath; array = swath.open_array({str(tmp_path)!r})\n"
        "print(array.shape, array.metadata['data_type'])\n"
        "try: array[...]\n"
        "except swath.UnsupportedError as error: print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "(3,) bfloat16" in ran.stdout
    assert "ml_dtypes.bfloat16" in ran.stdout


@pytest.mark.parametrize(
    "name",
    ["int2", "uint4", "float8_e4m3", "complex_bfloat16", "complex_float16", "complex_float8_e4m3"],
)
def test_small_types_of_zarrs(data_folder, name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    complex_types = {
        "complex_bfloat16": "bcomplex32",
        "complex_float16": "complex32",
        "complex_float8_e4m3": [("real", "float8_e4m3"), ("imag", "float8_e4m3")],
    }
    wanted = complex_types.get(name, name)
    if isinstance(wanted, list):
        wanted = np.dtype([(part, getattr(ml_dtypes, dtype)) for part, dtype in wanted])
    else:
        wanted = np.dtype(getattr(ml_dtypes, wanted))
    folder = data_folder / "zarr_v3" / "zarrs_snapshots" / name / "b2b"
    found = [path for codec in ("bz2", "zlib", "zstd") for path in folder.glob(f"*{codec}*/*/zarr.json")]
    array = swath.open_array(found[0].parent)
    assert array.dtype == wanted
    assert array[...].dtype == wanted
    assert array[2:6, ::-5].shape == (4, 5)


@pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning")
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("shards", [None, (4, 6)])
def test_strings_of_any_length(tmp_path, zarr_format, shards):
    if zarr_format == 2 and shards:
        pytest.skip("Zarr v2 has no shards")
    arguments = {"shape": (5, 7), "chunks": (2, 3), "shards": shards, "zarr_format": zarr_format}
    theirs = zarr.create_array(tmp_path, dtype=str, fill_value="fill", **arguments)
    values = np.array([[f"{'é' * row}{column}" for column in range(7)] for row in range(4)], dtype=object)
    theirs[:4, :6] = values[:, :6]
    array = swath.open_array(tmp_path)
    assert array.dtype == theirs.dtype == np.dtypes.StringDType()
    assert array.fill_value == theirs.fill_value == "fill"
    assert array.nbytes == theirs.nbytes
    for index in [..., 0, (1, 2), (slice(None, None, -2), slice(1, 6)), (slice(2, 2),), (-1, slice(None))]:
        found, wanted = array[index], theirs[...][index]
        assert np.shape(found) == np.shape(wanted)
        np.testing.assert_array_equal(found, wanted)
    out = np.empty((5, 7), array.dtype)
    assert array.read(out=out) is out
    np.testing.assert_array_equal(out, theirs[...])
    stacked = array.read_many([(0, slice(0, 3)), (3, slice(4, 7))])
    np.testing.assert_array_equal(stacked, np.stack([theirs[0, 0:3], theirs[3, 4:7]]))
    one, two = array.read_many([0, (slice(1, 3), 2)], stack=False)
    np.testing.assert_array_equal(one, theirs[0])
    np.testing.assert_array_equal(two, theirs[1:3, 2])


@pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning")
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_byte_strings_of_any_length(tmp_path, zarr_format):
    dtype = zarr.dtype.VariableLengthBytes()
    arguments = {"shape": (5,), "chunks": (2,), "zarr_format": zarr_format}
    theirs = zarr.create_array(tmp_path, dtype=dtype, fill_value=b"\xff\0", **arguments)
    theirs[:3] = np.array([b"", b"\0\0", b"abc" * 1000], dtype=object)
    array = swath.open_array(tmp_path)
    assert array.dtype == theirs.dtype == np.dtype("O")
    assert array.fill_value == theirs.fill_value
    assert array[...].tolist() == theirs[...].tolist()
    assert array[::-2].tolist() == theirs[...][::-2].tolist()


def test_object_codecs_that_are_not_read_are_named(tmp_path):
    for codec in ["pickle", "json", "msgpack2"]:
        write_v2(tmp_path, shape=[3], chunks=[3], dtype="|O", filters=[{"id": codec}])
        with pytest.raises(swath.UnsupportedError, match=codec):
            swath.open_array(tmp_path)
