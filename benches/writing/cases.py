"""What is written: the arrays of two workloads, whole, and how their documents are made."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from benches.runner.array_data import create_array
from benches.runner.fields import Values
from benches.runner.workload import Workload, load_workloads

# Those of which a write is worth measuring: many small chunks in large shards, and few large chunks.
NAMES = ("sat_blosc", "cube_zstd")


@dataclass(frozen=True)
class WriteCase:
    """A workload's array: its values are in a file of their own, its document in a template."""

    workload: Workload
    folder: Path

    @property
    def name(self) -> str:
        """The workload's name."""
        return self.workload.name

    @property
    def values_path(self) -> Path:
        """Where the values lie: C order, in the machine's byte order, and nothing else."""
        return self.folder / f"{self.name}.values"

    @property
    def template(self) -> Path:
        """A folder with the array's document."""
        return self.folder / f"{self.name}.zarr"

    @property
    def case_path(self) -> Path:
        """The case as writers read it."""
        return self.folder / f"{self.name}.json"

    def values(self) -> np.ndarray[Any, Any]:
        """Map the values."""
        return np.memmap(self.values_path, self.workload.dtype, "r", shape=self.workload.shape)

    def prepare(self) -> None:
        """Write values, document and case, unless they are there."""
        if not self.values_path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            self._write_values()
        shutil.rmtree(self.template, ignore_errors=True)
        create_array(self.workload, self.workload.inner_orders[0], self.template)
        data = self.workload.data
        case = {
            "values": str(self.values_path),
            "shape": data["shape"],
            "dtype": self.workload.dtype.str,
            "element_bytes": self.workload.dtype.itemsize,
            "object_shape": data.get("shards", data["chunks"]),
            "chunk_shape": data["chunks"],
            "codec": data["codec"],
        }
        self.case_path.write_text(json.dumps(case))

    def make_empty(self, target: Path) -> None:
        """Put the document alone into a new folder."""
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        shutil.copy(self.template / "zarr.json", target)

    def is_written(self, target: Path, *, checks_indexes: bool) -> bool:
        """Tell whether zarr-python reads there what was to be written."""
        if not checks_indexes:
            self._leave_out_checksums(target)
        found = zarr.open_array(target, mode="r")[...]
        return bool(np.array_equal(np.asarray(found), self.values()))

    def _write_values(self) -> None:
        data = self.workload.data
        made = Values(self.workload.shape, self.workload.dtype, int(data["seed"]), data["values"])
        partial = self.values_path.with_suffix(".new")
        values = np.memmap(partial, self.workload.dtype, "w+", shape=self.workload.shape)
        for block, content in made.blocks(data.get("shards", data["chunks"])):
            values[block] = content
        values.flush()
        partial.rename(self.values_path)

    def _leave_out_checksums(self, target: Path) -> None:
        """Have the document say that shard indexes have four bytes behind them instead of a checksum."""
        document = json.loads((target / "zarr.json").read_text())
        for codec in document["codecs"]:
            if codec["name"] != "sharding_indexed":
                continue
            # The checksum of an index is the last thing in a shard: without it, the rest still ends there.
            codec["configuration"]["index_codecs"] = [
                one for one in codec["configuration"]["index_codecs"] if one["name"] != "crc32c"
            ]
            for path in (target / "c").rglob("*"):
                if path.is_file():
                    with path.open("r+b") as file:
                        file.truncate(path.stat().st_size - 4)
        (target / "zarr.json").write_text(json.dumps(document))


def cases(folder: Path) -> list[WriteCase]:
    """Give the cases, with their data in a folder."""
    workloads = load_workloads()
    return [WriteCase(workloads[name], folder) for name in NAMES]
