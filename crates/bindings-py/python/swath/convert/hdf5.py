"""Where the chunks of HDF5 files lie."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from swath._swath import _hdf5_references
from swath.convert.files import File, name_of, sources_of
from swath.errors import SwathWarning


def references(file: File, *, storage_options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """List where the chunks of an HDF5 or NetCDF-4 file lie: Zarr v2 without a copy, as kerchunk writes it.

    Only the metadata are read; libhdf5 is not called. `swath.open` takes the dict as it is, fsspec's
    `reference` file system and what `json.dump` makes of it too. docs/hdf5.md says what becomes what.

    Parameters
    ----------
    file : str or os.PathLike
        A path, or a URL as `swath.open` takes them. References name it so, as an absolute path.
    storage_options : dict, optional
        How to reach a URL, as for `swath.open`.

    Returns
    -------
    dict
        A reference set of version 1: `{"version": 1, "refs": {key: text or [url, offset, length]}}`.

    Raises
    ------
    InvalidError
        The file is no HDF5 file.
    CorruptError
        Its groups cannot be listed.
    NotFoundError, StorageError
        There is no such file, or the storage failed.

    Warns
    -----
    SwathWarning
        For each variable and attribute that references cannot say, with the reason; it is left out.

    Examples
    --------
    >>> references = swath.convert.references("ocean.nc")
    >>> url, offset, length = references["refs"]["t/0.0.0"]
    >>> offset, length
    (14300, 16)
    >>> swath.open(references)["t"].shape
    (2, 3, 4)
    """
    name = name_of(file)
    document, left_out = _hdf5_references(name, *sources_of(storage_options))
    for path, reason in left_out:
        warnings.warn(f"{name}: left out: {path}: {reason}", SwathWarning, stacklevel=2)
    return document
