"""`swath.convert` of .nat files: images of an independent writer, and what the command line makes of them."""

import json
import pickle
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
import swath
import zarr
from compatibility.libraries import zarrs_reads
from test_convert import BINARY, LIMIT_SECONDS, ROOT, contents

WRITER = ROOT / "crates/convert/tests/nat"
if not WRITER.exists():
    pytest.skip("not from a checkout: the writer is in crates/convert", allow_module_level=True)
sys.path.insert(0, str(WRITER))

from nat_file import NAMES, Image, file_name, waves, write  # noqa: E402

# A part of the disc whose columns are filled up to a multiple of four.
PART = Image(
    names=("VIS006", "IR_039", "IR_108", "HRV"),
    south=1001,
    lines=8,
    east=1701,
    columns=18,
    hrv_columns=56,
    gsics={"IR_108": (0.2071, -50.6)},
)
IMAGES = 5


def image(quarter):
    return replace(PART, start=PART.start + timedelta(minutes=15 * quarter))


def put(folder, quarter):
    """Write the image of a quarter of an hour, whose counts differ from those of others."""
    path = folder / file_name(image(quarter))
    with path.open("wb") as file:
        write(file, image(quarter), waves(image(quarter), quarter))
    return path


def counts(name, quarter):
    """The pixels of an image from north to south and from west to east."""
    lines = PART.lines * (3 if name == "HRV" else 1)
    return waves(image(quarter), quarter)(name, 0, lines)[::-1, ::-1]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    return [put(folder, quarter) for quarter in range(IMAGES)]


@pytest.fixture
def files(made, tmp_path):
    """Five images, a quarter of an hour apart, which a test may change."""
    copies = [tmp_path / path.name for path in made]
    for path, copy in zip(made, copies, strict=True):
        copy.write_bytes(path.read_bytes())
    return copies


def cut(path, octets):
    """Take the end of a file off."""
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - octets])


# Bytes of a record of PART: three channels of 20 pixels, three lines of 56; and of the trailer.
RECORD, TRAILER = 3 * (65 + 25) + 3 * (65 + 70), 380_363


def test_counts_are_those_of_the_files(tmp_path, files):
    plan = swath.convert.plan(reversed(files))
    assert (plan.fields, plan.variables, plan.damages) == (IMAGES, ["counts", "counts_hrv"], [])
    assert plan.files == [str(file) for file in files]
    report = plan.write(tmp_path / "a.zarr")
    assert (report.fields, report.variables, report.damages) == (IMAGES, 2, [])
    found = zarr.open_array(tmp_path / "a.zarr/counts", mode="r")[...]
    broad = swath.open_array(tmp_path / "a.zarr/counts_hrv")[...]
    assert (found.shape, broad.shape, found.dtype) == ((5, 3, 8, 20), (5, 24, 56), "uint16")
    for quarter in range(IMAGES):
        for place, name in enumerate(PART.names[:3]):
            np.testing.assert_array_equal(found[quarter, place], counts(name, quarter))
        np.testing.assert_array_equal(broad[quarter], counts("HRV", quarter))
    time = swath.open_array(tmp_path / "a.zarr/time")[...]
    np.testing.assert_array_equal(np.diff(time), 900)


def test_radiances_are_lines_of_counts(tmp_path, files):
    plan = swath.convert.plan(files[1], calibrate="radiance", channels=["ir108", "VIS006"])
    assert plan.variables == ["radiance"]
    plan.write(tmp_path / "a.zarr")
    names = swath.open_array(tmp_path / "a.zarr/channel")[...].tolist()
    assert names == ["VIS006", "IR_108"]
    found = swath.open_array(tmp_path / "a.zarr/radiance")[0]
    for place, name in enumerate(names):
        slope = PART.slopes[NAMES.index(name)]
        wanted = np.maximum(slope * counts(name, 1).astype("f8") - 51 * slope, 0)
        np.testing.assert_allclose(found[place], wanted, rtol=1e-6, atol=1e-6)
    gsics = swath.convert.plan(files[1], calibrate="radiance", coefficients="gsics", channels=names)
    gsics.write(tmp_path / "gsics.zarr")
    other = swath.open_array(tmp_path / "gsics.zarr/radiance")[0]
    # Of GSICS there are coefficients of one channel.
    np.testing.assert_array_equal(other[0], found[0])
    wanted = np.maximum(0.2071 * (counts("IR_108", 1) - 50.6), 0)
    np.testing.assert_allclose(other[1], wanted, rtol=1e-6, atol=1e-5)
    physical = swath.convert.plan(files[1], calibrate="reflectance-or-temperature", channels="HRV")
    assert physical.variables == ["reflectance_hrv"]


@pytest.mark.parametrize(
    "options, flags",
    [
        ({}, []),
        ({"calibrate": "radiance"}, ["--calibrate", "radiance"]),
        (
            {"calibrate": "radiance", "coefficients": "gsics"},
            ["--calibrate", "radiance", "--coefficients", "gsics"],
        ),
        (
            {"calibrate": "reflectance-or-temperature", "channels": ["IR_108", "HRV"]},
            ["--calibrate", "reflectance-or-temperature", "--channels", "IR_108,HRV"],
        ),
        (
            {
                "chunks": {"channel": "all", "y": 2, "x": 7},
                "shards": {"y": 4, "y_hrv": "all"},
                "codec": "blosc:3",
            },
            ["--chunks", "channel=all,y=2,x=7", "--shards", "y=4,y_hrv=all", "--codec", "blosc:3"],
        ),
        ({"shards": "none", "codec": None}, ["--shards", "none", "--codec", "none"]),
        ({"codec": "packbits"}, ["--codec", "packbits"]),
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
    assert report.damages == []
    assert contents(tmp_path / "a.zarr") == contents(tmp_path / "b.zarr")
    # Which says in whatever order what is done.
    one, other = (contents(tmp_path / f"{name}.zarr.journal") for name in "ab")
    assert one.keys() == other.keys()
    assert one.pop("plan.json") == other.pop("plan.json")
    (one,), (other,) = one.values(), other.values()
    assert sorted(one.splitlines()) == sorted(other.splitlines())


@pytest.mark.skipif(not BINARY.exists(), reason="the command line is not built: cargo build -p swath-cli")
def test_what_one_began_the_other_goes_on_with(tmp_path, files):
    """Journals, plans and stores are the same: each goes on where the other one stopped."""
    swath.convert.plan(files).write(tmp_path / "whole.zarr", journal=False)
    swath.convert.plan(files[:2]).write(tmp_path / "a.zarr")
    run = [BINARY, "convert", "--append", files[2], files[3], "a.zarr"]
    subprocess.run(run, cwd=tmp_path, capture_output=True, check=True)
    assert swath.convert.append(files[4], tmp_path / "a.zarr").fields == 1
    assert contents(tmp_path / "a.zarr") == contents(tmp_path / "whole.zarr")
    plan = swath.convert.plan(files)
    (tmp_path / "plan.json").write_text(plan.to_json())
    piece = [BINARY, "convert", "--piece", "1/2", "--journal", "journal", "plan.json", "b.zarr"]
    subprocess.run(piece, cwd=tmp_path, capture_output=True, check=True)
    plan.write_piece(1, 2, tmp_path / "b.zarr", journal=tmp_path / "journal")
    assert contents(tmp_path / "b.zarr") == contents(tmp_path / "whole.zarr")


def test_every_layout_holds_the_same_counts(tmp_path, files):
    codec = [{"name": "zstd", "configuration": {"level": 1, "checksum": True}}]
    layouts = [
        {"chunks": {"channel": "all", "y": 3, "x": 5}},
        {"chunks": {"y": 4, "y_hrv": 5}, "shards": "none", "codec": codec},
        {"chunks": {"channel": 2}, "shards": {"channel": "all", "y_hrv": "all"}, "codec": "gzip:9"},
    ]
    swath.convert.plan(files).write(tmp_path / "whole.zarr")
    for number, layout in enumerate(layouts):
        plan = swath.convert.plan(files[:2], **layout)
        assert "chunks (1, " in str(plan)
        target = tmp_path / f"{number}.zarr"
        for piece in plan.pieces(2):
            piece.write(target, journal=tmp_path / f"{target.name}.journal")
        # Those that join are laid out as the others.
        swath.convert.append(files[2:], target)
        for name in ("counts", "counts_hrv"):
            found = zarr.open_array(target / name, mode="r")[...]
            np.testing.assert_array_equal(found, swath.open_array(tmp_path / "whole.zarr" / name)[...])
    metadata = json.loads((tmp_path / "1.zarr/counts/zarr.json").read_text())
    assert metadata["codecs"][1:] == codec


def test_packed_counts_are_read_by_others(tmp_path, files):
    """By zarrs too, which has the codec from the same registry."""
    plan = swath.convert.plan(files, codec="packbits")
    plan.write(tmp_path / "a.zarr")
    metadata = json.loads((tmp_path / "a.zarr/counts/zarr.json").read_text())
    assert metadata["codecs"] == [{"name": "packbits", "configuration": {"first_bit": 0, "last_bit": 9}}]
    found = swath.open_array(tmp_path / "a.zarr/counts")[...]
    for quarter in range(IMAGES):
        np.testing.assert_array_equal(found[quarter, 1], counts("IR_039", quarter))
    # Ten bits of 160 counts.
    assert (tmp_path / "a.zarr/counts/c/0/0/0/0").stat().st_size == 200
    pytest.importorskip("zarrista", reason="zarrs is not installed, through zarrista")
    np.testing.assert_array_equal(zarrs_reads(tmp_path / "a.zarr/counts", 3), found)


def test_plans_are_plain_data(files):
    plan = swath.convert.plan(files, calibrate="radiance", channels=["HRV"])
    for other in (pickle.loads(pickle.dumps(plan)), swath.convert.Plan.from_json(plan.to_json())):
        assert other == plan
        assert hash(other) == hash(plan)
        assert str(other) == str(plan)
        assert (other.files, other.variables) == ([str(file) for file in files], ["radiance_hrv"])
    assert plan != swath.convert.plan(files, calibrate="radiance")
    assert "radiance_hrv (time 5, y_hrv 24, x_hrv 56) float32" in str(plan)
    secret = {"access_key_id": "AKIA", "secret_access_key": "S3CRET", "region": "eu-central-1"}
    pickled = pickle.dumps(swath.convert.plan(files, storage_options=secret))
    assert b"eu-central-1" in pickled
    assert b"S3CRET" not in pickled
    with pytest.raises(swath.InvalidError, match="no plan"):
        swath.convert.Plan.from_json('{"format": "swath nat plan 1"}')


def test_pieces_make_the_same_store(tmp_path, files):
    plan = swath.convert.plan(files)
    plan.write(tmp_path / "whole.zarr", journal=False)
    assert not (tmp_path / "whole.zarr.journal").exists()
    pieces = pickle.loads(pickle.dumps(plan.pieces(3)))
    assert [piece.fields for piece in pieces] == [2, 2, 1]
    for piece in reversed(pieces):
        assert piece.write(tmp_path / "made.zarr", journal=tmp_path / "journal").fields == piece.fields
    swath.consolidate_metadata(tmp_path / "made.zarr")
    assert contents(tmp_path / "made.zarr") == contents(tmp_path / "whole.zarr")
    with pytest.raises(swath.InvalidError, match="the journal of another plan"):
        swath.convert.plan(files[:4]).write_piece(0, 1, tmp_path / "b.zarr", journal=tmp_path / "journal")


def test_dask_tasks_make_the_same_store(tmp_path, files):
    pytest.importorskip("dask")
    cut(files[2], TRAILER + RECORD)
    plan = swath.convert.plan(files)
    whole = plan.write(tmp_path / "whole.zarr", journal=False)
    # One record: a line of each of three channels, and three of the broad one.
    assert (whole.fields, len(whole.damages)) == (IMAGES, 6)
    tasks = swath.convert.to_dask(plan, tmp_path / "a.zarr", pieces=4)
    for scheduler in ("threads", "synchronous"):
        report = tasks.compute(scheduler=scheduler)
        assert (report.fields, report.variables, report.damages) == (IMAGES, 2, whole.damages)
        assert contents(tmp_path / "a.zarr") == contents(tmp_path / "whole.zarr")


def test_a_cluster_of_processes_makes_the_same_store(tmp_path, files):
    distributed = pytest.importorskip("distributed")
    plan = swath.convert.plan(files, calibrate="radiance")
    plan.write(tmp_path / "whole.zarr", journal=False)
    tasks = swath.convert.to_dask(plan, tmp_path / "a.zarr", pieces=3, journal=tmp_path / "journal")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        report = client.compute(tasks).result(timeout=LIMIT_SECONDS)
    assert (report.fields, report.damages) == (IMAGES, [])
    assert contents(tmp_path / "a.zarr") == contents(tmp_path / "whole.zarr")


def test_new_images_join(tmp_path, files):
    swath.convert.plan(files).write(tmp_path / "all.zarr")
    swath.convert.plan(files[:2]).write(tmp_path / "a.zarr")
    files[0].unlink()
    report = swath.convert.append([files[3], files[2]], tmp_path / "a.zarr")
    assert (report.fields, report.variables, report.damages) == (2, 2, [])
    swath.convert.append(str(files[4]), tmp_path / "a.zarr")
    assert contents(tmp_path / "a.zarr") == contents(tmp_path / "all.zarr")
    with pytest.raises(swath.InvalidError, match="is in the store already"):
        swath.convert.append(files[3], tmp_path / "a.zarr")
    late = put(tmp_path, 2)
    late = late.rename(tmp_path / "late.nat")
    with pytest.raises(swath.UnsupportedError, match="wanted images behind the last one of the store"):
        swath.convert.append(late, tmp_path / "a.zarr")
    with pytest.raises(swath.NotFoundError, match="journal"):
        swath.convert.append(files[3], tmp_path / "none.zarr")


def test_what_was_interrupted_is_gone_on_with(tmp_path, files):
    plan = swath.convert.plan(files)
    plan.write(tmp_path / "whole.zarr")
    told = []
    plan.write(tmp_path / "b.zarr", progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (IMAGES, IMAGES)
    plan.write(tmp_path / "a.zarr")
    # As if the process had ended before the last two images were told as done.
    (lines,) = (tmp_path / "a.zarr.journal").glob("done-*.jsonl")
    kept = lines.read_text().splitlines(keepends=True)[:3]
    lines.write_text("".join(kept))
    broken = [path for path in (tmp_path / "a.zarr/counts/c").rglob("*") if path.is_file()]
    with pytest.raises(swath.InvalidError, match="not finished"):
        swath.convert.append(files[0], tmp_path / "a.zarr")
    done = {json.loads(line)["slab"] for line in kept}
    for path in broken:
        if int(path.relative_to(tmp_path / "a.zarr/counts/c").parts[0]) not in done:
            path.unlink()
    report = swath.convert.resume(tmp_path / "a.zarr")
    assert (report.fields, report.damages) == (IMAGES, [])
    assert contents(tmp_path / "a.zarr") == contents(tmp_path / "whole.zarr")
    files[2].write_bytes(files[3].read_bytes())
    with pytest.raises(swath.InvalidError, match=rf"changed since the plan was made: {files[2]}$"):
        swath.convert.resume(tmp_path / "a.zarr")


def test_damages_are_listed_and_filled(tmp_path, files):
    cut(files[0], TRAILER + RECORD)
    files[1].write_bytes(b"NATIVE")
    plan = swath.convert.plan(files[:3])
    kinds = [(damage["file"], damage["damage"]) for damage in plan.damages]
    assert kinds == [(str(files[0]), "truncated"), (str(files[1]), "corrupt")]
    assert plan.damages[0]["message"].startswith("no trailer: ")
    assert (plan.damages[0]["offset"], plan.fields) == (files[0].stat().st_size + RECORD, 2)
    report = plan.write(tmp_path / "a.zarr")
    assert (report.fields, len(report.damages)) == (2, 6)
    first = report.damages[0]
    assert (first["file"], first["damage"], first["length"]) == (str(files[0]), "unwritten", RECORD)
    # The last record of the file, in the north.
    assert first["offset"] == files[0].stat().st_size
    assert first["message"].startswith("row 0 of VIS006: truncated: ")
    found = swath.open_array(tmp_path / "a.zarr/counts")[0, 0]
    assert not found[0].any()
    np.testing.assert_array_equal(found[1:], counts("VIS006", 0)[1:])
    # They are told again by who goes on.
    assert swath.convert.resume(tmp_path / "a.zarr") == report
    with pytest.raises(swath.CorruptError, match="2 damages, and nothing is written"):
        swath.convert.plan(files[:3], strict=True)
    with pytest.raises(swath.CorruptError, match="row 0 of"):
        plan.write(tmp_path / "b.zarr", strict=True)
    with pytest.raises(swath.UnsupportedError, match="none of 1 files can be read"):
        swath.convert.plan(files[1])
    cut(files[3], TRAILER)
    joined = swath.convert.append(files[3], tmp_path / "a.zarr")
    assert [damage["damage"] for damage in joined.damages] == ["truncated"]
    cut(files[4], TRAILER)
    with pytest.raises(swath.CorruptError, match="nothing is written"):
        swath.convert.append(files[4], tmp_path / "a.zarr", strict=True)


def test_targets_and_files_are_looked_at_first(tmp_path, files):
    plan = swath.convert.plan(files)
    (tmp_path / "there").mkdir()
    with pytest.raises(swath.InvalidError, match="there is something already"):
        plan.write(tmp_path / "there")
    files[2].write_bytes(b"")
    with pytest.raises(swath.InvalidError, match=rf"changed since the plan was made: {files[2]}$"):
        plan.write(tmp_path / "c.zarr")
    assert not list(tmp_path.glob("c.zarr*"))
    with pytest.raises(swath.StorageError, match=r"none\.nat"):
        swath.convert.plan([files[0], tmp_path / "none.nat"])


@pytest.mark.parametrize(
    "options, message",
    [
        ({"access": "crops"}, "`access` of GRIB files alone"),
        ({"mantissa_bits": 7}, "`mantissa_bits` of GRIB files alone"),
        ({"keep": ["time"]}, "`keep` of GRIB files alone"),
        ({"chunks": {"level": 100}}, "along level, and the dimensions are channel, time, x, x_hrv, y, y_hrv"),
        ({"chunks": {"time": 2}}, "chunks of 2 along time: wanted 1, as images are written"),
        ({"chunks": {"x": 7}, "shards": {"x": 15}}, "wanted whole chunks"),
        ({"codec": "lzma"}, 'found "lzma"'),
        ({"codec": "packbits", "calibrate": "radiance"}, "packbits keeps the ten bits of counts"),
        ({"codec": [{"name": "packbits", "configuration": {"last_bit": 8}}]}, "wanted bits 0 to 9"),
        ({"calibrate": "kelvin"}, 'found "kelvin"'),
        ({"coefficients": "gsics"}, "counts, which are not calibrated"),
        ({"calibrate": "radiance", "coefficients": "best"}, 'found "best"'),
        ({"channels": ["IR_109"]}, 'found "IR_109"'),
        ({"channels": ["IR_134"]}, "no file has the channel IR_134"),
    ],
)
def test_options_that_make_no_sense(files, options, message):
    with pytest.raises(swath.InvalidError, match=message):
        swath.convert.plan(files, **options)


def test_files_of_other_kinds_are_told_apart(tmp_path, files):
    grib = tmp_path / "a.grib2"
    grib.write_bytes(b"")
    with pytest.raises(swath.InvalidError, match=r"1 of 2 files are \.nat files: convert them by themselves"):
        swath.convert.plan([files[0], grib])
    with pytest.raises(swath.InvalidError, match=r"swath\.convert\.plan\("):
        swath.convert.scan(files)
    for options in ({"calibrate": "radiance"}, {"coefficients": "gsics"}, {"channels": ["HRV"]}):
        with pytest.raises(swath.InvalidError, match=r"of \.nat files alone"):
            swath.convert.plan(grib, **options)


def test_xarray_opens_what_was_written(tmp_path, files):
    xarray = pytest.importorskip("xarray")
    swath.convert.plan(files, calibrate="radiance").write(tmp_path / "a.zarr")
    with xarray.open_dataset(tmp_path / "a.zarr", engine="swath") as dataset:
        assert dict(dataset["radiance"].sizes) == {"time": 5, "channel": 3, "y": 8, "x": 20}
        assert dataset["radiance"].sel(channel="IR_108").attrs["units"] == "mW m-2 sr-1 (cm-1)-1"
        assert dataset.time.values[0] == np.datetime64("2021-01-14T12:00")


def test_paths_of_every_kind_are_files(files):
    assert swath.convert.plan(str(files[0])) == swath.convert.plan(Path(files[0]))
    assert swath.convert.plan(iter(files)) == swath.convert.plan(files)
