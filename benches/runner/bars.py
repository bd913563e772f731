"""What the benches must show: each bar with the number measured, passed or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benches.runner.record import Record, Result

RUST, PYTHON = "swath-rust", "swath-python"
FLOOR_PREAD, FLOOR_MMAP = "floor-pread", "floor-mmap"
CACHED_PEER = "tensorstore-cached"
# swath with a cache of decoded chunks of the same size.
CACHED_PYTHON = "swath-python-cached"
MMAP_FAMILIES = ("sat_", "tinyall_", "tiny_")
THREEFOLD_FAMILIES = ("sat_blosc", "sat_raw", "tinyall_", "tiny_")
CHUNKS_PER_SECOND = {"tinyall_raw": 2e6, "tinyall_lz4": 1e6}
# Engines of the same kind: swath's without merging, and fio's.
CACHED_ENGINES = (("swath-uring", "fio-io_uring"), ("swath-pread", "fio-psync"), ("swath-mmap", "fio-mmap"))
DIRECT_ENGINES = ("swath-direct", "fio-direct")
# A pass that keeps the cores busy for less than this share of its time waits for the device.
BUSY_SHARE_OF_DEVICE_BOUND = 0.5


@dataclass(frozen=True)
class Bar:
    """One number that must reach a bound; ``found`` is None where it was not measured."""

    item: str
    what: str
    case: str
    found: float | None
    wanted: float
    # Whether the number must stay under the bound instead.
    below: bool = False

    @property
    def verdict(self) -> str:
        """Pass, fail, or n/a."""
        if self.found is None:
            return "n/a"
        passed = self.found <= self.wanted if self.below else self.wanted <= self.found
        return "pass" if passed else "**fail**"


def bars(record: Record) -> list[Bar]:
    """Return every bar that the record's cases have."""
    found = [*_floors(record), *_peers(record, "warm"), *_rates(record), *_ranges(record)]
    return [*found, *_peers(record, "cold"), *_device(record), *_processor(record), *_choice(record)]


def times_faster(record: Record, case: str, state: str, slow: str, fast: str) -> float | None:
    """Return how many times faster one reader is than another."""
    slow_seconds, fast_seconds = (record.seconds_of(case, state, name) for name in (slow, fast))
    return None if slow_seconds is None or not fast_seconds else slow_seconds / fast_seconds


def best_peer(record: Record, case: str, state: str, language: str | None = None) -> Result | None:
    """Return the fastest peer that decodes on every pass."""
    peers = [
        one
        for one in _measured(record, case, state)
        if record.roles[one.reader]["role"] == "peer" and record.roles[one.reader]["decodes"]
        if language in (None, record.roles[one.reader]["language"])
    ]
    return min(peers, key=lambda one: one.seconds or 0.0, default=None)


def best_fixed(record: Record, case: str, state: str) -> Result | None:
    """Return the fastest of swath's own ways that were not left to it to choose."""
    # Records from before there were fixed ways do not say.
    fixed = [one for one in _measured(record, case, state) if record.roles[one.reader].get("fixed")]
    return min(fixed, key=lambda one: one.seconds or 0.0, default=None)


def _measured(record: Record, case: str, state: str) -> Iterator[Result]:
    for one in record.results:
        if (one.case, one.state) == (case, state) and one.seconds is not None and not one.failed:
            yield one


def raced(record: Record, case: str, state: str) -> bool:
    """Say whether a case was raced in a state at all."""
    return any((one.case, one.state) == (case, state) for one in record.results)


def array_cases(record: Record, state: str, families: Sequence[str] = ("",)) -> Iterator[str]:
    """Yield the batch cases of arrays raced in a state whose workload starts with one of some prefixes."""
    for name, case in record.cases.items():
        if case.kind != "array" or case.mode != "batch" or not raced(record, name, state):
            continue
        if case.workload.startswith(tuple(families)):
            yield name


def _floors(record: Record) -> Iterator[Bar]:
    for case in array_cases(record, "warm"):
        rate = times_faster(record, case, "warm", FLOOR_PREAD, RUST)
        yield Bar("1", "Rust, share of the pread floor's rate", case, rate, 0.95)
    for case in array_cases(record, "warm", MMAP_FAMILIES):
        rate = times_faster(record, case, "warm", FLOOR_MMAP, RUST)
        yield Bar("1", "Rust, share of the mmap floor's rate", case, rate, 0.75)
    for case in array_cases(record, "warm"):
        rate = times_faster(record, case, "warm", RUST, PYTHON)
        yield Bar("1", "Python, share of swath's Rust rate", case, rate, 0.90)


def _peers(record: Record, state: str) -> Iterator[Bar]:
    item = "2" if state == "warm" else "4"
    for case in array_cases(record, state):
        threefold = state == "warm" and record.cases[case].workload.startswith(THREEFOLD_FAMILIES)
        for language, own in (("rust", RUST), ("python", PYTHON)):
            peer = best_peer(record, case, state, language)
            rate = None if peer is None else times_faster(record, case, state, peer.reader, own)
            name = "" if peer is None else f" ({peer.reader})"
            what = f"{state}, {language.title()}, times the best peer's rate{name}"
            yield Bar(item, what, case, rate, 3.0 if threefold else 1.0)
        if state == "warm":
            rate = times_faster(record, case, state, CACHED_PEER, PYTHON)
            yield Bar(item, "warm, Python, times the rate of TensorStore's decoded cache", case, rate, 1.0)
            if CACHED_PYTHON in record.roles:
                rate = times_faster(record, case, state, CACHED_PEER, CACHED_PYTHON)
                yield Bar(item, "the same with swath's decoded cache", case, rate, 1.0)


def _rates(record: Record) -> Iterator[Bar]:
    for name, case in record.cases.items():
        if case.workload in CHUNKS_PER_SECOND and raced(record, name, "warm"):
            seconds = record.seconds_of(name, "warm", PYTHON)
            rate = None if seconds is None else case.chunks / seconds / 1e6
            wanted = CHUNKS_PER_SECOND[case.workload] / 1e6
            yield Bar("2", "Python, million chunks a second", name, rate, wanted)


def _ranges(record: Record) -> Iterator[Bar]:
    for name, case in record.cases.items():
        if case.kind != "ranges":
            continue
        for own, fio in CACHED_ENGINES:
            if own in record.roles and raced(record, name, "warm"):
                rate = times_faster(record, name, "warm", fio, own)
                yield Bar("3", f"{own}, share of {fio}'s cached rate", name, rate, 0.95)
        if case.range_len in (4096, 1 << 20) and raced(record, name, "cold"):
            own, fio = DIRECT_ENGINES
            rate = times_faster(record, name, "cold", fio, own)
            yield Bar("3", f"{own}, share of {fio}'s cold rate", name, rate, 0.95)


def device_rate(record: Record, bytes_a_read: float) -> float | None:
    """Return fio's direct rate, bytes a second, at the largest measured size that no read is smaller than."""
    rates = {}
    for name, case in record.cases.items():
        seconds = record.seconds_of(name, "cold", DIRECT_ENGINES[1])
        if case.kind == "ranges" and seconds:
            rates[case.range_len] = case.output_bytes / seconds
    sizes = [size for size in rates if size <= bytes_a_read] or sorted(rates)[:1]
    return rates[max(sizes)] if sizes else None


def device_bound(record: Record, result: Result) -> bool:
    """Say whether a pass waits for the device rather than for the cores."""
    if result.seconds is None or result.cpu_seconds is None:
        return False
    cores = float(record.machine["cores"] or 1)
    return result.cpu_seconds < BUSY_SHARE_OF_DEVICE_BOUND * cores * result.seconds


def _device(record: Record) -> Iterator[Bar]:
    for name in array_cases(record, "cold"):
        result = record.find(name, "cold", RUST)
        fetched = None if result is None else result.median("device_bytes")
        if result is None or not result.seconds or not fetched or not device_bound(record, result):
            continue
        case = record.cases[name]
        stored_share = case.stored_bytes / case.data_bytes
        chunk_bytes = case.output_bytes / max(case.chunks, 1) * stored_share
        rate = device_rate(record, chunk_bytes)
        found = None if rate is None else fetched / result.seconds / rate
        yield Bar("4", "Rust, share of the device's rate where it is the limit", name, found, 0.90)


def _processor(record: Record) -> Iterator[Bar]:
    """CPU seconds a GB on reads that wait for the device: swath's over fio's, with the floor's for arrays."""
    for name, case in record.cases.items():
        if case.kind == "ranges":
            own, fio = (record.find(name, "cold", reader) for reader in DIRECT_ENGINES)
            if own is None or not device_bound(record, own):
                continue
            allowed = None if fio is None else fio.cpu_seconds
        elif name in array_cases(record, "cold"):
            own = record.find(name, "cold", RUST)
            if own is None or not device_bound(record, own):
                continue
            allowed = _codec_and_device_seconds(record, name, own)
        else:
            continue
        found = None if not allowed or own.cpu_seconds is None else own.cpu_seconds / allowed
        yield Bar("5", "Rust, CPU seconds over fio's and the codec's own", name, found, 1.0, below=True)


def _choice(record: Record) -> Iterator[Bar]:
    """Yield what swath chooses by itself, over the best way that could have been chosen for it."""
    for name, case in record.cases.items():
        for state in ("warm", "cold"):
            if case.kind != "ranges" or not raced(record, name, state):
                continue
            best = best_fixed(record, name, state)
            rate = None if best is None else times_faster(record, name, state, best.reader, RUST)
            which = "" if best is None else f" ({best.reader})"
            yield Bar("7", f"{state}, Rust, share of the best fixed way's rate{which}", name, rate, 0.90)


def _codec_and_device_seconds(record: Record, case: str, own: Result) -> float | None:
    """Return the floor's warm CPU time, which is the codec's and the copies', and fio's for as many bytes."""
    floor = record.find(case, "warm", FLOOR_PREAD)
    fetched = own.median("device_bytes")
    costs = []
    for name, facts in record.cases.items():
        fio = record.find(name, "cold", DIRECT_ENGINES[1])
        if fio is not None and fio.cpu_seconds is not None and facts.range_len == 1 << 20:
            costs.append(fio.cpu_seconds / facts.output_bytes)
    if floor is None or floor.cpu_seconds is None or fetched is None or not costs:
        return None
    return floor.cpu_seconds + fetched * costs[0]
