"""The runner's command line: ``prepare``, ``run`` and ``report``."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benches.runner import machine, prepare
from benches.runner.budget import PASSES_MIN, Budget
from benches.runner.device import device_entries
from benches.runner.errors import BenchError
from benches.runner.page_cache import why_not_cold
from benches.runner.race import Race, show_progress
from benches.runner.record import CaseFacts, Record, Result
from benches.runner.registry import ROOT, ReaderEntry, load_readers
from benches.runner.selections import output_bytes, workload_chunks
from benches.runner.workload import STATES, Case, load_workloads

DATA = ROOT / ".bench"
# What is left of 30 and 4 minutes is for starting, checksums and drawing.
FULL_SECONDS = 25.5 * 60
QUICK_SECONDS = 3.4 * 60
# A cold pass waits for the device, and its reader may be started for it alone.
COLD_WEIGHT = 1.2
QUICK_PASSES = 3
# Cold passes of a quick run: one case of many small reads, one of large ones, and one of the device alone.
QUICK_COLD = ("sat_blosc", "era5_v2", "ranges_4k_cold")


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line's settings."""
    parser = argparse.ArgumentParser(prog="python -m benches.runner", description=__doc__)
    parser.add_argument("command", choices=["prepare", "run", "report"])
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data (default: .bench)")
    parser.add_argument("--quick", action="store_true", help="few cases and readers, three passes")
    parser.add_argument("--cases", help="only cases or workloads of these names, by comma")
    parser.add_argument("--readers", help="only these readers, by comma")
    parser.add_argument("--states", default=",".join(STATES), help="default: %(default)s")
    parser.add_argument("--passes", type=int, help="at most, at least 3 (default: 7, quick: 3)")
    parser.add_argument("--seconds", type=float, help="time for all passes (default: 1530, quick: 204)")
    parser.add_argument("--record", type=Path, help="the record to write, or to report on")
    parser.add_argument("--docs", type=Path, help="folder to write performance.md into (default: docs)")
    settings = parser.parse_args(words)
    settings.passes = settings.passes or (QUICK_PASSES if settings.quick else 7)
    settings.seconds = settings.seconds or (QUICK_SECONDS if settings.quick else FULL_SECONDS)
    settings.states = settings.states.split(",")
    if settings.passes < PASSES_MIN:
        parser.error(f"--passes must be at least {PASSES_MIN}: medians of fewer say nothing")
    if not set(settings.states) <= set(STATES):
        parser.error(f"--states are of {', '.join(STATES)}")
    if settings.command == "report" and settings.record is None:
        parser.error("report needs --record")
    return settings


KINDS_IN_TURN = ("array", "files", "ranges")


def chosen_cases(settings: argparse.Namespace) -> list[Case]:
    """Return the cases that the settings ask for; quick runs take one order of inner chunks."""
    cases = [case for workload in load_workloads().values() for case in workload.cases()]
    # Where the time runs out, it is the last that are left out: those with the most and the slowest readers.
    cases.sort(key=lambda case: (KINDS_IN_TURN.index(case.workload.kind), case.workload.mode == "one_by_one"))
    if settings.cases is not None:
        names = set(settings.cases.split(","))
        known = {case.name for case in cases} | {case.workload.name for case in cases}
        if names - known:
            raise BenchError(
                f"unknown cases {', '.join(sorted(names - known))}; there are {', '.join(sorted(known))}"
            )
        return [case for case in cases if {case.name, case.workload.name} & names]
    if settings.quick:
        return [case for case in cases if case.workload.quick and case.inner_order in ("", "morton")]
    return cases


def chosen_readers(settings: argparse.Namespace) -> list[ReaderEntry]:
    """Return the readers that the settings ask for, fio's engines after all others."""
    readers = {**load_readers(), **{entry.name: entry for entry in device_entries()}}
    if settings.readers is not None:
        names = settings.readers.split(",")
        unknown = [name for name in names if name not in readers]
        if unknown:
            raise BenchError(f"unknown readers {', '.join(unknown)}; there are {', '.join(readers)}")
        return [entry for name, entry in readers.items() if name in names]
    return [entry for entry in readers.values() if entry.quick or not settings.quick]


def plan(
    settings: argparse.Namespace, cases: Sequence[Case], readers: Sequence[ReaderEntry]
) -> list[tuple[Case, str, list[ReaderEntry]]]:
    """Return what is raced: a case, a state, and the readers of its kind; all that is warm first.

    So data that several cases share stays in the page cache.
    """
    races = []
    for state in settings.states:
        for case in cases:
            if state not in case.workload.states:
                continue
            if settings.quick and state == "cold" and case.workload.name not in QUICK_COLD:
                continue
            races.append((case, state, [entry for entry in readers if entry.reads(case, state)]))
    return races


def share_time(seconds: float, races: Sequence[tuple[Case, str, list[ReaderEntry]]]) -> dict[str, Budget]:
    """Return a budget for each state by how much is raced in it; cold passes get what warm ones leave."""
    counts: Counter[str] = Counter()
    for _, state, entries in races:
        counts[state] += len(entries)
    clock = time.monotonic()
    share = counts["warm"] / max(counts["warm"] + COLD_WEIGHT * counts["cold"], 1)
    return {
        "warm": Budget(seconds * share, counts["warm"], started=clock),
        "cold": Budget(seconds, counts["cold"], started=clock),
    }


def facts(case: Case, root: Path) -> CaseFacts:
    """Return what a pass over a case amounts to."""
    workload = case.workload
    return CaseFacts(
        workload=workload.name,
        inner_order=case.inner_order,
        kind=workload.kind,
        about=workload.about,
        mode=workload.mode,
        output_bytes=output_bytes(workload),
        stored_bytes=int(prepare.stamp(case, root)["stored_bytes"]),
        data_bytes=case.data_bytes(),
        chunks=workload_chunks(workload) if workload.kind == "array" else 0,
        range_len=int(workload.read.get("range_len", 0)),
        reads=int(workload.read.get("count", workload.data.get("count", 0))),
    )


def run(settings: argparse.Namespace) -> Record:
    """Race everything and return the record."""
    cases, readers = chosen_cases(settings), chosen_readers(settings)
    prepare.prepare(cases, settings.data)
    races = plan(settings, cases, readers)
    budgets = share_time(settings.seconds, races)
    record = Record(
        machine=machine.describe(settings.data),
        settings={"quick": settings.quick, "passes": settings.passes, "seconds": settings.seconds},
        roles={
            entry.name: {
                "role": entry.role,
                "language": entry.language,
                "decodes": entry.decodes,
                "fixed": entry.fixed,
            }
            for entry in readers
        },
        cases={case.name: facts(case, settings.data) for case in cases},
    )
    started = time.monotonic()
    for case, state, entries in races:
        budget = budgets[state]
        results = Race(case, settings.data, budget, settings.passes).run(entries, state)
        record.results += results
        say(case, state, results)
    record.seconds = time.monotonic() - started
    return record


def say(case: Case, state: str, results: Sequence[Result]) -> None:
    """Print one case's medians in a line, and every failure in its own."""
    show_progress("")
    medians = [f"{one.reader} {one.seconds:.4f}" for one in results if one.seconds is not None]
    print(
        f"{case.name}, {state}: {', '.join(medians) or results[0].reason if results else 'no reader'}",
        flush=True,
    )
    for one in results:
        if one.failed:
            print(f"  FAILED: {one.reader} on {case.name}, {state}: {one.reason}", flush=True)


def record_path(record: Record) -> Path:
    """Return where the record of a full run is kept."""
    return machine.record_path(record.machine)


def report(record: Record, settings: argparse.Namespace) -> None:
    """Write the page of a record."""
    # Loaded here and not above, so that a run without a report needs no matplotlib.
    from benches.runner.report import write_report

    docs: Path = settings.docs or ROOT / "docs"
    write_report(record, docs)
    print(f"Report: {docs / 'performance.md'}")


def bench(settings: argparse.Namespace) -> None:
    """Do what the command line says."""
    if settings.command == "prepare":
        prepare.prepare(chosen_cases(settings), settings.data)
        return
    if settings.command == "report":
        report(Record.load(settings.record), settings)
        return
    reason = why_not_cold()
    if "cold" in settings.states and reason is not None:
        print(f"No cold passes: {reason}", flush=True)
    record = run(settings)
    # A quick run is a look, not a measurement to keep: it writes beside the data.
    partial = settings.quick or settings.cases or settings.readers
    path: Path = settings.record or (settings.data / "last.json" if partial else record_path(record))
    record.save(path)
    print(f"Record: {path}, {record.seconds:.0f} s")
    if settings.docs is None and partial:
        settings.docs = settings.data / "report"
    report(record, settings)
    failures = record.failures()
    if failures:
        raise BenchError(
            "; ".join(f"{one.reader} on {one.case}, {one.state}: {one.reason}" for one in failures)
        )


def main() -> None:
    """Run the command line; what stops it is one line and a non-zero exit."""
    try:
        bench(arguments())
    except BenchError as error:
        sys.exit(f"bench: {error}")
