"""The contenders, and how each is started."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from benches.runner.registry import ROOT

SWATH = "swath"
SWATH_PROGRAM = ROOT / "target" / "release" / "swath"
PEERS = Path(__file__).parent / "peers"


@dataclass(frozen=True)
class Contender:
    """A program that rechunks: swath's command line, or a peer's script in its own environment."""

    name: str
    # The folder of a peer; empty for swath.
    peer: str = ""
    # What a peer's script is told beside the case.
    argument: str = ""
    # Whether the kernel holds it to the limit: an interpreter with its libraries reserves more than it takes.
    is_held: bool = False

    @property
    def program(self) -> Path:
        """Return what is run."""
        return PEERS / self.peer / ".venv" / "bin" / "python" if self.peer else SWATH_PROGRAM

    def command(self, case_path: Path) -> list[str]:
        """Return the command line for a case."""
        if self.peer:
            return [str(self.program), str(PEERS / self.peer / "rechunk.py"), str(case_path), self.argument]
        case = json.loads(case_path.read_text())
        chunks = ",".join(map(str, case["chunks"]))
        memory = ["--memory", str(case["memory_bytes"])]
        scratch = ["--scratch", case["scratch"]]
        return [
            str(self.program),
            "copy",
            case["source"],
            case["target"],
            "--chunks",
            chunks,
            *memory,
            *scratch,
            "--json",
        ]


CONTENDERS = (
    Contender(SWATH, is_held=True),
    Contender("dask-p2p", "zarr_dask", "p2p"),
    Contender("dask-threads", "zarr_dask", "threads"),
    Contender("cubed", "cubed", "2"),
    Contender("rechunker", "rechunker", "2"),
)
