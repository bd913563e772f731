"""What a conversion of GRIB files, or of images of SEVIRI, writes, and writing it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, Literal, TypedDict, override

from swath import _swath
from swath.convert.fields import Scan, scan
from swath.convert.files import Files, Sources, names_of, sources_of
from swath.errors import CorruptError, InvalidError

type Access = Literal["fields", "training-fields", "crops", "timeseries"]
type Calibrate = Literal["counts", "radiance", "reflectance-or-temperature"]
type Coefficients = Literal["nominal", "gsics"]
type Extent = int | Literal["all"]
type Target = str | PathLike[str] | object
type Progress = bool | Callable[[int, int], object] | None


class Damage(TypedDict):
    """Something in a file that is not in the store."""

    file: str
    """The path or URL of the file."""
    offset: int
    """Bytes of the file before it."""
    length: int
    """Bytes of it."""
    damage: str
    """"truncated", "corrupt", "unsupported" or "unread" as scans find it; "unplanned" for a field that has no
    place in a plan, "unwritten" for one, or a line of an image, that could not be read or unpacked."""
    message: str
    """What was wanted, and what was found."""


@dataclass(frozen=True)
class Report:
    """What a run has written."""

    fields: int
    """Fields, or images, that are in the store now, those of runs before that it went on with too."""
    variables: int
    """Variables that the plan has."""
    damages: list[Damage]
    """What is not in the store: of what is "unwritten" the values are NaN, and counts 0."""


@dataclass(frozen=True)
class Piece:
    """One of several parts of a plan that may be written at the same time, by any processes."""

    plan: Plan
    """The plan."""
    number: int
    """Which part, from 0."""
    count: int
    """Of how many."""

    @property
    def fields(self) -> int:
        """How many fields, or images, it writes."""
        return self.plan._native.fields_of(self.number, self.count)

    def write(
        self,
        target: Target,
        *,
        journal: str | PathLike[str] | None = None,
        strict: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        source_options: Mapping[str, Any] | None = None,
        progress: Progress = False,
    ) -> Report:
        """Write it: see `Plan.write_piece`."""
        return self.plan.write_piece(
            self.number,
            self.count,
            target,
            journal=journal,
            strict=strict,
            storage_options=storage_options,
            source_options=source_options,
            progress=progress,
        )


class Plan:
    """What a conversion of GRIB files writes: Zarr groups, their variables, and the fields that fill them.

    Of images of SEVIRI it is one group, and an image counts where a field does.

    Made by `swath.convert.plan`, or `from_json`. `print(plan)` says what would be written, as
    `swath convert --plan` does. It is plain data without any values: it can be pickled (of the options to
    reach its files what is no secret), compared, kept as JSON, and written anywhere where its files are.

    Attributes
    ----------
    damages : list of dict
        What of the files is not in the plan, as `swath.convert.Damage` has it. JSON does not keep it.

    Examples
    --------
    >>> plan = swath.convert.plan("step24.grib2")
    >>> print(plan)
    t (latitude 2, longitude 3) float32, chunks (2, 3), codec zstd
    time = 1551420000
    step = 24
    isobaricInhPa = 500
    valid_time = 1551506400
    1 group, 1 variable, 1 field, 24 B before compression in up to 1 objects
    >>> plan.write("forecast.zarr").fields
    1
    """

    damages: list[Damage]

    def __init__(
        self, native: _swath.ConversionPlan | _swath.ImagePlan, damages: list[Damage], sources: Sources
    ) -> None:
        self._native = native
        self._sources = sources
        self.damages = damages

    @override
    def __str__(self) -> str:
        return self._native.text()

    @override
    def __repr__(self) -> str:
        return f"<swath.convert.Plan of {self.fields} fields in {len(self.files)} files>"

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.to_json() == other.to_json()

    @override
    def __hash__(self) -> int:
        return hash(self.to_json())

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        options, provider = self._sources
        return _unpickled, (self.to_json(), self.damages, _swath._public_options(options), provider)

    def __dask_tokenize__(self) -> object:
        """Return what tells this plan from others, for dask."""
        return "swath.convert.Plan", self.to_json()

    @property
    def files(self) -> list[str]:
        """The absolute paths and URLs of the files."""
        return self._native.files

    @property
    def fields(self) -> int:
        """How many fields, or images, will be written."""
        return self._native.fields

    @property
    def variables(self) -> list[str]:
        """The paths of the variables in the store."""
        return self._native.variables

    def to_json(self) -> str:
        """Give the plan as JSON, as `swath convert --plan=FILE` writes it and `--piece` takes it."""
        return self._native.to_json()

    @classmethod
    def from_json(cls, text: str, *, storage_options: Mapping[str, Any] | None = None) -> Plan:
        """Make the plan that JSON says.

        Parameters
        ----------
        text : str
            What `to_json` or `swath convert --plan=FILE` gave.
        storage_options : dict, optional
            How to reach its files, as for `swath.open`.

        Raises
        ------
        InvalidError
            It is no plan, or its parts contradict each other.

        Examples
        --------
        >>> plan = swath.convert.plan("step24.grib2")
        >>> swath.convert.Plan.from_json(plan.to_json()) == plan
        True
        """
        return cls(_swath._plan_of_json(text), [], sources_of(storage_options))

    def pieces(self, count: int) -> list[Piece]:
        """Cut the plan into so many pieces of whole shards, so that no two write the same object.

        Some are empty where there are fewer shards.

        Raises
        ------
        InvalidError
            The count is below 1.

        Examples
        --------
        >>> plan = swath.convert.plan(["step24.grib2", "step48.grib2"])
        >>> [piece.fields for piece in plan.pieces(2)]
        [1, 1]
        """
        if count < 1:
            raise InvalidError(f"wanted at least 1 piece, found {count}")
        return [Piece(self, number, count) for number in range(count)]

    def write(
        self,
        target: Target,
        *,
        journal: str | PathLike[str] | bool = True,
        strict: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        source_options: Mapping[str, Any] | None = None,
        progress: Progress = None,
    ) -> Report:
        """Write all of the plan to a new store, as Zarr v3 with consolidated metadata.

        Each object is written whole and once; where a point or a field is missing is NaN. In memory are
        fields for as many threads as there are processors (16 where files are remote), as many as an object
        has each, within a gigabyte, or one object if that is larger; of images docs/nat.md says it. The GIL
        is released; Ctrl-C ends the call, and `resume` goes on from there.

        Parameters
        ----------
        target : str, os.PathLike or a store
            Where the store is to be: a directory that is not there yet, or what else `swath.open` can write
            to.
        journal : str, os.PathLike or bool, default True
            The folder of the journal, which says what is done so that another run goes on. True is
            TARGET.journal beside a local target, and none for others; False is none.
        strict : bool, default False
            Whether a field or a line that cannot be read ends the call, rather than be left out.
        storage_options : dict, optional
            How to reach the target, as for `swath.open`.
        source_options : dict, optional
            How to reach the files; those of the plan, where it is left out.
        progress : bool or function, optional
            Whether a bar shows how many fields, or bands of images, are written, as for `Array.read`, or a
            function that is told.

        Returns
        -------
        Report
            How much was written, and the fields that were not.

        Raises
        ------
        InvalidError
            There is something at the target or in the journal's folder already, or files have changed since
            the plan was made: they are named, and nothing is written.
        CorruptError, UnsupportedError
            With `strict`, that of the first field that cannot be read.
        StorageError
            A file is not there, or the storage failed.

        Examples
        --------
        >>> report = swath.convert.plan("step24.grib2").write("forecast.zarr")
        >>> report.fields, report.damages
        (1, [])
        """
        return self._written(target, None, journal, strict, storage_options, source_options, progress)

    def write_piece(
        self,
        number: int,
        count: int,
        target: Target,
        *,
        journal: str | PathLike[str] | None = None,
        strict: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        source_options: Mapping[str, Any] | None = None,
        progress: Progress = False,
    ) -> Report:
        """Write one piece of the plan, beside others if need be, on any machine that sees the files.

        Pieces may be written in any order, at the same time, and again; the first one writes the coordinates.
        The one that ends last leaves the consolidated metadata of all. Only on a file system without locks of
        folders (NFS, SMB) call `swath.consolidate_metadata` once all are done, as `to_dask` does.

        Parameters
        ----------
        number : int
            Which piece, from 0: `swath convert --piece` counts from 1.
        count : int
            Of how many.
        target : str, os.PathLike or a store
            The same for all pieces.
        journal : str or os.PathLike, optional
            A folder that all pieces see, so that one that was interrupted goes on when it is written again.
            None by default.
        strict, storage_options, source_options, progress
            As for `write`.

        Returns
        -------
        Report
            Of this piece.

        Raises
        ------
        InvalidError
            There is no such piece, something else is at the target, the journal is that of another plan, or
            files have changed since the plan was made.
        CorruptError, UnsupportedError, StorageError
            As for `write`.

        Examples
        --------
        >>> plan = swath.convert.plan(["step24.grib2", "step48.grib2"])
        >>> [plan.write_piece(number, 2, "forecast.zarr").fields for number in range(2)]
        [1, 1]
        """
        piece = (number, count)
        if not 0 <= number < count:
            raise InvalidError(f"wanted a piece from 0 to {count - 1} of {count}, found {number}")
        given = False if journal is None else journal
        return self._written(target, piece, given, strict, storage_options, source_options, progress)

    def _written(
        self,
        target: Target,
        piece: tuple[int, int] | None,
        journal: str | PathLike[str] | bool,
        strict: bool,
        storage_options: Mapping[str, Any] | None,
        source_options: Mapping[str, Any] | None,
        progress: Progress,
    ) -> Report:
        sources = self._sources if source_options is None else sources_of(source_options)
        folder = None if isinstance(journal, bool) else fspath(journal)
        return Report(
            *self._native.write(
                target, storage_options, sources, piece, folder, journal is True, strict, progress
            )
        )


def _unpickled(text: str, damages: list[Damage], *sources: Any) -> Plan:
    options, provider = sources
    return Plan(_swath._plan_of_json(text), damages, (options, provider))


def plan(
    files: Files | Scan,
    *,
    access: Access | None = None,
    chunks: Mapping[str, Extent] | None = None,
    shards: Mapping[str, Extent] | Literal["none"] | None = None,
    codec: str | Iterable[Mapping[str, Any]] | None = "auto",
    mantissa_bits: int | None = None,
    keep: Iterable[str] = (),
    calibrate: Calibrate = "counts",
    coefficients: Coefficients = "nominal",
    channels: Iterable[str] = (),
    strict: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> Plan:
    """Say what Zarr would be made of GRIB files or images of SEVIRI; only the heads of messages are read.

    Fields are sorted into variables and hypercubes as cfgrib does, with its names, units and coordinates;
    gaps are allowed. One hypercube is written to the root of the store, several to a group each.

    Files called `.nat` are images of SEVIRI, of which the headers are read (8 KB each): one group along
    time, as docs/nat.md describes it.

    Parameters
    ----------
    files : str, os.PathLike, an iterable of them, or a Scan
        GRIB files of edition 1 or 2, as for `scan`, or `.nat` files, and not both.
    access : {"fields", "training-fields", "crops", "timeseries"}, optional
        How the values will be read, from which chunks and shards follow: a chunk is a field and an object of
        its own ("fields", where nothing is given); a field in shards of up to 128 MiB of fields; 128 by 128
        points of a field in such shards; a long time of few points in shards of 256 MiB of whole fields.
    chunks : dict, optional
        In place of `access`: elements of a chunk by the names of dimensions, such as
        `{"time": 24, "latitude": 100}`; "all" or -1 for all, "level" for one of any type. Of others one, or
        all of the grid. Of images, such as `{"channel": "all", "y": 128, "x": 128}`: of others one, or 232
        rows and columns (`y_hrv` and `x_hrv` are those of HRV).
    shards : dict or "none", optional
        Elements of a shard in the same way, whole chunks; of dimensions that are not named a chunk, or all of
        the grid. Of images shards are bands of 232 rows where nothing is given.
    codec : str, list of dict or None, default "auto"
        The compressor: NAME or NAME:LEVEL of zstd, gzip, blosc (zstd with shuffle), "none" or None; or a list
        of codecs as Zarr v3's metadata has them. "auto" is what suits the packing of each variable: zstd
        behind blosc's bitshuffle where values have ten bits or more that a power of two scales, as ECMWF's
        do, or where mantissas are rounded; else zstd of level 3. Of images it is bits side by side (blosc
        with a bit shuffle) behind lz4, or zstd where they are calibrated. "packbits", of counts alone, stores
        their ten bits one behind the other.
    mantissa_bits : int, optional
        Bits of the mantissa to keep of each value, 1 to 23: the others are rounded off, half to even, and
        values compress better. The relative error is at most 2 ** -(mantissa_bits + 1). All where it is left
        out.
    keep : iterable of str, optional
        Dimensions that stay where there is one value of them, so that `append` can add more: "time", as a
        rule.
    calibrate : {"counts", "radiance", "reflectance-or-temperature"}, default "counts"
        Of `.nat` files: what pixels are written as. Numbers of ten bits (uint16, 0 is no data); or 32-bit
        floats, in mW m-2 sr-1 (cm-1)-1; or in percent of solar channels and in K of others.
    coefficients : {"nominal", "gsics"}, default "nominal"
        Of `.nat` files that are calibrated: by which coefficients of their headers. Those of GSICS are taken
        of channels that have them, the nominal ones of others.
    channels : iterable of str, optional
        Of `.nat` files: the channels to write, such as `["IR_108", "HRV"]`; all that there are by default.
    strict : bool, default False
        Whether damages in the files are an error.
    storage_options : dict, optional
        How to reach the files, as for `swath.open`. A scan has its own.

    Returns
    -------
    Plan
        To be printed, kept, or written. Its `damages` say what is not in it.

    Raises
    ------
    InvalidError
        Extents or options that make no sense, or none for files of this kind; there are no files, or some are
        `.nat` files and others are not. A ValueError too.
    CorruptError
        With `strict`, there are damages.
    StorageError
        A file is not there, or the storage failed.
    UnsupportedError
        No field has a place in a plan, images are not of one view, or a scheme or an option is not known.

    Examples
    --------
    >>> plan = swath.convert.plan(["step24.grib2", "step48.grib2"], chunks={"step": 2}, codec="gzip")
    >>> print(str(plan).splitlines()[0])
    t (step 2, latitude 2, longitude 3) float32, chunks (2, 2, 3), codec gzip
    """
    if access is not None and chunks is not None:
        raise InvalidError("wanted `access` or `chunks`, found both")
    if mantissa_bits is not None and not 1 <= mantissa_bits <= 23:
        raise InvalidError(f"wanted 1 to 23 mantissa bits, found {mantissa_bits}")
    extents = (_extents("chunks", chunks), [] if shards == "none" else _extents("shards", shards))
    if isinstance(files, Scan):
        if storage_options is not None:
            raise InvalidError("wanted `storage_options` where the files are scanned, found a scan")
        found = files
    else:
        names = names_of(files)
        if _swath._are_images(names):
            _refuse({"access": access, "mantissa_bits": mantissa_bits, "keep": keep or None})
            layout = (*extents, _codec(codec))
            calibration = (calibrate, coefficients)
            return _plan_of_images(names, calibration, channels, layout, strict, storage_options)
        found = scan(names, storage_options=storage_options)
    if calibrate != "counts" or coefficients != "nominal" or channels:
        raise InvalidError(
            "wanted `calibrate`, `coefficients` and `channels` of .nat files alone, found them of GRIB files"
        )
    native, damages = _swath.ConversionPlan.of(
        found._native,
        "fields" if access is None else access,
        *extents,
        "zstd:3" if codec == "auto" else _codec(codec),
        mantissa_bits,
        [keep] if isinstance(keep, str) else list(keep),
    )
    _check(damages, strict)
    return Plan(native, damages, found._sources)


def _plan_of_images(
    names: list[str],
    calibration: tuple[Calibrate, Coefficients],
    channels: Iterable[str],
    layout: tuple[list[tuple[str, int]] | None, list[tuple[str, int]] | None, str],
    strict: bool,
    storage_options: Mapping[str, Any] | None,
) -> Plan:
    sources = sources_of(storage_options)
    wanted = [channels] if isinstance(channels, str) else list(channels)
    chunks, shards, codec = layout
    native, damages = _swath.ImagePlan.of(names, sources, *calibration, wanted, chunks, shards, codec)
    _check(damages, strict)
    return Plan(native, damages, sources)


def _refuse(given: Mapping[str, object]) -> None:
    """Name the first argument that is given and has no meaning for images."""
    for name, value in given.items():
        if value is not None:
            raise InvalidError(f"wanted `{name}` of GRIB files alone, found it of .nat files")


def resume(
    target: Target,
    *,
    journal: str | PathLike[str] | None = None,
    strict: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    source_options: Mapping[str, Any] | None = None,
    progress: Progress = None,
) -> Report:
    """Go on with a conversion that was interrupted: what its journal says is done is not done again.

    The store becomes the one that an undisturbed run makes. Where all is done, nothing is written.

    Parameters
    ----------
    target : str, os.PathLike or a store
        The store.
    journal : str or os.PathLike, optional
        The folder of its journal: TARGET.journal beside a local target, where it is left out.
    strict, storage_options, progress
        As for `Plan.write`.
    source_options : dict, optional
        How to reach the files, as for `swath.open`.

    Returns
    -------
    Report
        Of all that is written, the runs before too.

    Raises
    ------
    NotFoundError
        There is no journal.
    InvalidError
        Files have changed since the plan was made: they are named, and nothing is written.
    CorruptError, UnsupportedError, StorageError
        As for `Plan.write`.

    Examples
    --------
    >>> swath.convert.plan("step24.grib2").write("forecast.zarr").fields
    1
    >>> swath.convert.resume("forecast.zarr").fields
    1
    """
    folder = None if journal is None else fspath(journal)
    sources = sources_of(source_options)
    return Report(*_swath._resume_conversion(target, storage_options, sources, folder, strict, progress))


def append(
    files: Files | Scan,
    target: Target,
    *,
    journal: str | PathLike[str] | None = None,
    strict: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    source_options: Mapping[str, Any] | None = None,
    progress: Progress = None,
) -> Report:
    """Add the fields of new files to a store, behind what it has along one dimension.

    Each hypercube of the files must be in the store: of the same centre, grid, type of level and variables. A
    field whose place is there is written over what it holds. Chunks, shards and codec stay as they are. Where
    it is interrupted, `resume` goes on.

    Images of SEVIRI, of `.nat` files, must be later than all that are there; quantity and channels are those
    of the store.

    Parameters
    ----------
    files : str, os.PathLike, an iterable of them, or a Scan
        GRIB files, or `.nat` files, that are not in the store, as for `plan`.
    target : str, os.PathLike or a store
        The store, which `Plan.write` has made with a journal and, of one value, with `keep`.
    journal : str or os.PathLike, optional
        The folder of its journal: TARGET.journal beside a local target, where it is left out.
    strict : bool, default False
        Whether damages in the files, or a field that cannot be read, are an error.
    storage_options : dict, optional
        How to reach the target, as for `swath.open`.
    source_options : dict, optional
        How to reach the files, as for `swath.open`. A scan has its own.
    progress : bool or function, optional
        As for `Plan.write`.

    Returns
    -------
    Report
        Of what has joined.

    Raises
    ------
    UnsupportedError
        The store has no such hypercube, or coordinates would come before or between those that are stored:
        nothing is written.
    InvalidError
        A file is in the store already, or the conversion before is not finished.
    NotFoundError
        There is no journal.
    CorruptError, StorageError
        As for `Plan.write`.

    Examples
    --------
    >>> report = swath.convert.plan("step24.grib2", keep=["step"]).write("forecast.zarr")
    >>> swath.convert.append("step48.grib2", "forecast.zarr").fields
    1
    >>> swath.open("forecast.zarr/t").shape
    (2, 2, 3)
    """
    folder = None if journal is None else fspath(journal)
    if isinstance(files, Scan):
        found = files
    else:
        names = names_of(files)
        if _swath._are_images(names):
            sources = sources_of(source_options)
            return Report(
                *_swath._append_images(names, target, storage_options, sources, folder, strict, progress)
            )
        found = scan(names, storage_options=source_options)
    damages: list[Any] = [damage for damage in found.damages if damage["damage"] != "stray"]
    _check(damages, strict)
    fields, variables, left = _swath._append_conversion(
        found._native, target, storage_options, found._sources, folder, strict, progress
    )
    return Report(fields, variables, damages + left)


def _check(damages: list[Damage], strict: bool) -> None:
    if strict and damages:
        first = damages[0]
        where = f"{first['file']} at {first['offset']}: {first['message']}"
        raise CorruptError(f"{len(damages)} damages, and nothing is written: the first is {where}")


def _extents(name: str, given: Mapping[str, Extent] | None) -> list[tuple[str, int]] | None:
    """Return elements by the names of dimensions, 0 for all of them."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise InvalidError(f"wanted `{name}` by the names of dimensions, found {given!r}")
    return [(dimension, _extent(name, dimension, extent)) for dimension, extent in given.items()]


def _extent(name: str, dimension: str, extent: Extent) -> int:
    if extent in ("all", -1):
        return 0
    if isinstance(extent, bool) or not isinstance(extent, int) or extent < 1:
        raise InvalidError(f'wanted `{name}` along {dimension} of at least 1, or "all", found {extent!r}')
    return extent


def _codec(codec: str | Iterable[Mapping[str, Any]] | None) -> str:
    """Return a codec in words, or a list of them in JSON."""
    if codec is None:
        return "none"
    return codec if isinstance(codec, str) else json.dumps([dict(one) for one in codec])
