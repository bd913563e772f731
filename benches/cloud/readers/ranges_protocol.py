"""Readers in Python of ranges of many objects: the conversation with the runner, and the checksum."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

WORD_MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Wanted:
    """The ranges of one object, and which items of the case they are."""

    key: str
    starts: list[int]
    lengths: list[int]
    weights: npt.NDArray[np.uint64]

    @staticmethod
    def load(path: Path, object_bytes: int) -> list[Wanted]:
        """Read a case file; the case's offsets count through all objects."""
        case = json.loads(path.read_text())
        offsets = np.fromfile(case["offsets_file"], "<u8")
        range_len = int(case["range_len"])
        if range_len % 8:
            raise ValueError(f"wanted ranges of whole words, found {range_len} bytes")
        objects = offsets // np.uint64(object_bytes)
        wanted = []
        for number, key in enumerate(case["keys"]):
            items = np.flatnonzero(objects == number)
            starts = (offsets[items] % np.uint64(object_bytes)).tolist()
            weights = items.astype(np.uint64) * np.uint64(2) + np.uint64(1)
            wanted.append(Wanted(key, starts, [range_len] * len(starts), weights))
        return wanted

    def checksum(self, found: Sequence[Any]) -> int:
        """Return what the ranges add to the checksum of all: the sum of each one's words times its weight."""
        sums = np.array([np.frombuffer(part, "<u8").sum(dtype=np.uint64) for part in found], np.uint64)
        return int((sums * self.weights).sum(dtype=np.uint64))


class RangesReader(ABC):
    """A bucket that is open; ``version`` and ``details`` go into the report."""

    version: str
    details: str = ""

    @abstractmethod
    def read(self, wanted: Sequence[Wanted]) -> int:
        """Read everything, and return the sum of the objects' checksums."""


def answer_passes(reader: RangesReader, wanted: Sequence[Wanted]) -> None:
    """Answer ``pass`` lines until ``close`` or the end of the input."""
    # A library that prints goes to standard error: standard output holds answers only.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(message: dict[str, Any]) -> None:
        print(json.dumps(message), file=answers, flush=True)

    say(
        {
            "ready": True,
            "reader": Path(sys.argv[0]).stem,
            "version": reader.version,
            "details": reader.details,
        }
    )
    for line in sys.stdin:
        if line.strip() == "close":
            return
        before = resource.getrusage(resource.RUSAGE_SELF)
        started = time.perf_counter()
        try:
            checksum = reader.read(wanted)
        except Exception as error:
            say({"error": f"{type(error).__name__}: {error}"})
            return
        seconds = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_SELF)
        say(
            {
                "seconds": seconds,
                "checksum": f"{checksum & WORD_MASK:016x}",
                "user_seconds": after.ru_utime - before.ru_utime,
                "system_seconds": after.ru_stime - before.ru_stime,
            }
        )
