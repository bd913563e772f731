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


@pytest.fixture(params=[2, 3])
def zarr_format(request):
    return request.param


@pytest.fixture
def stored(tmp_path, zarr_format):
    """A path to the dataset, in chunks, and sharded where the format has shards."""
    path = str(tmp_path / "dataset.zarr")
    made = pytest.importorskip("xarray_data", exc_type=ImportError).dataset()
    encoding = {name: {**made[name].encoding, "chunks": (5, 3, 4)} for name in ("packed", "raw")}
    if zarr_format == 3:
        encoding["raw"]["shards"] = (10, 6, 8)
    made.to_zarr(path, zarr_format=zarr_format, encoding=encoding, consolidated=True)
    return path


@pytest.fixture
def reads(monkeypatch):
    """The batches that are read: how many arrays, and how many requests."""
    batch = pytest.importorskip("swath.xarray.batch", exc_type=ImportError)
    batches = []

    def counted(requests):
        batches.append((len({request.array for request in requests}), len(requests)))
        return original(requests)

    original = batch.read_batch
    for module in ("prefetch", "loading"):
        monkeypatch.setattr(f"swath.xarray.{module}.read_batch", counted)
    return batches
