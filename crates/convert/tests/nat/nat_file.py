"""Write files in EUMETSAT's native format of SEVIRI Level 1.5 images, from the description of the format.

The records are those of "MSG Level 1.5 Image Data Format Description" (EUM/MSG/ICD/105) and "MSG Level 1.5
Native Format File Definition" (EUM/MSG/SPE/106). Nothing here is shared with the reader that the files test.
Arrays are in the order of files: lines from the south, columns from the east.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any

import numpy as np

NAMES = [
    "VIS006",
    "VIS008",
    "IR_016",
    "IR_039",
    "WV_062",
    "WV_073",
    "IR_087",
    "IR_097",
    "IR_108",
    "IR_120",
    "IR_134",
    "HRV",
]
EPOCH = datetime(1958, 1, 1)
SIZE = 3712

# Times: days since 1958, milliseconds of the day, and what is below a millisecond.
SHORT = [("day", ">u2"), ("millisecond", ">u4")]
LONG = [*SHORT, ("microsecond", ">u2"), ("nanosecond", ">u2")]
SPAN = [("start", SHORT), ("end", SHORT)]


def block(size: int) -> tuple[str, int]:
    """Give the type of octets that are left zeros."""
    return ("u1", size)


PACKET = [
    ("version", "u1"),
    ("packet_type", "u1"),
    ("sub_header_type", "u1"),
    ("facility", "u1"),
    ("environment", "u1"),
    ("instance", "u1"),
    ("unit", ">u4"),
    ("processor", block(4)),
    ("to_facility", "u1"),
    ("to_environment", "u1"),
    ("sequence", ">u2"),
    ("length", ">i4"),
    ("sub_version", "u1"),
    ("has_checksum", "u1"),
    ("acknowledgement", block(4)),
    ("service", "u1"),
    ("sub_service", "u1"),
    ("time", SHORT),
    ("spacecraft", ">u2"),
]
# The length of a packet is what follows this much of it, less one.
PACKET_HEADER_BYTES = 22

COEFFICIENTS = [*SPAN, *((axis, ">f8", 8) for axis in ("x", "y", "z", "vx", "vy", "vz"))]
ATTITUDE = [*SPAN, ("x", ">f8", 8), ("y", ">f8", 8), ("z", ">f8", 8)]
STATUS = [
    ("satellite", ">u2"),
    ("longitude", ">f4"),
    ("state", "u1"),
    ("manoeuvres", block(28)),
    ("orbit_period", SPAN),
    ("orbit", COEFFICIENTS, 100),
    ("attitude_period", SPAN),
    ("axis_offset", ">f8"),
    ("attitude", ATTITUDE, 100),
    ("retreat", ">f8"),
    ("utc_period", SPAN),
    ("on_board", block(7)),
    ("utc", ">f8", 5),
]
ACQUISITION = [
    ("start", LONG),
    ("forward_end", LONG),
    ("end", LONG),
    ("channels", block(12)),
    ("detectors", block(42)),
    ("settings", block(586)),
    ("operations", block(30)),
]
BODY = [*SPAN, ("alpha", ">f8", 8), ("beta", ">f8", 8)]
EVENTS = [
    ("period", SPAN),
    ("orbit_file", "S15"),
    ("attitude_file", "S15"),
    ("bodies", BODY, (3, 100)),
    ("stars", [("star", ">u2"), *BODY], (20, 100)),
    ("relation", block(16)),
]
GRID = [("lines", ">i4"), ("columns", ">i4"), ("line_step", ">f4"), ("column_step", ">f4"), ("origin", "u1")]
# South, north, east, west.
COVERAGE = (">i4", 4)
DESCRIPTION = [
    ("projection", "u1"),
    ("longitude", ">f4"),
    ("grid", GRID),
    ("hrv_grid", GRID),
    ("coverage", *COVERAGE),
    ("hrv_lower", *COVERAGE),
    ("hrv_upper", *COVERAGE),
    ("line_direction", "u1"),
    ("pixel_direction", "u1"),
    ("radiance_types", block(12)),
]
FEEDBACK = [
    ("flags", block(4)),
    ("weights", ">f4", 2),
    ("coefficient", ">f4"),
    ("error", ">f4"),
    ("gsics", ">f4"),
    ("gsics_error", ">f4"),
    ("gsics_count", ">f4"),
]
RADIOMETRY = [
    ("summary", block(72)),
    ("calibration", [("slope", ">f8"), ("offset", ">f8")], 12),
    ("black_body", block(967)),
    ("feedback", FEEDBACK, 12),
    ("transform", ">f4", (42, 64)),
    ("adaptation", block(8448)),
]
GEOMETRY = [
    ("axes", ">f4", (2, 42)),
    ("earth_model", "u1"),
    ("equator", ">f8"),
    ("north_pole", ">f8"),
    ("south_pole", ">f8"),
    ("atmosphere", ">f4", (12, 360)),
    ("resampling", block(12)),
]
HEADER = np.dtype(
    [
        ("packet", PACKET),
        ("version", "u1"),
        ("status", STATUS),
        ("acquisition", ACQUISITION),
        ("events", EVENTS),
        ("description", DESCRIPTION),
        ("radiometry", RADIOMETRY),
        ("geometry", GEOMETRY),
        ("configuration", block(19786)),
    ]
)

PRODUCTION = [
    ("satellite", ">u2"),
    ("nominal", "u1"),
    ("reduced", "u1"),
    ("start", SHORT),
    ("end", SHORT),
    ("behaviour", block(12)),
    ("reception", ">u4", (4, 12)),
    ("validity", "u1", (12, 6)),
    ("coverage", *COVERAGE),
    ("hrv_lower", *COVERAGE),
    ("hrv_upper", *COVERAGE),
]
TRAILER = np.dtype(
    [
        ("packet", PACKET),
        ("version", "u1"),
        ("production", PRODUCTION),
        ("navigation", block(5680)),
        ("radiometric_quality", block(371256)),
        ("geometric_quality", block(2916)),
        ("completeness", block(132)),
    ]
)


def line_type(columns: int) -> np.dtype[Any]:
    """Give the packet of a line: ten bits for each pixel."""
    return np.dtype(
        [
            ("packet", PACKET),
            ("version", "u1"),
            ("satellite", ">u2"),
            ("expected", LONG),
            ("number", ">u4"),
            ("channel", "u1"),
            ("acquired", SHORT),
            ("validity", "u1"),
            ("radiometric", "u1"),
            ("geometric", "u1"),
            ("pixels", block(columns * 5 // 4)),
        ]
    )


def put_time(target: Any, time: datetime) -> None:
    """Write a time into a record, as finely as the record has it."""
    passed = time - EPOCH
    target["day"] = passed.days
    target["millisecond"] = passed.seconds * 1000 + passed.microseconds // 1000
    if "microsecond" in target.dtype.names:
        target["microsecond"] = passed.microseconds % 1000


def packed(pixels: np.ndarray) -> np.ndarray:
    """Pack numbers of ten bits along the last axis, the highest bit first."""
    groups = pixels.astype(">u8").reshape(*pixels.shape[:-1], -1, 4)
    words = groups[..., 0] << 30 | groups[..., 1] << 20 | groups[..., 2] << 10 | groups[..., 3]
    octets = words.astype(">u8")[..., None].view("u1")[..., 3:]
    return np.ascontiguousarray(octets).reshape(*pixels.shape[:-1], -1)


@dataclass(frozen=True)
class Window:
    """A part of the broad channel's grid: first and last line and column, from 1 in the south-east."""

    south: int
    north: int
    east: int
    west: int

    def numbers(self) -> list[int]:
        """Give them in the order of the format."""
        return [self.south, self.north, self.east, self.west]


@dataclass(frozen=True)
class Image:
    """What a file says of its image. Slopes and offsets are such as Meteosat-11 has them."""

    satellite: int = 324
    longitude: float = 0.0
    start: datetime = datetime(2021, 1, 14, 12, 0, 10, 325400)
    minutes: int = 15
    names: tuple[str, ...] = tuple(NAMES)
    south: int = 1
    east: int = 1
    lines: int = SIZE
    columns: int = SIZE
    windows: tuple[Window, ...] = (Window(1, 8004, 1961, 7528), Window(8005, 11136, 3301, 8868))
    hrv_columns: int = 5568
    has_product_header: bool = True
    earth_model: int = 2
    radiance_type: int = 2
    slopes: tuple[float, ...] = (
        0.0236,
        0.0325,
        0.0234,
        0.00366,
        0.00832,
        0.0386,
        0.1266,
        0.1039,
        0.2053,
        0.2226,
        0.1577,
        0.0317,
    )
    gsics: dict[str, tuple[float, float]] = field(default_factory=dict)

    def offsets(self) -> list[float]:
        """Give what a count of 0 is: 51 counts below no radiance."""
        return [-51 * slope for slope in self.slopes]

    def has(self, name: str) -> bool:
        """Tell whether the file has a channel."""
        return name in self.names

    def is_whole(self) -> bool:
        """Tell whether it is the whole disc."""
        return self.lines == SIZE and self.columns == SIZE


def entry(name: str, value: object) -> bytes:
    """Give an entry of a product header."""
    return f"{name:<28}: ".encode() + f"{value}\n".encode().ljust(50)


def product_headers(image: Image, sizes: dict[str, tuple[int, int]], total: int) -> bytes:
    """Give the main and the secondary product header."""
    end = image.start + timedelta(minutes=image.minutes)
    stamp = end.strftime("%Y%m%d%H%M%S") + "Z"
    main = [entry("FormatName", "NATIVE"), entry("FormatDocumentName", "MSG_15_NATIVE_FORMAT_ICD")]
    main += [entry("FormatDocumentMajorVersion", 1), entry("FormatDocumentMinorVersion", 0)]
    main += [entry("CreationDateTime", stamp), entry("CreatingCentre", "CGS1")]
    for number in range(27):
        name, (size, address) = [*sizes.items(), *[("", (0, 0))] * 27][number]
        main.append(
            f"{name:<28}: ".encode()
            + f"{size}".encode().ljust(15)
            + b"\n"
            + f"{address}".encode().ljust(15)
            + b"\n"
        )
    values = {
        "TotalFileSize": total,
        "SNIT": stamp,
        "SSBT": image.start.strftime("%Y%m%d%H%M%S") + "Z",
        "SSST": stamp,
    }
    values |= {"QQOV": "OK", "LLOS": f"{image.longitude:.2f}", "AIID": f"MSG{image.satellite - 320}"}
    names = "TotalFileSize GORT ASTI LLOS SNIT AIID SSBT SSST RRCC RRBT "
    names += "RRST PPRC PPDT GPLV APNM AARF UUDT QQOV UDSP"
    main += [entry(name, values.get(name, "")) for name in names.split()]
    hrv_columns = image.hrv_columns * 2 if image.columns == SIZE else image.hrv_columns
    columns = image.columns + -image.columns % 4
    second = {
        "ABID": "",
        "SMOD": "",
        "APXS": "",
        "AVPA": "",
        "LSCD": "",
        "LMAP": "",
        "QDLC": "",
        "QDLP": "",
        "QQAI": "",
        "SelectedBandIDs": "".join("X" if image.has(name) else "-" for name in NAMES),
        "SouthLineSelectedRectangle": image.south,
        "NorthLineSelectedRectangle": image.south + image.lines - 1,
        "EastColumnSelectedRectangle": image.east,
        "WestColumnSelectedRectangle": image.east + image.columns - 1,
        "NumberLinesVISIR": image.lines,
        "NumberColumnsVISIR": columns,
        "NumberLinesHRV": image.lines * 3,
        "NumberColumnsHRV": hrv_columns,
    }
    return b"".join(main) + b"".join(entry(name, value) for name, value in second.items())


def put_packet(target: Any, size: int, image: Image) -> None:
    """Fill in the headers of a packet of some octets."""
    target["version"], target["packet_type"], target["sub_header_type"] = 1, 2, 1
    target["length"] = size - PACKET_HEADER_BYTES - 1
    target["spacecraft"] = image.satellite
    put_time(target["time"], image.start)


def header(image: Image) -> np.ndarray:
    """Make the data header."""
    record = np.zeros((), HEADER)
    end = image.start + timedelta(minutes=image.minutes, seconds=-18)
    put_packet(record["packet"], HEADER.itemsize, image)
    record["version"] = 9
    status, acquisition = record["status"], record["acquisition"]
    status["satellite"], status["longitude"], status["state"] = image.satellite, image.longitude + 0.4, 2
    put_time(acquisition["start"], image.start)
    put_time(acquisition["forward_end"], end)
    put_time(acquisition["end"], image.start + timedelta(minutes=image.minutes))
    orbit = status["orbit"][0]
    put_time(orbit["start"], image.start - timedelta(hours=1))
    put_time(orbit["end"], image.start + timedelta(hours=5))
    # Twice the first coefficient of Chebyshev's polynomials, in km.
    orbit["x"][0], orbit["y"][0], orbit["z"][0] = 84_328.0, 589.0, 12.0
    description = record["description"]
    description["projection"], description["longitude"] = 1, image.longitude
    for name, size, step in (("grid", SIZE, 3.000403165817), ("hrv_grid", SIZE * 3, 1.000134348869)):
        grid = description[name]
        grid["lines"], grid["columns"], grid["origin"] = size, size, 2
        grid["line_step"], grid["column_step"] = step, step
    put_coverage(description, image)
    description["radiance_types"] = image.radiance_type
    radiometry = record["radiometry"]
    radiometry["calibration"]["slope"], radiometry["calibration"]["offset"] = image.slopes, image.offsets()
    for name, (slope, count) in image.gsics.items():
        feedback = radiometry["feedback"][NAMES.index(name)]
        feedback["gsics"], feedback["gsics_count"] = slope, count
    geometry = record["geometry"]
    geometry["earth_model"], geometry["equator"] = image.earth_model, 6378.169
    geometry["north_pole"] = geometry["south_pole"] = 6356.5838
    return record


def put_coverage(target: Any, image: Image) -> None:
    """Fill in what lines and columns were planned or seen."""
    target["coverage"] = [
        image.south,
        image.south + image.lines - 1,
        image.east,
        image.east + image.columns - 1,
    ]
    for name, window in zip(("hrv_lower", "hrv_upper"), image.windows, strict=False):
        target[name] = window.numbers()


def trailer(image: Image) -> np.ndarray:
    """Make the trailer."""
    record = np.zeros((), TRAILER)
    put_packet(record["packet"], TRAILER.itemsize, image)
    production = record["production"]
    production["satellite"], production["nominal"] = image.satellite, 1
    production["reduced"] = image.minutes == 5
    put_time(production["start"], image.start + timedelta(seconds=1))
    put_time(production["end"], image.start + timedelta(minutes=image.minutes, seconds=-150))
    put_coverage(production, image)
    production["validity"] = [1, 0, 0, 0, 0, 0]
    return record


def record_type(image: Image) -> np.dtype[Any]:
    """Give the record of one line of all channels."""
    others = [name for name in image.names if name != "HRV"]
    parts: list[Any] = [("others", line_type(image.columns + -image.columns % 4), len(others))]
    if image.has("HRV"):
        parts.append(("hrv", line_type(image.hrv_columns), 3))
    return np.dtype(parts)


def put_lines(target: Any, numbers: np.ndarray, channel: int, pixels: np.ndarray, image: Image) -> None:
    """Fill in packets of one channel, one for each number of a line."""
    put_packet(target["packet"], target.dtype.itemsize, image)
    target["satellite"], target["number"], target["channel"] = image.satellite, numbers, channel
    put_time(target["expected"], image.start)
    per_image = SIZE * (3 if channel == 12 else 1)
    passed = image.start - EPOCH
    since = 1000 + numbers.astype("i8") * (image.minutes * 48_000) // per_image
    target["acquired"]["day"] = passed.days
    target["acquired"]["millisecond"] = passed.seconds * 1000 + since
    target["validity"] = target["radiometric"] = target["geometric"] = 1
    target["pixels"] = packed(pixels)


def write(file: IO[bytes], image: Image, counts: Any, lines_at_once: int = 64) -> None:
    """Write a file. `counts(name, first, count)` gives the pixels of some lines of a channel.

    They are as wide as the channel's lines, which count from 0 in the south of the selected ones.
    """
    kind = record_type(image)
    sizes = {
        "15Header": HEADER.itemsize,
        "15Data": kind.itemsize * image.lines,
        "15TRAILER": TRAILER.itemsize,
    }
    start = 5114 if image.has_product_header else 0
    places, end = {}, start
    for name, size in sizes.items():
        places[name] = (size, end)
        end += size
    if image.has_product_header:
        text = product_headers(image, places, end)
        assert len(text) == start, len(text)
        file.write(text)
    file.write(header(image).tobytes())
    others = [name for name in image.names if name != "HRV"]
    for first in range(0, image.lines, lines_at_once):
        count = min(lines_at_once, image.lines - first)
        records = np.zeros(count, kind)
        numbers = np.arange(image.south + first, image.south + first + count)
        for place, name in enumerate(others):
            put_lines(
                records["others"][:, place], numbers, NAMES.index(name) + 1, counts(name, first, count), image
            )
        if image.has("HRV"):
            pixels = counts("HRV", first * 3, count * 3).reshape(count, 3, -1)
            for third in range(3):
                put_lines(records["hrv"][:, third], numbers * 3 - 2 + third, 12, pixels[:, third], image)
        file.write(records.tobytes())
    file.write(trailer(image).tobytes())


def waves(image: Image, seed: int = 0) -> Any:
    """Give a function for `write`: smooth fields with some noise, and zeros around a whole disc."""

    def counts(name: str, first: int, count: int) -> np.ndarray:
        times = 3 if name == "HRV" else 1
        width = image.hrv_columns if name == "HRV" else image.columns + -image.columns % 4
        number = NAMES.index(name) + 1 + seed
        line = (np.arange(first, first + count) / times + image.south)[:, None]
        column = (np.arange(width) / times + image.east)[None, :]
        smooth = 480 + 300 * np.sin(line / (40 + number)) * np.cos(column / (55 - number))
        rows = np.arange(first, first + count, dtype="u4")[:, None] * np.uint32(2654435761)
        mixed = (
            rows + np.arange(width, dtype="u4")[None, :] * np.uint32(40503) + np.uint32(number * 977)
        ) >> np.uint32(7)
        pixels = np.clip(smooth + mixed % 23 - 11, 1, 1023).astype("u2")
        is_outside = (line - 1856) ** 2 + (column - 1856) ** 2 > 1840**2 if image.is_whole() else pixels < 0
        return np.where(is_outside, 0, pixels).astype("u2")

    return counts


def file_name(image: Image) -> str:
    """Give the name that such a file has in the archive."""
    end = image.start + timedelta(minutes=image.minutes, seconds=-150)
    stamp = end.strftime("%Y%m%d%H%M%S") + f".{end.microsecond // 1000:03}000000Z"
    return f"MSG{image.satellite - 320}-SEVI-MSG15-0100-NA-{stamp}-NA.nat"


def made(folder: Path, image: Image, seed: int = 0) -> Path:
    """Write a file of waves into a folder, and give its path."""
    path = folder / file_name(image)
    with path.open("wb") as file:
        write(file, image, waves(image, seed))
    return path


__all__ = ["NAMES", "SIZE", "Image", "Window", "file_name", "made", "replace", "waves", "write"]
