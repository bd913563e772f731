"""`swath.convert`: GRIB files to Zarr, against what ecCodes reads and what the command line writes."""

import gc
import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import swath
import zarr
from grib_messages import message

ROOT = Path(__file__).parents[3]
BINARY = ROOT / "target" / "debug" / "swath"
# Messages of 24 x 11 points, and what ecCodes reads of them.
PACKED = ROOT / "crates/convert/tests/data"
PACKINGS = [
    "simple1_12",
    "simple2_16",
    "simple2_gaps",
    "complex2_gaps",
    "complex_spatial_differencing2",
    "ccsds2_16",
    "jpeg2_12",
    "png2_16",
    "ieee2_64",
    "second_order1_gaps",
]

# What none of the programs takes, on a machine that is busy.
LIMIT_SECONDS = 120


def contents(folder):
    """Every object below a folder, but what writers that were killed left."""
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    names = [path for path in files if not path.name.startswith(".swath-part-")]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in names}


@pytest.fixture
def files(tmp_path):
    """Eight files of three messages each: hours of eight days."""
    made = []
    for day in range(1, 9):
        path = tmp_path / f"day{day}.grib2"
        values = [[day * 10 + hour + point for point in range(6)] for hour in range(3)]
        path.write_bytes(b"".join(message(6 * hour, day, values[hour]) for hour in range(3)))
        made.append(path)
    return made


@pytest.fixture
def damaged(tmp_path):
    """A message, one whose values are too few, a heading, and one that is cut."""
    broken = bytearray(message(48))
    place = bytes(broken).index(bytes([5, 0, 0, 0, 6])) + 4
    broken[place] = 5
    path = tmp_path / "damaged.grib2"
    path.write_bytes(message(24) + bytes(broken) + b"heading" + message(72)[:-10])
    return path


def hours(store):
    array = swath.open_array(f"{store}/t")
    return array[...]


@pytest.mark.parametrize("name", PACKINGS)
def test_values_are_those_of_eccodes(tmp_path, name):
    path = PACKED / f"{name}.grib"
    if not path.exists():
        pytest.skip("not from a checkout: the messages are in crates/convert")
    plan = swath.convert.plan(path)
    assert (plan.fields, plan.damages) == (1, [])
    assert plan.write(tmp_path / "a.zarr").damages == []
    (variable,) = plan.variables
    expected = np.fromfile(path.with_suffix(".f64"), "<f8").astype("f4")
    found = zarr.open_array(tmp_path / "a.zarr" / variable, mode="r")[...]
    np.testing.assert_array_equal(found.ravel(), expected)


def test_shared_samples_are_written(tmp_path, data_folder):
    """All fields but those that are said to be not supported; their values are the Rust tests' to check."""
    expected = json.loads((data_folder / "expected.json").read_text())["grib"]
    names = sorted(name for name in expected if name.startswith("grib_cfgrib_samples/"))
    assert names
    scanned = 0
    for name in names:
        found = swath.convert.scan(data_folder / name)
        scanned += len(found)
        plan = swath.convert.plan(found)
        target = tmp_path / f"{scanned}-{Path(name).name}.zarr"
        report = plan.write(target)
        assert report.fields + len(report.damages) == plan.fields
        assert all("not supported" in damage["message"] for damage in report.damages), report.damages
        assert set(plan.variables) <= {path.strip("/") for path in nodes(target)}
    assert len(names) < scanned


def nodes(target):
    group = zarr.open_group(target, mode="r")
    return [path for path, _ in group.members(max_depth=None)]


def test_scan_lists_fields_and_damages(damaged):
    found = swath.convert.scan([damaged, damaged.with_name("none.grib2")])
    assert len(found) == 2
    assert [field["step"]["seconds"] for field in found] == [86_400, 172_800]
    assert [field["offset"] for field in found[:]] == [0, len(message())]
    kinds = [(Path(damage["file"]).name, damage["damage"]) for damage in found.damages]
    assert ("damaged.grib2", "truncated") in kinds
    assert kinds[-1] == ("none.grib2", "unread")
    assert "2 fields" in repr(found)


def test_scan_as_tables(tmp_path, damaged):
    found = swath.convert.scan(damaged)
    table = found.to_arrow()
    assert table.num_rows == len(found) + len(found.damages)
    assert table.column("step_seconds").to_pylist()[:2] == [86_400, 172_800]
    assert table.column("damage").to_pylist()[:2] == [None, None]
    found.to_parquet(tmp_path / "fields.parquet")
    parquet = pytest.importorskip("pyarrow.parquet")
    assert parquet.read_table(tmp_path / "fields.parquet").equals(table)
    assert [path.name for path in tmp_path.iterdir() if "parquet" in path.name] == ["fields.parquet"]


@pytest.mark.parametrize(
    "options, flags",
    [
        ({}, []),
        ({"access": "timeseries"}, ["--for", "timeseries"]),
        (
            {"chunks": {"time": 2, "longitude": 2}, "shards": {"time": 4, "step": "all"}, "codec": "gzip:9"},
            ["--chunks", "time=2,longitude=2", "--shards", "time=4,step=all", "--codec", "gzip:9"],
        ),
        (
            {"access": "crops", "shards": "none", "codec": None, "mantissa_bits": 3, "keep": "number"},
            [
                "--for",
                "crops",
                "--shards",
                "none",
                "--codec",
                "none",
                "--mantissa-bits",
                "3",
                "--keep",
                "number",
            ],
        ),
    ],
)
@pytest.mark.skipif(not BINARY.exists(), reason="the command line is not built: cargo build -p swath-cli")
def test_what_is_written_is_what_the_command_line_writes(tmp_path, files, options, flags):
    plan = swath.convert.plan(files, **options)
    command = [BINARY, "convert", *flags]
    planned = subprocess.run(
        [*command, f"--plan={tmp_path}/plan.json", *files, "a.zarr"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert planned.stdout == f"{plan}\n", planned.stderr
    assert (tmp_path / "plan.json").read_text() == plan.to_json()
    subprocess.run([*command, *files, "a.zarr"], cwd=tmp_path, capture_output=True, check=True)
    report = plan.write(tmp_path / "b.zarr")
    assert (report.fields, report.variables, report.damages) == (24, 1, [])
    assert contents(tmp_path / "a.zarr") == contents(tmp_path / "b.zarr")
    journal = contents(tmp_path / "b.zarr.journal")
    assert journal["plan.json"].decode() == plan.to_json()


def test_codecs_may_be_those_of_metadata(tmp_path, files):
    codec = [{"name": "zstd", "configuration": {"level": 1, "checksum": True}}]
    swath.convert.plan(files, codec=codec).write(tmp_path / "a.zarr")
    metadata = json.loads((tmp_path / "a.zarr/t/zarr.json").read_text())
    assert metadata["codecs"][1:] == codec


def test_xarray_opens_what_was_written(tmp_path, files):
    xarray = pytest.importorskip("xarray")
    swath.convert.plan(files, access="timeseries").write(tmp_path / "a.zarr")
    with xarray.open_dataset(tmp_path / "a.zarr", engine="swath") as dataset:
        assert dict(dataset.sizes) == {"time": 8, "step": 3, "latitude": 2, "longitude": 3}
        assert dataset["t"].attrs["units"] == "K"
        days = dataset["time"].values.astype("M8[D]")
        np.testing.assert_array_equal(days, np.arange("2019-03-01", "2019-03-09", dtype="M8[D]"))
        cell = dataset["t"].sel(time="2019-03-04T06", step=np.timedelta64(12, "h")).values
        np.testing.assert_array_equal(cell, np.arange(42, 48, dtype="f4").reshape(2, 3))


def test_plans_are_plain_data(files):
    plan = swath.convert.plan(files, access="training-fields")
    for other in (pickle.loads(pickle.dumps(plan)), swath.convert.Plan.from_json(plan.to_json())):
        assert other == plan
        assert hash(other) == hash(plan)
        assert str(other) == str(plan)
        assert (other.files, other.variables, other.damages) == ([str(file) for file in files], ["t"], [])
    assert plan != swath.convert.plan(files[:-1], access="training-fields")
    secret = {"access_key_id": "AKIA", "secret_access_key": "S3CRET", "region": "eu-central-1"}
    pickled = pickle.dumps(swath.convert.plan(files, storage_options=secret))
    assert b"eu-central-1" in pickled
    assert b"S3CRET" not in pickled


def test_damages_are_listed_and_filled(tmp_path, damaged):
    plan = swath.convert.plan(damaged)
    assert [damage["damage"] for damage in plan.damages] == ["truncated"]
    report = plan.write(tmp_path / "a.zarr")
    assert report.fields == 1
    (failed,) = report.damages
    assert failed["file"] == str(damaged)
    assert (failed["offset"], failed["length"], failed["damage"]) == (
        len(message()),
        len(message()),
        "unwritten",
    )
    assert "corrupt" in failed["message"]
    found = hours(tmp_path / "a.zarr")
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).all()
    # It is told again by who goes on.
    assert swath.convert.resume(tmp_path / "a.zarr") == report
    with pytest.raises(swath.CorruptError, match="1 damages, and nothing is written"):
        swath.convert.plan(damaged, strict=True)
    with pytest.raises(swath.CorruptError):
        plan.write(tmp_path / "b.zarr", strict=True)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"access": "crops", "chunks": {"time": 2}}, "found both"),
        ({"access": "maps"}, 'found "maps"'),
        ({"chunks": {"time": 0}}, "along time of at least 1"),
        ({"chunks": {"level": 2}}, "along level, and the dimensions are"),
        ({"chunks": [1, 2]}, "by the names of dimensions"),
        ({"chunks": {"time": 2}, "shards": {"time": 3}}, "wanted whole chunks"),
        ({"codec": "lzma"}, 'found "lzma"'),
        ({"mantissa_bits": 24}, "found 24"),
    ],
)
def test_options_that_make_no_sense(files, options, message):
    with pytest.raises(swath.InvalidError, match=message):
        swath.convert.plan(files, **options)


def test_what_cannot_be_planned(tmp_path, files):
    with pytest.raises(swath.InvalidError, match="at least one file"):
        swath.convert.plan([])
    with pytest.raises(swath.StorageError, match=r"none\.grib2"):
        swath.convert.plan([*files, tmp_path / "none.grib2"])
    (tmp_path / "text").write_text("no message")
    with pytest.raises(swath.UnsupportedError, match="no fields"):
        swath.convert.plan(tmp_path / "text")
    for text in ("{", '{"format": "another"}', "[]"):
        with pytest.raises(swath.InvalidError):
            swath.convert.Plan.from_json(text)


def test_targets_and_files_are_looked_at_first(tmp_path, files):
    plan = swath.convert.plan(files)
    (tmp_path / "there").mkdir()
    with pytest.raises(swath.InvalidError, match="there is something already"):
        plan.write(tmp_path / "there")
    plan.write(tmp_path / "a.zarr", journal=tmp_path / "journal")
    assert not (tmp_path / "a.zarr.journal").exists()
    with pytest.raises(swath.InvalidError, match="there is a journal already"):
        plan.write(tmp_path / "b.zarr", journal=tmp_path / "journal")
    assert not (tmp_path / "b.zarr").exists()
    files[2].write_bytes(message() * 2)
    with pytest.raises(swath.InvalidError, match=rf"changed since the plan was made: {files[2]}$"):
        plan.write(tmp_path / "c.zarr")
    assert not list(tmp_path.glob("c.zarr*"))
    with pytest.raises(swath.NotFoundError, match="journal"):
        swath.convert.resume(tmp_path / "c.zarr")


def test_pieces_make_the_same_store(tmp_path, files):
    plan = swath.convert.plan(files, chunks={"time": 1}, shards={"time": 2, "step": "all"})
    plan.write(tmp_path / "whole.zarr", journal=False)
    assert not (tmp_path / "whole.zarr.journal").exists()
    pieces = pickle.loads(pickle.dumps(plan.pieces(6)))
    assert sum(piece.fields for piece in pieces) == plan.fields
    assert {piece.fields for piece in pieces} == {0, 6}
    for piece in reversed(pieces):
        assert piece.write(tmp_path / "made.zarr", journal=tmp_path / "journal").fields == piece.fields
    swath.consolidate_metadata(tmp_path / "made.zarr")
    assert contents(tmp_path / "made.zarr") == contents(tmp_path / "whole.zarr")
    with pytest.raises(swath.InvalidError, match="from 0 to 5 of 6, found 6"):
        plan.write_piece(6, 6, tmp_path / "made.zarr")
    with pytest.raises(swath.InvalidError, match="at least 1 piece"):
        plan.pieces(0)
    other = swath.convert.plan(files[:4])
    with pytest.raises(swath.InvalidError, match="the journal of another plan"):
        other.write_piece(0, 1, tmp_path / "other.zarr", journal=tmp_path / "journal")


def test_new_files_join(tmp_path, files):
    together = swath.convert.plan(files).write(tmp_path / "all.zarr")
    swath.convert.plan(files[:1], keep=["time"]).write(tmp_path / "a.zarr")
    report = swath.convert.append(files[1:5], tmp_path / "a.zarr")
    assert (report.fields, report.damages) == (12, [])
    files[0].unlink()
    assert swath.convert.append(swath.convert.scan(files[5:]), tmp_path / "a.zarr").fields == 9
    assert together.fields == 24
    np.testing.assert_array_equal(hours(tmp_path / "a.zarr"), hours(tmp_path / "all.zarr"))
    with pytest.raises(swath.InvalidError, match="is in the store already"):
        swath.convert.append(files[3], tmp_path / "a.zarr")
    with pytest.raises(swath.NotFoundError, match="journal"):
        swath.convert.append(files[3], tmp_path / "none.zarr")


def test_progress_is_told(tmp_path, files):
    told = []
    plan = swath.convert.plan(files)
    plan.write(tmp_path / "a.zarr", progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (24, 24)
    assert told == sorted(told)

    def refuse(done, total):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        plan.write(tmp_path / "b.zarr", progress=refuse)
    with pytest.raises(TypeError, match="progress"):
        plan.write(tmp_path / "c.zarr", progress="yes")


def test_other_threads_go_on_meanwhile(tmp_path, files):
    """The GIL is released: a thread counts while all is written."""
    big = tmp_path / "big.grib2"
    big.write_bytes(b"".join(message(hour % 240, hour // 240 + 1) for hour in range(2400)))
    counted, ended = [0], threading.Event()

    def count():
        while not ended.is_set():
            counted[0] += 1
            time.sleep(0.001)

    plan = swath.convert.plan(big)
    thread = threading.Thread(target=count)
    thread.start()
    try:
        before, began = counted[0], time.monotonic()
        plan.write(tmp_path / "a.zarr")
        took, during = time.monotonic() - began, counted[0] - before
    finally:
        ended.set()
        thread.join()
    # Of a thousand a second at most; a thread that was held up counts none.
    assert during >= 10 * took


PROGRAM = """
    import os, signal, sys
    import swath
    signal.signal(signal.SIGINT, signal.default_int_handler)
    plan = swath.convert.Plan.from_json(open("plan.json").read())
    def told(done, total):
        print("begun", flush=True)
    try:
        plan.write("a.zarr", progress=told)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        sys.exit(3)
"""


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_what_was_ended_is_gone_on_with(tmp_path, ending):
    """Ctrl-C raises KeyboardInterrupt, and a kill leaves a store that `resume` completes."""
    path = tmp_path / "a.grib2"
    path.write_bytes(b"".join(message(hour % 240, hour // 240 + 1) for hour in range(4800)))
    plan = swath.convert.plan(path)
    plan.write(tmp_path / "whole.zarr")
    (tmp_path / "plan.json").write_text(plan.to_json())
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM)]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "begun\n"
    running.send_signal(ending)
    pressed = time.monotonic()
    printed = running.communicate(timeout=LIMIT_SECONDS)[0]
    if ending == signal.SIGINT:
        assert (running.returncode, printed.split()[-1]) == (3, "interrupted")
        # The bar is 0.2 s, on a machine that is not busy with other tests.
        assert time.monotonic() - pressed < 10
    else:
        assert running.returncode == -signal.SIGKILL
    written = len(contents(tmp_path / "a.zarr"))
    assert written < len(contents(tmp_path / "whole.zarr"))
    with pytest.raises(swath.InvalidError, match="not finished"):
        swath.convert.append(path, tmp_path / "a.zarr")
    report = swath.convert.resume(tmp_path / "a.zarr")
    assert (report.fields, report.damages) == (4800, [])
    assert contents(tmp_path / "a.zarr") == contents(tmp_path / "whole.zarr")


@pytest.mark.skipif(sys.platform != "linux", reason="counts what /proc lists")
def test_nothing_is_kept_open(tmp_path, files):
    """Handles of files that were written, and threads, are gone after some turns."""
    plan = swath.convert.plan(files)
    counts = []
    for turn in range(6):
        plan.write(tmp_path / f"{turn}.zarr")
        gc.collect()
        counts.append(len(list(Path("/proc/self/task").iterdir())))
    assert counts[-1] <= counts[1]


def test_dask_tasks_make_the_same_store(tmp_path, files):
    pytest.importorskip("dask")
    plan = swath.convert.plan(files, shards={"time": 2})
    plan.write(tmp_path / "whole.zarr", journal=False)
    tasks = swath.convert.to_dask(plan, tmp_path / "a.zarr", pieces=5)
    assert not (tmp_path / "a.zarr").exists()
    for scheduler in ("threads", "synchronous"):
        report = tasks.compute(scheduler=scheduler)
        assert (report.fields, report.variables, report.damages) == (24, 1, [])
        assert contents(tmp_path / "a.zarr") == contents(tmp_path / "whole.zarr")
    with pytest.raises(swath.InvalidError, match="at least 1 piece"):
        swath.convert.to_dask(plan, tmp_path / "a.zarr", pieces=0)


def test_a_cluster_of_processes_makes_the_same_store(tmp_path, files, damaged):
    distributed = pytest.importorskip("distributed")
    plan = swath.convert.plan([*files, damaged], access="training-fields", shards={"time": 2})
    whole = plan.write(tmp_path / "whole.zarr", journal=False)
    assert len(whole.damages) == 1
    tasks = swath.convert.to_dask(plan, tmp_path / "a.zarr", pieces=4, journal=tmp_path / "journal")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        report = client.compute(tasks).result(timeout=LIMIT_SECONDS)
        workers = client.run(os.getpid)
    assert os.getpid() not in workers.values()
    assert (report.fields, report.damages) == (whole.fields, whole.damages)
    assert contents(tmp_path / "a.zarr") == contents(tmp_path / "whole.zarr")
