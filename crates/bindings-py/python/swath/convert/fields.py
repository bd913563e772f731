"""What fields GRIB files have."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload, override

from swath._swath import FieldScan, _are_images
from swath.convert.files import Files, Sources, names_of, sources_of
from swath.errors import InvalidError

if TYPE_CHECKING:
    import pyarrow


class Scan(Sequence[dict[str, Any]]):
    """The fields of GRIB files: a sequence of dicts, in the order of the files and of what is in them.

    Each dict has `file`, `offset` and `length` of its message, `field` (its number within it), `edition`,
    `centre`, `subcentre`, `parameter`, `level`, `time` (the reference time), `step`, `grid`, `packing`,
    `bits`, and where the packed values are (`data_offset`, `data_length`); some have `level_to`, `ensemble`
    and `bitmap`. Numbers are those of the edition's tables; levels are in the unit of their type, Pa in
    edition 2 and hPa in edition 1, steps in seconds.

    The dicts are made when they are first looked at: a plan of very many fields needs less memory.

    Made by `swath.convert.scan`; `swath.convert.plan` takes it in place of files, which are not scanned
    again.
    """

    def __init__(self, native: FieldScan, sources: Sources) -> None:
        self._native = native
        self._sources = sources

    @cached_property
    def _records(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        records = self._native.records()
        return (
            [record for record in records if "damage" not in record],
            [record for record in records if "damage" in record],
        )

    @property
    def _fields(self) -> list[dict[str, Any]]:
        return self._records[0]

    @property
    def damages(self) -> list[dict[str, Any]]:
        """What is no sound message.

        Each has `file`, `offset`, `length`, `damage` ("truncated", "corrupt", "unsupported", "unread", or
        "stray" for bytes between messages) and `message`.
        """
        return self._records[1]

    @override
    def __len__(self) -> int:
        return len(self._fields)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    @override
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        return self._fields[index]

    @override
    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._fields)

    @override
    def __repr__(self) -> str:
        return f"<swath.convert.Scan of {len(self)} fields, {len(self.damages)} damages>"

    def to_arrow(self) -> pyarrow.Table:
        """Give the fields and damages as a flat table, which needs pyarrow.

        Returns
        -------
        pyarrow.Table
            A row for each field and each damage, with the columns that docs/convert.md lists; what does not
            apply is null.

        Raises
        ------
        ImportError
            There is no pyarrow.

        Examples
        --------
        >>> swath.convert.scan("step24.grib2").to_arrow().column("step_seconds").to_pylist()
        [86400]
        """
        from pyarrow import parquet

        return parquet.read_table(io.BytesIO(self._native.parquet()))

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write the same table to a Parquet file, which is there once it is whole.

        Parameters
        ----------
        path : str or os.PathLike
            A local file; one that is there is replaced.

        Raises
        ------
        OSError
            It cannot be written.

        Examples
        --------
        >>> swath.convert.scan("step24.grib2").to_parquet("fields.parquet")
        """
        target = Path(path)
        partial = target.with_name(target.name + ".partial")
        partial.write_bytes(self._native.parquet())
        partial.replace(target)


def scan(files: Files, *, side_cars: bool = True, storage_options: Mapping[str, Any] | None = None) -> Scan:
    """List every field of GRIB files, and what in them is no sound message, by reads of section heads alone.

    Files are scanned at the same time; the GIL is released meanwhile, and Ctrl-C ends it.

    Parameters
    ----------
    files : str, os.PathLike or an iterable of them
        GRIB files of edition 1 or 2: paths, or URLs as `swath.open` takes them.
    side_cars : bool, default True
        Whether `.idx` and `.index` files beside remote files of 8 MiB and more say where messages begin.
    storage_options : dict, optional
        How to reach URLs, as for `swath.open`.

    Returns
    -------
    Scan
        The fields, and the damages: a file that is not there is one of them.

    Raises
    ------
    InvalidError, UnsupportedError
        There are no files, or a scheme or an option is not known. Files called `.nat` are images, and have no
        fields: `plan` reads their headers.

    Examples
    --------
    >>> fields = swath.convert.scan("step24.grib2")
    >>> fields[0]["level"], fields[0]["step"]
    ({'type': 100, 'value': 50000.0}, {'seconds': 86400})
    >>> fields.damages
    []
    """
    names = names_of(files)
    if _are_images(names):
        raise InvalidError(
            f"wanted GRIB files to scan for fields, found images: swath.convert.plan({names[0]!r}) "
            "reads the headers of .nat files, and says what they hold"
        )
    sources = sources_of(storage_options)
    return Scan(FieldScan(names, *sources, side_cars), sources)
