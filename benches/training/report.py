"""The page of the race of training loaders."""

from __future__ import annotations

from typing import Any

from benches.runner.tables import machine_table, markdown, number
from benches.training.cuda import WANTED_BYTES_PER_S
from benches.training.race import Row

SWATH = "swath"
# What it must show.
FIRST_S_MAX, WAIT_S_MAX = 1.0, 1e-3
FLOOR_SHARE_MIN, TENSORSTORE_TIMES_MIN, ZARR_TIMES_MIN = 0.8, 2.5, 20.0
GROWTH_MAX = 0.02
PINNED_SHARE_MIN = 0.9

HEAD = """# Performance of training loaders

Written by `make bench-training`; do not edit. Every contender is a process of its own, on data in the page
cache, and takes its passes in turn; numbers are medians of {passes} passes. The first batch of each was
compared with zarr-python's reads, normalised by NumPy. It is timed from before anything is opened to the
batch, with torch, zarr and swath imported; workers are started by `forkserver` and stay.

- `grid`: the public demo's set-up on local data: three float32 variables of {times} times x 13 levels x
  64 x 128, one chunk a time, zstd; patches of 48 x 48 with an overlap of 32, 3 steps of time, all levels,
  batches of 4 ({grid_mb} MB).
- `crops`: crops of 4 x 10 x 128 x 128 from anywhere in `sat_blosc` (int16, blosc, shards), cast to float32
  and normalised by channel, batches of 32 ({crops_mb} MB).

A loader that gives a batch every t seconds while nothing is trained keeps up with steps of t: that is the
shortest step. As many batches as a loader reads ahead are taken before its clock starts.
"""


def page(record: dict[str, Any]) -> str:
    """Return the page."""
    rows = {case: [Row(**row) for row in record["rows"][case]] for case in record["rows"]}
    head = HEAD.format(
        passes=record["passes"],
        times=record["times"],
        grid_mb=number(record["batch_bytes"]["grid"] / 1e6),
        crops_mb=number(record["batch_bytes"]["crops"] / 1e6),
    )
    parts = [
        head,
        machine_table(record),
        "## What it must show\n",
        markdown(["what", "found", "wanted", ""], bars(record, rows)),
        "\n## Waits of `grid`\n",
        f"{record['steps']} steps of swath's loader, without workers, prefetch=4.\n",
        markdown(
            ["step", "its median ms", "first batch s", "p50 wait ms", "p99", "p99.9", "longest"],
            [_waits(name, found) for name, found in record["waits"].items()],
        ),
        "\n## Far from the storage\n",
        _cloud(record["cloud"]),
        "\n## The shortest step of `grid`\n",
        table(rows["grid"], 4),
        "\n## Crops a second of `crops`\n",
        table(rows["crops"], 32),
        _floor(record),
        "\n## The same samples\n",
        markdown(
            ["way", "bit for bit"],
            [[way, "yes" if is_same else "**no**"] for way, is_same in record["same"].items()],
        ),
        "\n## Memory\n",
        _memory(record),
        "\n## On a card\n",
        _card(card_of(record)),
    ]
    return "\n".join(parts) + "\n"


def bars(record: dict[str, Any], rows: dict[str, list[Row]]) -> list[list[str]]:
    """Return a line for each thing that is asked for."""
    lines = []
    for name, found in record["waits"].items():
        if "error" in found:
            lines.append([f"{name}: {found['error']}", "n/a", "", "**fail**"])
            continue
        lines.append(_at_most(f"step that {name}: first batch, s", found["first_s"], FIRST_S_MAX))
        lines.append(_at_most(f"step that {name}: p99 wait, ms", found["p99_s"] * 1e3, WAIT_S_MAX * 1e3))
    cloud = record["cloud"]
    lines.append(
        _at_most("20 ms away: p99.9 wait, ms", None if "error" in cloud else cloud["p999_s"] * 1e3, 1.0)
    )
    for case in ("grid", "crops"):
        own = _of(rows[case], SWATH)
        for peer, wanted in (("TensorStore", TENSORSTORE_TIMES_MIN), ("zarr-python", ZARR_TIMES_MIN)):
            if case == "crops":
                best = _best(rows[case], peer)
                times = best / own if best and own else None
                lines.append(_at_least(f"crops: times the best of {peer}", times, wanted))
    floor = record["floor"]["read_s"]
    own = _of(rows["crops"], SWATH)
    share = (floor + record["floor"]["convert_s"]) / own if floor and own else None
    lines.append(_at_least("crops: share of the floor's rate", share, FLOOR_SHARE_MIN))
    lines.append(["same samples", "", "all", "pass" if all(record["same"].values()) else "**fail**"])
    memory = record["memory"]
    lines.append(_at_most("memory: growth from 1,000 batches on, share", memory["growth"], GROWTH_MAX))
    lines.append(_at_most("memory: over the bound, share", memory["held"] / memory["bound"], 1.0))
    return lines + _card_bars(card_of(record))


def card_of(record: dict[str, Any]) -> dict[str, Any]:
    """Return what was measured on a card, or why nothing was."""
    found: dict[str, Any] = record.get("cuda", {"skipped": "this record is older than the part"})
    return found


def _card_bars(found: dict[str, Any]) -> list[list[str]]:
    if "error" in found:
        return [[f"card: {found['error']}", "n/a", "", "**fail**"]]
    names = (
        "card: copies from the loader's memory, share of torch's own rate",
        "card: p99 wait of steps, ms",
        "card: steps, GB/s",
    )
    values: tuple[float | None, ...] = (None, None, None)
    if "skipped" not in found:
        copies, steps = found["copies"], found["steps"]
        values = (copies["loader"] / copies["torch"], steps["p99_s"] * 1e3, steps["bytes_per_s"] / 1e9)
    return [
        _at_least(names[0], values[0], PINNED_SHARE_MIN),
        _at_most(names[1], values[1], WAIT_S_MAX * 1e3),
        _at_least(names[2], values[2], WANTED_BYTES_PER_S / 1e9),
    ]


def _card(found: dict[str, Any]) -> str:
    if "error" in found:
        return f"{found['error']}\n"
    if "skipped" in found:
        return f"Not measured: {found['skipped']}.\n"
    copies, steps = found["copies"], found["steps"]
    ms = {name: number(steps[f"{name}_s"] * 1e3) for name in ("step", "p50", "p99", "p999", "longest")}
    return (
        f"{found['device']}, torch {found['torch']}. Batches of `crops` as the loader gives them, in pinned "
        f"memory, and tensors of the same bytes in memory that torch pinned, copied in turn, "
        f"{number(copies['bytes'] / 1e9)} GB a pass, medians of {copies['passes']}: "
        f"{number(copies['loader'] / 1e9)} and {number(copies['torch'] / 1e9)} GB/s. {steps['count']} steps "
        f'of {ms["step"]} ms each on batches that the loader had copied (`to="cuda"`): '
        f"{number(steps['bytes_per_s'] / 1e9)} GB/s with all waits, which were {ms['p50']} ms in the median, "
        f"{ms['p99']} ms at p99, {ms['p999']} ms at p99.9 and {ms['longest']} ms at most. What was copied "
        "equals what is in host memory, every batch.\n"
    )


def _cloud(found: dict[str, Any]) -> str:
    if "error" in found:
        return f"{found['error']}\n"
    ms = {name: number(found[f"{name}_s"] * 1e3) for name in ("p50", "p99", "p999", "longest")}
    slow = f"one in {found['slow_one_in']}, at random, {number(found['slow_ms'])} ms late"
    return (
        f"{found['steps']} steps of {number(found['step_s'] * 1e3)} ms on `grid` from an S3 server on "
        f"loopback. Each answer comes {number(found['latency_ms'])} ms late, and {slow}; "
        f"prefetch={found['prefetch']}, hedge=true. The first batch took {number(found['first_s'])} s; later "
        f"waits were {ms['p50']} ms in the median, {ms['p99']} ms at p99, {ms['p999']} ms at p99.9 and "
        f"{ms['longest']} ms at most. The steps need {number(found['bytes_per_s'] / 1e6)} MB/s in "
        f"{number(found['requests'])} requests a step, at most {found['in_flight_max']} of them at once. "
        f"Without added latency and without steps the same server sends "
        f"{number(found['server_bytes_per_s'] / 1e6)} MB/s to the same loader, so it is not the limit.\n"
    )


def table(rows: list[Row], batch_size: int) -> str:
    """Return what contenders did."""
    own = _of(rows, SWATH)
    lines = []
    for row in rows:
        batch_s = row.batch_s
        lines.append([
            row.contender, row.reason or number(row.first_s),
            number(None if batch_s is None else batch_s * 1e3),
            number(None if batch_s is None else batch_size / batch_s),
            number(None if batch_s is None or own is None else batch_s / own),
            row.told,
        ])  # fmt: skip
    return markdown(
        ["loader", "first batch s", "ms a batch", "samples/s", "times swath's", "settings"], lines
    )


def _waits(name: str, found: dict[str, Any]) -> list[str]:
    if "error" in found:
        return [name, found["error"], *["n/a"] * 5]
    numbers = [number(found[key] * 1e3) for key in ("p50_s", "p99_s", "p999_s", "longest_s")]
    return [name, number(found["step_s"] * 1e3), number(found["first_s"]), *numbers]


def _same(record: dict[str, Any]) -> list[list[str]]:
    return [[way, "yes" if is_same else "**no**"] for way, is_same in record["same"].items()]


def _floor(record: dict[str, Any]) -> str:
    floor = record["floor"]
    if floor["read_s"] is None:
        return "\nThe floor's program is not built here: no floor.\n"
    return (
        f"\nThe floor of a batch: {number(floor['read_s'] * 1e3)} ms to pread, decode and copy (the program "
        f"`floor`, of the same crops), and {number(floor['convert_s'] * 1e3)} ms to cast and normalise what "
        "is in memory, by NumPy on all cores.\n"
    )


def _memory(record: dict[str, Any]) -> str:
    memory = record["memory"]
    mb = {name: number(memory[name] / 1e6) for name in ("begun", "held", "bound", "peak")}
    return (
        f"{memory['batches']} batches of `grid`: the process had {mb['begun']} MB after the first hundred, "
        f"and {mb['peak']} MB at most. Over what it had once all was imported and nothing was opened it held "
        f"{mb['held']} MB; the bound is {mb['bound']} MB: prefetch and three batches more, and what the "
        "engine may hold (256 MiB, 16 MiB of kept buffers and 4 MiB a lane).\n"
    )


def _of(rows: list[Row], name: str) -> float | None:
    return next((row.batch_s for row in rows if row.contender == name), None)


def _best(rows: list[Row], name: str) -> float | None:
    found = [row.batch_s for row in rows if row.contender.startswith(name) and row.batch_s]
    return min(found) if found else None


def _at_most(what: str, value: float | None, wanted: float) -> list[str]:
    passed = "n/a" if value is None else "pass" if value <= wanted else "**fail**"
    return [what, number(value), f"≤ {wanted:g}", passed]


def _at_least(what: str, value: float | None, wanted: float) -> list[str]:
    passed = "n/a" if value is None else "pass" if wanted <= value else "**fail**"
    return [what, number(value), f"≥ {wanted:g}", passed]
