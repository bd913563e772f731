"""Writes the tables of `src/parameters`: what parameters are called, as ecCodes and so cfgrib call them.

Usage: make_parameters.py DEFINITIONS

DEFINITIONS is the folder of that name of ecCodes (Apache-2.0). Only what a scan knows of a field is asked
for: rows that depend on anything else, such as chemical constituents, are left out, and most local tables.
"""

import re
import sys
from pathlib import Path

TARGET = Path(__file__).parents[2] / "src" / "parameters"
CONCEPTS = ("shortName", "paramId", "name", "units", "cfName", "cfVarName")

# The centres whose own parameters are told, and their folders.
CENTRES = {1: {"98": "ecmf"}, 2: {"7": "kwbc", "98": "ecmf"}}

# The tables of edition 1 of which ECMWF's are told.
TABLES = {"128", "140", "151", "162", "228", "230", "235"}

# What a row of edition 2 may ask for: one letter each.
SURFACES = {"First": "a", "Second": "b"}

# Rows that ask for more are of single layers of soil or sea.
CONDITIONS_MAX = 7

Conditions = dict[str, str]


def concept(path: Path) -> list[tuple[str, Conditions]]:
    """Give the values of a concept, each with its conditions."""
    if not path.exists():
        return []
    text = re.sub(r"(?m)^#.*$", "", path.read_text())
    rows = re.finditer(r"'([^']*)'\s*=\s*\{([^}]*)\}", text)
    return [(row[1], dict(re.findall(r"(\w+)\s*=\s*([^;]+?)\s*;", row[2]))) for row in rows]


def token(edition: int, conditions: Conditions) -> str | None:
    """Give the conditions in short, or nothing where a scan cannot tell them."""
    left = dict(conditions)
    if edition == 1:
        own = [left.pop("table2Version", ""), left.pop("indicatorOfParameter", "")]
        tokens = [".".join(own)]
        if "indicatorOfTypeOfLevel" in left:
            tokens.append("a" + left.pop("indicatorOfTypeOfLevel"))
        if "level" in left:
            tokens.append("A" + left.pop("level"))
        return None if left or not all(map(str.isdigit, own)) else " ".join(tokens)
    # Numbers that a centre may use as it likes are its own whichever version of its tables they are of.
    left.pop("localTablesVersion", None)
    names = ("discipline", "parameterCategory", "parameterNumber")
    own = [left.pop(name, "") for name in names]
    tokens = [".".join(own)]
    for surface, letter in SURFACES.items():
        if (kind := left.pop(f"typeOf{surface}FixedSurface", None)) is not None:
            tokens.append(letter + kind)
        value = left.pop(f"scaledValueOf{surface}FixedSurface", None)
        scale = left.pop(f"scaleFactorOf{surface}FixedSurface", None)
        if value is not None and scale is not None:
            is_missing = "missing()" in (value, scale)
            tokens.append(letter.upper() + ("-" if is_missing else f"{int(value) / 10 ** int(scale):g}"))
        elif value is not None or scale is not None:
            return None
    if "typeOfStatisticalProcessing" in left:
        tokens.append("s" + left.pop("typeOfStatisticalProcessing"))
    is_plain = all(re.fullmatch(r"[\d.]+|[a-zA-Z][-\d.e+]+", token) for token in tokens)
    return " ".join(tokens) if is_plain and not left and all(map(str.isdigit, own)) else None


def best(rows: list[tuple[str, Conditions]], state: Conditions) -> str:
    """Give the value whose conditions are met, with the most of them; the last one of several."""
    found, most = "", 0
    for value, conditions in rows:
        is_met = all(state.get(key) == wanted for key, wanted in conditions.items())
        if is_met and most <= len(conditions):
            found, most = value, len(conditions)
    return found


def is_wanted(edition: int, centre: str, conditions: Conditions) -> bool:
    """Say whether a row is told."""
    if edition == 1:
        return not centre or conditions.get("table2Version") in TABLES
    return conditions.get("discipline") != "192" and len(conditions) <= CONDITIONS_MAX


def lines(edition: int, folder: Path, centre: str, local: str, suffix: str = "") -> list[str]:
    """Give the rows of one folder of definitions."""
    own = folder / "localConcepts" / local if local else folder
    concepts = {name: concept(own / f"{name}{suffix}.def") for name in CONCEPTS}
    for name in ("cfName", "cfVarName"):
        concepts[name] += concept(folder / f"{name}.def") if local else []
    of = {
        name: {str(sorted(conditions.items())): value for value, conditions in rows}
        for name, rows in concepts.items()
    }
    found = []
    for short, conditions in concepts["shortName"]:
        short_token = token(edition, conditions)
        if short_token is None or not is_wanted(edition, centre, conditions):
            continue
        key = str(sorted(conditions.items()))
        variable = best(concepts["cfVarName"], conditions)
        fields = [
            centre,
            short_token,
            of["paramId"].get(key, "0"),
            short,
            "" if variable == short else variable,
            of["units"].get(key, ""),
            best(concepts["cfName"], conditions),
            of["name"].get(key, ""),
        ]
        found.append("\t".join(fields))
    return found


def numbers(line: str) -> str:
    """Give the numbers of a row's parameter."""
    return line.split("\t")[1].split(" ")[0]


def main() -> None:
    """Write a table for each edition."""
    definitions = Path(sys.argv[1])
    for edition in (1, 2):
        folder = definitions / f"grib{edition}"
        # Where two rows ask for as much, the later one counts: the WMO's are last.
        found = [
            line
            for centre, local in CENTRES[edition].items()
            for line in lines(edition, folder, centre, local)
        ]
        found += lines(edition, folder, "", "")
        # Names that were given up count where nothing else has these numbers.
        taken = {numbers(line) for line in found}
        found += [line for line in lines(edition, folder, "", "", ".legacy") if numbers(line) not in taken]
        (TARGET / f"edition{edition}.tsv").write_text("\n".join(found) + "\n")


main()
