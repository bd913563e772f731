"""Coordinates as they are stored: numbers, or times counted from a date."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from swath.errors import InvalidError, UnsupportedError
from swath.train.arrays import Flags, Values
from swath.train.decoding import Decoding, steps_of

COUNTED = re.compile(r"\s*(\w+)\s+since\s+(.+?)\s*")
ELAPSED = re.compile(r"\s*(\w+)\s*")
NANOSECONDS = {
    "nanosecond": 1,
    "microsecond": 10**3,
    "millisecond": 10**6,
    "second": 10**9,
    "sec": 10**9,
    "s": 10**9,
    "minute": 60 * 10**9,
    "min": 60 * 10**9,
    "hour": 3600 * 10**9,
    "hr": 3600 * 10**9,
    "h": 3600 * 10**9,
    "day": 86400 * 10**9,
    "d": 86400 * 10**9,
}
CALENDARS = ("standard", "gregorian", "proleptic_gregorian")


def coordinates(array: Any) -> Values:
    """Read the coordinate values of a dimension, and decode what CF says of times.

    Parameters
    ----------
    array : swath.Array or numpy.ndarray
        Of one axis. With ``units`` such as "hours since 1900-01-01" it becomes datetime64[ns]; with ``units``
        of time alone, such as "hours", timedelta64[ns]; and stays as it is otherwise. What its attributes
        mask becomes NaT or NaN, and packed numbers are scaled.

    Raises
    ------
    UnsupportedError
        The calendar is not the one of datetime64.
    InvalidError
        The times do not fit into 64 bits of nanoseconds.
    """
    attributes = getattr(array, "attrs", {})
    stored: Values = np.asarray(array[...])
    if stored.dtype.kind not in "iuf":
        return stored
    values, missing = _unpacked(stored, attributes)
    units = attributes.get("units")
    counted, elapsed = (
        (COUNTED.fullmatch(units), ELAPSED.fullmatch(units)) if isinstance(units, str) else (None, None)
    )
    unit = (counted or elapsed or [None, ""])[1]
    length = NANOSECONDS.get(_singular(unit or ""))
    if length is None:
        return np.where(missing, np.nan, values) if missing.any() else values
    passed = _nanoseconds(np.where(missing, values.dtype.type(0), values), length)
    passed[missing] = np.timedelta64("NaT", "ns")
    if counted is None:
        return passed
    calendar = str(attributes.get("calendar", "standard")).lower()
    if calendar not in CALENDARS:
        raise UnsupportedError(f"wanted the calendar of datetime64, found {calendar!r}")
    return np.asarray(_date(counted[2]) + passed)


def _unpacked(stored: Values, attributes: Mapping[str, Any]) -> tuple[Values, Flags]:
    """Return coordinates scaled as attributes say, and which of them are masked; integers stay exact."""
    steps = Decoding(dtype=np.dtype("f8"), **steps_of(attributes, stored.dtype))
    missing = steps.missing(stored)
    if steps.scale is None and steps.offset is None:
        return stored, missing
    return Decoding(dtype=steps.dtype, scale=steps.scale, offset=steps.offset).apply(stored, ()), missing


def _singular(unit: str) -> str:
    return unit.lower().removesuffix("s") or unit


def _nanoseconds(values: Values, length: int) -> Values:
    """Return durations of `length` nanoseconds each, as timedelta64[ns]; NaT of NaN."""
    if values.dtype.kind != "f":
        if values.size and 2**63 <= max(-int(values.min()), int(values.max())) * length:
            raise InvalidError("wanted times within 292 years of their date, found later ones")
        return (values.astype("i8") * length).astype("m8[ns]")
    unknown = np.isnan(values)
    exact = np.where(unknown, 0, values).astype("f8") * length
    if exact.size and 2.0**63 <= float(np.abs(exact).max()):
        raise InvalidError("wanted times within 292 years of their date, found later ones")
    passed = np.rint(exact).astype("i8").astype("m8[ns]")
    passed[unknown] = np.timedelta64("NaT", "ns")
    return passed


def _date(text: str) -> Any:
    """Return the date that times are counted from; offsets from UTC other than zero are refused."""
    plain = re.sub(r"\s*(Z|UTC|GMT|[+-]00?:?00)$", "", text.strip())
    plain = re.sub(
        r"^(\d{1,4})-(\d{1,2})-(\d{1,2})",
        lambda found: f"{int(found[1]):04}-{int(found[2]):02}-{int(found[3]):02}",
        plain,
    )
    plain = re.sub(r"[ T](\d):", r"T0\1:", plain).replace(" ", "T")
    try:
        return np.datetime64(plain, "ns")
    except ValueError:
        raise InvalidError(f"wanted a date in UTC behind 'since', found {text!r}") from None
