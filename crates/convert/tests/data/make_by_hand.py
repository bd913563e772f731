"""Writes messages in packings that ecCodes reads and cannot write, by the WMO's manual, and what it reads.

Usage: make_by_hand.py, after make.py.
"""

from pathlib import Path

import eccodes
import numpy as np

HERE = Path(__file__).parent
COLUMNS, ROWS = 24, 11


def bits(numbers: np.ndarray | list[int], width: int) -> str:
    """Give numbers of a width as ones and zeros."""
    return "".join(format(int(number), f"0{width}b") for number in numbers) if width else ""


def octets(text: str) -> bytes:
    """Give ones and zeros as octets, filled up with zeros."""
    text += "0" * (-len(text) % 8)
    return bytes(int(text[place : place + 8], 2) for place in range(0, len(text), 8))


def write(name: str, message: bytes, wanted: np.ndarray) -> None:
    """Write a message and what ecCodes reads of it, where that is what was meant."""
    read = eccodes.codes_new_from_message(message)
    eccodes.codes_set(read, "missingValue", 1e20)
    found = eccodes.codes_get_values(read)
    found = np.where(found == 1e20, np.nan, found)
    if not np.allclose(found, wanted, rtol=1e-12, atol=0, equal_nan=True):
        raise SystemExit(f"{name}: ecCodes reads something else")
    (HERE / f"{name}.grib").write_bytes(message)
    (HERE / f"{name}.f64").write_bytes(found.astype("<f8").tobytes())


def second_order(name: str, flags: int) -> None:
    """Second-order packing that is not extended.

    A group for each row, or a secondary bitmap (0x20); widths for each group (0x10).
    """
    source = (HERE / "simple1_12.grib").read_bytes()
    grid = 8 + int.from_bytes(source[8:11], "big")
    data = grid + int.from_bytes(source[grid : grid + 3], "big")
    numbers = np.random.default_rng(3).integers(0, 200, COLUMNS * ROWS) + np.repeat(
        np.arange(ROWS) * 50, COLUMNS
    )
    starts = list(range(0, len(numbers), COLUMNS))
    if flags & 0x20:
        starts = sorted({0, 3, 4, 30, *range(50, len(numbers), 17)})
    groups = np.split(numbers, starts[1:])
    references = [int(group.min()) for group in groups]
    widths = [int(group.max() - group.min()).bit_length() for group in groups]
    if not flags & 0x10:
        widths = [max(widths)] * len(groups)
    listed = bytes(widths if flags & 0x10 else widths[:1])
    if flags & 0x20:
        listed += octets(bits([place in starts for place in range(len(numbers))], 1))
    first = octets(bits(references, 10))
    second = octets(
        "".join(
            bits(group - least, width) for group, least, width in zip(groups, references, widths, strict=True)
        )
    )
    places = [22 + len(listed), 22 + len(listed) + len(first)]
    head = b"\x50" + source[data + 4 : data + 10] + b"\x0a" + places[0].to_bytes(2, "big") + bytes([flags])
    head += (
        places[1].to_bytes(2, "big")
        + len(groups).to_bytes(2, "big")
        + len(numbers).to_bytes(2, "big")
        + b"\0"
    )
    content = head + listed + first + second
    content += b"\0" * ((len(content) + 3) % 2)
    rest = source[8:data] + (len(content) + 3).to_bytes(3, "big") + content + b"7777"
    message = b"GRIB" + (len(rest) + 8).to_bytes(3, "big") + b"\1" + rest
    read = eccodes.codes_new_from_message(message)
    reference, binary, decimal = (
        eccodes.codes_get(read, key) for key in ("referenceValue", "binaryScaleFactor", "decimalScaleFactor")
    )
    write(name, message, (numbers * 2.0**binary + reference) * 10.0**-decimal)


def run_length() -> None:
    """Runs of seven levels in four bits: digits of lengths are to the base of eight; level 0 is missing."""
    source = (HERE / "simple2_8.grib").read_bytes()
    sections, place = [], 16
    while source[place : place + 4] != b"7777":
        length = int.from_bytes(source[place : place + 4], "big")
        sections.append(source[place : place + length])
        place += length
    levels = np.repeat([0, 3, 7, 1, 2, 0, 5], [1, 40, 9, 100, 1, 2, 111])
    text, start = "", 0
    while start < len(levels):
        end = start
        while end < len(levels) and levels[end] == levels[start]:
            end += 1
        text += bits([levels[start]], 4)
        rest = end - start - 1
        while rest:
            text += bits([8 + rest % 8], 4)
            rest //= 8
        start = end
    values = [5, 10, 20, 40, 80, 160, 320]
    packing = (
        len(levels).to_bytes(4, "big")
        + (200).to_bytes(2, "big")
        + bytes([4])
        + (7).to_bytes(2, "big")
        + (7).to_bytes(2, "big")
    )
    packing += bytes([1]) + b"".join(value.to_bytes(2, "big") for value in values)
    made = {5: packing, 7: octets(text)}
    whole = b""
    for section in sections:
        content = made.get(section[4], section[5:])
        whole += (len(content) + 5).to_bytes(4, "big") + section[4:5] + content
    message = source[:8] + (len(whole) + 20).to_bytes(8, "big") + whole + b"7777"
    write("run_length2", message, np.array([np.nan, *[value / 10 for value in values]])[levels])


second_order("second_order_rows1", 0x10)
second_order("second_order_bitmap1", 0x20)
second_order("second_order_bitmap_widths1", 0x30)
run_length()
