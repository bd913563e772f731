"""Counts of instructions: their file, what it takes to change them, and the check."""

import datetime
import re
import stat

import pytest

from benches.instructions.__main__ import COUNTS
from benches.instructions.counts import GROWTH_MAX, Counted, Counts, Entry, judge
from benches.instructions.measure import MeasureError, UnavailableError, instructions_per_operation

TODAY = datetime.date(2026, 5, 1)
EARLIER = datetime.date(2026, 4, 1)


def counts_of(*counts, note=""):
    history = tuple(Entry(count, EARLIER, note) for count in counts)
    return Counts("rustc 1", {"plan": Counted("A tile", 10, history)})


def history(counts):
    return [(entry.count, entry.note) for entry in counts.paths["plan"].history]


def test_the_committed_file_is_what_update_writes_and_every_rise_in_it_has_a_note():
    counts = Counts.load(COUNTS)
    assert counts.text() == COUNTS.read_text()
    assert counts.unexplained() == []
    assert all(path.history for path in counts.paths.values())


def test_the_committed_file_names_the_program_s_paths():
    source = (COUNTS.parent / "src/main.rs").read_text()
    assert set(re.findall(r'^ +"(\w+)" => ', source, re.MULTILINE)) == set(Counts.load(COUNTS).paths)


def test_a_file_is_read_as_it_was_written():
    counts = counts_of(10.0, 1234567.8, note='"quoted" \\ and ü')
    assert Counts.parse(counts.text()) == counts


def test_growth_of_over_5_percent_fails():
    assert GROWTH_MAX == 0.05
    assert not judge(counts_of(100.0), {"plan": 104.9}).has_failed
    assert not judge(counts_of(100.0), {"plan": 10.0}).has_failed
    assert not judge(counts_of(100.0), {}).has_failed
    verdict = judge(counts_of(100.0), {"plan": 105.1})
    assert verdict.has_failed
    assert verdict.lines[-1] == "plan takes 5.1% more instructions than committed"


def test_the_last_entry_counts():
    assert not judge(counts_of(100.0, 103.0), {"plan": 107.0}).has_failed
    assert judge(counts_of(103.0, 100.0), {"plan": 107.0}).has_failed


def test_a_path_without_a_count_fails():
    assert judge(counts_of(), {"plan": 1.0}).lines[-1] == "no count is committed of plan"


def test_fewer_instructions_are_told_of():
    assert any("keep it" in line for line in judge(counts_of(100.0), {"plan": 94.0}).lines)
    assert not any("keep it" in line for line in judge(counts_of(100.0), {"plan": 96.0}).lines)


def test_a_rise_in_the_file_without_a_note_fails():
    verdict = judge(counts_of(100.0, 106.0), {"plan": 106.0})
    assert verdict.has_failed
    assert "has no note" in verdict.lines[-1]
    assert not judge(counts_of(100.0, 106.0, note="worth it"), {"plan": 106.0}).has_failed


def test_update_of_a_large_rise_wants_a_note():
    with pytest.raises(ValueError, match="has no note"):
        counts_of(100.0).updated({"plan": 106.0}, "rustc 2", TODAY, " ")
    updated = counts_of(100.0).updated({"plan": 106.0}, "rustc 2", TODAY, "worth it")
    assert history(updated) == [(100.0, ""), (106.0, "worth it")]
    assert updated.rustc == "rustc 2"


def test_update_leaves_small_rises_so_that_they_add_up():
    assert history(counts_of(100.0).updated({"plan": 104.0}, "", TODAY, "a note")) == [(100.0, "")]


def test_update_keeps_what_was_gained():
    assert history(counts_of(100.0).updated({"plan": 98.04}, "", TODAY, "")) == [(98.0, "")]
    assert history(counts_of(100.0).updated({"plan": 90.0}, "", TODAY, "less")) == [
        (100.0, ""),
        (90.0, "less"),
    ]
    assert history(counts_of(100.0).updated({"plan": 99.9}, "", TODAY, "")) == [(100.0, "")]
    assert history(counts_of().updated({"plan": 5.0}, "", TODAY, "first")) == [(5.0, "first")]


@pytest.fixture
def fake_valgrind(tmp_path, monkeypatch):
    """A valgrind of 1,000 instructions at the start and 30 in each of the 2 operations of a round."""

    def install(script):
        path = tmp_path / "valgrind"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    install('echo "==1== Collected : $((1000 + 60 * $5))" >&2; echo $((2 * $5))')
    return install


def counted(folder):
    return instructions_per_operation(folder / "program", "plan", 7, folder, folder)


@pytest.mark.usefixtures("fake_valgrind")
def test_what_a_run_starts_with_is_not_counted(tmp_path):
    assert counted(tmp_path) == 30


def test_a_path_that_cannot_be_run_and_one_that_fails(tmp_path, fake_valgrind):
    fake_valgrind('echo "==1== a tool" >&2; echo "no io_uring" >&2; exit 3')
    with pytest.raises(UnavailableError, match=r"^no io_uring$"):
        counted(tmp_path)
    fake_valgrind('echo "it is broken" >&2; exit 1')
    with pytest.raises(MeasureError, match="it is broken"):
        counted(tmp_path)
    fake_valgrind("echo 5")
    with pytest.raises(MeasureError):
        counted(tmp_path)
