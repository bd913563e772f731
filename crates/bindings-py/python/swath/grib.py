"""GRIB messages as chunks for zarr-python: the codecs that references to them name, for numcodecs.

``swath.open`` and ``xarray.open_dataset(..., engine="swath")`` need none of this: they decode such chunks by
themselves. numcodecs finds both codecs by this package's entry points, so that zarr-python reads what
``swath convert references`` and kerchunk's ``scan_grib`` write, through fsspec's ``reference`` file system:
``zarr.open_group(fsspec.get_mapper("reference://", fo="a.json"), mode="r")``.

Where kerchunk is imported, its own codec of the name ``grib`` stands in place of this one. Both decode the
same, but for packings that only one of them knows.
"""

from __future__ import annotations

import json
from typing import Any

import numcodecs.abc
import numcodecs.compat
import numpy as np
import numpy.typing as npt

from swath._swath import _decode_grib

__all__ = ["GribCodec", "SwathGribCodec"]


class GribCodec(numcodecs.abc.Codec):  # type: ignore[misc]
    """The codec ``grib``: a message of GRIB 1 or 2, decoded to its first field, in the order of the file.

    Parameters
    ----------
    var : str
        ``"latitude"`` or ``"longitude"`` for the places of the points, in degrees; anything else for the
        values.
    dtype : str, optional
        ``"float32"`` or ``"float64"``. By default values are float32 and places float64.

    """

    codec_id = "grib"

    def __init__(self, var: str, dtype: str | None = None) -> None:
        self.var = var
        self.dtype = dtype

    def encode(self, buf: Any) -> Any:
        """Refuse to encode: messages are only read.

        Raises
        ------
        NotImplementedError
            Always.

        """
        message = f"wanted to write no GRIB messages, found values to encode by {self.codec_id!r}"
        raise NotImplementedError(message)

    def decode(self, buf: Any, out: Any = None) -> npt.NDArray[Any]:
        """Decode one message.

        Parameters
        ----------
        buf : buffer
            The bytes of a message.
        out : buffer, optional
            Where to put the values: as many elements of ``dtype`` as the grid has points.

        Returns
        -------
        numpy.ndarray
            One element for each point of the grid, of ``dtype``, along one axis; missing ones are NaN.
            ``out`` where that was given.

        Raises
        ------
        swath.CorruptError
            The bytes are no sound message.
        swath.UnsupportedError
            The field has a packing that swath does not know, or its message does not tell where the points
            are.

        """
        message = np.frombuffer(numcodecs.compat.ensure_bytes(buf), np.uint8)
        decoded = _decode_grib(json.dumps(self.get_config()), message)
        return decoded if out is None else numcodecs.compat.ndarray_copy(decoded, out)


class SwathGribCodec(GribCodec):
    """The codec ``swath_grib``: the last field of a message, or of its beginning, row by row.

    Else it is as ``grib``. Its values are in the order in which ``swath convert`` writes them.

    Parameters
    ----------
    var : str
        ``"latitude"`` or ``"longitude"`` for the places of the points, in degrees; anything else for the
        values.
    dtype : str, optional
        ``"float32"`` or ``"float64"``. By default values are float32 and places float64.

    """

    codec_id = "swath_grib"
