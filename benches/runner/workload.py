"""Workloads: what is stored and what is read of it, each a file of ``benches/workloads``."""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from benches.runner.errors import BenchError

type Kind = Literal["array", "files", "ranges"]
type Mode = Literal["batch", "one_by_one"]

FOLDER = Path(__file__).parents[1] / "workloads"
KINDS = ("array", "files", "ranges")
MODES = ("batch", "one_by_one")
STATES = ("warm", "cold")
# A change of how data is written counts here, so that data of older runners is written anew.
DATA_VERSION = 1


@dataclass(frozen=True)
class Workload:
    """One file of workloads; ``data_owner`` is the workload whose file describes the data."""

    name: str
    about: str
    kind: Kind
    quick: bool
    states: tuple[str, ...]
    data_owner: str
    data: Mapping[str, Any]
    read: Mapping[str, Any]

    @property
    def mode(self) -> Mode:
        """Whether a pass is one call or one call a selection."""
        return cast("Mode", self.read.get("mode", "batch"))

    @property
    def inner_orders(self) -> tuple[str, ...]:
        """The orders that the inner chunks are stored in; one empty name without shards."""
        return tuple(self.data.get("inner_orders", ("",)))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The array's type."""
        dtype: np.dtype[Any] = np.dtype(self.data["dtype"])
        return dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return tuple(self.data["shape"])

    @property
    def chunks(self) -> tuple[int, ...]:
        """The shape of the smallest unit stored: a chunk, or an inner chunk of a shard."""
        return tuple(self.data["chunks"])

    @property
    def selection_shape(self) -> tuple[int, ...]:
        """The shape of every selection."""
        return tuple(self.read["selection_shape"])

    def cases(self) -> list[Case]:
        """Return the cases that it is read as."""
        return [Case(self, order) for order in self.inner_orders]


@dataclass(frozen=True)
class Case:
    """A workload with one order of the inner chunks."""

    workload: Workload
    inner_order: str

    @property
    def name(self) -> str:
        """The case's unique name."""
        return "-".join(filter(None, (self.workload.name, self.inner_order)))

    @cached_property
    def data_hash(self) -> str:
        """A hash of all that decides the stored bytes."""
        text = json.dumps([DATA_VERSION, self.inner_order, self.workload.kind, dict(self.workload.data)])
        return hashlib.sha256(text.encode()).hexdigest()

    def data_folder(self, root: Path) -> Path:
        """Return the folder of the stored data, shared by all cases that read it."""
        return root / "data" / "-".join(filter(None, (self.workload.data_owner, self.inner_order)))

    def case_file(self, root: Path) -> Path:
        """Return the path of the file that readers get."""
        return root / "cases" / f"{self.name}.json"

    def offsets_file(self, root: Path) -> Path:
        """Return the path of the offsets of a ranges case."""
        return root / "cases" / f"{self.name}.u64"

    def data_bytes(self) -> int:
        """Return about how many bytes the data takes on disk, before compression."""
        data = self.workload.data
        if self.workload.kind == "array":
            return math.prod(self.workload.shape) * self.workload.dtype.itemsize
        if self.workload.kind == "files":
            return int(data["count"]) * (int(data["bytes_min"]) + int(data["bytes_max"])) // 2
        return int(data["file_bytes"])


def load_workloads(folder: Path = FOLDER) -> dict[str, Workload]:
    """Read every workload of a folder, by name; raise BenchError for what is no workload."""
    texts = {path.stem: path.read_text() for path in sorted(folder.glob("*.toml"))}
    parsed = {name: tomllib.loads(text) for name, text in texts.items()}
    return {name: _workload(name, texts[name], parsed) for name in parsed}


def _workload(name: str, text: str, parsed: Mapping[str, Mapping[str, Any]]) -> Workload:
    fields = parsed[name]
    owner = name
    data = fields.get("data")
    if isinstance(data, str):
        owner = data
        data = parsed.get(owner, {}).get("data")
    if not isinstance(data, dict):
        raise BenchError(f"workload {name}: [data] is missing, or names no workload that has one")
    read = fields.get("read", {})
    if fields.get("kind") not in KINDS:
        raise BenchError(f"workload {name}: kind is one of {', '.join(KINDS)}")
    if read.get("mode", "batch") not in MODES:
        raise BenchError(f"workload {name}: read.mode is one of {', '.join(MODES)}")
    if not set(fields.get("states", STATES)) <= set(STATES):
        raise BenchError(f"workload {name}: states are of {', '.join(STATES)}")
    first_line = text.partition("\n")[0]
    return Workload(
        name=name,
        about=first_line.removeprefix("#").strip() if first_line.startswith("#") else "",
        kind=fields["kind"],
        quick=bool(fields.get("quick", False)),
        states=tuple(fields.get("states", STATES)),
        data_owner=owner,
        data=data,
        read=read,
    )
