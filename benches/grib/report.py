"""The page of the race of GRIB readers."""

from __future__ import annotations

from typing import Any

from benches.grib.cases import POINTS
from benches.grib.contenders import CONTENDERS, ECCODES, SWATH
from benches.grib.race import TIMES, Row
from benches.runner.tables import NOTHING, machine_table, markdown, number

# What swath must show.
DECODE_TIMES_MIN, SCAN_TIMES_MIN = 1.0, 10.0

HEAD = """# Performance of reading GRIB

Written by `make bench-grib`; do not edit. Contenders took {passes} passes in turn, each a process of its
own that uses one thread; numbers are medians, and how many times faster is the median of each pass's share.

## Decoding

A message of 1440 x 721 points becomes numbers in memory: the temperature at 500 hPa of an AIFS run, as it
was published (`AIFS's`) and packed by ecCodes with so many bits, and one of GFS on a surface of potential
vorticity, with gaps, as NCEP packs it (`GFS's`). A pass is {times} decodings, each from the message's bytes
in memory: its sections are read, and its values computed. ecCodes is called through its C library and fills
memory that is there, as swath does; gribberish is called through its Python package, and allocates for each
message. swath's values were compared with ecCodes': those of 64 bits are the same to the last one, of 32
bits near (ecCodes computes some of them in 32 bits).
"""

SCANS = """
## Listing the fields of a file

A file of {count} messages of 180 x 91 points, in the page cache. swath writes a line of JSON for each field
into memory; cfgrib ({cfgrib}) makes its index, with the keys that `open_dataset` asks for, and writes none
beside the file; gribberish maps keys to offsets, after the file was read into memory.
"""


def page(record: dict[str, Any], decodings: list[Row], scans: list[Row]) -> str:
    """Return the page."""
    cfgrib = next((row for row in scans if row.contender == ECCODES.name), None)
    parts = [
        HEAD.format(passes=record["passes"], times=TIMES),
        machine_table(record),
        decoding_table(decodings),
        SCANS.format(
            count=f"{next((row.count for row in scans if row.contender == SWATH.name), 0):,}",
            cfgrib=cfgrib.version if cfgrib else NOTHING,
        ),
        scan_table(scans),
        "\nVersions: " + ", ".join(versions(decodings)) + ".",
    ]
    return "\n".join(parts) + "\n"


def versions(rows: list[Row]) -> list[str]:
    """Return what the contenders said of themselves."""
    found = {row.contender: row.version for row in rows if row.version}
    return [f"{name} {version}" for name, version in found.items()]


def decoding_table(rows: list[Row]) -> str:
    """Return milliseconds of a message, and what swath must show."""
    names = [one.name for one in CONTENDERS]
    head = ["packing, bits, result", *(f"{name} ms" for name in names), "swath: million points/s"]
    lines = []
    for case in dict.fromkeys(row.case for row in rows):
        of_case = {row.contender: row for row in rows if row.case == case}
        own = of_case[SWATH.name]
        medians = [of_case[name].median for name in names]
        cells = [number(None if median is None else median * 1e3) for median in medians]
        rate = None if own.median is None else POINTS / own.median / 1e6
        times = of_case[ECCODES.name].times(own)
        lines.append([case, *cells, number(rate), number(times), verdict(times, DECODE_TIMES_MIN)])
    return markdown([*head, "times ecCodes' rate", f"≥ {DECODE_TIMES_MIN:g}"], lines)


def scan_table(rows: list[Row]) -> str:
    """Return seconds of each contender, and what swath must show."""
    own = next(row for row in rows if row.contender == SWATH.name)
    lines = []
    for row in rows:
        name = "cfgrib" if row.contender == ECCODES.name else row.contender
        times = None if row is own else row.times(own)
        passed = verdict(times, SCAN_TIMES_MIN) if row.contender == ECCODES.name else ""
        lines.append([name, number(row.median), f"{row.count:,}", number(times), passed or row.reason])
    return markdown(["", "seconds", "fields", "swath: times faster", f"≥ {SCAN_TIMES_MIN:g}"], lines)


def verdict(found: float | None, wanted: float) -> str:
    """Say whether what is found is enough."""
    if found is None:
        return NOTHING
    return "pass" if wanted <= found else "**fail**"


def failures(decodings: list[Row], scans: list[Row]) -> list[str]:
    """Return what swath did not show."""
    missed = []
    for rows, wanted in ((decodings, DECODE_TIMES_MIN), (scans, SCAN_TIMES_MIN)):
        for row in rows:
            own = next(one for one in rows if (one.case, one.contender) == (row.case, SWATH.name))
            times = row.times(own) if row.contender == ECCODES.name else None
            if times is not None and times < wanted:
                missed.append(f"{row.case}: {times:.2f} of {wanted:g}")
    return missed
