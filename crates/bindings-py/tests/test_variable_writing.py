"""Strings and byte strings of any length that are written, with NumPy's object arrays as oracle."""

import json

import numpy as np
import pytest
import swath
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

WORDS = ["", "a", "bc", "héllo", '😀\n"\\', "fill", "x" * 300]


def as_lists(values):
    return np.asarray(values, dtype=object).tolist()


@st.composite
def cases(draw):
    rank = draw(st.integers(1, 3))
    shape = tuple(draw(st.integers(1, 9)) for _ in range(rank))
    chunks = tuple(draw(st.integers(1, 4)) for _ in range(rank))
    options = {"shape": shape, "chunks": chunks}
    text = draw(st.booleans())
    options["dtype"] = draw(
        st.sampled_from([str, "string", "str"] if text else ["bytes", "variable_length_bytes"])
    )
    if draw(st.booleans()):
        options["fill_value"] = "fill" if text else b"fill"
    if text and draw(st.integers(0, 2)) == 0:
        options["zarr_format"] = 2
        options["order"] = draw(st.sampled_from("CF"))
        options["compressors"] = draw(st.sampled_from([None, {"id": "zlib", "level": 1}]))
    else:
        if draw(st.booleans()):
            options["shards"] = tuple(extent * draw(st.integers(1, 3)) for extent in chunks)
        compressors = [
            None,
            [{"name": "gzip", "configuration": {"level": 1}}],
            [zarr.codecs.BloscCodec()],
            "auto",
        ]
        options["compressors"] = draw(st.sampled_from(compressors))
    if draw(st.booleans()):
        options["config"] = {"write_empty_chunks": True}
    return text, options


def words(draw, text, shape):
    count = int(np.prod(shape))
    drawn = draw(st.lists(st.sampled_from(WORDS), min_size=count, max_size=count))
    found = np.empty(count, dtype=object)
    found[:] = drawn if text else [word.encode() for word in drawn]
    return found.reshape(shape)


def write(draw, array, oracle, text):
    """Write to a random selection of both."""
    index = tuple(
        slice(*sorted((draw(st.integers(0, length)), draw(st.integers(0, length)))), draw(st.integers(1, 3)))
        for length in oracle.shape
    )
    way = draw(st.sampled_from(["basic", "oindex", "vindex", "mask", "blocks", "scalar"]))
    if way == "basic":
        value = words(draw, text, oracle[index].shape)
        array[index] = oracle[index] = value
    elif way == "scalar":
        value = words(draw, text, (1,))[0]
        array[index] = value
        oracle[index] = value
    elif way == "oindex":
        rows = draw(st.lists(st.integers(0, oracle.shape[0] - 1), min_size=1, max_size=5, unique=True))
        index = (rows, *index[1:])
        value = words(draw, text, oracle[index].shape)
        array.oindex[index] = value
        oracle[index] = value
    elif way == "vindex":
        count = draw(st.integers(1, 6))
        seen = draw(st.permutations(range(oracle.size)))[:count]
        points = np.unravel_index(list(seen), oracle.shape)
        value = words(draw, text, (len(seen),))
        array.vindex[points] = value
        oracle[points] = value
    elif way == "mask":
        size = oracle.size
        mask = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size))).reshape(oracle.shape)
        value = words(draw, text, (int(mask.sum()),))
        array.vindex[mask] = value
        oracle[mask] = value
    else:
        extent = (array.shards or array.chunks)[0]
        value = words(draw, text, oracle[:extent].shape)
        array.blocks[0] = value
        oracle[:extent] = value


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(data=st.data())
def test_what_is_written_reads_as_numpy_has_it(data, tmp_path_factory):
    text, options = data.draw(cases())
    folder = tmp_path_factory.mktemp("variable")
    array = swath.create_array(folder / "a", **options)
    empty = "" if text else b""
    oracle = np.full(options["shape"], options.get("fill_value", empty), dtype=object)
    for _ in range(data.draw(st.integers(1, 3))):
        write(data.draw, array, oracle, text)
        assert as_lists(array[...]) == oracle.tolist()
    added = words(data.draw, text, (2, *oracle.shape[1:]))
    array.append(added)
    oracle = np.concatenate([oracle, added])
    # zarr-python reads the same, and swath what zarr-python writes into it.
    other = zarr.open_array(folder / "a", mode="r+")
    assert as_lists(other[...]) == oracle.tolist()
    value = words(data.draw, text, oracle[1:].shape)
    other[1:] = value
    oracle[1:] = value
    assert as_lists(swath.open_array(folder / "a")[...]) == oracle.tolist()


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"chunks": (2, 2)},
        {"chunks": (2, 2), "shards": (4, 4)},
        {"fill_value": "é"},
        {"compressors": None},
        {"order": "F"},
        {"shape": (100_000, 400)},
        {"dtype": "variable_length_bytes"},
        {"dtype": "variable_length_bytes", "fill_value": b"ab"},
        {"dtype": np.dtypes.StringDType()},
        {"dtype": "string"},
    ],
)
def test_metadata_is_zarr_pythons(tmp_path, zarr_format, options):
    if zarr_format == 2 and ("shards" in options or options.get("dtype") == "variable_length_bytes"):
        pytest.skip("zarr-python makes no such array of Zarr v2")
    options = {"shape": (10, 4), "dtype": str, "zarr_format": zarr_format, **options}
    swath.create_array(tmp_path / "swath", **options)
    zarr.create_array(tmp_path / "zarr", **options)
    name = "zarr.json" if zarr_format == 3 else ".zarray"
    found, wanted = (json.loads((tmp_path / which / name).read_text()) for which in ("swath", "zarr"))
    assert found == wanted


def test_data_makes_arrays_of_strings(tmp_path):
    data = np.array([["a", "bc"], ["é", ""]], dtype=np.dtypes.StringDType())
    array = swath.create_array(tmp_path / "a", data=data)
    assert array.dtype.kind == "T"
    assert array[...].tolist() == data.tolist()
    assert zarr.open_array(tmp_path / "a")[...].tolist() == data.tolist()
    group = swath.open_group(tmp_path / "g", mode="w")
    made = group.require_array("names", shape=(2,), dtype="string")
    made[...] = ["x", "y"]
    assert group.require_array("names", shape=(2,), dtype=str)[...].tolist() == ["x", "y"]


def test_values_are_cast_as_numpy_casts(tmp_path):
    array = swath.create_array(tmp_path / "s", shape=(4,), dtype=str)
    array[...] = np.arange(4)
    assert array[...].tolist() == ["0", "1", "2", "3"]
    array[1:3] = np.array(["ab", "c"])
    array[3] = "z\0"
    assert array[...].tolist() == ["0", "ab", "c", "z\0"]
    for odd in (None, [None] * 4, ["a", 1, "b", "c"], 3.5):
        with pytest.raises((ValueError, TypeError)):
            array[...] = odd
    blobs = swath.create_array(tmp_path / "b", shape=(2,), dtype="bytes")
    blobs[...] = [b"a\0", b""]
    assert blobs[...].tolist() == [b"a\0", b""]
    blobs[0] = np.array(b"xy")
    assert blobs[...].tolist() == [b"xy", b""]
    with pytest.raises(swath.InvalidError, match="wanted elements of data type `bytes`"):
        blobs[...] = "text"
    assert blobs[...].tolist() == [b"xy", b""]


@pytest.mark.parametrize(
    "inner",
    [
        "uint8",
        "float64",
        "string",
        "bytes",
        {"name": "optional", "configuration": {"name": "string", "configuration": {}}},
    ],
)
def test_what_may_be_missing_is_written(tmp_path, inner):
    configuration = inner if isinstance(inner, dict) else {"name": inner, "configuration": {}}
    dtype = {"name": "optional", "configuration": configuration}
    array = swath.create_array(tmp_path / "a", shape=(5,), chunks=(2,), dtype=dtype)
    assert not array[...]["is_present"].any()
    value = {"uint8": 7, "float64": 1.5, "string": "text", "bytes": b"text"}.get(str(inner), (True, "text"))
    values = np.array([(True, value)] * 2, dtype=array.dtype)
    values["is_present"][1] = False
    array[1:3] = values
    assert array[...]["is_present"].tolist() == [False, True, False, False, False]
    assert array[1]["value"].tolist() == value if isinstance(value, tuple) else array[1]["value"] == value
    array[4] = np.array((True, value), dtype=array.dtype)
    array.append(values)
    assert array[...]["is_present"].tolist() == [False, True, False, False, True, True, False]


@pytest.mark.parametrize("missing", [None, np.nan])
def test_strings_that_are_missing_are_no_text(tmp_path, missing):
    array = swath.create_array(tmp_path, shape=(3,), dtype=str)
    dtype = np.dtypes.StringDType(na_object=missing)
    array[:] = np.array(["a", "b", "c"], dtype=dtype)
    with pytest.raises((TypeError, ValueError)):
        array[:] = np.array(["x", missing, "z"], dtype=dtype)
    assert list(array[:]) == ["a", "b", "c"]
