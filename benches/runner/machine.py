"""What a run's numbers depend on: the machine, the storage under the data, the commit."""

from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

from benches.runner.registry import ROOT


def describe(data: Path) -> dict[str, Any]:
    """Describe this machine and the storage that holds a folder."""
    return {
        "date": datetime.datetime.now(tz=datetime.UTC).strftime("%Y-%m-%d"),
        "time": datetime.datetime.now(tz=datetime.UTC).strftime("%H:%M UTC"),
        "commit": commit(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "system": system_name(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
        **storage(data),
    }


def short_name(machine: dict[str, Any]) -> str:
    """Return a name for the record's file: the processor and its cores, nothing that names the host."""
    words = re.findall(r"[A-Za-z0-9]+", str(machine["cpu"]).replace("(R)", "").replace("(TM)", ""))
    kept = [word.lower() for word in words if word.lower() not in {"cpu", "processor", "with"}]
    return "-".join([*kept[:4], f"{machine['cores']}c"])


def record_path(machine: dict[str, Any], kind: str = "") -> Path:
    """Return where the record of a full run is kept, by the kind of bench; that of all readers has none."""
    words = [*([kind] if kind else []), machine["date"], short_name(machine)]
    return ROOT / "benches" / "records" / f"{'-'.join(words)}.json"


def cpu_model() -> str:
    """Return the processor's name."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def system_name() -> str:
    """Return the distribution's name."""
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()


def commit() -> str:
    """Return the commit, marked where tracked files differ from it."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    changed = " with changes" if git("status", "--porcelain", "--untracked-files=no") else ""
    return f"{git('rev-parse', '--short=10', 'HEAD') or 'unknown'}{changed}"


def storage(folder: Path) -> dict[str, Any]:
    """Return the file system that holds a folder, and its device as far as the kernel tells."""
    device = folder.resolve().stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    described: dict[str, Any] = {"file_system": "unknown", "device": "unknown"}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        if fields.split()[2] == number:
            described["file_system"], source = rest.split()[:2]
            described["device"] = Path(source).name
    queue = Path(f"/sys/dev/block/{number}").resolve()
    queue = queue if (queue / "queue").exists() else queue.parent
    for name in ("logical_block_size", "scheduler", "rotational", "read_ahead_kb", "max_sectors_kb"):
        path = queue / "queue" / name
        if path.exists():
            described[name] = path.read_text().strip()
    model = queue / "device" / "model"
    if model.exists():
        described["device"] += f" ({model.read_text().strip()})"
    return described
