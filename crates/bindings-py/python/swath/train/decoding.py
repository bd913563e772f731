"""What stored elements become: masked, scaled, normalised, filled and cast, in this order."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from swath.errors import InvalidError, UnsupportedError
from swath.train.arrays import Flags, Values


@dataclass(frozen=True, slots=True)
class Decoding:
    """The steps from stored elements to what a batch holds, in the words of `swath.Array.read`.

    Attributes
    ----------
    dtype : numpy dtype
        What elements are cast to.
    mask : tuple of numbers
        Stored values that become NaN.
    valid_range : tuple of two numbers, or None
        Stored values outside become NaN; None at an end is no end.
    scale, offset : float or None
        Elements become ``stored * scale + offset``, in float64.
    mean, std : float, tuple of floats, or None
        Elements become ``(element - mean) / std``.
    axis : int or None
        The axis of the array along which `mean` and `std` have a number for each index.
    fill : float or None
        What NaN becomes.
    """

    dtype: Any = "float32"
    mask: tuple[Any, ...] = ()
    valid_range: tuple[Any, Any] | None = None
    scale: float | None = None
    offset: float | None = None
    mean: float | tuple[float, ...] | None = None
    std: float | tuple[float, ...] | None = None
    axis: int | None = None
    fill: float | None = None

    def options(self) -> dict[str, Any]:
        """Return the steps as keyword arguments of `swath.Array.read_many`."""
        told: dict[str, Any] = {
            "dtype": self.dtype,
            "mask": list(self.mask) or None,
            "valid_range": self.valid_range,
            "scale": self.scale,
            "offset": self.offset,
            "mean": _listed(self.mean),
            "std": _listed(self.std),
            "axis": self.axis,
            "fill": self.fill,
        }
        if self.scale is not None or self.offset is not None:
            told["decode_dtype"] = "float64"
        return {name: value for name, value in told.items() if value is not None}

    def apply(self, stored: Values, index: tuple[Any, ...]) -> Values:
        """Convert what an index selected of an array that swath does not read, by the same steps in NumPy.

        Parameters
        ----------
        stored : numpy.ndarray
            What was selected.
        index : tuple of int, slice or list
            By what: one for each axis of the array; integers take their axis away.
        """
        target = np.dtype(self.dtype)
        working = np.dtype("f4" if target.kind == "f" and target.itemsize <= 4 else "f8")
        values = stored
        with np.errstate(all="ignore"):
            if self.scale is not None or self.offset is not None:
                scaled = stored.astype("f8") * (1 if self.scale is None else self.scale)
                values = scaled + self.offset if self.offset is not None else scaled
            values = np.where(self.missing(stored), working.type(np.nan), values.astype(working))
            if self.mean is not None:
                values = values - self._along(self.mean, working, index)
            if self.std is not None:
                values = values / self._along(self.std, working, index)
            if self.fill is not None:
                values = np.where(np.isnan(values), working.type(self.fill), values)
            converted: Values = _cast(values, target)
        return converted

    def missing(self, stored: Values) -> Flags:
        """Return which stored elements become NaN."""
        missing = np.zeros(stored.shape, bool)
        for value in self.mask:
            missing |= np.isnan(stored) if value != value else stored == value
        low, high = self.valid_range or (None, None)
        if low is not None:
            missing |= stored < low
        if high is not None:
            missing |= high < stored
        return missing

    def _along(
        self, told: float | tuple[float, ...], working: np.dtype[Any], index: tuple[Any, ...]
    ) -> Values:
        if not isinstance(told, tuple):
            return np.asarray(told, working)
        if self.axis is None:
            raise InvalidError("wanted the axis that mean and std are told along, found none")
        chosen = np.asarray(told, working)[index[self.axis]]
        behind = sum(not isinstance(entry, int) for entry in index[self.axis + 1 :])
        along: Values = chosen.reshape(chosen.shape + (1,) * behind)
        return along


def _listed(told: float | tuple[float, ...] | None) -> Any:
    return list(told) if isinstance(told, tuple) else told


def _cast(values: Values, target: np.dtype[Any]) -> Values:
    """Cast as swath does: to integers, the nearest number that the type has, and 0 of NaN."""
    if target.kind not in "iu":
        return values.astype(target, copy=False)
    bounds = np.iinfo(target)
    whole = np.nan_to_num(np.trunc(values), nan=0.0)
    inside = np.clip(whole, bounds.min, bounds.max)
    cast = np.where(float(bounds.max) <= inside, bounds.max, 0).astype(target)
    below = inside < float(bounds.max)
    cast[below] = inside[below].astype(target)
    return cast


def steps_of(attributes: Mapping[str, Any], dtype: np.dtype[Any], stored_fill: Any = None) -> dict[str, Any]:
    """Return what CF attributes say of masks and scale, as fields of `Decoding`.

    Parameters
    ----------
    attributes : mapping
        The array's: ``_FillValue``, ``missing_value``, ``valid_range``, ``valid_min``, ``valid_max``,
        ``scale_factor``, ``add_offset``.
    dtype : numpy.dtype
        As stored.
    stored_fill : optional
        The fill value of an array of Zarr v2, which counts as ``_FillValue`` where there is none, as it does
        under xarray.
    """
    if "_Unsigned" in attributes:
        raise UnsupportedError("wanted elements of their stored type, found the attribute _Unsigned")
    masked: list[Any] = []
    fill = attributes.get("_FillValue", stored_fill)
    for told in (fill, attributes.get("missing_value")):
        values = told if isinstance(told, list | tuple) else [told]
        masked += [_number(value, dtype) for value in values if value is not None]
    low, high = attributes.get("valid_range") or (attributes.get("valid_min"), attributes.get("valid_max"))
    steps: dict[str, Any] = {"mask": tuple(dict.fromkeys(masked))}
    if low is not None or high is not None:
        steps["valid_range"] = (low, high)
    if "scale_factor" in attributes:
        steps["scale"] = _single("scale_factor", attributes)
    if "add_offset" in attributes:
        steps["offset"] = _single("add_offset", attributes)
    return steps


def _single(name: str, attributes: Mapping[str, Any]) -> float:
    """Return a number of attributes, which some writers store as a list of one."""
    told = np.asarray(attributes[name])
    if told.size != 1 or told.dtype.kind not in "iuf":
        raise InvalidError(f"wanted a number as {name}, found {attributes[name]!r}")
    return float(told.item())


def _number(value: Any, dtype: np.dtype[Any]) -> Any:
    """Return a fill value of attributes as a number: xarray writes those of floats as bytes in base64."""
    if not isinstance(value, str):
        return value.item() if isinstance(value, np.generic) else value
    names = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
    if value in names:
        return names[value]
    try:
        return struct.unpack("<d" if dtype.kind == "f" else "<q", base64.b64decode(value, validate=True))[0]
    except (ValueError, struct.error):
        raise InvalidError(f"wanted a number as _FillValue or missing_value, found {value!r}") from None
