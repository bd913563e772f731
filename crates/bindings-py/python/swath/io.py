"""Ranges of bytes of any object: GRIB messages, chunks of NetCDF files, records of one's own format."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from swath import _swath
from swath.configuration import config
from swath.errors import InvalidError
from swath.options import split

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Ranges", "get_range", "get_ranges"]

type Url = str | PathLike[str]


class Ranges(NamedTuple):
    """What `get_ranges` read: range ``i`` is ``buffer[offsets[i]:offsets[i + 1]]``."""

    buffer: npt.NDArray[np.uint8]
    """The bytes of all ranges, one behind the other, in the order asked for."""
    offsets: npt.NDArray[np.int64]
    """Where each begins in the buffer, and where the last one ends."""

    def split(self) -> list[npt.NDArray[np.uint8]]:
        """Give each range by itself, as a view of the buffer."""
        return [self.buffer[start:end] for start, end in zip(self.offsets, self.offsets[1:], strict=False)]


def get_ranges(
    url: Url | Sequence[Url],
    *,
    starts: npt.ArrayLike,
    ends: npt.ArrayLike | None = None,
    lengths: npt.ArrayLike | None = None,
    out: npt.NDArray[np.uint8] | None = None,
    coalesce: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Ranges:
    """Read many ranges of bytes of one object, or of many, as one batch.

    Parameters
    ----------
    url : str, os.PathLike or a sequence of them
        The object that all ranges are of, or one for each range: a local path, or a URL as `swath.open` takes
        them.
    starts : array_like of int
        The first byte of each range.
    ends, lengths : array_like of int
        The byte behind each range, or how many bytes it has: one of the two.
    out : numpy.ndarray, optional
        Where to write: bytes (uint8), contiguous, as many as all ranges have together. Undefined after an
        error.
    coalesce : int, optional
        Ranges with at most so many bytes between them become one request; 0 for one request a range. By
        default as `swath.config` says, and else what is cheapest where the object is.
    storage_options : dict, optional
        As for `swath.open`.

    Returns
    -------
    Ranges
        One buffer, and where in it each range lies.

    Raises
    ------
    InvalidError
        The numbers do not fit each other, or `out` does not. A ValueError too.
    NotFoundError, CorruptError, StorageError
        There is no such object, it ends before a range does, or the storage failed: of the first range that
        could not be read; the message says how many could not.
    UnsupportedError
        The scheme or an option is not known.

    Examples
    --------
    >>> buffer, offsets = swath.io.get_ranges("forecast.grib2", starts=[0, 4096], lengths=[512, 100])
    >>> offsets
    array([  0, 512, 612])
    """
    first = _numbers("starts", starts)
    length = _lengths(first, ends, lengths)
    urls, which = _urls(url, len(first))
    coalesce = config.get("coalesce") if coalesce is None else coalesce
    if coalesce is not None and coalesce < 0:
        raise InvalidError(f"wanted `coalesce` of at least 0 bytes, found {coalesce}")
    buffer = _reader(urls, storage_options).read(urls, which, first, length, out, coalesce)
    offsets = np.zeros(len(first) + 1, np.int64)
    np.cumsum(length, out=offsets[1:])
    return Ranges(buffer, offsets)


def get_range(
    url: Url,
    *,
    start: int,
    end: int | None = None,
    length: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> bytes:
    """Read one range of bytes of an object: see `get_ranges`."""
    ends, lengths = (None if number is None else [number] for number in (end, length))
    found = get_ranges(url, starts=[start], ends=ends, lengths=lengths, storage_options=storage_options)
    return found.buffer.tobytes()


# Readers of the latest options: they keep the connections of what they read from.
_READERS_MAX = 8
_readers: OrderedDict[object, _swath.RangeReader] = OrderedDict()
_lock = threading.Lock()


def _reader(urls: list[str], storage_options: Mapping[str, Any] | None) -> _swath.RangeReader:
    options, provider = split(storage_options)
    if not any("://" in url for url in urls):
        return _swath.RangeReader(options, provider)
    key = (frozenset(options.items()), id(provider))
    with _lock:
        reader = _readers.get(key)
        if reader is None:
            # It holds the provider, so that no other has its id.
            reader = _readers[key] = _swath.RangeReader(options, provider)
        _readers.move_to_end(key)
        if _READERS_MAX < len(_readers):
            _readers.popitem(last=False)
    return reader


def _numbers(name: str, given: npt.ArrayLike) -> npt.NDArray[np.uint64]:
    numbers = np.asarray(given)
    if numbers.size == 0:
        numbers = numbers.astype(np.int64)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise InvalidError(
            f"wanted `{name}` as a list of integers, found shape {numbers.shape} of dtype {numbers.dtype}"
        )
    if numbers.size and numbers.min() < 0:
        raise InvalidError(f"wanted `{name}` of at least 0, found {numbers.min()}")
    return np.ascontiguousarray(numbers, np.uint64)


def _lengths(
    starts: npt.NDArray[np.uint64], ends: npt.ArrayLike | None, lengths: npt.ArrayLike | None
) -> npt.NDArray[np.uint64]:
    if (ends is None) == (lengths is None):
        raise InvalidError(
            f"wanted either `ends` or `lengths`, found {'neither' if ends is None else 'both'}"
        )
    name, given = ("ends", ends) if lengths is None else ("lengths", lengths)
    numbers = _numbers(name, given if given is not None else [])
    if len(numbers) != len(starts):
        raise InvalidError(f"wanted as many `{name}` as `starts`, {len(starts)}, found {len(numbers)}")
    if name == "lengths":
        return numbers
    if (numbers < starts).any():
        wrong = int(np.argmax(numbers < starts))
        raise InvalidError(f"range {wrong} ends at {numbers[wrong]}, before its start {starts[wrong]}")
    return numbers - starts


def _urls(url: Url | Sequence[Url], count: int) -> tuple[list[str], npt.NDArray[np.uint64]]:
    """Give the URLs, each once, and for each range which of them it is of."""
    if isinstance(url, str | PathLike):
        return [_text(url)], np.zeros(count, np.uint64)
    texts = [_text(one) for one in url]
    if len(texts) != count:
        raise InvalidError(f"wanted one URL, or one for each of {count} ranges, found {len(texts)}")
    numbers: dict[str, int] = {}
    which = [numbers.setdefault(text, len(numbers)) for text in texts]
    return list(numbers), np.asarray(which, np.uint64)


def _text(url: Url) -> str:
    text = fspath(url)
    if not isinstance(text, str):
        raise InvalidError(f"wanted URLs and paths as text, found {text!r}")
    return text
