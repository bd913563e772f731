"""Writes by lists, masks, points and blocks: NumPy says what they give, zarr-python which are refused."""

import os
import random
import re
from pathlib import Path

import numcodecs
import numpy as np
import pytest
import swath
import zarr
from hypothesis import HealthCheck, given, note, seed, settings
from hypothesis import strategies as st
from test_selections import EXPRESSIONS, VALUES

T, F = True, False

# Cases that are tried; SWATH_CASES=20000 for a full run, SWATH_SEED for the same ones again.
CASES = int(os.environ.get("SWATH_CASES", "60"))
SEED = int(os.environ.get("SWATH_SEED", random.randrange(1 << 32)))


def make(folder):
    """Make the arrays of test_selections, to be written to by zarr-python."""
    zarr.create_array(folder / "u", data=VALUES, chunks=(4, 3))
    zarr.create_array(folder / "z", data=VALUES, chunks=(2, 3), shards=(4, 6))
    zarr.create_array(folder / "o", data=np.arange(10), chunks=(4,))
    zarr.create_array(folder / "s", shape=(), dtype="i4", fill_value=5)
    zarr.create_array(folder / "e", shape=(0, 5), chunks=(2, 2), dtype="i4")


def outcome(expression, open_array, folder, value):
    """What the array of an expression is once it was assigned to, or the error."""
    names = {name: open_array(folder / name) for name in "uzose"} | {"np": np, "v": VALUES, "T": T, "F": F}
    names |= {"zarr_list": zarr.array([1, 2]), "value": value}
    # What is a call there is one here: get_basic_selection(...) is set_basic_selection(..., value=...).
    call, calls = re.subn(r"get_(\w+)\((.*)\)$", r"set_\1(\2, value=value)", expression)
    try:
        exec(call if calls else f"{expression} = value", names)
    except Exception as error:
        return error
    return names[expression[0]][...]


@pytest.mark.parametrize(
    "expression", [each for each in EXPRESSIONS.split("\n") if each and not each.endswith("n()")]
)
def test_assignments_are_zarr_pythons(tmp_path, expression):
    for name in ("ours", "theirs"):
        make(tmp_path / name)
    ours = outcome(expression, lambda path: swath.open_array(path, "r+"), tmp_path / "ours", 77)
    theirs = outcome(expression, lambda path: zarr.open_array(path, mode="r+"), tmp_path / "theirs", 77)
    if isinstance(theirs, Exception):
        # Of what it refuses, swath takes what NumPy does.
        assert isinstance(ours, IndexError | ValueError) or taken_by_numpy(expression, ours), (ours, theirs)
    else:
        np.testing.assert_array_equal(ours, theirs)


def taken_by_numpy(expression, ours):
    """Whether an array is what NumPy makes of the same assignment."""
    names = {
        "u": VALUES.copy(),
        "z": VALUES.copy(),
        "o": np.arange(10),
        "np": np,
        "v": VALUES,
        "T": T,
        "F": F,
    }
    names |= {"s": np.array(5, "i4"), "e": np.zeros((0, 5), "i4")}
    exec(f"{expression} = 77", names)
    return np.array_equal(ours, names[expression[0]])


def test_values_are_broadcast_and_the_last_counts(tmp_path):
    make(tmp_path)
    for name in "uz":
        array, expected = swath.open_array(tmp_path / name, "r+"), VALUES.copy()
        array.oindex[[5, 0, 5], [1, 2]] = [[1], [2], [3]]
        expected[np.ix_([0, 5], [1, 2])] = [[2], [3]]
        array.vindex[[9, 1, 9], [0, 4, 0]] = [7, 8, 9]
        expected[[9, 1, 9], [0, 4, 0]] = [7, 8, 9]
        array.vindex[[[0], [3]], [[6, 7, 8]]] = np.arange(3)
        expected[[[0], [3]], [[6, 7, 8]]] = np.arange(3)
        array[expected > 80] = -1
        expected[expected > 80] = -1
        array[:, [0, 3]] = np.arange(10)[:, None]
        expected[:, [0, 3]] = np.arange(10)[:, None]
        array.blocks[1, -1] = 5
        rows, columns = ((4, 8), (6, 9))
        expected[slice(*rows), slice(*columns)] = 5
        array.set_basic_selection((0, slice(2)), [50, 51])
        expected[0, :2] = [50, 51]
        array.set_orthogonal_selection(([2, 7], 8), [60, 61])
        expected[[2, 7], 8] = [60, 61]
        array.set_coordinate_selection(([3], [3]), 62)
        expected[3, 3] = 62
        array.set_mask_selection(expected == 5, 63)
        expected[expected == 5] = 63
        array.set_block_selection((0, 0), 64)
        expected[:4, : 3 if name == "u" else 6] = 64
        np.testing.assert_array_equal(array[...], expected)
        np.testing.assert_array_equal(zarr.open_array(tmp_path / name, mode="r")[...], expected)


def test_what_is_refused_is_not_written(tmp_path):
    make(tmp_path)
    array = swath.open_array(tmp_path / "u", "r+")
    for write in (
        lambda: array.set_basic_selection([1, 2], 0),
        lambda: array.set_basic_selection(0, 0, fields="a"),
        lambda: array.set_mask_selection(VALUES > 5, 0, fields=["a"]),
        lambda: array.set_coordinate_selection(VALUES > 5, 0),
        lambda: array.set_mask_selection([1, 2], 0),
        lambda: array.oindex.__setitem__([[1, 2], [3, 4]], 0),
    ):
        with pytest.raises(swath.UnsupportedSelectionError):
            write()
    with pytest.raises(swath.InvalidError, match="broadcast"):
        array.vindex[[1, 2, 3], [1, 2, 3]] = [1, 2]
    with pytest.raises(swath.OutOfBoundsError, match="index 9 is out of bounds for axis 1 with length 9"):
        array.oindex[[1, 2], [3, 9]] = 0
    with pytest.raises(swath.InvalidError, match="reading only"):
        swath.open_array(tmp_path / "u").oindex[[1], [1]] = 0
    np.testing.assert_array_equal(array[...], VALUES)


def test_slices_behind_an_ellipsis_are_of_their_own_axis(tmp_path):
    values = np.arange(60).reshape(3, 4, 5)
    array = swath.create_array(tmp_path / "a", data=values, chunks=(2, 2, 2))
    np.testing.assert_array_equal(array.oindex[..., 0 : 10**20], values)
    np.testing.assert_array_equal(array.oindex[[2, 0], ..., 2 : 10**20], values[[2, 0], :, 2:])
    with pytest.raises(swath.OutOfBoundsError, match="axis 2 with length 5"):
        array.oindex[..., 10**20]
    with pytest.raises(swath.OutOfBoundsError, match="axis 2 with"):
        array.blocks[..., 10**20]


DTYPES = ["?", "i1", "<u2", ">i4", "<i8", "<f2", ">f4", "<f8", "<c8", "<M8[s]", "<m8[ms]", "S3", "<U2"]
V3_CODECS = [
    "auto",
    None,
    [zarr.codecs.GzipCodec(level=1)],
    [zarr.codecs.ZstdCodec(level=1, checksum=True)],
    [zarr.codecs.BloscCodec(cname="lz4", clevel=1)],
    [zarr.codecs.Crc32cCodec()],
]
V2_CODECS = [
    "auto",
    None,
    numcodecs.Zlib(level=1),
    numcodecs.LZ4(),
    numcodecs.BZ2(level=1),
]


@st.composite
def arrays(draw):
    """Arguments that make an array, the same for both."""
    shape = tuple(draw(st.lists(st.integers(0, 9), max_size=3)))
    chunks = tuple(draw(st.integers(1, 5)) for _ in shape)
    options = {"shape": shape, "chunks": chunks, "dtype": draw(st.sampled_from(DTYPES))}
    options["zarr_format"] = draw(st.sampled_from([2, 3]))
    options["fill_value"] = np.asarray(draw(st.integers(0, 1))).astype(options["dtype"])[()]
    if options["zarr_format"] == 2:
        options["order"] = draw(st.sampled_from("CF"))
        options["compressors"] = draw(st.sampled_from(V2_CODECS))
        return options
    options["compressors"] = draw(st.sampled_from(V3_CODECS))
    if draw(st.booleans()):
        options["shards"] = tuple(chunk * draw(st.integers(1, 3)) for chunk in chunks)
    if shape and draw(st.booleans()):
        options["filters"] = [zarr.codecs.TransposeCodec(order=draw(st.permutations(range(len(shape)))))]
    return options


def mask_of(values):
    return np.array(values, bool)


def indexes(length, **sizes):
    return st.lists(st.integers(-length, length - 1), **sizes)


def entry(length):
    """What oindex takes of an axis; repeats are swath's alone."""
    choices = [st.builds(slice, st.integers(0, length), st.integers(0, length), st.integers(1, 3))]
    choices.append(st.lists(st.booleans(), min_size=length, max_size=length).map(mask_of))
    if length:
        choices.append(st.integers(-length, length - 1))
        choices.append(indexes(length, min_size=1, max_size=7))
    return st.one_of(choices)


@st.composite
def writes(draw, shape, chunks):
    """A way to write, its index, and NumPy's index of the same elements."""
    way = draw(st.sampled_from(["basic", "orthogonal", "coordinate", "mask", "block"]))
    if way == "coordinate" and shape and 0 not in shape:
        count = draw(st.integers(1, 9))
        lists = tuple(draw(indexes(length, min_size=count, max_size=count)) for length in shape)
        return way, lists, lists
    if way == "mask" and shape:
        share = draw(st.floats(0, 1))
        mask = np.random.default_rng(draw(st.integers(0, 99))).random(shape) < share
        return way, mask, mask
    if way == "block" and shape and 0 not in shape:
        blocks = tuple(
            draw(st.integers(0, (length - 1) // chunk)) for length, chunk in zip(shape, chunks, strict=True)
        )
        index = tuple(slice(at * chunk, (at + 1) * chunk) for at, chunk in zip(blocks, chunks, strict=True))
        return way, blocks, index
    if way == "orthogonal" and shape:
        index = tuple(draw(entry(length)) for length in shape)
        return way, index, crossed(index, shape)
    slices = tuple(draw(st.slices(length)) if length else slice(None) for length in shape)
    return "basic", slices, slices


def crossed(index, shape):
    """NumPy's index of every combination; axes that an integer drops are kept."""
    lists = []
    for part, length in zip(index, shape, strict=True):
        if isinstance(part, slice):
            lists.append(np.arange(length)[part])
        elif isinstance(part, int):
            lists.append(np.array([part]))
        else:
            part = np.asarray(part)
            lists.append(np.flatnonzero(part) if part.dtype == bool else part)
    return np.ix_(*lists)


def is_theirs(way, index, shape):
    """Whether zarr-python writes it as NumPy does: forwards, each element once, where there are some."""
    if way != "basic" and 0 in shape:
        return False
    if way == "basic":
        return all(part.step is None or 0 < part.step for part in index)
    if way == "coordinate":
        return False
    return way != "orthogonal" or not any(isinstance(part, list) for part in index)


@seed(SEED)
@settings(
    deadline=None,
    max_examples=CASES,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_both_write_and_both_read(tmp_path_factory, data):
    note(f"SWATH_SEED={SEED}")
    options = data.draw(arrays())
    folder = Path(tmp_path_factory.mktemp("case"))
    makes = data.draw(st.sampled_from([swath.create_array, zarr.create_array]))
    makes(folder / "a", **options)
    ours, theirs = swath.open_array(folder / "a", "r+"), zarr.open_array(folder / "a", mode="r+")
    stored = options.get("shards") or options["chunks"]
    expected = np.full(options["shape"], options["fill_value"], np.dtype(options["dtype"]).newbyteorder("="))
    for number in range(data.draw(st.integers(1, 4))):
        way, index, plain = data.draw(writes(options["shape"], stored))
        wanted = np.shape(expected[plain])
        values = np.random.default_rng(number).integers(0, 4, wanted).astype(options["dtype"])
        if data.draw(st.booleans()):
            values = np.zeros((), options["dtype"])
        expected[plain] = values
        if way == "orthogonal" and np.ndim(values):
            dropped = tuple(axis for axis, part in enumerate(index) if isinstance(part, int))
            values = np.squeeze(values, dropped)
        writer = theirs if is_theirs(way, index, options["shape"]) and data.draw(st.booleans()) else ours
        getattr(writer, f"set_{way}_selection")(index, values)
        np.testing.assert_array_equal(ours[...], expected)
        np.testing.assert_array_equal(theirs[...], expected)
