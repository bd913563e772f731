"""Where the messages of GRIB files and the chunks of HDF5 files lie."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, overload

from swath._swath import ReferenceSet, _are_hdf5, _refuse_images
from swath.convert.fields import Scan, scan
from swath.convert.files import Files, names_of, sources_of
from swath.convert.plans import Damage
from swath.errors import InvalidError, SwathWarning


@dataclass(frozen=True)
class ReferencesReport:
    """What a set of references has, and what it has not."""

    arrays: int
    """Arrays in it."""
    chunks: int
    """Chunks that are byte ranges of the files."""
    damages: list[Damage]
    """What in GRIB files is no sound message, or has no place in the set."""
    left_out: list[tuple[str, str]]
    """What references cannot say: the path of an array or attribute, or the key of a chunk, and why."""
    differing: list[tuple[str, str]]
    """Attributes that other joined files have with other values than the first: which, and where."""


class References(dict[str, Any]):
    """References in kerchunk's JSON: `{"version": 1, "refs": {key: text or [url, offset, length]}}`.

    Made by `swath.convert.references`; a dict like any other but for its report.
    """

    report: ReferencesReport
    """What it has, and what it has not."""

    def __init__(self, document: Mapping[str, Any], report: ReferencesReport) -> None:
        super().__init__(document)
        self.report = report

    def __reduce__(self) -> tuple[Any, ...]:
        return References, (dict(self), self.report)


@overload
def references(
    files: Files | Scan,
    target: None = None,
    *,
    relative: bool = False,
    keep: str | Iterable[str] = (),
    concat: str | None = None,
    record_size: int = 10_000,
    storage_options: Mapping[str, Any] | None = None,
) -> References: ...
@overload
def references(
    files: Files | Scan,
    target: str | PathLike[str],
    *,
    relative: bool = False,
    keep: str | Iterable[str] = (),
    concat: str | None = None,
    record_size: int = 10_000,
    storage_options: Mapping[str, Any] | None = None,
) -> ReferencesReport: ...
def references(
    files: Files | Scan,
    target: str | PathLike[str] | None = None,
    *,
    relative: bool = False,
    keep: str | Iterable[str] = (),
    concat: str | None = None,
    record_size: int = 10_000,
    storage_options: Mapping[str, Any] | None = None,
) -> References | ReferencesReport:
    """List where the messages of GRIB files, or the chunks of an HDF5 file, lie: Zarr v2 without a copy.

    Only the heads of messages, or the metadata of the file, are read; neither ecCodes nor libhdf5 is called.
    `swath.open` takes the dict as it is, or what is written; so does fsspec's `reference` file system. What
    is written is what `swath convert references` writes. docs/convert.md and docs/hdf5.md say what becomes
    what.

    Parameters
    ----------
    files : str, os.PathLike, an iterable of them, or a Scan
        GRIB files of edition 1 or 2, or one HDF5 or NetCDF-4 file, or with `concat` several: paths, or URLs
        as `swath.open` takes them. References name them so, local files by their absolute paths.
    target : str or os.PathLike, optional
        The local file to write the set to, in JSON; or, where its name ends in `.parq` or `.parquet`, a new
        folder, in Parquet. Nothing is written, and a dict is returned, where it is left out.
    relative : bool, default False
        Whether files are named as they lie below the folder of `target`, so that all of it can be moved.
        swath looks for them from there, fsspec from the working directory.
    keep : iterable of str, optional
        Of GRIB files: dimensions that stay where there is one value of them.
    concat : str, optional
        Of HDF5 and NetCDF-4 files: the dimension along which they are joined, in their order, such as "time".
        Its coordinates, and arrays without it, are read. docs/hdf5.md says what has to be the same in all.
    record_size : int, default 10_000
        Of a set in Parquet: the rows of a file.
    storage_options : dict, optional
        How to reach URLs, as for `swath.open`. A scan has its own.

    Returns
    -------
    References or ReferencesReport
        The set as a dict, with its `report`; the report alone where it was written.

    Raises
    ------
    InvalidError
        There are no files, .nat files, several HDF5 files without `concat`, or some that cannot be joined;
        `relative` without a target or of files elsewhere; a folder that is there already.
    CorruptError
        The groups of an HDF5 file cannot be listed.
    UnsupportedError
        No field has a place in the set, or a scheme or an option is not known.
    NotFoundError, StorageError
        There is no such file, or the storage failed.

    Warns
    -----
    SwathWarning
        Of an HDF5 file, for each variable and attribute that references cannot say, with the reason.

    Examples
    --------
    >>> references = swath.convert.references("ocean.nc")
    >>> url, offset, length = references["refs"]["t/0.0.0"]
    >>> offset, length
    (14300, 16)
    >>> swath.open(references)["t"].shape
    (2, 3, 4)
    >>> report = swath.convert.references(["step24.grib2", "step48.grib2"], "forecast.json")
    >>> report.arrays, report.damages
    (7, [])
    >>> swath.open("forecast.json")["t"].shape
    (2, 2, 3)
    """
    if isinstance(files, Scan) and storage_options is not None:
        raise InvalidError("wanted `storage_options` where the files are scanned, found a scan")
    if target is None and relative:
        raise InvalidError("wanted a target that files are named below (`relative`), found none")
    kept = [keep] if isinstance(keep, str) else list(keep)
    native, damages = _listed(files, kept, concat, storage_options)
    report = ReferencesReport(native.arrays, native.chunks, damages, native.left_out, native.differing)
    if target is None:
        return References(native.document(), report)
    native.write(fspath(target), relative, record_size)
    return report


def _listed(
    files: Files | Scan, keep: list[str], concat: str | None, storage_options: Mapping[str, Any] | None
) -> tuple[ReferenceSet, list[Damage]]:
    if not isinstance(files, Scan):
        names, sources = names_of(files), sources_of(storage_options)
        _refuse_images(names)
        if concat is not None or _are_hdf5(names, *sources):
            return _of_hdf5(names, concat, *sources), []
        files = scan(names, storage_options=storage_options)
    if concat is not None:
        raise InvalidError("wanted HDF5 or NetCDF files to join (`concat`), found a scan of GRIB files")
    return ReferenceSet.of_grib(files._native, keep)


def _of_hdf5(names: list[str], concat: str | None, *sources: Any) -> ReferenceSet:
    if concat is None and len(names) != 1:
        wanted = "HDF5 and NetCDF files one by one, or joined along a dimension (`concat`)"
        raise InvalidError(f"wanted {wanted}, found {len(names)} files")
    native = ReferenceSet.of_hdf5(names, concat, *sources)
    for path, reason in native.left_out:
        # Of the caller's caller: of `references`.
        warnings.warn(f"{names[0]}: left out: {path}: {reason}", SwathWarning, stacklevel=4)
    return native
