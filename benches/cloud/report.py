"""Writes docs/performance-cloud.md and its plots from a record."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from benches.cloud.arrays import BANDWIDTH_LATENCIES_MS
from benches.cloud.bars import bars, bound_seconds, median_of
from benches.cloud.plots import draw_adaptation, draw_times
from benches.cloud.record import CloudRecord, Row
from benches.runner.bars import Bar
from benches.runner.tables import markdown, number

HEAD = """# Performance from the cloud

Written by `make bench-cloud`; do not edit. How it is measured is in
[benches/cloud](../benches/cloud/README.md), why it is measured so in
[decision 0013](decisions/0013-cloud-reads.md); every pass is in benches/records.
"""

METHOD = """\
Every number is the median of {passes} passes. Readers took their passes in turn, each pass in a new process
that had opened the array before (*first*: connections and indexes are still to come), and some once more in
the same process (*again*). Readers of a case agreed on the checksum of what they read. Requests and bytes are
the server's counts; bytes are those of heads and bodies, both ways, without what TCP adds."""

BOUND = """\
The bound is `rounds x latency + bytes / loopback + decode`, with rounds = ceil(index requests / concurrency)
+ ceil(chunk requests / concurrency), each reader's own requests and bytes, loopback's rate ({rate} GB/s for
a client that throws bytes away) and the time that swath takes for the same crops from local files ({decode}
ms). Concurrency is the limit in the reader's name, or the most requests that were under way at once."""


def write_report(record: CloudRecord, docs: Path) -> None:
    """Write the page and the plots into a folder."""
    docs.mkdir(parents=True, exist_ok=True)
    plots = docs / "performance"
    parts = [
        HEAD,
        failures(record),
        machine_section(record),
        "## What it must show\n",
        bar_table(bars(record)),
    ]
    if record.of("latency") or record.of("bandwidth"):
        draw_times(record, plots / "cloud-arrays.svg")
    if record.of("latency"):
        parts += latency_section(record)
    for over_link in BANDWIDTH_LATENCIES_MS:
        if record.of(over_link):
            parts += bandwidth_section(record, over_link)
    if record.of("ranges"):
        parts += ranges_section(record)
    for name, section in (
        ("round_trips", round_trips_section),
        ("epochs", epochs_section),
        ("memory", memory_section),
        ("starvation", starvation_section),
    ):
        if name in record.found:
            parts += section(record.found[name])
    if record.found.get("adaptation", {}).get("history"):
        draw_adaptation(record.found["adaptation"], plots / "cloud-adaptation.svg")
        parts += adaptation_section(record.found["adaptation"])
    parts += ["## Versions\n", versions(record)]
    (docs / "performance-cloud.md").write_text("\n".join(part.rstrip() + "\n" for part in parts if part))


def failures(record: CloudRecord) -> str:
    """Return a warning where something failed."""
    lines = [f"- {failure}" for failure in record.failures()]
    return "\n".join(["**This run failed:**\n", *lines]) if lines else ""


def machine_section(record: CloudRecord) -> str:
    """Return what the numbers depend on."""
    facts = record.machine
    rows = [
        ["date", f"{facts['date']} {facts['time']}, {record.seconds / 60:.1f} minutes"],
        ["commit", str(facts["commit"])],
        ["processor", f"{facts['cpu']}, {facts['cores']} cores, the server's included"],
        ["memory", f"{facts['memory_bytes'] / 2**30:.0f} GiB"],
        ["system", f"{facts['system']}, kernel {facts['kernel']}, Python {facts['python']}"],
        ["load before", str(facts["load"])],
    ]
    quick = " **A quick run: a look, not a measurement.**" if record.settings["quick"] else ""
    lines = ["| | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows)]
    return "\n".join([*lines, "", METHOD.format(passes=record.settings["passes"]) + quick])


def bar_table(listed: list[Bar]) -> str:
    """Return every bar with its number."""
    rows = [
        [
            bar.item,
            bar.what,
            bar.case,
            number(bar.found),
            f"{'≤' if bar.below else '≥'} {bar.wanted:g}",
            bar.verdict,
        ]
        for bar in listed
    ]
    return markdown(["item", "what", "case", "found", "wanted", ""], rows)


def milliseconds(row: Row, turn: str) -> str:
    """Return the median time of a row's passes."""
    seconds = row.median("seconds", turn)
    if seconds is None:
        return "n/a"
    return f"{number(seconds * 1e3)}{' **wrong**' if row.failed else ''}"


def wire(row: Row) -> list[str]:
    """Return the medians of what the server counted in first passes."""
    wire_bytes = row.median("wire_bytes")
    megabytes = None if wire_bytes is None else wire_bytes / 1e6
    counts = [row.median(name) for name in ("requests", "in_flight_max", "connections")]
    return [number(megabytes), *("n/a" if count is None else f"{count:,.0f}" for count in counts)]


WIRE_HEAD = ["MB on the wire", "requests", "most at once", "connections"]


def latency_section(record: CloudRecord) -> list[str]:
    """Return the table of crops from far away."""
    facts = record.found["latency"]
    rows = []
    for row in record.of("latency"):
        bound = bound_seconds(record, row)
        shown = number(None if bound is None else bound * 1e3)
        cells = [
            milliseconds(row, "first"),
            milliseconds(row, "again"),
            shown,
            number(row.median("cpu_seconds")),
        ]
        rows.append([f"{row.case}, {row.server}", row.reader, *cells, *wire(row)])
    head = ["", "reader", "first, ms", "again, ms", "bound, ms", "CPU s", *WIRE_HEAD]
    rate, decode = facts["loopback_bytes_per_second"], facts["decode_seconds"]
    bound_text = BOUND.format(
        rate=number(None if rate is None else rate / 1e9),
        decode=number(None if decode is None else decode * 1e3),
    )
    title = f"## {facts['latency_ms']:g} ms away, no bound of the rate\n"
    return [
        title,
        "![times](performance/cloud-arrays.svg)\n",
        markdown(head, rows),
        bound_text,
        absences(record, "latency"),
    ]


def bandwidth_section(record: CloudRecord, section: str) -> list[str]:
    """Return the table of crops over a link that all connections share."""
    facts = record.found[section]
    rows = []
    for row in record.of(section):
        rate, wanted = int(facts["bytes_per_second"]), int(facts[row.case]["wanted_bytes"])
        shares = [one["body_bytes"] / one["seconds"] / rate for one in row.first]
        again = [one["body_bytes"] / one["seconds"] / rate for one in row.again]
        wire_bytes = row.median("wire_bytes")
        cells = [
            number(statistics.median(shares) if shares else None),
            number(statistics.median(again) if again else None),
            number(None if wire_bytes is None else wire_bytes / wanted),
        ]
        times = [milliseconds(row, "first"), milliseconds(row, "again")]
        rows.append([f"{row.case}, {row.server}", row.reader, *times, *cells, *wire(row)])
    head = [
        "",
        "reader",
        "first, ms",
        "again, ms",
        "share of the link",
        "again",
        "read amplification",
        *WIRE_HEAD,
    ]
    title = f"## {facts['bytes_per_second'] * 8 / 1e9:g} Gbit/s, {facts['latency_ms']:g} ms away\n"
    note = (
        "The share counts bytes of bodies over the whole pass, round trips included; the amplification counts"
        " all bytes on the wire over the stored bytes of the chunks that the crops touch, each chunk once."
    )
    return [title, markdown(head, rows), note, absences(record, section)]


def ranges_section(record: CloudRecord) -> list[str]:
    """Return the table of ranges."""
    rows = []
    for row in record.of("ranges"):
        seconds, wire_bytes = row.median("seconds"), row.median("wire_bytes")
        wanted = record.found["ranges"]["wanted_bytes"]
        over = None if wire_bytes is None else wire_bytes / wanted
        rate = None if not seconds else wanted / seconds / 1e9
        cells = [milliseconds(row, "first"), number(rate), number(row.median("cpu_seconds")), number(over)]
        rows.append([row.server, row.reader, *cells, *wire(row)])
    head = ["", "reader", "ms", "GB/s wanted", "CPU s", "wire over wanted", *WIRE_HEAD]
    title = "## 100,000 ranges of 4 KiB over 100 objects of 64 MB, no added latency\n"
    return [title, markdown(head, rows), absences(record, "ranges")]


def round_trips_section(found: dict[str, Any]) -> list[str]:
    """Return the table of opened groups."""
    rows = []
    for one in found["openings"]:
        counts = [median_of(one["passes"], name) for name in ("requests", "listings", "rounds")]
        seconds = median_of(one["passes"], "seconds")
        latencies = None if seconds is None else seconds / found["latency_ms"] * 1e3
        cells = ["n/a" if count is None else f"{count:g}" for count in counts]
        rows.append([one["kind"], one["reader"], *cells, number(latencies), one.get("reason", "")])
    head = ["metadata", "reader", "requests", "of them listings", "rounds", "time over latency", ""]
    note = (
        "A round ends with an answer: a request that arrives after it is of a later round. The time is that"
        " of the process, connections, parsing and objects in Python included."
    )
    title = f"## Opening a group of {found['arrays']} arrays, {found['latency_ms']:g} ms away\n"
    return [title, markdown(head, rows), note]


def epochs_section(found: dict[str, Any]) -> list[str]:
    """Return the table of two epochs."""
    passes = found["passes"]
    firsts, seconds = ([one["seconds"][epoch] * 1e3 for one in passes] for epoch in (0, 1))
    row = [number(statistics.median(epoch) if epoch else None) for epoch in (firsts, seconds)]
    requests = median_of(passes, "requests")
    title = f"## Two epochs with a cache on disk, {found['latency_ms']:g} ms away\n"
    text = f"sat_raw in batches of {found['batch']} crops, one after the other, `{found['freshness']}`.\n"
    head = ["", "first, ms", "second, ms", "requests of both"]
    return [title, text, markdown(head, [["swath", *row, "n/a" if requests is None else f"{requests:,.0f}"]])]


def memory_section(found: dict[str, Any]) -> list[str]:
    """Return the table of peak memory."""
    rows = []
    for one in found["passes"]:
        sizes = [one["output_bytes"], one["peak_bytes"] - one["before_bytes"], one["budget_bytes"]]
        counts = [f"{one[name]:,}" for name in ("in_flight_wanted", "in_flight_max", "in_flight_seen")]
        rows.append([*counts, *(number(size / 1e6) for size in sizes)])
    head = [
        "requests in flight, allowed",
        "by swath's count",
        "by the server's",
        "output, MB",
        "beyond it, MB",
        "budget, MB",
    ]
    title = f"## Memory, {found['latency_ms']:g} ms away, {found['range_bytes']:,} bytes a request\n"
    return [title, markdown(head, rows)]


def starvation_section(found: dict[str, Any]) -> list[str]:
    """Return the table of waiting times."""
    names = ("p50_ms", "p99_ms", "max_ms", "idle_p50_ms", "idle_p99_ms")
    cells = [number(median_of(found["passes"], name)) for name in names]
    head = ["", "50 %", "99 %", "longest", "cores idle: 50 %", "99 %"]
    note = (
        "From when the server made an answer until the engine had all of its 64 KiB: writing, the socket and"
        " the runtime included, while as many threads as cores decode zstd."
    )
    return ["## Waiting for a core\n", markdown(head, [["ms", *cells]]), note]


def adaptation_section(found: dict[str, Any]) -> list[str]:
    """Return the plot of concurrency, and what it came to."""
    reads, requests = found["reads"], found["requests"]
    text = (
        f"{reads:,} reads by {requests:,} requests in {found['seconds']:.1f} s, {found['throttled']:,} of"
        f" them turned away, {found['retries']:,} sent again, {found['failures']:,} reads failed."
    )
    return ["## What adaptive concurrency did\n", "![concurrency](performance/cloud-adaptation.svg)\n", text]


def absences(record: CloudRecord, section: str) -> str:
    """List why readers have no result."""
    told = [
        f"- {row.reader}, {row.case}, {row.server}: {row.reason}" for row in record.of(section) if row.reason
    ]
    return "\n".join(["Not measured:\n", *told]) if told else ""


def versions(record: CloudRecord) -> str:
    """Return every reader's version and how it was set up."""
    rows: dict[str, list[str]] = {}
    for row in record.rows:
        if row.version:
            rows.setdefault(row.reader, [row.reader, row.version, row.details])
    return markdown(["reader", "version", "set up"], rows.values())
