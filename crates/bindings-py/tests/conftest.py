"""Arrays that zarr-python wrote, and the folder of real data."""

import os
from pathlib import Path

import numpy as np
import pytest
import swath
import zarr

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def data_folder():
    """The shared data: in SWATH_TEST_DATA, or beside the checkout."""
    folder = Path(os.environ.get("SWATH_TEST_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "expected.json").exists():
        pytest.skip(f"no test data in {folder}: set SWATH_TEST_DATA to the folder that holds expected.json")
    return folder


@pytest.fixture
def values():
    """The values of ``path``'s array."""
    return np.arange(5 * 6 * 70, dtype="int16").reshape(5, 6, 70)


@pytest.fixture
def path(tmp_path, values):
    """A sharded, compressed array with attributes and names."""
    folder = tmp_path / "array.zarr"
    zarr.create_array(
        folder,
        data=values,
        chunks=(1, 3, 16),
        shards=(2, 6, 80),
        fill_value=-1,
        attributes={"units": "K", "nested": {"list": [1, None, True, 2.5]}},
        dimension_names=("time", None, "x"),
    )
    return folder


@pytest.fixture
def array(path):
    return swath.open_array(path)
