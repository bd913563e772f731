"""What is read, and where it lies."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benches.grib.contenders import ECCODES
from benches.runner.registry import ROOT

POINTS = 1440 * 721
TYPES = ("float64", "float32")
# 2 GB of them.
ERA5_MESSAGES = 960
# Packings whose rate is to be at least ecCodes'; the others are shown beside them.
PACKINGS = (
    "simple 8", "simple 12", "simple 16", "simple 24",
    "CCSDS 12", "CCSDS 16", "CCSDS 24", "CCSDS, AIFS's",
    "complex 16", "differences 1 16", "differences 2 16", "differences, GFS's",
)  # fmt: skip


@dataclass(frozen=True)
class Decoding:
    """A message to be decoded to numbers of a type."""

    packing: str
    dtype: str
    path: Path

    @property
    def name(self) -> str:
        """Return the case's name."""
        return f"{self.packing}, {self.dtype}"


def samples() -> Path:
    """Return the folder of the shared sample files, whose fields the messages have."""
    return Path(os.environ.get("SWATH_TEST_DATA", ROOT.parent / "shared" / "data"))


def prepare(folder: Path) -> None:
    """Have ecCodes write the messages, unless they are there."""
    if not folder.exists():
        partial = folder.with_suffix(".new")
        shutil.rmtree(partial, ignore_errors=True)
        make(partial)
        partial.rename(folder)


def make(*arguments: object) -> None:
    """Have the script beside ecCodes' reader write something of the samples."""
    if not samples().is_dir():
        raise SystemExit(f"bench: no sample files at {samples()}: set SWATH_TEST_DATA")
    program, reader = ECCODES.program
    subprocess.run([program, reader.with_name("make.py"), samples(), *map(str, arguments)], check=True)


def era5(folder: Path, messages: int) -> Path:
    """Return the file that is converted, which ecCodes writes unless it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{messages}.grib"
    if not path.exists():
        partial = path.with_suffix(".new")
        make(partial, messages)
        partial.rename(path)
    return path


def decodings(folder: Path) -> list[Decoding]:
    """Return what is decoded."""
    return [Decoding(name, dtype, folder / f"{name}.grib") for name in PACKINGS for dtype in TYPES]


def many(folder: Path) -> Path:
    """Return the file of many messages."""
    return folder / "many.grib"
