"""Reads that convert, against the same steps in NumPy."""

import warnings

import numpy as np
import pytest
import swath
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

SOURCES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]
FLOATS = ["float16", "float32", "float64"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("converted")


def written(folder, dtype, shards=None):
    """An array of random bits and of small numbers, whose last chunk is not stored."""
    random = np.random.default_rng(len(dtype))
    shape = (6, 5, 23, 31)
    size = np.dtype(dtype).itemsize
    if dtype == "bool":
        values = random.integers(0, 2, shape).astype(bool)
    else:
        bits = random.integers(0, 256, (*shape, size), dtype=np.uint8)
        values = np.ascontiguousarray(bits).view(dtype)[..., 0]
        small = random.integers(0, 5, shape).astype(dtype)
        values = np.where(random.integers(0, 4, shape) > 0, small, values)
    path = folder / f"{dtype}-{shards}"
    if path.exists():
        array = swath.open_array(path)
        return array, array[...]
    stored = np.dtype(dtype).newbyteorder(">")
    array = zarr.create_array(
        path,
        shape=shape,
        chunks=(2, 5, 8, 8),
        shards=shards,
        dtype=stored,
        fill_value=np.dtype(dtype).type(1),
        zarr_format=3 if shards else 2,
    )
    array[:] = values
    if not shards:
        (path / "2.0.2.3").unlink()
        values[4:, :, 16:, 24:] = 1
    return swath.open_array(path), values


def near(found, wanted, ulps):
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    if ulps == 0 or wanted.dtype.kind != "f":
        np.testing.assert_array_equal(found, wanted)
        return
    different = ~((found == wanted) | (np.isnan(found) & np.isnan(wanted)))
    with np.errstate(all="ignore"):
        apart = np.abs(found[different].astype("f8") - wanted[different].astype("f8"))
        assert (apart <= ulps * np.spacing(np.abs(wanted[different])).astype("f8")).all()


@pytest.mark.parametrize("target", FLOATS)
@pytest.mark.parametrize("source", SOURCES)
def test_every_type_is_cast_as_numpy_does(folder, source, target):
    array, values = written(folder, source)
    index = np.s_[1:5, ::2, 3:20, ::-1]
    with np.errstate(all="ignore"):
        wanted = values[index].astype("float32" if target == "float16" else target).astype(target)
        wanted = values[index].astype(target) if target == "float64" else wanted
    near(array.read(index, dtype=target), wanted, 0)


@pytest.mark.parametrize("source", SOURCES)
def test_steps_equal_numpy_in_single(folder, source):
    array, values = written(folder, source)
    mean, std = np.linspace(-1, 1, 5), np.linspace(0.5, 2, 5)
    single = np.float32
    with np.errstate(all="ignore"):
        decoded = values.astype(single) * single(0.01) + single(273.15)
        decoded = np.where(values == 3, single(np.nan), decoded)
        if source != "bool":
            decoded = np.where((values < 0) | (values > 100), single(np.nan), decoded)
        axis = (slice(None), None, None)
        wanted = (decoded - mean.astype(single)[axis]) / std.astype(single)[axis]
        wanted = np.nan_to_num(wanted, nan=-7, posinf=np.inf, neginf=-np.inf)
    steps = {
        "dtype": single,
        "mask": [3],
        "scale": 0.01,
        "offset": 273.15,
        "decode_dtype": "float32",
        "mean": mean,
        "std": std,
        "axis": 1,
        "fill": -7,
    }
    if source != "bool":
        steps["valid_range"] = (0, 100)
    index = np.s_[:, 1:4, 5:, 2::3]
    near(array.read(index, **steps), wanted[index], 0)
    near(array.read_many([index, index], **steps), np.stack([wanted[index]] * 2), 0)
    near(
        array.read(([0, 5, 2], [4, 0, 1], [22, 0, 3], [1, 30, 0]), **steps),
        wanted[[0, 5, 2], [4, 0, 1], [22, 0, 3], [1, 30, 0]],
        0,
    )
    orthogonal = ([5, 0], slice(None), [3, 1, 1], slice(0, 9))
    near(
        array.read(orthogonal, by="orthogonal", **steps),
        wanted[np.ix_([5, 0], range(5), [3, 1, 1], range(9))],
        0,
    )
    chosen = np.random.default_rng(0).random(values.shape) < 0.01
    near(array.read(chosen, by="mask", **steps), wanted[chosen], 0)
    near(array.read((1, 0, slice(0, 2), 3), by="block", **steps), wanted[2:4, :, :16, 24:], 0)
    out = np.empty(wanted[index].shape, single)
    assert array.read(index, out=out, **steps) is out
    near(out, wanted[index], 0)


@pytest.mark.parametrize("shards", [None, (6, 5, 16, 32)])
@pytest.mark.parametrize("skipna", [False, True])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_means_equal_numpy(folder, shards, skipna, data):
    array, values = written(folder, "int16", shards=shards)
    starts = [data.draw(st.integers(0, length - 1)) for length in values.shape]
    factors = [data.draw(st.integers(1, 5)) for _ in values.shape]
    index = tuple(slice(start, None) for start in starts)
    decoded = np.where(
        values[index] == 3, np.float32(np.nan), values[index].astype("float32") * np.float32(0.5)
    )
    trimmed = decoded[
        tuple(
            slice(0, length - length % factor) for length, factor in zip(decoded.shape, factors, strict=False)
        )
    ]
    blocks = trimmed.astype("float64").reshape(
        [
            n
            for length, factor in zip(trimmed.shape, factors, strict=False)
            for n in (length // factor, factor)
        ]
    )
    mean = np.nanmean if skipna else np.mean
    with warnings.catch_warnings():
        # Means of nothing.
        warnings.simplefilter("ignore")
        wanted = mean(blocks, axis=(1, 3, 5, 7)).astype("float32")
    found = array.read(index, dtype="float32", mask=3, scale=0.5, downsample=factors, skipna=skipna)
    near(found, wanted, 1)
    again = array.read(index, dtype="float32", mask=3, scale=0.5, downsample=factors, skipna=skipna)
    assert found.tobytes() == again.tobytes()


def test_integers_take_the_nearest_number(folder):
    array, values = written(folder, "int32")
    limits = np.iinfo("int8")
    near(array.read(dtype="int8"), np.clip(values, limits.min, limits.max).astype("int8"), 0)
    near(
        array.read(dtype="uint8", mask=2, fill=9),
        np.where(values == 2, 9, np.clip(values, 0, 255)).astype("uint8"),
        0,
    )
    assert array.read(mask=2).dtype == "float64"
    assert array.read().dtype == array.dtype and array.read(downsample=(1, 1, 1, 1)).dtype == array.dtype


def test_what_does_not_fit_is_refused(folder):
    array, _ = written(folder, "int16")
    for steps in (
        {"downsample": (2, 2)},
        {"downsample": (1, 0, 1, 1)},
        {"mean": [1, 2]},
        {"mean": [1, 2], "axis": 1},
        {"mean": 1, "std": 0},
        {"mean": 0, "axis": 4},
        {"dtype": "int8", "mask": 1},
        {"dtype": "uint8", "fill": -1},
        {"scale": 2, "decode_dtype": "float16"},
    ):
        with pytest.raises(swath.errors.InvalidError):
            array.read(**steps)
    with pytest.raises(swath.errors.InvalidError, match="dtype float32"):
        array.read(dtype="float32", out=np.empty(array.shape, "int16"))
    for dtype in ("bool", "complex64", ">f4", "datetime64[s]"):
        with pytest.raises(swath.errors.UnsupportedError):
            array.read(dtype=dtype)
    with pytest.raises(swath.errors.UnsupportedError, match="which a list picks from"):
        array.read(([0, 1, 4],), downsample=(2, 1, 1, 1))
    with pytest.raises(TypeError, match=r"read\(\) got an unexpected keyword argument 'scales'"):
        array.read(scales=1)
    with pytest.raises(ValueError, match="wanted `by`"):
        array.read(0, by="points")


def test_kept_chunks_are_converted(folder):
    path = folder / "kept"
    values = np.arange(64 * 64, dtype="uint16").reshape(64, 64)
    zarr.create_array(path, data=values, chunks=(16, 16))
    array = swath.open_array(path, decoded_cache_bytes=1 << 20)
    for _ in range(3):
        near(array.read(scale=2, dtype="float32"), values.astype("float32") * 2, 0)
