"""The demo counts what it says, refuses what it cannot do, and runs end to end on small arrays."""

import itertools
import sys

import numpy as np
import pytest
import zarr

from demo import prepare_seviri, run
from demo.crops import chunks_touched, crop_shape, random_crops
from demo.report import Row, Work, table
from demo.worker import Pass, checksum


def run_demo(monkeypatch, *flags):
    monkeypatch.setattr(sys, "argv", ["demo", *map(str, flags)])
    run.main()


@pytest.fixture
def small(tmp_path):
    rng = np.random.default_rng(1)
    data = rng.integers(0, 4096, (3, 2, 70, 50), dtype="int16")
    zarr.create_array(tmp_path / "small.zarr", data=data, chunks=(1, 1, 16, 16), shards=(1, 2, 80, 64))
    return tmp_path / "small.zarr"


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ((24, 10, 1024, 1024), (4, 10, 128, 128)),
        ((25, 891, 1843), (4, 128, 128)),
        ((100, 2000), (100, 128)),
        ((9, 99, 9, 300, 300), (4, 10, 1, 128, 128)),
    ],
)
def test_crop_shape(shape, wanted):
    assert crop_shape(shape) == wanted


def test_crops_fit_and_repeat():
    shape, crop = (5, 200, 130), (4, 128, 128)
    crops = random_crops(shape, crop, 50, seed=3)
    assert crops == random_crops(shape, crop, 50, seed=3)
    assert crops != random_crops(shape, crop, 50, seed=4)
    for selection in crops:
        assert tuple(axis.stop - axis.start for axis in selection) == crop
        assert all(
            0 <= axis.start and axis.stop <= length for axis, length in zip(selection, shape, strict=True)
        )


def test_chunks_touched_equals_counting_them():
    chunks = (2, 7, 5)
    crops = random_crops((9, 40, 40), (3, 10, 13), 20, seed=5)
    counted = 0
    for selection in crops:
        points = itertools.product(*(range(axis.start, axis.stop) for axis in selection))
        counted += len({tuple(p // c for p, c in zip(point, chunks, strict=True)) for point in points})
    assert chunks_touched(crops, chunks) == counted


def test_checksum_is_of_values_not_of_layout():
    values = np.arange(24, dtype=">i2").reshape(2, 3, 4)
    assert checksum(values) == checksum([np.asfortranarray(values[0]), values[1].astype("<i2")])
    assert checksum(values) != checksum(values + 1)


def test_table_rows_line_up():
    rows = [Row("swath", 0.1, 0.2, 90_000_000), Row("zarr", 5.0, 5.5, None)]
    lines = table(rows, Work(crops=64, bytes=84_000_000, chunks=22_800)).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[2].split("|")[3].strip() == "640"
    assert lines[3].split("|")[8].strip() == "50.0 x"


def test_demo_runs_end_to_end(small, monkeypatch, capsys):
    picture = small.parent / "picture.png"
    flags = ["--count", 4, "--passes", 5, "--picture", picture, "--readers", "tensorstore,zarr,zarr-fused"]
    run_demo(monkeypatch, "--data", small, *flags)
    output = capsys.readouterr().out
    assert "3 readers gave the same values" in output
    assert "zarr-python, fused pipeline" in output
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("dtype", "shape", "wanted"),
    [("int16", (5,), "has 1 axes"), ("int16", (0, 5), "is empty"), (None, None, "there is nothing at")],
)
def test_what_cannot_be_cropped_is_one_clear_line(dtype, shape, wanted, tmp_path, monkeypatch):
    path = tmp_path / "array.zarr"
    if dtype is not None:
        zarr.create_array(path, shape=shape, dtype=dtype)
    with pytest.raises(SystemExit, match=wanted):
        run_demo(monkeypatch, "--data", path)


class LyingWorker:
    def __init__(self, name, values):
        self.name = name
        self.answer = values

    def values(self):
        return [self.answer]

    def reset_peak(self):
        pass

    def timed_pass(self):
        return Pass(1.0, 1.0, checksum([self.answer]))


def test_wrong_values_stop_the_demo():
    right, wrong = np.zeros((2, 2), "int16"), np.eye(2, dtype="int16")
    workers = [LyingWorker("swath", right), LyingWorker("zarr", wrong)]
    with pytest.raises(run.DemoError, match="crop 0: 2 values of zarr differ from swath's"):
        run.check_equal(workers)
    with pytest.raises(run.DemoError, match="different values in different passes"):
        run.race(workers, 5)


def test_seviri_is_rewritten_as_it_was(tmp_path, monkeypatch):
    images = np.random.default_rng(2).integers(-1, 1023, (9, 70, 100), dtype="int16")
    source, target = tmp_path / "source.zarr", tmp_path / "target.zarr"
    zarr.create_array(source / "data", data=images, chunks=(7, 30, 40), zarr_format=2)
    monkeypatch.setattr(sys, "argv", ["prepare_seviri", str(source), str(target)])
    prepare_seviri.main()
    rewritten = zarr.open_array(target, mode="r")
    assert (rewritten.shards, rewritten.chunks) == ((1, 128, 128), (1, 64, 64))
    assert np.array_equal(rewritten[:], images)


@pytest.mark.parametrize("source", ["", "/nowhere/at/all"])
def test_a_missing_source_is_one_clear_line(source, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["prepare_seviri", source, str(tmp_path / "target.zarr")])
    with pytest.raises(SystemExit, match="usage: make demo-seviri"):
        prepare_seviri.main()
