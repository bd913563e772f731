"""The server of the cloud benches, from the runner's side."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benches.runner.errors import BenchError
from benches.runner.registry import ROOT

PROGRAM = ROOT / "benches" / "cloud" / "target" / "release" / "cloud-server"


@dataclass(frozen=True)
class Link:
    """How far away the server is; zero stands for no latency, no bound of the rate, and no slow requests."""

    latency_ms: float = 0.0
    bytes_per_second: int = 0
    throttle_above: int = 0
    slow_one_in: int = 0
    slow_ms: float = 0.0

    def command(self) -> str:
        """Return the line that sets the link."""
        latency_us = round(self.latency_ms * 1000)
        return (
            f"set latency_us={latency_us} bytes_per_second={self.bytes_per_second} "
            f"throttle_above={self.throttle_above} "
            f"slow_one_in={self.slow_one_in} slow_us={round(self.slow_ms * 1000)}"
        )


@dataclass(frozen=True)
class Counts:
    """What the server counted between two looks; its source says what each is."""

    requests: int
    listings: int
    throttled: int
    suffixes: int
    body_bytes: int
    wire_bytes: int
    connections: int
    in_flight_max: int
    rounds: int


class Server:
    """A started server; a context manager that ends it."""

    def __init__(
        self,
        folders: Mapping[str, Path] | None = None,
        patterns: Mapping[str, str] | None = None,
        more: Sequence[str] = (),
    ) -> None:
        if not PROGRAM.exists():
            raise BenchError(f"{PROGRAM.relative_to(ROOT)} is not built: run `make bench-cloud`")
        command = [str(PROGRAM), *more]
        for name, folder in (folders or {}).items():
            command += ["--folder", f"{name}={folder}"]
        for name, pattern in (patterns or {}).items():
            command += ["--pattern", f"{name}={pattern}"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.endpoint = f"http://127.0.0.1:{self._answer()['port']}"

    def set(self, link: Link) -> None:
        """Change the link."""
        self._command(link.command())

    def take(self) -> Counts:
        """Return what was counted since the last time."""
        return Counts(**self._command("take"))

    def _command(self, line: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()
        except OSError as error:
            raise BenchError(f"the server is gone: {error}") from None
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise BenchError(f"the server ended with code {self.process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.communicate()
