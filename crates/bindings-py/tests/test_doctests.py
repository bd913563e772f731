"""The examples in docstrings give what they say."""

import ast
import doctest
from pathlib import Path

import numpy as np
import pytest
import swath
import swath.zarr
import zarr
from grib_messages import message
from test_package import documented

FOLDER = Path(swath.__file__).parent

OCEAN = Path(__file__).parents[3] / "crates/convert/tests/data/hdf5/dimensions.nc"

# Not run, and why.
LEFT_OUT = {
    "fsspec.SwathChainedFileSystem": "asks a network",
    "fsspec.register": "asks a network",
    "asynchronous.AsyncArray": "awaits",
    "asynchronous.AsyncGroup": "awaits",
    "_swath.Array.store_stats": "asks a network",
    "_swath.Group.store_stats": "asks a network",
    "_swath.stats": "counts what depends on the layout",
    "zarr.fallback.report": "counts from the start of the process",
}


def examples():
    found = {}
    for file in sorted(FOLDER.rglob("*.py*")):
        if file.suffix in (".py", ".pyi"):
            place = ".".join(file.relative_to(FOLDER).with_suffix("").parts)
            for name, text in documented(ast.parse(file.read_text(encoding="utf-8"))).items():
                if text and ">>>" in text:
                    found[f"{place}.{name}"] = text
    return found


EXAMPLES = examples()


def test_there_are_examples():
    assert len(EXAMPLES) > 25
    assert LEFT_OUT.keys() <= EXAMPLES.keys()


@pytest.fixture
def names(tmp_path, monkeypatch, request):
    """What examples take as given, in a folder that they may write to."""
    monkeypatch.chdir(tmp_path)
    zarr.create_array(
        "example.zarr", data=np.ones((8, 3, 256, 256), "i4"), shards=(1, 3, 256, 256), chunks=(1, 1, 64, 64)
    )
    Path("forecast.grib2").write_bytes(bytes(8192))
    for hours in (24, 48):
        Path(f"step{hours}.grib2").write_bytes(message(hours))
    Path("ocean.nc").write_bytes(OCEAN.read_bytes())
    archive = zarr.create_group("archive.zarr")
    if request.node.callspec.params["name"] == "_swath.open_group":
        for name in ("latitude", "longitude", "t2m"):
            archive.create_array(name, shape=(3,), dtype="f4")
    else:
        archive.create_array("2020/t2m", shape=(8760, 721, 1440), dtype="f4", chunks=(100, 721, 1440))
    if request.node.callspec.params["name"] == "_swath.consolidate_metadata":
        zarr.create_group("new.zarr")
    array, group = swath.open_array("example.zarr"), swath.open_group("archive.zarr")
    given = {"swath": swath, "numpy": np, "zarr": zarr, "array": array, "group": group}
    yield given
    swath.config.reset()


@pytest.fixture
def dataset(names):
    """The same for examples of xarray's."""
    xarray = pytest.importorskip("xarray")
    import swath.xarray

    made = xarray.Dataset({"t2m": (("time", "x"), np.zeros((80, 4)))})
    made.to_zarr("archive.zarr", mode="w", consolidated=True)
    names |= {"xarray": xarray, "dataset": xarray.open_dataset("archive.zarr", engine="swath")}
    names["as_orthogonal"] = swath.xarray.points.as_orthogonal
    return names


@pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")
@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_examples_are_true(name, names, request):
    if name in LEFT_OUT:
        pytest.skip(LEFT_OUT[name])
    if name.startswith("xarray."):
        names = request.getfixturevalue("dataset")
    test = doctest.DocTestParser().get_doctest(EXAMPLES[name], names, name, None, 0)
    said = []
    failed, tried = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert tried
    assert not failed, "".join(said)
