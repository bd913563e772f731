"""GRIB messages made by hand: small grids, whose values are the numbers that they are packed as."""

import struct
from collections.abc import Sequence


def section(number: int, content: bytes) -> bytes:
    return struct.pack(">IB", len(content) + 5, number) + content


def message(hours: int = 24, day: int = 1, values: Sequence[int] = (1, 2, 3, 4, 5, 6)) -> bytes:
    """Temperature at 500 hPa, so many hours after 06 h of a day in March 2019: 2 x 3 points of 8 bits."""
    grid = bytearray(67)
    grid[4], grid[28], grid[32] = 6, 3, 2
    product = bytearray(b"\xff" * 29)
    product[:17] = bytes([0, 0, 0, 0, 0, 0, 2, 0, 128, 0, 0, 0, 1, 0, 0, 0, hours])
    product[17:23] = bytes([100, 0, 0, 0, 0xC3, 0x50])
    packing = bytearray(16)
    packing[3], packing[14] = 6, 8
    sections = b"".join(
        [
            section(1, bytes([0, 98, 0, 0, 2, 0, 1, 0x07, 0xE3, 3, day, 6, 0, 0, 0, 1])),
            section(3, bytes(grid)),
            section(4, bytes(product)),
            section(5, bytes(packing)),
            section(6, b"\xff"),
            section(7, bytes(values)),
        ]
    )
    return b"GRIB\0\0\0\x02" + struct.pack(">Q", len(sections) + 20) + sections + b"7777"
