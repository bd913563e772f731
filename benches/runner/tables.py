"""The report's tables, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from benches.runner.bars import (
    CACHED_PEER,
    FLOOR_MMAP,
    FLOOR_PREAD,
    PYTHON,
    RUST,
    bars,
    best_peer,
    times_faster,
)
from benches.runner.record import Record, Result

NOTHING = "n/a"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose first column is text and whose others are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float | None, digits: int = 3) -> str:
    """Return a value with so many significant digits."""
    if value is None:
        return NOTHING
    if 10**digits <= abs(value):
        return f"{value:,.0f}"
    return f"{value:#.{digits}g}".rstrip(".")


def milliseconds(record: Record, result: Result | None) -> str:
    """Return a median, with the number of its passes where these were fewer than asked for."""
    if result is None or result.seconds is None:
        return NOTHING
    wanted = int(record.settings["passes"])
    fewer = f" (n={len(result.passes)})" if len(result.passes) < wanted else ""
    wrong = " **wrong**" if result.failed else ""
    return f"{number(result.seconds * 1e3)}{fewer}{wrong}"


def readers_of(record: Record, cases: Sequence[str], state: str) -> list[str]:
    """Return the readers that have measured some of the cases, in the order of the list of readers."""
    seen = {one.reader for one in record.results if one.case in cases and one.state == state and one.passes}
    return [name for name in record.roles if name in seen]


def times(record: Record, cases: Sequence[str], state: str) -> str:
    """Return the median milliseconds of every reader."""
    readers = readers_of(record, cases, state)
    rows = [
        [case, *(milliseconds(record, record.find(case, state, reader)) for reader in readers)]
        for case in cases
    ]
    return markdown(["ms a pass", *readers], rows)


def ratios(record: Record, cases: Sequence[str], state: str) -> str:
    """Return how swath compares with the floors and the peers, and its chunks a second."""
    head = [
        "",
        "Rust: share of the pread floor",
        "of the mmap floor",
        "Python: share of Rust",
        "Rust: times the best peer",
        "Python: times the best peer",
        "Python: times TensorStore's decoded cache",
        "Rust: million chunks/s",
        "Python: million chunks/s",
    ]
    rows = []
    for case in cases:
        row = [case]
        for slow, fast in ((FLOOR_PREAD, RUST), (FLOOR_MMAP, RUST), (RUST, PYTHON)):
            row.append(number(times_faster(record, case, state, slow, fast)))
        for language, own in (("rust", RUST), ("python", PYTHON)):
            peer = best_peer(record, case, state, language)
            faster = None if peer is None else times_faster(record, case, state, peer.reader, own)
            row.append(number(faster) if peer is None else f"{number(faster)} ({peer.reader})")
        row.append(number(times_faster(record, case, state, CACHED_PEER, PYTHON)))
        for own in (RUST, PYTHON):
            seconds = record.seconds_of(case, state, own)
            row.append(number(record.cases[case].chunks / seconds / 1e6 if seconds else None))
        rows.append(row)
    return markdown(head, rows)


def processor(record: Record, cases: Sequence[str], state: str) -> str:
    """Return CPU seconds for each GB of output."""
    readers = readers_of(record, cases, state)
    rows = []
    for case in cases:
        found = [record.find(case, state, reader) for reader in readers]
        spent = [None if one is None else one.cpu_seconds for one in found]
        size = record.cases[case].output_bytes / 1e9
        rows.append([case, *(number(None if cpu is None else cpu / size) for cpu in spent)])
    return markdown(["CPU s/GB", *readers], rows)


def latencies(record: Record, cases: Sequence[str], state: str) -> str:
    """Return the percentiles of calls, in microseconds."""
    rows = []
    for case in cases:
        for reader in readers_of(record, [case], state):
            result = record.find(case, state, reader)
            if result is not None and result.latency_ns:
                rows.append([case, reader, *(number(value / 1e3) for value in result.latency_ns.values())])
    names = ["50 %", "90 %", "99 %", "99.9 %"]
    return markdown(["µs a call", "reader", *names], rows)


def reads(record: Record, cases: Sequence[str], state: str) -> str:
    """Return reads and bytes a second, and CPU time, of everything that reads ranges or files."""
    rows = []
    for name in cases:
        case = record.cases[name]
        for reader in readers_of(record, [name], state):
            result = record.find(name, state, reader)
            if result is None or not result.seconds or result.cpu_seconds is None:
                continue
            gigabytes = case.output_bytes / 1e9
            rates = [case.reads / result.seconds / 1e3, gigabytes / result.seconds]
            cells = [number(rate) for rate in [*rates, result.cpu_seconds / gigabytes]]
            rows.append([name, reader, milliseconds(record, result), *cells])
    return markdown(["", "reader", "ms a pass", "thousand reads/s", "GB/s", "CPU s/GB"], rows)


def bar_table(record: Record) -> str:
    """Return every bar of the goals with its number."""
    rows = [
        [
            bar.item,
            bar.what,
            bar.case,
            number(bar.found),
            f"{'≤' if bar.below else '≥'} {bar.wanted:g}",
            bar.verdict,
        ]
        for bar in bars(record)
    ]
    return markdown(["item", "what", "case", "found", "wanted", ""], rows)


def absences(record: Record, state: str) -> str:
    """List why readers have no result, cases with the same reason together."""
    cases: dict[tuple[str, str], list[str]] = {}
    for one in record.results:
        if one.state == state and one.reason:
            cases.setdefault((one.reader, one.reason), []).append(one.case)
    return "\n".join(
        f"- {reader}: {reason} ({', '.join(names)})" for (reader, reason), names in cases.items()
    )


def versions(record: Record) -> str:
    """Return every reader's version and how it was set up."""
    rows = []
    for reader in record.roles:
        told = [one for one in record.results if one.reader == reader and one.version]
        if told:
            rows.append([reader, told[0].version, told[0].details])
    return markdown(["reader", "version", "set up for the first case"], rows)


def machine_table(record: dict[str, Any]) -> str:
    """Return what the numbers depend on."""
    facts = record["machine"]
    rows = [
        ["date", f"{facts['date']} {facts['time']}, {record['seconds'] / 60:.1f} minutes"],
        ["commit", str(facts["commit"])],
        ["processor", f"{facts['cpu']}, {facts['cores']} cores"],
        ["memory", f"{facts['memory_bytes'] / 2**30:.0f} GiB"],
        ["system", f"{facts['system']}, kernel {facts['kernel']}, {facts['file_system']}"],
        ["load before", str(facts["load"])],
    ]
    return "\n".join(["| | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows), ""])
