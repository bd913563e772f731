"""The converters, each a process of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benches.grib.contenders import ECCODES, GRIBBERISH
from benches.runner.registry import ROOT

SWATH_PROGRAM = ROOT / "target" / "release" / "swath"
SWATH = "swath"
# The same, in turn with the floor only.
ALONE = "swath, in turn with the floor"


@dataclass(frozen=True)
class Converter:
    """A program that is given a GRIB file and the Zarr group to make."""

    name: str
    program: tuple[str, ...]

    @property
    def is_here(self) -> bool:
        """Whether it was built or installed."""
        return Path(self.program[0]).exists()

    def command(self, source: Path, target: Path) -> list[str]:
        """Return the command line."""
        return [*self.program, str(source), str(target)]


def peer(name: str, program: tuple[Path, ...]) -> Converter:
    """Return a converter that is a script beside a reader's."""
    return Converter(name, (str(program[0]), str(program[1].with_name("convert.py"))))


CONVERTERS = (
    Converter(SWATH, (str(SWATH_PROGRAM), "convert", "--for", "training-fields")),
    peer("cfgrib + xarray", ECCODES.program),
    peer("gribberish + xarray", GRIBBERISH.program),
)
# How many times as fast as each swath is to be.
TIMES_MIN = {"cfgrib + xarray": 5.0, "gribberish + xarray": 2.0}
