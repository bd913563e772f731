"""HDF5 and NetCDF-4 files opened in place, and their references."""

import json
import pickle
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import swath

FOLDER = Path(__file__).parents[3] / "crates/convert/tests/data/hdf5"

pytestmark = pytest.mark.skipif(
    not FOLDER.exists(), reason="not from a checkout: the files are in crates/convert"
)


@pytest.fixture
def ocean(tmp_path):
    return shutil.copy(FOLDER / "dimensions.nc", tmp_path / "ocean.nc")


def test_a_file_is_a_group(ocean):
    group = swath.open(ocean)
    assert group.keys() == ("below", "t", "time", "x", "xc")
    assert group["t"].shape == (2, 3, 4)
    assert group["below/w"].shape == (2, 4)
    places = [str(ocean), f"hdf5::{ocean}", Path(ocean)]
    for place in places:
        np.testing.assert_array_equal(swath.open_group(place)["t"][...], group["t"][...])
    np.testing.assert_array_equal(swath.open_array(f"{ocean}/below/w")[1], group["below/w"][1])
    again = pickle.loads(pickle.dumps(group["t"]))
    assert again == group["t"]
    np.testing.assert_array_equal(again[...], group["t"][...])
    with pytest.raises(swath.SwathError):
        swath.open(ocean, "r+")["t"][0] = 1


def test_values_are_those_of_other_readers(ocean):
    """Through fsspec's reference file system and zarr-python, which read the same references."""
    zarr = pytest.importorskip("zarr")
    references = swath.convert.references(ocean)
    assert references["version"] == 1
    assert json.loads(json.dumps(references)) == references
    fsspec = pytest.importorskip("fsspec")
    file_system = fsspec.filesystem("reference", fo=references, asynchronous=True)
    store = zarr.storage.FsspecStore(file_system, read_only=True)
    theirs = zarr.open_group(store, mode="r", zarr_format=2)
    ours = swath.open(references)
    for name in ("t", "time", "x", "xc", "below/w"):
        np.testing.assert_array_equal(theirs[name][...], ours[name][...])
        np.testing.assert_array_equal(swath.open(ocean)[name][...], ours[name][...])


def test_xarray_opens_a_file(ocean):
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(ocean, engine="swath") as dataset:
        assert dataset["t"].dims[0] == "time"
        assert dataset["t"].shape == (2, 3, 4)


def test_what_is_left_out_is_named(data_folder):
    """Of the samples some have filters or types that references cannot say."""
    names = sorted((data_folder / "netcdf_hdf5").rglob("*"))
    files = [path for path in names if path.suffix in (".nc", ".h5", ".hdf5", ".nc4")]
    assert files
    opened = 0
    for path in files:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                swath.open(path)
            except swath.SwathError as failed:
                assert path.name in str(failed)
                continue
        opened += 1
        told = [str(one.message) for one in caught if one.category is swath.SwathWarning]
        assert all(f"{path.name}: left out: " in text for text in told)
    assert opened


def test_what_is_no_such_file(tmp_path):
    (tmp_path / "text.nc").write_text("no HDF5")
    with pytest.raises(swath.InvalidError, match="wanted an HDF5 file, found other bytes"):
        swath.open(tmp_path / "text.nc")
    with pytest.raises(swath.InvalidError, match=r"text\.nc"):
        swath.convert.references(tmp_path / "text.nc")
    with pytest.raises(swath.NotFoundError):
        swath.open(tmp_path / "none.nc")
    # A directory of that name is what it was.
    swath.create_group(tmp_path / "folder.nc")
    assert swath.open(tmp_path / "folder.nc").keys() == ()
