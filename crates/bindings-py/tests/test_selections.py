"""Lists, masks, points and blocks: NumPy says what they give, zarr-python which are refused."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
import swath
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

T, F = True, False
VALUES = np.arange(90, dtype="i4").reshape(10, 9)


@pytest.fixture(scope="module")
def arrays(tmp_path_factory):
    """Names of arrays, each as swath's and as zarr-python's."""
    folder = tmp_path_factory.mktemp("selections")
    zarr.create_array(folder / "u", data=VALUES, chunks=(4, 3))
    zarr.create_array(folder / "z", data=VALUES, chunks=(2, 3), shards=(4, 6))
    zarr.create_array(folder / "o", data=np.arange(10), chunks=(4,))
    zarr.create_array(folder / "s", shape=(), dtype="i4", fill_value=5)
    zarr.create_array(folder / "e", shape=(0, 5), chunks=(2, 2), dtype="i4")
    names = "uzose"
    ours = {name: swath.open_array(folder / name) for name in names}
    theirs = {name: zarr.open_array(folder / name, mode="r") for name in names}
    common = {"np": np, "v": VALUES, "T": T, "F": F}
    return ours | common, theirs | common


# What zarr-python reads, and what it refuses as an index. Swath gives the same, and refuses the same.
EXPRESSIONS = """
u.blocks[0]
u.blocks[-1]
u.blocks[3]
u.blocks[1:]
u.blocks[3:]
u.blocks[1:2, 0]
u.blocks[::2]
u.blocks[5:9]
u.blocks[2:1]
u.blocks[-9:1]
u.blocks[0:0]
u.blocks[[0, 1]]
u.blocks[...]
u.blocks[..., 1]
u.blocks[..., 4:]
u.blocks[None]
u.blocks[0, 0, 0]
u.blocks[True]
u.blocks[0.5]
u.blocks[0:2:-1]
u.blocks[np.int64(1)]
z.blocks[0, 0]
z.blocks[1]
s.blocks[...]
s.blocks[()]
e.blocks[0]
u.vindex[[1, 2], [3, 4]]
u.vindex[1, 2]
u.vindex[1, [2, 3]]
u.vindex[[1, 2]]
u.vindex[[1, 2], :]
u.vindex[[1, 2], [1, 2, 3]]
u.vindex[[10], [1]]
u.vindex[[-11], [1]]
u.vindex[[-1], [-9]]
u.vindex[np.zeros((2, 1), int), np.zeros((1, 3), int)]
u.vindex[v > 50]
u.vindex[(v > 50)[:5]]
u.vindex[v > 1000]
u.vindex[[], []]
u.vindex[np.array([], int), np.array([], int)]
u.vindex[[1.5], [2]]
u.vindex[np.array([1.0]), np.array([1])]
u.vindex[...]
u.vindex[None]
u.vindex[np.uint64(1), np.array([2**63], dtype="u8")]
u.vindex[np.array(3), np.array(4)]
s.vindex[()]
s.vindex[...]
s.vindex[True]
e.vindex[[0], [0]]
e.vindex[np.zeros((0, 5), bool)]
o.vindex[[1, 2, 1]]
o.vindex[3]
o.vindex[np.array([[1, 2], [3, 4]])]
u.oindex[[1, 2], [3, 4]]
u.oindex[1, [2, 3]]
u.oindex[1, 2]
u.oindex[...]
u.oindex[()]
u.oindex[[1, 2]]
u.oindex[..., [1, 2]]
u.oindex[..., 2:5]
u.oindex[[T] * 10]
u.oindex[[T] * 9]
u.oindex[np.array([T] * 10), np.array([F] * 9)]
u.oindex[np.array([[1, 2]])]
u.oindex[v > 50]
u.oindex[[1.5]]
u.oindex[[]]
u.oindex[np.array([], int)]
u.oindex[[10]]
u.oindex[[-10]]
u.oindex[[-11]]
u.oindex[::-1]
u.oindex[[1], ::-1]
u.oindex[::2, [0, 8, 0]]
u.oindex[-3:, [0, 8, 0]]
u.oindex[::0, [0]]
u.oindex[None]
u.oindex[True]
u.oindex[1, 2, 3]
u.oindex[[1], [2], [3]]
u.oindex[..., ...]
u.oindex[np.array(3)]
u.oindex[np.int64(3)]
u.oindex[np.uint8(3), [1]]
u.oindex[(1, 2),]
u.oindex["a"]
u.oindex[:, 99]
u.oindex[np.array([1, 2], dtype="u8"), np.array([3], dtype="i1")]
u.oindex[np.array([2**63], dtype="u8")]
u.oindex[[2**70]]
u.oindex[2**70]
u.oindex[np.array([1, 2], dtype=object)]
u.oindex[np.array([1.0])]
u.oindex[-99:99]
u.oindex[u]
s.oindex[...]
s.oindex[()]
e.oindex[[0]]
e.oindex[:, [0, 1]]
u[[1, 2]]
u[[1, 2], [3, 4]]
u[[1, 2], 3]
u[[1, 2], :]
u[:, [1, 2]]
u[..., [1, 2]]
u[[1, 2], ...]
u[v > 50]
u[(v > 50)[:, 0]]
u[[T] * 10]
u[np.array([T] * 10)]
u[np.array([T] * 10), :]
u[np.array([T] * 10), 1]
u[np.array([T] * 10), [1, 2]]
u[np.array([T] * 10), np.array([T] * 9)]
u[np.array([[1, 2], [3, 4]])]
u[np.array([[1, 2], [3, 4]]), 1]
u[np.array([[1, 2], [3, 4]]), :]
u[[[1, 2], [3, 4]]]
u[[1.5]]
u[1.5]
u[[]]
u[np.array([], int)]
u[None]
u[True]
u[T, F]
u[np.array([3]), np.array(1)]
u[(1, 2), (3, 4)]
u[[10], [1]]
u[[10]]
u[[-1]]
u[1:3, [1, 2, 1]]
u[::-1, [1]]
u[1, 2, 3]
u[[1], [2], [3]]
u[..., ...]
u["a"]
u[1, "a"]
u[range(3)]
u[99]
u[np.array([1.0])]
u[np.array([1.0]), 1]
u[np.array(["a"])]
o[[1, 2]]
o[[T] * 10]
o[[T] * 9]
o[np.array([T] * 10)]
o[np.array([T] * 9)]
o[np.array([[1, 2], [3, 4]])]
o[[]]
o[np.array([], int)]
o[[1, 2],]
o[[1, 2], ...]
o[np.array(3)]
o[-1]
o[[T, 1]]
o[o]
o[zarr_list]
s[...]
s[()]
s[0]
s[True]
s[[0]]
e[[0]]
e[[], :]
e[:, [0, 1]]
e[np.zeros((0, 5), bool)]
z.oindex[[9, 0, 3], [8, 1]]
u.get_basic_selection([1, 2])
u.get_basic_selection((1, slice(None)))
u.get_basic_selection()
u.get_basic_selection(np.array([1]))
u.get_basic_selection(1, fields="a")
u.get_basic_selection(1, fields=[])
u.get_orthogonal_selection([1, 2])
u.get_orthogonal_selection(([1, 2], [3]))
u.get_orthogonal_selection([1], fields="a")
u.get_coordinate_selection(([1, 2], [3, 4]))
u.get_coordinate_selection([1, 2])
u.get_coordinate_selection((1, 2))
u.get_coordinate_selection((1, [2]))
o.get_coordinate_selection([1, 2])
o.get_coordinate_selection(3)
u.get_mask_selection(v > 50)
u.get_mask_selection([T])
o.get_mask_selection([T] * 10)
u.get_block_selection(0)
u.get_block_selection((0, slice(1, 2)))
u.get_block_selection([0])
"""


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().split("\n"))
def test_zarr_python_gives_and_refuses_the_same(arrays, expression):
    ours, theirs = ({**names, "zarr_list": zarr.array([1, 2])} for names in arrays)
    try:
        expected = eval(expression, theirs)
    except (IndexError, ValueError) as raised:
        with pytest.raises(IndexError if isinstance(raised, IndexError) else ValueError) as caught:
            eval(expression, ours)
        assert isinstance(caught.value, swath.SwathError)
        return
    found = eval(expression, ours)
    assert type(found) is type(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_what_lies_outside_is_named(arrays):
    u = arrays[0]["u"]
    cases = [
        (lambda: u.oindex[0, [1, 9, 10]], "index 9 is out of bounds for axis 1 with length 9"),
        (lambda: u.vindex[[0, -11], 0], "index -11 is out of bounds for axis 0 with length 10"),
        (lambda: u[[3, 12]], "index 12 is out of bounds for axis 0 with length 10"),
        (lambda: u.blocks[0, 3], "index 3 is out of bounds for axis 1 with length 3"),
        (lambda: u.oindex[[T, F]], "wanted a mask of 10 elements for axis 0"),
    ]
    for read, message in cases:
        with pytest.raises(swath.OutOfBoundsError, match=message):
            read()


def test_out_and_many(arrays):
    u = arrays[0]["u"]
    out = np.zeros((2, 3), "i4")
    assert u.get_orthogonal_selection(([1, 2], [0, 0, 8]), out=out) is out
    np.testing.assert_array_equal(out, VALUES[np.ix_([1, 2], [0, 0, 8])])
    assert u.read(([1, 2], slice(0, 3)), out=out) is out
    np.testing.assert_array_equal(out, VALUES[[1, 2], 0:3])
    assert u.get_coordinate_selection((np.array([[1], [2]]), [0, 4, 8]), out=out) is out
    assert u.get_basic_selection((slice(4, 6), slice(3)), out=out) is out
    block = np.zeros((4, 3), "i4")
    assert u.get_block_selection((0, 0), out=block) is block
    np.testing.assert_array_equal(block, VALUES[:4, :3])
    with pytest.raises(swath.InvalidError, match="shape"):
        u.get_mask_selection(VALUES > 3, out=out)
    indexes = [np.s_[1:4, 0], ([1, 5, 5], [2, 2, 8]), np.s_[3:6, [2]], VALUES > 80]
    many = u.read_many(indexes, stack=False)
    for index, found in zip(indexes, many, strict=True):
        np.testing.assert_array_equal(found, VALUES[index])
    stacked = u.read_many([([1, 5, 5], [2, 2, 8]), np.s_[1:4, 0]])
    np.testing.assert_array_equal(stacked, [VALUES[[1, 5, 5], [2, 2, 8]], VALUES[1:4, 0]])
    with pytest.raises(swath.InvalidError, match="equal shapes"):
        u.read_many(indexes)


def test_views_and_foreign_lists_of_indexes(arrays):
    u = arrays[0]["u"]
    rows = np.arange(20, dtype=">i2").reshape(10, 2)[::-3, 0] // 2
    np.testing.assert_array_equal(u.oindex[rows], VALUES[rows])
    mask = np.asfortranarray(VALUES % 3 == 0)
    np.testing.assert_array_equal(u[mask], VALUES[mask])
    np.testing.assert_array_equal(u.vindex[mask.tolist()], VALUES[mask])


def layout(draw):
    """A shape, and how it is chunked and sharded."""
    rank = draw(st.integers(1, 4))
    shape = tuple(draw(st.integers(1, 9)) for _ in range(rank))
    chunks = tuple(draw(st.integers(1, 5)) for _ in range(rank))
    shards = None
    if draw(st.booleans()):
        shards = tuple(chunk * draw(st.integers(1, 3)) for chunk in chunks)
    return shape, chunks, shards


def integers(draw, length):
    """Indexes of an axis: in any order, sorted, or neighbours."""
    indexes = draw(st.lists(st.integers(-length, length - 1), min_size=1, max_size=12))
    if draw(st.booleans()):
        indexes.sort()
    return np.array(indexes, draw(st.sampled_from(["i8", "i4", "i1"])))


def crossed(draw, shape):
    """An orthogonal index, and its elements along each axis."""
    index, elements = [], []
    for length in shape:
        match draw(st.integers(0, 3)):
            case 0:
                entry = draw(st.integers(-length, length - 1))
                elements.append(entry)
            case 1:
                bound = st.none() | st.integers(-length - 3, length + 3)
                entry = slice(draw(bound), draw(bound), draw(st.none() | st.integers(1, 4)))
                elements.append(np.arange(length)[entry])
            case 2:
                entry = np.array([draw(st.booleans()) for _ in range(length)])
                elements.append(np.flatnonzero(entry))
            case _:
                entry = integers(draw, length)
                elements.append(entry)
        index.append(entry)
    return tuple(index), elements


def gathered(values, elements):
    """What NumPy takes of ``values``, one axis after the other; integers drop theirs."""
    for axis in reversed(range(len(elements))):
        values = np.take(values, elements[axis], axis=axis)
    return values


def coordinates(draw, length, number, count):
    """One index for all points, one for each row of them, or one for each column."""
    if draw(st.booleans()):
        return draw(st.integers(-length, length - 1))
    indexes = [draw(st.integers(-length, length - 1)) for _ in range(count)]
    return np.array(indexes).reshape((-1, 1) if number % 2 else (1, -1))


@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_random_selections_are_numpys(data):
    shape, chunks, shards = layout(data.draw)
    values = np.random.default_rng(len(shape)).integers(0, 1 << 30, shape, dtype="i4")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.zarr"
        theirs = zarr.create_array(path, shape=shape, chunks=chunks, shards=shards, dtype="i4", fill_value=-7)
        part = tuple(slice(*sorted(data.draw(st.integers(0, n)) for _ in "ab")) for n in shape)
        expected = np.full(shape, -7, "i4")
        expected[part] = values[part]
        if expected[part].size:
            theirs[part] = values[part]
        array = swath.open_array(path)
        index, elements = crossed(data.draw, shape)
        np.testing.assert_array_equal(array.oindex[index], gathered(expected, elements))
        count = data.draw(st.integers(1, 20))
        points = tuple(coordinates(data.draw, length, number, count) for number, length in enumerate(shape))
        found = array.vindex[points]
        np.testing.assert_array_equal(found, np.atleast_1d(expected[points]))
        mask = np.array([data.draw(st.booleans()) for _ in range(expected.size)]).reshape(shape)
        for found in (array[mask], array.vindex[mask], array.get_mask_selection(mask)):
            np.testing.assert_array_equal(found, expected[mask])
        whole = shards or chunks
        grid = list(zip(shape, whole, strict=True))
        first = tuple(data.draw(st.integers(0, -(-length // extent) - 1)) for length, extent in grid)
        block = tuple(slice(at * extent, (at + 1) * extent) for at, extent in zip(first, whole, strict=True))
        np.testing.assert_array_equal(array.blocks[first], expected[block])
