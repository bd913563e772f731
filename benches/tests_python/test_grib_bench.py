"""The races of GRIB readers and of converters, on contenders that are made up."""

import json
import sys

import numpy as np
import pytest
import zarr

from benches.grib import contenders, race
from benches.grib.cases import Decoding
from benches.grib.contenders import Contender, Running
from benches.grib.conversion.commands import bars
from benches.grib.conversion.contenders import Converter
from benches.grib.conversion.race import Row as Conversion
from benches.grib.conversion.race import checksums, convert, floor_seconds
from benches.grib.race import Row
from benches.grib.report import failures, page

FACTS = ("date", "time", "commit", "cpu", "system", "kernel", "file_system", "load")
MACHINE = {**dict.fromkeys(FACTS, "x"), "cores": 2, "memory_bytes": 1 << 30}


def program(tmp_path, name, values, seconds):
    """Write a contender that always gives the same values, in so many seconds."""
    path = tmp_path / f"{name}.py"
    path.write_text(
        "import json, sys\n"
        "import numpy as np\n"
        "for line in sys.stdin:\n"
        "    job = json.loads(line)\n"
        f"    if job.get('out'): np.array({values!r}, job['type']).tofile(job['out'])\n"
        f"    print(json.dumps({{'seconds': {seconds}, 'count': 3, 'version': '1'}}), flush=True)\n"
    )
    return Contender(name, (contenders.Path(sys.executable), path))


@pytest.fixture
def raced(tmp_path, monkeypatch):
    def decode(own, eccodes):
        made = program(tmp_path, "swath", own, 0.5), program(tmp_path, "ecCodes", eccodes, 1.0)
        absent = Contender("gribberish", (tmp_path / "nothing",))
        monkeypatch.setattr(race, "CONTENDERS", (*made, absent))
        return race.decode(Decoding("simple", "float64", tmp_path / "x.grib"), tmp_path, 3)

    return decode


def test_equal_values_count(raced):
    own, eccodes, absent = raced([1.0, 2.0], [1.0, 2.0])
    assert (own.median, eccodes.median, absent.reason) == (0.5, 1.0, "not installed")
    assert eccodes.times(own) == 2
    assert len(own.seconds) == 3


def test_other_values_than_eccodes_are_refused(raced):
    with pytest.raises(SystemExit, match="are not ecCodes'"):
        raced([1.0, 2.0], [1.0, np.nextafter(2.0, 3.0)])


def test_a_program_that_ends_has_a_reason(tmp_path):
    path = tmp_path / "ends.py"
    path.write_text("raise SystemExit(3)")
    with Running(Contender("ends", (contenders.Path(sys.executable), path))) as running:
        assert running.ask(do="decode") == {"reason": "ended with 3"}


def test_the_page_has_a_verdict_for_each_packing():
    def rows(case, own, other):
        return [
            Row(case, "swath", "", "", 3, [own] * 3),
            Row(case, "ecCodes", "2", "", 3, [other] * 3),
            Row(case, "gribberish", "", "64 bits only"),
        ]

    decodings = rows("simple", 1.0, 2.0) + rows("CCSDS", 2.0, 1.0)
    scans = rows("scan", 1.0, 9.0)
    text = page({"machine": MACHINE, "passes": 3, "seconds": 60.0}, decodings, scans)
    lines = [line for line in text.splitlines() if line.startswith(("| simple", "| CCSDS", "| cfgrib"))]
    assert [line.split("|")[-2].strip() for line in lines] == ["pass", "**fail**", "**fail**"]
    assert failures(decodings, scans) == ["CCSDS: 0.50 of 1", "scan: 9.00 of 10"]


def test_conversions_are_held_against_their_bars():
    floors = [{"read_s": 1.0, "write_s": 1.0, "decode_s": 1.0, "encode_s": 5.0}]
    assert floor_seconds(floors, 2) == 3
    rows = [
        Conversion("swath, in turn with the floor", seconds=[3.75, 3.75]),
        Conversion("swath", seconds=[4.0]),
        Conversion("cfgrib + xarray", seconds=[19.0]),
        Conversion("gribberish + xarray", reason="not installed"),
    ]
    found = bars({"floors": floors, "cores": 2}, rows)
    assert [passed for *_, passed in found] == [False, None, True, None]
    assert [times for _, times, *_ in found] == [4.75, None, 1.25, 4 / 3]
    json.dumps(found)


def test_a_journal_of_the_last_pass_is_no_reason(tmp_path):
    path = tmp_path / "converts.py"
    path.write_text(
        "import pathlib, sys\n"
        "for name in (sys.argv[2], sys.argv[2] + '.journal'):\n"
        "    pathlib.Path(name).mkdir()\n"
    )
    row = Conversion("swath")
    for _ in range(2):
        one = Converter("swath", (sys.executable, str(path)))
        convert(one, row, tmp_path / "x.grib", tmp_path / "converted.zarr")
    assert (row.reason, len(row.seconds)) == ("", 2)


def test_fields_count_whatever_the_order_of_dimensions(tmp_path):
    values = np.arange(24, dtype="f4").reshape(2, 3, 2, 2)
    for name, shaped in (("a", values), ("b", values.transpose(1, 0, 2, 3)), ("c", values + 1)):
        group = zarr.open_group(tmp_path / name, mode="w")
        group.create_array("t", data=np.ascontiguousarray(shaped))
        group.create_array("time", data=np.arange(2))
    first, second, third = (checksums(tmp_path / name) for name in "abc")
    assert first == second != third
    assert first.total() == 6
