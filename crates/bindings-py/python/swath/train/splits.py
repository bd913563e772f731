"""Which spans of time belong to training, validation and testing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from swath.errors import InvalidError
from swath.train.arrays import Flags, Values
from swath.train.axis import span

type Span = tuple[Any, Any]


class Splits(Mapping[str, tuple[Span, ...]]):
    """Spans by the name of their split; a mapping of names to spans, as they are once the gap is kept.

    Parameters
    ----------
    parts : mapping of str to a span or a sequence of spans
        A span is a pair (start, stop) of values or, for times, of texts such as "2020-01-01"; stop is not in
        it. Spans of different splits must not overlap.
    gap : timedelta, str or number, optional
        How far apart two splits are at least: where one follows another sooner, it begins so much later.
    along : str, default "time"
        The dimension of origins that is split.
    """

    def __init__(self, parts: Mapping[str, Any], gap: Any = None, along: str = "time") -> None:
        told = sorted(
            ((start, stop, name) for name, spans in parts.items() for start, stop in _spans(name, spans)),
            key=lambda one: (one[0], one[1]),
        )
        self.along = along
        self._spans: dict[str, list[Span]] = {name: [] for name in parts}
        width = None if gap is None else span(gap)
        for start, stop, name in told:
            ends = [other for _, other, its in told if its != name and other <= start]
            if any(its != name and begin < stop and start < end for begin, end, its in told):
                raise InvalidError(
                    f"wanted splits apart, found one that overlaps {name} from {start} to {stop}"
                )
            begin = start if width is None or not ends else max(start, max(ends) + width)
            if begin < stop:
                self._spans[name].append((begin, stop))

    def __getitem__(self, name: str) -> tuple[Span, ...]:
        if name not in self._spans:
            raise InvalidError(f"wanted one of the splits {', '.join(self._spans)}, found {name!r}")
        return tuple(self._spans[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._spans)

    def __len__(self) -> int:
        return len(self._spans)

    def holds(self, name: str, first: Values, last: Values) -> Flags:
        """Return which samples, that reach from `first` to `last`, lie within one span of a split."""
        held = np.zeros(len(first), bool)
        for start, stop in self[name]:
            held |= (start <= first) & (last < stop)
        return held


def _spans(name: str, spans: Any) -> list[Span]:
    listed: Sequence[Any] = [spans] if len(spans) == 2 and not _is_span(spans[0]) else spans
    found = [(_value(start), _value(stop)) for start, stop in listed]
    for start, stop in found:
        if not start < stop:
            raise InvalidError(f"wanted a span of {name} that begins before it ends, found {start} to {stop}")
    return found


def _is_span(value: Any) -> bool:
    return isinstance(value, tuple | list)


def _value(value: Any) -> Any:
    return np.datetime64(value) if isinstance(value, str) else value
