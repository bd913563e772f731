"""A reader's process, from the runner's side of the protocol."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benches.runner.registry import ROOT

# A whole pass of the slowest reader takes seconds; a minute and a half of silence is a hang.
ANSWER_SECONDS_MAX = 90.0


class ReaderError(Exception):
    """What a reader did wrong; it names neither reader nor case, as the race does."""


@dataclass(frozen=True)
class Pass:
    """What one pass took; ``device_bytes`` is what the kernel fetched from the device for it."""

    seconds: float
    user_seconds: float
    system_seconds: float
    checksum: str
    device_bytes: int | None = None
    latencies_ns: list[int] = field(default_factory=list)

    @property
    def cpu_seconds(self) -> float:
        """Seconds of all threads, in user space and in the kernel."""
        return self.user_seconds + self.system_seconds

    def record(self) -> dict[str, Any]:
        """Return the pass for the record; latencies are summed up over all passes elsewhere."""
        fields = asdict(self)
        del fields["latencies_ns"]
        return fields


class ReaderProcess:
    """A started reader; ``refusal`` says why it cannot do the case, where it cannot."""

    def __init__(self, command: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
        )
        self.pending = b""
        self.errors = b""
        answer = self._answer()
        self.version = str(answer.get("version", ""))
        self.details = str(answer.get("details", ""))
        self.refusal: str | None = (
            None if answer.get("ready") else str(answer.get("reason", "no reason given"))
        )

    def one_pass(self) -> Pass:
        """Have the reader read once; raise ReaderError where it fails."""
        assert self.process.stdin is not None
        before = self._device_bytes()
        try:
            self.process.stdin.write(b"pass\n")
            self.process.stdin.flush()
        except OSError:
            raise ReaderError(self._death()) from None
        answer = self._answer()
        after = self._device_bytes()
        try:
            return Pass(
                seconds=float(answer["seconds"]),
                user_seconds=float(answer["user_seconds"]),
                system_seconds=float(answer["system_seconds"]),
                checksum=str(answer["checksum"]),
                device_bytes=None if before is None or after is None else after - before,
                latencies_ns=list(answer.get("latencies_ns", [])),
            )
        except KeyError as error:
            raise ReaderError(f"answered a pass without {error}") from None

    def close(self) -> None:
        """End the process; kill it where it does not end by itself."""
        try:
            self.process.communicate(b"close\n", timeout=10)
        except (subprocess.TimeoutExpired, OSError, ValueError):
            self.process.kill()
            self.process.wait()

    def _answer(self) -> dict[str, Any]:
        line = self._line()
        try:
            answer = json.loads(line)
        except ValueError:
            raise ReaderError(f"answered {line[:200]!r}, which is no JSON") from None
        if not isinstance(answer, dict):
            raise ReaderError(f"answered {line[:200]!r}, which is no object")
        if "error" in answer:
            raise ReaderError(str(answer["error"]))
        return answer

    def _line(self) -> bytes:
        """Wait for one line, and keep what the process says on standard error meanwhile."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        answers, errors = self.process.stdout.fileno(), self.process.stderr.fileno()
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        with selectors.DefaultSelector() as streams:
            streams.register(answers, selectors.EVENT_READ)
            streams.register(errors, selectors.EVENT_READ)
            while b"\n" not in self.pending:
                left = deadline - time.monotonic()
                if left <= 0:
                    self.process.kill()
                    raise ReaderError(f"said nothing for {ANSWER_SECONDS_MAX:.0f} s")
                for key, _ in streams.select(left):
                    received = os.read(key.fd, 1 << 20)
                    if key.fd == errors:
                        self.errors = (self.errors + received)[-4000:]
                        if not received:
                            streams.unregister(errors)
                    elif received:
                        self.pending += received
                    else:
                        raise ReaderError(self._death())
        line, _, self.pending = self.pending.partition(b"\n")
        return line

    def _death(self) -> str:
        try:
            code: object = self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            code = "unknown, as it still runs"
        said = self.errors.decode(errors="replace").strip().splitlines()
        return f"died with exit code {code}{': ' + said[-1] if said else ''}"

    def _device_bytes(self) -> int | None:
        """Return the bytes fetched from the device for the process; None where the system does not say."""
        try:
            text = Path(f"/proc/{self.process.pid}/io").read_text()
        except OSError:
            return None
        counts = dict(line.split(": ") for line in text.splitlines())
        return int(counts["read_bytes"])
