"""GRIB files and images of SEVIRI to Zarr, and HDF5 files as Zarr in place: `swath convert` from Python.

``scan`` lists the fields of GRIB files, ``plan`` says what Zarr would be made of them, or of SEVIRI's
``.nat`` files, and ``Plan.write`` makes it: at once, in pieces on many machines, and again after it was
interrupted. ``references`` says where the messages of GRIB files, or the chunks of HDF5 and NetCDF-4 files,
lie.
"""

from __future__ import annotations

from swath.convert.fields import Scan, scan
from swath.convert.pieces import to_dask
from swath.convert.plans import (
    Access,
    Calibrate,
    Coefficients,
    Damage,
    Extent,
    Piece,
    Plan,
    Report,
    append,
    plan,
    resume,
)
from swath.convert.reference_sets import References, ReferencesReport, references

__all__ = [
    "Access",
    "Calibrate",
    "Coefficients",
    "Damage",
    "Extent",
    "Piece",
    "Plan",
    "References",
    "ReferencesReport",
    "Report",
    "Scan",
    "append",
    "plan",
    "references",
    "resume",
    "scan",
    "to_dask",
]
