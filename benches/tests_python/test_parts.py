"""The runner's parts: checksums, selections, budgets, percentiles, fio's output, the workloads."""

import json

import numpy as np
import pytest

from benches.readers.protocol import BLOCK_WORDS, array_checksum
from benches.runner import commands, prepare
from benches.runner.bars import Bar, bars
from benches.runner.budget import Budget
from benches.runner.device import parse_fio
from benches.runner.errors import BenchError
from benches.runner.fields import Values
from benches.runner.plain_data import write_big_file
from benches.runner.reader_process import ReaderError
from benches.runner.record import CaseFacts, Record, Result, percentiles
from benches.runner.registry import load_readers
from benches.runner.selections import chunks_touched, corners, offsets, output_bytes, workload_chunks
from benches.runner.tables import number
from benches.runner.workload import Workload, load_workloads

MASK = (1 << 64) - 1


def slow_checksum(content):
    total = 0
    padded = content + bytes(-len(content) % 8)
    for index in range(len(padded) // 8):
        word = int.from_bytes(padded[8 * index : 8 * index + 8], "little")
        mixed = ((word ^ (index * 0x9E3779B97F4A7C15 & MASK)) * 0xD1B54A32D192ED03) & MASK
        total += mixed ^ (mixed >> 29)
    return f"{total & MASK:016x}"


def test_checksum_of_one_word_by_hand():
    # x = 1 * 0xD1B54A32D192ED03; x >> 29 = 0x68DAA5196; their exclusive or:
    assert array_checksum(np.array([1], np.uint64)) == f"{0xD1B54A32D192ED03 ^ 0x68DAA5196:016x}"
    assert array_checksum(np.zeros(0, np.uint8)) == "0" * 16


@pytest.mark.parametrize("length", [1, 7, 8, 9, 4096, 8 * BLOCK_WORDS, 8 * BLOCK_WORDS + 13])
def test_checksum_equals_the_slow_one(length):
    content = np.random.default_rng(length).bytes(length)
    assert array_checksum(np.frombuffer(content, np.uint8)) == slow_checksum(content)


def test_checksum_depends_on_position():
    assert array_checksum(np.array([1, 2], np.uint64)) != array_checksum(np.array([2, 1], np.uint64))


def test_corners_are_the_same_for_the_same_seed_and_fit():
    first = corners((10, 20), (3, 20), 100, seed=1)
    assert first == corners((10, 20), (3, 20), 100, seed=1)
    assert first != corners((10, 20), (3, 20), 100, seed=2)
    assert {corner[1] for corner in first} == {0}
    assert {corner[0] for corner in first} == set(range(8))
    with pytest.raises(BenchError, match="do not fit"):
        corners((10,), (11,), 1, seed=1)


def test_offsets_are_multiples_within_the_file():
    places = offsets(1 << 20, 4096, 1000, seed=1)
    assert not (places % 4096).any()
    assert places.max() == (1 << 20) - 4096
    assert (places == offsets(1 << 20, 4096, 1000, seed=1)).all()


def test_chunks_that_selections_share_count_once_in_a_batch():
    assert chunks_touched([(0, 0), (1, 1)], (2, 2), (2, 2), once=True) == 4
    assert chunks_touched([(0, 0), (1, 1)], (2, 2), (2, 2), once=False) == 5
    assert chunks_touched([(0, 0)], (8, 8), (2, 2), once=True) == 16


def test_the_workloads_are_those_of_the_goals():
    workloads = load_workloads()
    assert workload_chunks(workloads["tinyall_raw"]) == 65_536
    assert output_bytes(workloads["era5_v2"]) == 48 * 2 * 721 * 1440 * 4
    assert output_bytes(workloads["ranges_4k"]) == 4096 * 1_000_000
    assert workloads["tiny_raw"].cases()[0].data_hash == workloads["tinyall_raw"].cases()[0].data_hash
    names = [case.name for case in workloads["sat_raw"].cases()]
    assert names == ["sat_raw-morton", "sat_raw-c"]


def test_a_workload_that_is_none_says_why(tmp_path):
    (tmp_path / "odd.toml").write_text('kind = "array"\ndata = "nobody"\n')
    with pytest.raises(BenchError, match="workload odd"):
        load_workloads(tmp_path)


def test_quick_runs_take_one_order_and_few_readers():
    settings = commands.arguments(["run", "--quick"])
    cases = commands.chosen_cases(settings)
    assert {case.inner_order for case in cases} == {"", "morton"}
    assert {"swath-rust", "floor-pread"} <= {one.name for one in commands.chosen_readers(settings)}
    assert len(commands.chosen_readers(settings)) < len(load_readers())


def test_warm_races_come_first_and_leave_time_for_the_cold_ones():
    settings = commands.arguments(["run", "--quick"])
    races = commands.plan(settings, commands.chosen_cases(settings), commands.chosen_readers(settings))
    states = [state for _, state, _ in races]
    assert states == sorted(states, reverse=True)
    budgets = commands.share_time(100.0, races)
    assert 50.0 < budgets["warm"].seconds < 90.0
    assert budgets["cold"].seconds == 100.0


def test_budget_gives_slow_readers_fewer_passes():
    budget = Budget(100.0, 10, clock=lambda: 0.0, started=0.0)
    for seconds_a_pass, passes in ((0.1, 7), (5.0, 4), (30.0, 3), (40.0, 0)):
        assert budget.passes(seconds_a_pass, 7) == passes
        budget.settle()


def test_what_is_promised_to_one_reader_is_not_given_to_the_next():
    budget = Budget(10.0, 2, clock=lambda: 0.0, started=0.0)
    assert budget.passes(1.0, 9) == 9
    assert budget.seconds_left() == 1.0
    assert budget.passes(1.0, 9) == 0
    budget.settle()
    assert budget.seconds_left() == 10.0


def test_percentiles_of_few_and_many():
    assert percentiles([]) == {}
    assert percentiles([5]) == {"50": 5.0, "90": 5.0, "99": 5.0, "99.9": 5.0}
    assert percentiles(range(1000)) == {"50": 500.0, "90": 900.0, "99": 990.0, "99.9": 999.0}


def test_fio_passes_take_the_longest_job_and_the_processor_time_of_all():
    job = {"error": 0, "usr_cpu": 10.0, "sys_cpu": 30.0, "job_runtime": 2000, "read": {"runtime": 2000}}
    slower = job | {"job_runtime": 4000, "read": {"runtime": 4000}}
    taken = parse_fio("note: a warning\n" + json.dumps({"jobs": [job, slower]}))
    assert (taken.seconds, taken.user_seconds, taken.system_seconds) == pytest.approx((4.0, 0.6, 1.8))
    with pytest.raises(ReaderError, match="errors"):
        parse_fio(json.dumps({"jobs": [job | {"error": 5}]}))


def test_values_are_the_same_whatever_the_order_and_not_trivial():
    law = {"offset": 100, "amplitude": 1000, "noise": 2.0, "drift": [[1, 2]]}
    values = [dict(_blocks(Values((2, 64, 64), np.dtype("int16"), 1, law))) for _ in range(2)]
    for corner, block in values[0].items():
        assert (block == values[1][corner]).all()
        assert 10 < len(np.unique(block))


def _blocks(values):
    for block, content in values.blocks((1, 32, 64)):
        yield tuple(part.start for part in block), content


def test_a_small_array_is_written_in_both_orders_once(tmp_path):
    import zarr

    workload = Workload(
        name="small",
        about="",
        kind="array",
        quick=False,
        states=("warm",),
        data_owner="small",
        data={
            "shape": [8, 8],
            "dtype": "uint8",
            "zarr_format": 3,
            "shards": [8, 8],
            "chunks": [2, 2],
            "inner_orders": ["morton", "c"],
            "codec": {"name": "none"},
            "seed": 1,
            "values": {"offset": 1, "amplitude": 200, "noise": 1.0, "drift": []},
        },
        read={"selection_shape": [2, 2], "count": 3, "seed": 1},
    )
    cases = workload.cases()
    prepare.prepare(cases, tmp_path)
    folders = [case.data_folder(tmp_path) for case in cases]
    stamps = [(folder / "prepared.json").stat().st_mtime_ns for folder in folders]
    prepare.prepare(cases, tmp_path)
    assert stamps == [(folder / "prepared.json").stat().st_mtime_ns for folder in folders]
    values = [zarr.open_array(folder / "array.zarr", mode="r")[...] for folder in folders]
    assert (values[0] == values[1]).all()
    shards = [(folder / "array.zarr" / "c" / "0" / "0").read_bytes() for folder in folders]
    indexes = [np.frombuffer(shard[-(16 * 16 + 4) : -4], "<u8").reshape(4, 4, 2) for shard in shards]
    assert (indexes[0][0, :, 0] // 4).tolist() == [0, 2, 8, 10]
    assert (indexes[1][0, :, 0] // 4).tolist() == [0, 1, 2, 3]
    described = json.loads(cases[0].case_file(tmp_path).read_text())
    assert described["selection_shape"] == [2, 2]
    assert len(described["selections"]) == 3


def test_the_big_file_numbers_its_sectors(tmp_path):
    workload = Workload(
        "big", "", "ranges", False, ("warm",), "big", {"file_bytes": 3 * 512, "seed": 1}, {"range_len": 512}
    )
    write_big_file(workload, tmp_path / "big")
    words = np.fromfile(tmp_path / "big", "<u8").reshape(3, 64)
    assert words[:, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "n/a"), (0.01234, "0.0123"), (12.34, "12.3"), (12345.6, "12,346")]
)
def test_numbers_are_shown_with_three_digits(value, shown):
    assert number(value) == shown


def test_bars_pass_and_fail_on_their_side_of_the_bound():
    assert Bar("1", "", "", 0.95, 0.95).verdict == "pass"
    assert Bar("1", "", "", 0.94, 0.95).verdict == "**fail**"
    assert Bar("5", "", "", 0.94, 0.95, below=True).verdict == "pass"
    assert Bar("1", "", "", None, 0.95).verdict == "n/a"


def test_what_is_chosen_is_held_against_the_best_fixed_way():
    def result(reader, state, seconds):
        return Result(reader, "ranges_4k", state, passes=[{"seconds": seconds}])

    def role(fixed):
        return {"role": "swath", "language": "rust", "decodes": True, "fixed": fixed}

    record = Record(
        machine={},
        settings={},
        roles={"swath-rust": role(False), "swath-mmap": role(True), "swath-uring": role(True)},
        cases={"ranges_4k": CaseFacts("ranges_4k", "", "ranges", "", "batch", 1, 1, 1, 0)},
        results=[
            result("swath-rust", "warm", 2.0),
            result("swath-mmap", "warm", 1.0),
            result("swath-uring", "warm", 3.0),
            result("swath-rust", "cold", 2.0),
        ],
    )
    found = [(bar.what, bar.found, bar.verdict) for bar in bars(record) if bar.item == "7"]
    assert found == [
        ("warm, Rust, share of the best fixed way's rate (swath-mmap)", 0.5, "**fail**"),
        ("cold, Rust, share of the best fixed way's rate", None, "n/a"),
    ]
    record.results[0].passes = [{"seconds": 1.1}]
    assert [bar.verdict for bar in bars(record) if bar.item == "7"] == ["pass", "n/a"]
