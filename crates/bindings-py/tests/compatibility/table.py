"""What each library reads and writes, found out by having each read what the others wrote."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compatibility.features import Feature, every_feature
from compatibility.libraries import LIBRARIES, Library, Values

NOTE = """\
# Compatibility

What swath, zarr-python, zarrs and TensorStore read and write, feature by feature. Each library wrote an
array of each feature into a folder that has its document already, and each read what the others wrote; the
values have to be those that were written. A test does the same again and compares the answers with this
page, which is written by `python -m compatibility` in `crates/bindings-py/tests`.

- **rw**: reads what the others wrote, and another library reads what it wrote.
- **r**: reads what the others wrote; does not write it, or nobody else reads what it wrote.
- **w**: another library reads what it wrote; nobody else writes it, so reading was tried on none.
- **own**: reads what it wrote itself, and there is no other to compare with.
- **≠**: takes the array, and gives or writes other values than another library does.
- **no**: refuses it; or none of the four wrote any, so that there was nothing to read.

zarrs is asked through zarrista, which leaves out some of its codecs, and gives and takes only what NumPy or
DLPack have a type for.

"""


@dataclass(frozen=True)
class Answers:
    """Who wrote an array of a feature, and what each library made of each of them."""

    # For each writer and reader: True for right values, False for others, None where the reader refuses.
    read: dict[tuple[str, str], bool | None]
    # Why a writer or a reader refused, for people.
    reasons: dict[str, str]

    def cell(self, library: str) -> str:
        """Say what the table says of a library."""
        others = [library_.name for library_ in LIBRARIES if library_.name != library]
        reads = [self.read.get((writer, library)) for writer in others if self.trusted(writer)]
        writes = [self.read.get((library, reader)) for reader in others]
        if False in reads or (False in writes and True not in writes):
            return "≠"
        can_read, can_write = True in reads and None not in reads, True in writes
        if can_read or can_write:
            return "r" * can_read + "w" * can_write
        return "own" if self.read.get((library, library)) else "no"

    def trusted(self, writer: str) -> bool:
        """Tell whether a library other than the writer reads what it wrote."""
        return any(right and by == writer != reader for (by, reader), right in self.read.items())


def try_feature(feature: Feature, folder: Path) -> Answers:
    """Have every library write an array of the feature, and every library read each of them."""
    answers = Answers({}, {})
    for writer in LIBRARIES:
        path = folder / writer.name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        document = ".zarray" if feature.zarr_format == 2 else "zarr.json"
        (path / document).write_text(json.dumps(feature.document))
        # Panics of Rust are no Exceptions.
        try:
            writer.write(path, feature.zarr_format, feature.values)
        except BaseException as error:
            answers.reasons[f"{writer.name} writes"] = _said(error)
            continue
        for reader in LIBRARIES:
            answers.read[writer.name, reader.name] = _reads(reader, path, feature, answers.reasons)
    return answers


def _reads(reader: Library, path: Path, feature: Feature, reasons: dict[str, str]) -> bool | None:
    try:
        found = reader.read(path, feature.zarr_format)
    except BaseException as error:
        reasons[f"{reader.name} reads {path.name}"] = _said(error)
        return None
    right = same(feature.values, found, feature.tolerance)
    if not right:
        reasons[f"{reader.name} reads {path.name}"] = f"other values: {found!r}"[:300]
    return right


def _said(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt | SystemExit):
        raise error
    return f"{type(error).__name__}: {error}"[:300]


def same(wanted: Values, found: Values, tolerance: float) -> bool:
    """Tell whether values are those that were written, in whatever byte order and form of strings."""
    if wanted.shape != found.shape:
        return False
    if wanted.dtype.names or wanted.dtype.kind in "V":
        return wanted.tobytes() == np.ascontiguousarray(found.astype(found.dtype.newbyteorder("<"))).tobytes()
    if wanted.dtype.kind in "OUTS":
        return [_text(one) for one in wanted.flat] == [_text(one) for one in found.flat]
    if tolerance:
        return bool(np.all(np.abs(wanted.astype("f8") - found.astype("f8")) <= tolerance))
    return wanted.dtype.itemsize == found.dtype.itemsize and bool(np.all(wanted == found))


def _text(value: object) -> object:
    return value.encode() if isinstance(value, str) else bytes(value) if isinstance(value, bytes) else value


def rows(folder: Path) -> Iterator[tuple[Feature, Answers]]:
    """Try every feature."""
    for feature in every_feature():
        yield feature, try_feature(feature, folder)


def render(found: list[tuple[Feature, Answers]]) -> str:
    """Write the page."""
    lines = [NOTE + "Asked of " + ", ".join(f"{one.package} {one.version}" for one in LIBRARIES[1:]) + ".\n"]
    section = ""
    for feature, answers in found:
        if feature.section != section:
            section = feature.section
            lines.append(f"\n## {section}\n")
            lines.append("|  | " + " | ".join(one.name for one in LIBRARIES) + " |")
            lines.append("| --- |" + " :---: |" * len(LIBRARIES))
        cells = " | ".join(answers.cell(one.name) for one in LIBRARIES)
        lines.append(f"| {feature.name.replace('|', chr(92) + '|')} | {cells} |")
    return "\n".join(lines) + "\n"
