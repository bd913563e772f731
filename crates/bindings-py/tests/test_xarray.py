"""The engine ``swath`` of xarray: equal to its engine ``zarr``, in fewer reads."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import swath
import zarr

xr = pytest.importorskip("xarray")

import swath.xarray  # noqa: E402
from swath.xarray import batch  # noqa: E402
from swath.xarray.lazy_array import LazyArray  # noqa: E402
from swath.xarray.points import as_orthogonal  # noqa: E402
from xarray_data import dataset, keys  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:Failed to open Zarr store with consolidated metadata"),
    pytest.mark.filterwarnings("ignore:Consolidated metadata is currently not part"),
    pytest.mark.filterwarnings("ignore:.*does not have a Zarr V3 specification"),
]


def same(one, other):
    """Equal in type and value, NaN too."""
    if isinstance(one, (list, tuple, dict)):
        return type(one) is type(other) and one == other
    if isinstance(one, np.generic) and one.dtype != other.dtype:
        return False
    return type(one) is type(other) and (one == other or (one != one and other != other))


def check_variables(one, other):
    """Compare what `assert_identical` does not: the order and the types of attributes and encodings."""
    for name, expected in one.variables.items():
        found = other.variables[name]
        assert found.dtype == expected.dtype
        for kind in ("attrs", "encoding"):
            wanted, got = dict(getattr(expected, kind)), dict(getattr(found, kind))
            if kind == "encoding" and wanted.get("shards"):
                # Whole shards, where the engine zarr says chunks.
                shards = dict(zip(wanted["preferred_chunks"], wanted["shards"], strict=True))
                assert got.pop("preferred_chunks") == shards
                del wanted["preferred_chunks"]
            assert list(got) == list(wanted), (name, kind)
            for key, value in wanted.items():
                assert same(value, got[key]), (name, kind, key, value, got[key])


def check(source, zarr_source=None, **options):
    """Open with both engines, and compare all there is; returns what swath opened."""
    expected = xr.open_dataset(zarr_source or source, engine="zarr", **options)
    found = xr.open_dataset(source, engine="swath", **options)
    check_variables(expected, found)
    xr.testing.assert_identical(found, expected)
    return found


def test_equals_the_engine_zarr(stored):
    check(stored)
    for option in ("decode_cf", "mask_and_scale", "decode_times", "decode_coords", "concat_characters"):
        check(stored, **{option: False})
    check(stored, decode_coords="all")
    check(stored, drop_variables=["raw", "time"])
    check(stored, decode_timedelta=True)
    check(stored, use_zarr_fill_value_as_mask=None)
    check(stored, consolidated=False)
    check(stored, consolidated=True)


def test_fill_values_of_the_formats(tmp_path, zarr_format):
    group = zarr.create_group(tmp_path / "fill.zarr", zarr_format=zarr_format)
    for name, dtype, fill in (("f", "f4", np.nan), ("i", "i2", -5), ("b", "bool", True), ("c", "c8", 1 + 2j)):
        names = {"dimension_names": ["x"]} if zarr_format == 3 else {}
        array = group.create_array(name, shape=4, chunks=2, dtype=dtype, fill_value=fill, **names)
        if zarr_format == 2:
            array.attrs["_ARRAY_DIMENSIONS"] = ["x"]
        array[:2] = np.arange(2).astype(dtype)
    found = check(str(tmp_path / "fill.zarr"))
    assert found.i.dtype == ("float32" if zarr_format == 2 else "int16")
    is_masked = zarr_format == 3
    masked = xr.open_dataset(tmp_path / "fill.zarr", engine="swath", use_zarr_fill_value_as_mask=is_masked)
    assert masked.i.dtype == ("int16" if zarr_format == 2 else "float32")
    assert ("_FillValue" in masked.i.encoding) == is_masked


def test_real_data(data_folder):
    opened = 0
    for folder, _, files in data_folder.walk():
        places = [folder / name for name in files if name.endswith(".zip")]
        places += [folder] if {".zgroup", "zarr.json"} & set(files) else []
        for place in places:
            store = zarr.storage.ZipStore(place) if place.suffix == ".zip" else place
            for open_one, compare in ((xr.open_dataset, check_variables), (xr.open_datatree, None)):
                try:
                    expected = open_one(store, engine="zarr")
                except Exception:
                    continue
                found = open_one(place, engine="swath")
                xr.testing.assert_identical(found, expected)
                if compare:
                    compare(expected, found)
                opened += 1
    assert 25 <= opened


def test_stores_and_groups(stored, zarr_format):
    expected = xr.open_dataset(stored, engine="zarr")
    memory = zarr.storage.MemoryStore()
    dataset().to_zarr(memory, zarr_format=zarr_format, consolidated=False)
    places = [stored, swath.open_group(stored), zarr.storage.LocalStore(stored), f"file://{stored}"]
    for place in places:
        xr.testing.assert_identical(xr.open_dataset(place, engine="swath"), expected)
    xr.testing.assert_identical(xr.open_dataset(memory, engine="swath"), xr.open_zarr(memory, chunks=None))


def test_relative_paths_and_home(stored, monkeypatch):
    folder, name = os.path.split(stored)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", folder)
    for place in (name, f"~/{name}"):
        assert xr.open_dataset(place, engine="swath").attrs["title"] == "made"


def test_only_what_is_asked_for_is_read(stored, reads):
    found = xr.open_dataset(stored, engine="swath")
    # The times, y and x, and the reference time, which is one too.
    assert reads == [(4, 4)]
    before = swath.stats()["logical_reads"]
    crop = found.packed.isel(time=slice(0, 4), y=3)
    assert isinstance(found.raw.variable._data.array.array.array, LazyArray)
    assert swath.stats()["logical_reads"] == before
    np.testing.assert_allclose(crop, dataset().packed.isel(time=slice(0, 4), y=3), atol=0.006)


def test_nothing_is_read_without_indexes_and_decoding(stored, reads, monkeypatch):
    ways = []
    monkeypatch.setattr(batch.Request, "read", ways.append)
    found = xr.open_dataset(stored, engine="swath", create_default_indexes=False, decode_times=False)
    assert reads == ways == []
    assert not found.indexes


def test_large_coordinates_are_read_one_by_one(tmp_path, reads, monkeypatch):
    path = tmp_path / "large.zarr"
    made = xr.Dataset(coords={name: np.arange(100.0) for name in "abcd"})
    made.to_zarr(path)
    monkeypatch.setattr("swath.xarray.prefetch.BYTES_MAX", 1700)
    xr.testing.assert_identical(xr.open_dataset(path, engine="swath"), made)
    assert reads == [(2, 2), (2, 2)]
    monkeypatch.setattr("swath.xarray.prefetch.BYTES_MAX", 700)
    xr.testing.assert_identical(xr.open_dataset(path, engine="swath"), made)
    assert reads == [(2, 2), (2, 2)]


@pytest.mark.parametrize("kind", keys())
def test_selections(stored, kind):
    key = keys()[kind]
    expected = dataset().raw.isel(**key)
    found = xr.open_dataset(stored, engine="swath").raw
    for steps in (expected.dims, expected.dims[::-1]):
        np.testing.assert_array_equal(found.isel(**key).transpose(*steps), expected.transpose(*steps))
    if kind == "integers":
        # xarray cannot select a single element of an array that is lazily transposed.
        return
    np.testing.assert_array_equal(found.T.isel(**key), dataset().raw.T.isel(**key))
    if kind != "nothing":
        later = {"time": slice(1, 10)} | key
        one = found.isel(time=slice(None, None, 1)).isel(**later)
        np.testing.assert_array_equal(one[..., ::2], dataset().raw.isel(**later)[..., ::2])


def test_selections_read_no_more_than_they_select(stored):
    found = xr.open_dataset(stored, engine="swath", decode_cf=False).raw
    for selected, elements in (
        (found.isel(x=[0, 8], y=3), 24),
        (found.transpose("x", "time", "y").isel(y=[1, 2]), 216),
        (found.isel(x=xr.DataArray([0, 8], dims="p"), y=xr.DataArray([0, 6], dims="p"), time=0), 2),
    ):
        assert selected.load().size == elements


def test_transposed_arrays_are_no_points(stored, monkeypatch):
    ways = []
    original = batch.Request.read

    def watched(request):
        ways.append(request.way)
        return original(request)

    monkeypatch.setattr(batch.Request, "read", watched)
    found = xr.open_dataset(stored, engine="swath", decode_cf=False).raw
    ways.clear()
    found.T.load()
    found.isel(x=xr.DataArray([[0, 1], [4, 2]], dims=("p", "q"))).load()
    found.isel(x=xr.DataArray([0, 1], dims="p"), y=xr.DataArray([0, 1], dims="p")).load()
    assert ways == ["orthogonal", "orthogonal", "coordinate"]


def read_as_grid(values, grid):
    """What the index along each axis selects, brought into the shape of the points."""
    along, shape, order = grid
    lists = [np.arange(length)[entry] for entry, length in zip(along, values.shape, strict=True)]
    return values[np.ix_(*lists)].reshape(shape).transpose(order)


@pytest.mark.parametrize("seed", range(60))
def test_points_as_grids(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 1000, rng.integers(27, 30, size=rng.integers(1, 4)))
    rank = int(rng.integers(1, 4))
    lengths = rng.integers(1, 4, rank)
    anything, grid = [], []
    axes = rng.integers(values.ndim, size=rank)
    for axis in range(values.ndim):
        shape = np.where(rng.random(rank) < 0.4, lengths, 1)
        anything.append(rng.integers(-2, 2, shape))
        # Along each dimension of these points at most one axis moves, and does.
        shape = np.where(axes == axis, lengths, 1)
        places = np.arange(shape.prod()).reshape(shape)
        grid.append(places if rng.random() < 0.5 else -1 - places)
    found = as_orthogonal(tuple(anything))
    if found is not None:
        np.testing.assert_array_equal(read_as_grid(values, found), values[tuple(anything)])
    for points in (grid, np.broadcast_arrays(*grid)):
        found = as_orthogonal(tuple(points))
        assert found is not None, f"seed {seed}"
        np.testing.assert_array_equal(read_as_grid(values, found), values[tuple(points)])


def test_trees(tmp_path, zarr_format, reads):
    path = str(tmp_path / "tree.zarr")
    made = xr.DataTree.from_dict(
        {
            "/": xr.Dataset(attrs={"level": 0}, coords={"x": np.arange(4.0)}),
            "/fine": xr.Dataset({"a": ("x", np.arange(4))}),
            "/coarse/deep": xr.Dataset({"b": ("z", [1.5, 2.5])}, coords={"z": [1, 2]}),
        }
    )
    made.to_zarr(path, zarr_format=zarr_format)
    expected = xr.open_datatree(path, engine="zarr")
    found = xr.open_datatree(path, engine="swath")
    assert reads == [(2, 2)]
    xr.testing.assert_identical(found, expected)
    xr.testing.assert_identical(found, made)
    groups = xr.open_groups(path, engine="swath")
    assert list(groups) == ["/", "/coarse", "/coarse/deep", "/fine"]
    below = xr.open_datatree(path, engine="swath", group="coarse")
    xr.testing.assert_identical(below, xr.open_datatree(path, engine="zarr", group="coarse"))
    one = xr.open_dataset(path, engine="swath", group="/coarse/deep")
    xr.testing.assert_identical(one, xr.open_dataset(path, engine="zarr", group="/coarse/deep"))
    fresh = xr.open_datatree(path, engine="swath")
    reads.clear()
    fresh.swath.load()
    assert reads == [(2, 2)]
    assert fresh["/fine/a"].variable._in_memory
    assert xr.open_datatree(path, engine="swath", chunks={})["/fine/a"].chunks == ((4,),)


def test_trees_of_groups_without_a_root(tmp_path):
    xr.Dataset({"a": ("x", [1, 2])}).to_zarr(tmp_path / "part")
    assert xr.open_dataset(tmp_path, engine="swath", group="part").a.values.tolist() == [1, 2]


def test_pickles(stored):
    found = xr.open_dataset(stored, engine="swath")
    text = pickle.dumps(found)
    assert len(text) < 20_000
    assert b"dataset.zarr" in text
    again = pickle.loads(text)
    assert not again.raw.variable._in_memory
    xr.testing.assert_identical(again, found)
    crop = found.raw.isel(time=slice(3, 5))
    xr.testing.assert_identical(pickle.loads(pickle.dumps(crop)), crop)
    assert not pickle.loads(pickle.dumps(crop)).variable._in_memory or crop.variable._in_memory


def test_chunks_are_shards(stored, zarr_format):
    pytest.importorskip("dask")
    expected = dataset()
    found = xr.open_dataset(stored, engine="swath", chunks={})
    assert found.packed.chunks == ((5, 5, 2), (3, 3, 1), (4, 4, 1))
    assert found.raw.chunks == (found.packed.chunks if zarr_format == 2 else ((10, 2), (6, 1), (8, 1)))
    np.testing.assert_array_equal(found.raw, expected.raw)
    mean = xr.open_dataset(stored, engine="zarr").packed.mean("time")
    np.testing.assert_allclose(found.packed.mean("time"), mean)
    # What was opened lazily can be written again as it was stored.
    found.to_zarr(stored + ".copy", zarr_format=zarr_format, consolidated=True)
    check(stored + ".copy")


def test_chunks_that_differ_in_length(tmp_path):
    with zarr.config.set({"array.rectilinear_chunks": True}):
        group = zarr.create_group(tmp_path / "uneven.zarr")
        array = group.create_array("a", shape=60, chunks=[[10, 20, 30]], dtype="i4", dimension_names=["x"])
        array[:] = np.arange(60)
        found = check(str(tmp_path / "uneven.zarr"))
        array = group.create_array(
            "b", shape=60, chunks=[5], shards=[[10, 20, 30]], dtype="i4", dimension_names=["x"]
        )
        array[:] = np.arange(60)
        found = check(str(tmp_path / "uneven.zarr"))
    assert found.a.encoding["chunks"] == ((10, 20, 30),)
    assert (found.b.encoding["chunks"], found.b.encoding["shards"]) == ((5,), ((10, 20, 30),))
    assert xr.open_dataset(tmp_path / "uneven.zarr", engine="swath", chunks={}).a.chunks == ((10, 20, 30),)


def test_netcdf_names_dimensions(tmp_path):
    group = zarr.create_group(tmp_path / "nc.zarr", zarr_format=2)
    array = group.create_array("a", shape=3, dtype="i4")
    array[:] = [1, 2, 3]
    array.attrs.update({"_NCZARR_ATTR": {"types": {}}, "units": "m"})
    group.attrs.update({"_nczarr_group": {}, "title": "kept"})
    document = tmp_path / "nc.zarr" / "a" / ".zarray"
    text = document.read_text().rstrip().removesuffix("}")
    document.write_text(text + ', "_NCZARR_ARRAY": {"dimrefs": ["/deep/x"], "storage": "chunked"}}')
    found = check(str(tmp_path / "nc.zarr"), consolidated=False)
    assert found.a.dims == ("x",)
    assert found.attrs == {"title": "kept"}
    assert found.a.attrs == {"units": "m"}


def test_what_cannot_be_opened(tmp_path, stored, zarr_format):
    with pytest.raises(FileNotFoundError):
        xr.open_dataset(tmp_path / "nothing.zarr", engine="swath")
    with pytest.raises(KeyError):
        xr.open_dataset(stored, engine="swath", group="nothing")
    with pytest.raises(ValueError, match="found an array"):
        xr.open_dataset(stored, engine="swath", group="raw")
    with pytest.raises(ValueError, match="wanted mode 'r', found 'a'"):
        xr.open_dataset(stored, engine="swath", mode="a")
    with pytest.raises(ValueError, match=f"found one of format {zarr_format}"):
        xr.open_dataset(stored, engine="swath", zarr_format=5 - zarr_format)
    assert xr.open_dataset(stored, engine="swath", zarr_format=zarr_format)
    zarr.create_array(Path(stored) / "nameless", shape=3, dtype="i4", zarr_format=zarr_format)
    with pytest.raises(KeyError, match="dimension"):
        xr.open_dataset(stored, engine="swath", consolidated=False)


def test_without_zarr_python(stored):
    program = f"""
import sys
sys.modules["zarr"] = None
import xarray as xr
found = xr.open_dataset({stored!r}, engine="swath").swath.load()
assert "compressors" not in found.raw.encoding and found.raw.encoding["chunks"] == (5, 3, 4)
assert found.raw.dtype == "int16"
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_engine_is_listed(stored):
    engine = xr.backends.list_engines()["swath"]
    assert engine.supports_groups
    assert "swath" in repr(engine).lower()
    # Whoever names no engine gets what they always got.
    assert not engine.guess_can_open(stored)


def test_options_of_swath(stored):
    found = xr.open_dataset(
        stored, engine="swath", decoded_cache_bytes=1 << 20, checksums="skip", storage_options=None
    )
    np.testing.assert_array_equal(found.raw, dataset().raw)


def test_many_files_at_once(tmp_path):
    pytest.importorskip("dask")
    made = dataset()[["raw"]]
    paths = [tmp_path / f"{start}.zarr" for start in (0, 4, 8)]
    for start, path in zip((0, 4, 8), paths, strict=True):
        made.isel(time=slice(start, start + 4)).to_zarr(path)
    with xr.open_mfdataset(
        paths, engine="swath", combine="nested", concat_dim="time", parallel=True
    ) as found:
        np.testing.assert_array_equal(found.raw, made.raw)
    xr.open_dataset(paths[0], engine="swath").close()
    tree = xr.open_datatree(paths[0], engine="swath")
    tree.close()
