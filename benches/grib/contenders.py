"""The contenders: programs that answer lines of JSON with how long a job took."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from benches.runner.registry import ROOT

HERE = Path(__file__).parent
OWN_PROGRAM = HERE / "reader" / "target" / "release" / "swath-grib-reader"


@dataclass(frozen=True)
class Contender:
    """A reader, and how it is started."""

    name: str
    program: tuple[Path, ...]

    @property
    def is_here(self) -> bool:
        """Whether it was built or installed."""
        return all(part.exists() for part in self.program)


def peer(name: str, folder: str) -> Contender:
    """Return a contender that is a script in its own environment."""
    place = HERE / "peers" / folder
    return Contender(name, (place / ".venv" / "bin" / "python", place / "reader.py"))


SWATH = Contender("swath", (OWN_PROGRAM,))
ECCODES = peer("ecCodes", "eccodes")
GRIBBERISH = peer("gribberish", "gribberish")
CONTENDERS = (SWATH, ECCODES, GRIBBERISH)


class Running:
    """A contender under way."""

    def __init__(self, contender: Contender) -> None:
        self.name = contender.name
        self.process = subprocess.Popen(
            contender.program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )

    def __enter__(self) -> Running:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the program."""
        self.process.communicate()

    def ask(self, **job: Any) -> dict[str, Any]:
        """Have a job done; the answer has seconds, or the reason why there are none."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            return {"reason": f"ended with {self.process.wait()}"}
        answer: dict[str, Any] = json.loads(line)
        return answer
