"""Selections by fields of structured elements, against zarr-python."""

import numpy as np
import pytest
import swath
import zarr

# numcodecs compresses no times within structures.
DTYPES = {
    "plain": np.dtype([("a", ">i2"), ("b", "<f8"), ("c", "u1"), ("d", "<M8[s]")]),
    "zstd": np.dtype([("a", ">i2"), ("b", "<f8"), ("c", "u1"), ("d", ">i8")]),
}


@pytest.fixture(params=DTYPES)
def both(tmp_path, request):
    """Give the same array opened by zarr-python and by swath."""
    dtype = DTYPES[request.param]
    values = np.zeros((7, 10), dtype)
    values["a"] = np.arange(70).reshape(7, 10) - 30
    values["b"] = np.linspace(-1, 1, 70).reshape(7, 10)
    values["c"] = np.arange(70).reshape(7, 10)
    values["d"] = np.arange(70).reshape(7, 10).astype(dtype["d"])
    compressors = None if request.param == "plain" else "auto"
    theirs = zarr.create_array(
        tmp_path, shape=values.shape, chunks=(3, 4), dtype=dtype, zarr_format=2, compressors=compressors
    )
    theirs[:6] = values[:6]
    return theirs, swath.open_array(tmp_path)


@pytest.mark.parametrize("fields", ["a", "d", ["a"], ["c", "a"], ["a", "b", "c", "d"], ["d", "b"]])
def test_fields_of_every_selection(both, fields):
    theirs, ours = both
    whole = theirs[...]
    names = fields if isinstance(fields, str) or 1 < len(fields) else fields[0]
    wanted = whole[names]

    def same(read, expected):
        assert read.dtype.names == expected.dtype.names
        for name in read.dtype.names or [None]:
            left, right = (read, expected) if name is None else (read[name], expected[name])
            np.testing.assert_array_equal(left, right)

    same(ours.get_basic_selection(fields=fields), wanted)
    same(ours.get_basic_selection((slice(1, 5), 3), fields=fields), wanted[1:5, 3])
    same(ours.get_orthogonal_selection(([4, 0], slice(None)), fields=fields), wanted[[4, 0]])
    same(ours.get_coordinate_selection(([4, 0], [1, 9]), fields=fields), wanted[[4, 0], [1, 9]])
    same(ours.get_mask_selection(whole["c"] % 3 == 0, fields=fields), wanted[whole["c"] % 3 == 0])
    same(ours.get_block_selection((1, 0), fields=fields), wanted[3:6, :4])


def test_fields_in_an_index(both):
    theirs, ours = both
    whole = theirs[...]
    np.testing.assert_array_equal(ours["b"], whole["b"])
    np.testing.assert_array_equal(ours["b", 2], whole["b"][2])
    np.testing.assert_array_equal(ours["b", 2, 1:4], whole["b"][2, 1:4])
    assert ours["c", "b", 0:2].dtype.names == ("c", "b")
    np.testing.assert_array_equal(ours.oindex["a", [3, 1], 2], whole["a"][[3, 1], 2])
    np.testing.assert_array_equal(ours.vindex["a", [3, 1], [2, 0]], whole["a"][[3, 1], [2, 0]])
    np.testing.assert_array_equal(ours.blocks["a", 0], whole["a"][:3])


def test_what_are_no_fields(both, tmp_path):
    _, ours = both
    with pytest.raises(swath.UnsupportedSelectionError, match="x"):
        ours["x"]
    with pytest.raises(swath.UnsupportedSelectionError, match="x"):
        ours.get_basic_selection(fields=["a", "x"])
    plain = zarr.create_array(tmp_path / "plain", shape=(3,), dtype="i4")
    plain[:] = 1
    with pytest.raises(swath.UnsupportedSelectionError):
        swath.open_array(tmp_path / "plain")["a"]
    with pytest.raises(swath.UnsupportedSelectionError):
        swath.open_array(tmp_path / "plain").get_basic_selection(fields="a")
