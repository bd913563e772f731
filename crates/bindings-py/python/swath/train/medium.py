"""What a storage medium does, as far as it decides how fast samples come."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path

from swath._swath import _calibration
from swath.errors import InvalidError


@dataclass(frozen=True, slots=True)
class Medium:
    """Reads a second, bytes a second, and how long a lone read takes.

    Attributes
    ----------
    name : str
        For people.
    reads_per_s : float
        Reads that it answers a second, of all who ask.
    bytes_per_s : float
        Bytes that it gives a second, to all who ask.
    latency_s : float
        How long a lone small read takes.
    slow_share : float, default 0
        Which share of reads takes `slow_s` instead, from 0 to 1.
    slow_s : float, default 0
        How long such a read takes.
    parallel_reads : int, default 64
        Reads that one loader keeps in flight.
    """

    name: str
    reads_per_s: float
    bytes_per_s: float
    latency_s: float
    slow_share: float = 0.0
    slow_s: float = 0.0
    parallel_reads: int = 64

    def __post_init__(self) -> None:
        rates = 0 < self.reads_per_s and 0 < self.bytes_per_s and 0 < self.parallel_reads
        if not (rates and 0 <= self.latency_s and 0 <= self.slow_s and 0 <= self.slow_share <= 1):
            raise InvalidError(f"wanted rates above zero, times of at least zero and a share, found {self}")

    @classmethod
    def calibrated(cls, path: str | PathLike[str]) -> Medium | None:
        """Return what the device of a local path was measured to do by ``swath bench --calibrate``.

        Parameters
        ----------
        path : str or path
            An archive, or anything else on the device.

        Returns
        -------
        Medium or None
            Reads past the page cache, of one who reads alone; None where nothing is stored of the device
            and of what is no path, such as a URL.
        """
        folder = Path(fspath(path))
        found = _calibration(str(folder if folder.is_dir() else folder.parent)) if folder.exists() else None
        if found is None:
            return None
        reads_per_s, bytes_per_s, latency_s, parallel_reads = found
        return cls("calibrated", reads_per_s, bytes_per_s, latency_s, parallel_reads=parallel_reads)

    @property
    def mean_latency_s(self) -> float:
        """How long a lone read takes on average."""
        return self.latency_s + self.slow_share * (self.slow_s - self.latency_s)

    def rate(self, reads: float, size: float, loaders: int = 1) -> float:
        """Return how often a second each of `loaders` can make so many reads of so many bytes in all."""
        if reads <= 0:
            return float("inf")
        in_flight = self.parallel_reads / self.mean_latency_s if self.mean_latency_s else float("inf")
        shared = min(self.reads_per_s / reads, self.bytes_per_s / size if size else float("inf")) / loaders
        return min(in_flight / reads, shared)


# Assumed, not measured: what such media are sold as. A `Medium` of one's own says what is known better.
MEDIA = {
    medium.name: medium
    for medium in (
        Medium("page cache", 2e6, 10e9, 2e-6),
        Medium("nvme", 1e6, 6e9, 80e-6, parallel_reads=256),
        Medium("lustre", 50e3, 5e9, 1e-3, parallel_reads=128),
        Medium("cloud", 5.5e3, 1.5e9, 20e-3, slow_share=0.01, slow_s=0.5, parallel_reads=256),
    )
}


def medium_of(told: Medium | str) -> Medium:
    """Return a medium, or the one of `MEDIA` that has this name."""
    if isinstance(told, Medium):
        return told
    if told not in MEDIA:
        raise InvalidError(f"wanted a Medium or one of {', '.join(MEDIA)}, found {told!r}")
    return MEDIA[told]
