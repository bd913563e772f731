"""References to GRIB messages and HDF5 chunks, made from Python, as the command line writes them."""

import json
import pickle
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
import swath
import zarr
from fsspec.implementations.reference import LazyReferenceMapper, ReferenceFileSystem
from grib_messages import message

ROOT = Path(__file__).parents[3]
BINARY = ROOT / "target" / "debug" / "swath"
HDF5 = ROOT / "crates/convert/tests/data/hdf5"


@pytest.fixture
def files(tmp_path):
    """Three files of two steps each; the second step of the last day is not there."""
    made = []
    for day in (1, 2, 3):
        path = tmp_path / f"day{day}.grib2"
        steps = (6, 12) if day < 3 else (6,)
        path.write_bytes(b"".join(message(step, day, range(day * step, day * step + 6)) for step in steps))
        made.append(path)
    return made


@pytest.fixture
def ocean(tmp_path):
    if not HDF5.exists():
        pytest.skip("not from a checkout: the files are in crates/convert")
    return shutil.copy(HDF5 / "dimensions.nc", tmp_path / "ocean.nc")


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def wanted(tmp_path, files):
    """What a conversion of the files writes."""
    swath.convert.plan(files).write(tmp_path / "written.zarr")
    return swath.open(tmp_path / "written.zarr/t")[...]


def test_messages_are_a_dict(tmp_path, files):
    references = swath.convert.references(files)
    assert isinstance(references, swath.convert.References)
    assert references["version"] == 1
    assert references["refs"]["t/0.1.0.0"] == [str(files[0]), len(message()), len(message())]
    assert "t/2.1.0.0" not in references["refs"]
    report = references.report
    assert (report.arrays, report.chunks, report.damages, report.left_out) == (7, 5, [], [])
    again = pickle.loads(pickle.dumps(references))
    assert (again, again.report) == (references, report)
    for store in (references, json.loads(json.dumps(references)), again):
        np.testing.assert_array_equal(swath.open(store)["t"][...], wanted(tmp_path, files))
        shutil.rmtree(tmp_path / "written.zarr")
        shutil.rmtree(tmp_path / "written.zarr.journal")
    assert swath.convert.references(swath.convert.scan(files)) == references


@pytest.mark.skipif(not BINARY.exists(), reason="the command line is not built: cargo build -p swath-cli")
@pytest.mark.parametrize("name", ["a.json", "a.parq"])
@pytest.mark.parametrize(
    ("options", "flags"),
    [
        ({}, []),
        ({"relative": True}, ["--relative"]),
        ({"keep": ["time", "number"], "record_size": 2}, ["--keep=time", "--keep=number", "--record-size=2"]),
    ],
)
def test_what_is_written_is_what_the_command_line_writes(tmp_path, files, ocean, name, options, flags):
    for number, sources in enumerate([files, files[:1], [ocean]]):
        theirs, ours = tmp_path / f"theirs-{number}-{name}", tmp_path / f"ours-{number}-{name}"
        command = [BINARY, "convert", "references", *flags, *sources, theirs]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        report = swath.convert.references(sources, ours, **options)
        assert told == f"{report.arrays} arrays, {report.chunks} chunks\n"
        if ours.is_dir():
            assert contents(ours) == contents(theirs)
        else:
            assert ours.read_bytes() == theirs.read_bytes()
    assert swath.open(tmp_path / f"ours-1-{name}")["t"].ndim == (4 if "keep" in options else 3)


def test_damages_are_told(tmp_path):
    path = tmp_path / "damaged.grib2"
    path.write_bytes(message(24) + b"heading" + message(48)[:-10])
    with pytest.raises(swath.UnsupportedError):
        swath.convert.references(HDF5.parent / "make.py", tmp_path / "none.json")
    for told in (
        swath.convert.references(path, tmp_path / "a.json"),
        swath.convert.references([path], tmp_path / "a.parq"),
        swath.convert.references(path).report,
    ):
        assert told.chunks == 1
        assert [(damage["file"], damage["damage"]) for damage in told.damages] == [(str(path), "truncated")]


def lazy(folder):
    """A set in Parquet through fsspec, as it is read without fastparquet."""
    mapper = LazyReferenceMapper(str(folder), engine="pyarrow")
    return ReferenceFileSystem(fo=mapper, remote_protocol="file", asynchronous=True)


def test_fsspec_reads_sets_in_parquet(tmp_path, files, ocean):
    """By zarr-python, and the codec that numcodecs finds in the wheel."""
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    # fsspec takes None for a gap, which pandas of version 3 has only without its type of texts.
    with pandas.option_context("future.infer_string", False):
        for sources, paths in ([files, ["t", "time", "valid_time"]], [[ocean], ["t", "x", "below/w"]]):
            for record_size in (3, 10_000):
                target = tmp_path / f"{len(sources)}-{record_size}.parq"
                swath.convert.references(sources, target, record_size=record_size)
                ours = swath.open(target)
                store = zarr.storage.FsspecStore(lazy(target), read_only=True)
                group = zarr.open_group(store, mode="r", zarr_format=2)
                for path in paths:
                    np.testing.assert_array_equal(group[path][...], ours[path][...])
    assert np.isnan(swath.open(tmp_path / "3-3.parq")["t"][2, 1]).all()


def test_what_makes_no_sense(tmp_path, files, ocean):
    with pytest.raises(swath.InvalidError, match="relative"):
        swath.convert.references(files, relative=True)
    with pytest.raises(swath.InvalidError, match="one by one"):
        swath.convert.references([ocean, ocean])
    for sources in ("image.nat", [files[0], "image.nat"]):
        with pytest.raises(swath.InvalidError, match=r"wanted GRIB, HDF5 .*found a EUMETSAT \.nat") as raised:
            swath.convert.references(sources)
        assert "image.nat" in str(raised.value)
    with pytest.raises(swath.InvalidError, match="wanted files below"):
        (tmp_path / "below").mkdir()
        swath.convert.references(files, tmp_path / "below/a.json", relative=True)
    with pytest.raises(swath.InvalidError, match="a scan"):
        swath.convert.references(swath.convert.scan(files), storage_options={"anon": True})
    with pytest.raises(swath.InvalidError, match="record size"):
        swath.convert.references(files, tmp_path / "a.parq", record_size=0)
    swath.convert.references(files, tmp_path / "a.parq")
    with pytest.raises(swath.InvalidError, match="something already"):
        swath.convert.references(files, tmp_path / "a.parq")
    with pytest.raises(swath.SwathError, match=r"none\.grib2"):
        swath.convert.references(tmp_path / "none.grib2")


def test_netcdf_files_are_joined(tmp_path, ocean):
    later = Path(ocean).read_bytes().replace(struct.pack("<2d", 0.5, 1.5), struct.pack("<2d", 2.5, 3.5))
    (tmp_path / "later.nc").write_bytes(later)
    references = swath.convert.references([ocean, tmp_path / "later.nc"], concat="time")
    joined, first = swath.open(references), swath.open(ocean)
    np.testing.assert_array_equal(joined["time"][...], [0.5, 1.5, 2.5, 3.5])
    np.testing.assert_array_equal(joined["t"][...], np.concatenate([first["t"][...]] * 2))
    np.testing.assert_array_equal(joined["x"][...], first["x"][...])
    assert references.report.differing == []
    report = swath.convert.references([ocean, tmp_path / "later.nc"], tmp_path / "a.parq", concat="time")
    assert report == references.report
    np.testing.assert_array_equal(swath.open(tmp_path / "a.parq")["t"][...], joined["t"][...])
    with pytest.raises(swath.InvalidError, match=r"found 0\.5 behind 3\.5"):
        swath.convert.references([tmp_path / "later.nc", ocean], concat="time")
    with pytest.raises(swath.InvalidError, match="dimensions"):
        swath.convert.references([ocean, tmp_path / "later.nc"], concat="tiem")
