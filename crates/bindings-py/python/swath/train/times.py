"""Coordinates as they are stored: numbers, or times counted from a date."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from swath.errors import InvalidError, UnsupportedError
from swath.train.arrays import Values

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
        of time alone, such as "hours", timedelta64[ns]; and stays as it is otherwise.

    Raises
    ------
    UnsupportedError
        The calendar is not the one of datetime64.
    InvalidError
        The times do not fit into 64 bits of nanoseconds.
    """
    attributes = getattr(array, "attrs", {})
    values: Values = np.asarray(array[...])
    units = attributes.get("units")
    if not isinstance(units, str) or values.dtype.kind not in "iuf":
        return values
    counted, elapsed = COUNTED.fullmatch(units), ELAPSED.fullmatch(units)
    unit = (counted or elapsed or [None, ""])[1]
    length = NANOSECONDS.get(_singular(unit or ""))
    if length is None:
        return values
    if counted is None:
        return _nanoseconds(values, length).astype("m8[ns]")
    calendar = str(attributes.get("calendar", "standard")).lower()
    if calendar not in CALENDARS:
        raise UnsupportedError(f"wanted the calendar of datetime64, found {calendar!r}")
    return np.asarray(_date(counted[2]) + _nanoseconds(values, length).astype("m8[ns]"))


def _singular(unit: str) -> str:
    return unit.lower().removesuffix("s") or unit


def _nanoseconds(values: Values, length: int) -> Values:
    if values.dtype.kind != "f":
        if values.size and 2**63 <= int(np.abs(values.astype(object)).max()) * length:
            raise InvalidError("wanted times within 292 years of their date, found later ones")
        return values.astype("i8") * length
    unknown = np.isnan(values)
    exact = np.where(unknown, 0, values).astype("f8") * length
    if exact.size and 2.0**63 <= float(np.abs(exact).max()):
        raise InvalidError("wanted times within 292 years of their date, found later ones")
    counted = np.rint(exact).astype("i8")
    counted[unknown] = np.iinfo("i8").min  # NaT
    return counted


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
