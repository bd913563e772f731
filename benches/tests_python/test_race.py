"""The runner with readers that fail in every way a reader can."""

import dataclasses
import sys
from pathlib import Path

import pytest

from benches.runner import commands
from benches.runner.budget import Budget
from benches.runner.race import Race
from benches.runner.reader_process import ReaderProcess
from benches.runner.record import Record
from benches.runner.registry import ReaderEntry
from benches.runner.report import write_report
from benches.runner.workload import load_workloads

FAKE = Path(__file__).with_name("fake_reader.py")


def entry(variant, **changes):
    fields = {"command": ("{python}", str(FAKE)), "role": "peer", "language": "python", "kinds": ("array",)}
    return ReaderEntry(name=variant, variant=variant, **(fields | changes))


@pytest.fixture
def case(tmp_path):
    one = load_workloads()["tiny_raw"].cases()[0]
    folder = one.data_folder(tmp_path)
    folder.mkdir(parents=True)
    (folder / "data").write_bytes(b"data")
    (folder / "prepared.json").write_text('{"stored_bytes": 4, "hash": ""}')
    return one


def race(case, tmp_path, *variants, passes=5, seconds=1000.0):
    run = Race(case, tmp_path, Budget(seconds, len(variants)), passes)
    return {one.reader: one for one in run.run([entry(variant) for variant in variants], "warm")}


def test_medians_leave_out_the_first_pass(case, tmp_path):
    result = race(case, tmp_path, "good")["good"]
    assert (result.version, result.reason, result.failed) == ("1.2", "", False)
    assert [one["seconds"] for one in result.passes] == pytest.approx([0.002, 0.003, 0.004, 0.005, 0.006])
    assert result.seconds == pytest.approx(0.004)
    assert result.cpu_seconds == 0.75
    assert result.latency_ns["50"] == 4000.0


def test_a_refusal_is_a_reason_and_no_failure(case, tmp_path):
    result = race(case, tmp_path, "good", "refuses")["refuses"]
    assert (result.reason, result.failed, result.passes) == ("not my kind", False, [])


def test_an_error_takes_the_reader_out_and_leaves_the_others(case, tmp_path):
    results = race(case, tmp_path, "errs", "good")
    assert (results["errs"].reason, results["errs"].failed) == ("disk on fire", True)
    assert len(results["good"].passes) == 5


def test_a_death_and_babble_are_failures(case, tmp_path):
    results = race(case, tmp_path, "dies", "babbles")
    assert results["dies"].failed
    assert "no such library" in results["dies"].reason
    assert "which is no JSON" in results["babbles"].reason


def test_the_reader_with_another_checksum_is_named(case, tmp_path):
    results = race(case, tmp_path, "good", "wrong", "better")
    assert results["wrong"].failed
    assert "00000000000000bb" in results["wrong"].reason
    assert not results["good"].failed
    assert not results["better"].failed


def test_without_a_majority_all_are_named(case, tmp_path):
    assert all(one.failed for one in race(case, tmp_path, "good", "wrong").values())


def test_a_checksum_that_changes_from_pass_to_pass_is_named(case, tmp_path):
    results = race(case, tmp_path, "good", "drifts")
    assert results["drifts"].failed
    assert not results["good"].failed


def test_no_pass_begins_when_time_is_up(case, tmp_path):
    result = race(case, tmp_path, "good", seconds=-1.0)["good"]
    assert (result.passes, result.failed) == ([], False)
    assert "the time for this run was up" in result.reason


def test_a_reader_that_is_not_built_is_left_out(case, tmp_path):
    missing = entry("good", command=("benches/no-such-reader",))
    (result,) = Race(case, tmp_path, Budget(10, 1), 3).run([missing], "warm")
    assert (result.reason, result.failed) == ("benches/no-such-reader is not built", False)


def test_processes_end_with_the_race(case, tmp_path):
    reader = ReaderProcess([sys.executable, str(FAKE), "--variant", "good"])
    reader.close()
    assert reader.process.returncode == 0


def test_a_record_survives_saving_and_makes_a_report(case, tmp_path):
    settings = commands.arguments(["run", "--passes", "3"])
    entries = [entry("good"), entry("refuses"), entry("swath-python", role="swath")]
    results = Race(case, tmp_path, Budget(100, 3), 3).run(entries, "warm")
    record = Record(
        machine=commands.machine.describe(tmp_path),
        settings={"quick": False, "passes": settings.passes, "seconds": 1.0},
        roles={one.name: {"role": one.role, "language": one.language, "decodes": True} for one in entries},
        cases={case.name: commands.facts(case, tmp_path)},
        results=results,
    )
    record.save(tmp_path / "record.json")
    loaded = Record.load(tmp_path / "record.json")
    assert dataclasses.asdict(loaded) == dataclasses.asdict(record)
    write_report(loaded, tmp_path)
    page = (tmp_path / "performance.md").read_text()
    assert "- refuses: not my kind (tiny_raw-morton)" in page
    assert "| 2 | warm, Python, times the best peer's rate (good) | tiny_raw-morton |" in page
    first = (tmp_path / "performance" / "arrays-warm.svg").read_bytes()
    write_report(loaded, tmp_path)
    assert (tmp_path / "performance" / "arrays-warm.svg").read_bytes() == first
