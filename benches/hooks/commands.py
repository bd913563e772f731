"""The command line: it measures, keeps a record, and writes docs/performance-hooks.md."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benches.hooks.report import SMALL_CHUNKS, write_report
from benches.runner import machine, prepare
from benches.runner.budget import PASSES_MIN, Budget
from benches.runner.commands import facts, say
from benches.runner.errors import BenchError
from benches.runner.race import Race
from benches.runner.record import Record
from benches.runner.registry import ROOT, ReaderEntry, load_readers
from benches.runner.workload import Case, load_workloads

READERS = Path(__file__).with_name("readers.toml")
# Shards in zarr-python's own order of inner chunks; the other one is for the race of all readers.
INNER_ORDERS = ("", "morton")
WORKLOADS = (
    "sat_blosc", "sat_raw", "tiny_raw", "tiny_lz4", "era5_v2", "cube_raw", "cube_zstd", "cube_shard",
    "one_crop_sat", "one_crop_tiny",
)  # fmt: skip
PROFILED = ("tiny_raw", "tiny_lz4", "sat_raw", "sat_blosc")
PASSES, SECONDS = 7, 15 * 60.0
PROFILE_SECONDS_MAX = 120


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the command line's settings."""
    parser = argparse.ArgumentParser(prog="python -m benches.hooks", description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / ".bench", help="folder of the data (.bench)")
    parser.add_argument("--passes", type=int, default=PASSES, help="at most, at least 3 (default: 7)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time for all passes (default: 900)")
    parser.add_argument("--cases", default=",".join(WORKLOADS), help="only these workloads, by comma")
    parser.add_argument("--readers", help="only these readers, by comma")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="folder of the page (docs)")
    parser.add_argument("--record", type=Path, help="the record to write, or, with --report, to report on")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    settings = parser.parse_args(words)
    if settings.passes < PASSES_MIN:
        parser.error(f"--passes must be at least {PASSES_MIN}: medians of fewer say nothing")
    if settings.report and settings.record is None:
        parser.error("--report needs --record")
    return settings


def chosen_cases(names: Sequence[str]) -> list[Case]:
    """Return the cases of workloads, in the order of the names."""
    workloads = load_workloads()
    unknown = [name for name in names if name not in WORKLOADS]
    if unknown:
        raise BenchError(f"unknown workloads {', '.join(unknown)}; there are {', '.join(WORKLOADS)}")
    cases = [case for name in names for case in workloads[name].cases()]
    return [case for case in cases if case.inner_order in INNER_ORDERS]


def takes_part(entry: ReaderEntry, case: Case) -> bool:
    """Say whether a reader takes part: xarray's engines do where chunks are small and reads many."""
    return not entry.name.startswith("xarray") or case.name.startswith(SMALL_CHUNKS)


def run(settings: argparse.Namespace) -> Record:
    """Race all readers on all cases, and profile some."""
    cases = chosen_cases(settings.cases.split(","))
    readers = list(load_readers(READERS).values())
    if settings.readers is not None:
        readers = [entry for entry in readers if entry.name in settings.readers.split(",")]
    prepare.prepare(cases, settings.data)
    races = [(case, [entry for entry in readers if takes_part(entry, case)]) for case in cases]
    record = Record(
        machine=machine.describe(settings.data),
        settings={"quick": False, "passes": settings.passes, "seconds": settings.seconds, "profiles": {}},
        roles={
            entry.name: {"role": entry.role, "language": entry.language, "decodes": entry.decodes}
            for entry in readers
        },
        cases={case.name: facts(case, settings.data) for case in cases},
    )
    started = time.monotonic()
    budget = Budget(settings.seconds, sum(len(entries) for _, entries in races))
    for case, entries in races:
        results = Race(case, settings.data, budget, settings.passes).run(entries, "warm")
        record.results += results
        say(case, "warm", results)
        if case.workload.name in PROFILED:
            record.settings["profiles"][case.name] = profiled(case.case_file(settings.data))
    record.seconds = time.monotonic() - started
    return record


def profiled(case_file: Path) -> dict[str, float]:
    """Return what a profile of the hook says of a case, taken in a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-m", "benches.hooks.profile", str(case_file.resolve())],
        cwd=ROOT, check=True, stdout=subprocess.PIPE, timeout=PROFILE_SECONDS_MAX,
    )  # fmt: skip
    shares: dict[str, float] = json.loads(ended.stdout)
    return shares


def bench(settings: argparse.Namespace) -> None:
    """Do what the command line says."""
    if settings.report:
        record = Record.load(settings.record)
    else:
        record = run(settings)
        path: Path = settings.record or machine.record_path(record.machine, "hooks")
        record.save(path)
        print(f"Record: {path}, {record.seconds:.0f} s, load before {record.machine['load']}")
    write_report(record, settings.docs)
    failed = record.failures()
    if failed:
        raise BenchError("; ".join(f"{one.reader} on {one.case}: {one.reason}" for one in failed))


def main() -> None:
    """Run the command line; what stops it is one line and a non-zero exit."""
    try:
        bench(arguments())
    except BenchError as error:
        sys.exit(f"bench: {error}")
