"""Counts the instructions of the hot paths and compares them with ``counts.toml``, or writes them into it.

``scripts/instructions`` builds the program and runs this.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from benches.instructions.counts import Counts, judge
from benches.instructions.measure import MeasureError, UnavailableError, instructions_per_operation

COUNTS = Path(__file__).parent / "counts.toml"
# The engine opens a file anew for each window while its last change is less than two seconds ago.
SETTLED_SECONDS = 2.1


def main() -> int:
    """Run the command line; returns the status."""
    parser = argparse.ArgumentParser(prog="scripts/instructions", description=__doc__)
    parser.add_argument("--program", type=Path, required=True, help="the program that runs the paths")
    parser.add_argument("--work", type=Path, required=True, help="a folder for data and profiles")
    parser.add_argument("--update", action="store_true", help="write the counts into counts.toml")
    parser.add_argument("--note", default="", help="why paths take more instructions than before")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="only these")
    arguments = parser.parse_args()
    counts = Counts.load(COUNTS)
    if unknown := set(arguments.paths) - set(counts.paths):
        parser.error(f"{COUNTS.name} has no {', '.join(sorted(unknown))}")
    if reason := other_machine():
        print(f"instructions: not counted: {reason}")
        return 0
    try:
        measured = measure(counts, arguments.paths or list(counts.paths), arguments.program, arguments.work)
    except MeasureError as error:
        print(error, file=sys.stderr)
        return 1
    verdict = judge(counts, measured)
    print("\n".join(verdict.lines))
    if arguments.update:
        return update(counts, measured, arguments.note)
    if verdict.has_failed:
        print_advice(counts, arguments.work)
    return int(verdict.has_failed)


def other_machine() -> str:
    """Return why counts of this machine cannot be compared with those of others; empty where they can."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return "the committed counts are those of x86-64 Linux"
    if "avx2" not in Path("/proc/cpuinfo").read_text().split():
        return "the committed counts are those of processors with AVX2"
    return ""


def measure(counts: Counts, names: list[str], program: Path, work: Path) -> Mapping[str, float]:
    """Return the instructions of one operation of each path, without those that this machine cannot run."""
    data, profiles = work / "data", work / "profiles"
    for folder in (data, profiles):
        folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([program, "prepare", data], check=True)
    time.sleep(SETTLED_SECONDS)
    measured = {}
    for name in names:
        try:
            measured[name] = instructions_per_operation(
                program, name, counts.paths[name].rounds, data, profiles
            )
        except UnavailableError as error:
            print(f"{name}: skipped: {error}")
    return measured


def update(counts: Counts, measured: Mapping[str, float], note: str) -> int:
    """Write the counts that differ; returns the status."""
    try:
        updated = counts.updated(measured, rustc_version(), datetime.date.today(), note)
    except ValueError as error:
        print(f"{error}: say why, by `make instructions-update NOTE='...'`", file=sys.stderr)
        return 1
    COUNTS.write_text(updated.text())
    return 0


def print_advice(counts: Counts, work: Path) -> None:
    """Say what can be done about counts that are too high."""
    print(f"Where they are: callgrind_annotate {work}/profiles/PATH.callgrind")
    print("If they are worth it, say why: make instructions-update NOTE='...'")
    if counts.rustc != rustc_version():
        print(f"The counts were taken with {counts.rustc}, this is {rustc_version()}: it may be that.")


def rustc_version() -> str:
    """Return the compiler's name and version."""
    done = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    return " ".join(done.stdout.split()[:2])


if __name__ == "__main__":
    sys.exit(main())
