"""The reader's side of the runner's protocol, for readers written in Python.

A reader is started once for one case, and answers lines: see ``benches/README.md``. A reader's script
subclasses `ArrayReader` and calls `main`. Readers in environments of their own import it: it needs NumPy and
nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

type Selection = tuple[slice, ...]
type Values = npt.NDArray[Any]

WORD_BYTES = 8
POSITION_FACTOR = 0x9E3779B97F4A7C15
WORD_FACTOR = 0xD1B54A32D192ED03
WORD_MASK = (1 << 64) - 1
# Words checksummed at a time: their 128 KiB of scratch stay in a core's cache, whatever the output's size.
BLOCK_WORDS = 16_384


class CannotReadError(Exception):
    """Why a reader cannot do a case; the table then says n/a, with this reason."""


@dataclass(frozen=True)
class Case:
    """An array, and what to read of it in one pass."""

    name: str
    array: Path
    dtype: np.dtype[Any]
    selection_shape: tuple[int, ...]
    selections: list[Selection]
    one_by_one: bool

    @staticmethod
    def load(path: Path) -> Case:
        """Read a case file; raise CannotReadError for kinds that are no arrays."""
        text = json.loads(path.read_text())
        if text["kind"] != "array":
            raise CannotReadError(f"reads arrays, not {text['kind']}")
        shape = tuple(text["selection_shape"])
        return Case(
            name=text["name"],
            array=Path(text["array"]),
            dtype=np.dtype(text["dtype"]),
            selection_shape=shape,
            selections=[slices(corner, shape) for corner in text["selections"]],
            one_by_one=text["mode"] == "one_by_one",
        )


class ArrayReader(ABC):
    """An opened array; ``version`` and ``details`` go into the report.

    One without values fills no output: its passes have no checksum.
    """

    version: str
    details: str = ""
    has_values: bool = True

    @abstractmethod
    def read_batch(self, selections: Sequence[Selection], out: Values) -> None:
        """Read every selection into ``out[i]``; out has shape (n, *selection_shape)."""

    @abstractmethod
    def read_one(self, selection: Selection, out: Values) -> None:
        """Read one selection into an array of its shape."""


@dataclass(frozen=True)
class Measured:
    """What one pass took."""

    seconds: float
    user_seconds: float
    system_seconds: float
    latencies_ns: list[int]


def slices(corner: Sequence[int], shape: Sequence[int]) -> Selection:
    """Return the selection of a shape from its first corner."""
    return tuple(slice(start, start + length) for start, length in zip(corner, shape, strict=True))


def array_checksum(values: Values) -> str:
    """Return the checksum of a C-contiguous array, 16 hexadecimal digits.

    Over the bytes as little-endian words w_0.., padded with zeros:
    x_i = (w_i ^ (i * POSITION_FACTOR)) * WORD_FACTOR, and the sum of x_i ^ (x_i >> 29), all modulo 2**64.
    """
    flat = values.reshape(-1).view(np.uint8)
    whole = flat.size // WORD_BYTES * WORD_BYTES
    words = flat[:whole].view("<u8")
    total = 0
    first = np.arange(BLOCK_WORDS, dtype=np.uint64) * np.uint64(POSITION_FACTOR)
    for start in range(0, words.size, BLOCK_WORDS):
        total += _mixed_sum(words[start : start + BLOCK_WORDS], first, start)
    if whole < flat.size:
        tail = np.zeros(WORD_BYTES, np.uint8)
        tail[: flat.size - whole] = flat[whole:]
        total += _mixed_sum(tail.view("<u8"), first, words.size)
    return f"{total & WORD_MASK:016x}"


def _mixed_sum(words: Values, first: Values, start: int) -> int:
    mixed = first[: words.size] + np.uint64(start * POSITION_FACTOR & WORD_MASK)
    mixed ^= words
    mixed *= np.uint64(WORD_FACTOR)
    mixed ^= mixed >> np.uint64(29)
    return int(mixed.sum(dtype=np.uint64))


def measure(reader: ArrayReader, case: Case, out: Values) -> Measured:
    """Read the case once into ``out``."""
    latencies_ns: list[int] = []
    before = resource.getrusage(resource.RUSAGE_SELF)
    started_ns = time.perf_counter_ns()
    if case.one_by_one:
        for index, selection in enumerate(case.selections):
            call_ns = time.perf_counter_ns()
            reader.read_one(selection, out[index])
            latencies_ns.append(time.perf_counter_ns() - call_ns)
    else:
        reader.read_batch(case.selections, out)
    seconds = (time.perf_counter_ns() - started_ns) / 1e9
    after = resource.getrusage(resource.RUSAGE_SELF)
    return Measured(seconds, after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime, latencies_ns)


def answer_passes(reader: ArrayReader, case: Case, answers: TextIO) -> None:
    """Answer ``pass`` lines until ``close`` or the end of the input."""
    out = np.zeros((len(case.selections), *case.selection_shape), case.dtype)
    out.fill(1)  # Touches every page, so that no pass pays for faults of a fresh output.
    name = reader_name()
    _say(answers, {"ready": True, "reader": name, "version": reader.version, "details": reader.details})
    for line in sys.stdin:
        if line.strip() == "close":
            return
        try:
            measured = measure(reader, case, out)
        except Exception as error:
            _say(answers, {"error": f"{type(error).__name__}: {error}"})
            return
        answer: dict[str, Any] = {
            "seconds": measured.seconds,
            "checksum": array_checksum(out) if reader.has_values else "",
            "user_seconds": measured.user_seconds,
            "system_seconds": measured.system_seconds,
        }
        if case.one_by_one:
            answer["latencies_ns"] = measured.latencies_ns
        # What one pass left in the output must not pass for what the next one read. Filled before the answer:
        # after it, the next reader in turn has the machine.
        out.fill(1)
        _say(answers, answer)


def reader_name() -> str:
    """Return the name of the script's folder or file: what this process reads with."""
    script = Path(sys.argv[0])
    return script.parent.name if script.stem == "reader" else script.stem


def _say(answers: TextIO, message: dict[str, Any]) -> None:
    print(json.dumps(message), file=answers, flush=True)


def main(open_array: Callable[[Case, str], ArrayReader]) -> None:
    """Serve the command line's case with the reader that ``open_array(case, variant)`` returns."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workload", type=Path, required=True)
    parser.add_argument("--variant", default="")
    settings = parser.parse_args()
    # A library that prints goes to standard error: standard output holds answers only.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        case = Case.load(settings.workload)
        reader = open_array(case, settings.variant)
    except CannotReadError as error:
        _say(answers, {"ready": False, "reason": str(error)})
        return
    except Exception as error:
        _say(answers, {"ready": False, "reason": f"cannot open it: {type(error).__name__}: {error}"})
        return
    answer_passes(reader, case, answers)
