"""Writes numcodecs.json and cast_value.json, in this folder: see README.md."""

import json
from pathlib import Path

import cast_value_rs
import numcodecs
import numpy as np

RANDOM = np.random.default_rng(20261122)
WHOLE = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = ["f2", "f4", "f8"]


def elements(dtype, count=11):
    kind = np.dtype(dtype).kind
    if kind == "b":
        return RANDOM.integers(0, 2, count).astype("?")
    if kind == "f":
        return np.concatenate([RANDOM.normal(0, 100, count), [0, -0.0, 1.5, 2.5, -2.5]]).astype(dtype)
    info = np.iinfo(dtype)
    return RANDOM.integers(info.min, info.max, count, dtype=dtype, endpoint=True)


def small(dtype, count=11):
    low = 0 if np.dtype(dtype).kind == "u" else -20
    return RANDOM.integers(low, 60, count).astype(dtype)


def cases():
    for dtype in [*WHOLE, *FLOATS, "?"]:
        yield numcodecs.Delta(dtype), elements(dtype)
    for dtype, astype in [
        ("i4", "i2"),
        ("f8", "f4"),
        ("f4", "f8"),
        ("f8", "i4"),
        ("f4", "i2"),
        ("i8", "i4"),
        ("u2", "u1"),
    ]:
        yield numcodecs.Delta(dtype, astype), np.sort(small(dtype))
    for dtype in FLOATS:
        for keepbits in (0, 1, 3, 7, 10):
            yield numcodecs.BitRound(keepbits), elements(dtype)
        for digits in (-2, -1, 0, 1, 2, 3):
            yield numcodecs.Quantize(digits, dtype), elements(dtype)
    yield numcodecs.Quantize(5, "f8", "f4"), elements("f8")
    yield numcodecs.Quantize(12, "f8"), elements("f8")
    yield numcodecs.Quantize(3, "f4", "f8"), elements("f4")
    for decoded in [*WHOLE, *FLOATS]:
        for encoded in [*WHOLE, *FLOATS, "?"]:
            yield numcodecs.AsType(encoded, decoded), np.abs(small(decoded))
    for dtype in WHOLE:
        for astype in WHOLE:
            yield numcodecs.AsType(astype, dtype), elements(dtype)
        for astype in FLOATS[1:]:
            yield numcodecs.AsType(dtype, astype), np.abs(small(astype))
    yield numcodecs.AsType("u1", "?"), elements("?")
    for dtype in FLOATS:
        for scale, offset in [(10, 1000), (0.5, 2.25), (100.0, -3), (7, 0)]:
            for astype in [None, "i2", "i4", "i8", "f4"]:
                if dtype == "f2" and astype is not None:
                    continue
                yield (
                    numcodecs.FixedScaleOffset(offset, scale, dtype, astype),
                    RANDOM.normal(0, 20, 11).astype(dtype),
                )
    for dtype in WHOLE:
        for scale, offset in [(3, 5), (2.5, 5), (3, 1.25), (0.1, 0)]:
            yield numcodecs.FixedScaleOffset(offset, scale, dtype, "i4"), np.abs(small(dtype)) + 5
            yield numcodecs.FixedScaleOffset(offset, scale, dtype), np.abs(small(dtype)) % 20 + 5
    for count in (0, 1, 7, 8, 9, 100):
        yield numcodecs.PackBits(), elements("?", count)


def entry(codec, array):
    encoded = np.asarray(codec.encode(array))
    decoded = np.asarray(codec.decode(encoded)).astype(array.dtype, copy=False)
    return {
        "codec": codec.get_config(),
        "dtype": array.dtype.str,
        "source": array.tobytes().hex(),
        "encoded": encoded.tobytes().hex(),
        "decoded": decoded.tobytes().hex(),
    }


def casts():
    """Every pair of types with every rounding and treatment of what is out of range."""
    whole = [
        0,
        1,
        -1,
        2,
        127,
        128,
        -128,
        -129,
        255,
        256,
        32767,
        32768,
        65535,
        65536,
        2**31 - 1,
        2**31,
        -(2**31) - 1,
    ]
    whole += [
        2**24 + 1,
        2**24 + 3,
        2**32,
        2**53 + 1,
        2**53 + 3,
        2**63 - 1,
        2**63,
        2**64 - 1,
        -(2**63),
        2**62 + 2**8 + 1,
    ]
    floats = [
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        0.1,
        1e-3,
        65504.0,
        65519.0,
        65520.0,
        6e-8,
        2.9e-8,
        1e-45,
        1e38,
        3.5e38,
        -3.5e38,
        -0.0,
    ]
    floats += [
        1e300,
        127.5,
        -128.5,
        255.5,
        1 + 2.0**-24,
        1 + 3 * 2.0**-24,
        9.3e18,
        1.9e19,
        float("nan"),
        float("inf"),
    ]
    for source in ["i2", "i8", "u8", "f4", "f8"]:
        is_float = np.dtype(source).kind == "f"
        if is_float:
            with np.errstate(all="ignore"):
                values = np.array([*whole, *floats], "f8").astype(source)
        else:
            info = np.iinfo(source)
            values = np.array([value for value in whole if info.min <= value <= info.max], source)
        for target in ["i1", "i4", "i8", "u2", "u8", "f2", "f4"]:
            for rounding in [
                "nearest-even",
                "towards-zero",
                "towards-positive",
                "towards-negative",
                "nearest-away",
            ]:
                for out_of_range in [None, "clamp", "wrap"]:
                    if out_of_range == "wrap" and np.dtype(target).kind == "f":
                        continue
                    yield values, target, rounding, out_of_range


def cast_entry(values, target, rounding, out_of_range):
    """Every value by itself, since one that is refused refuses the array."""
    stored = []
    for value in values:
        try:
            cast = cast_value_rs.cast_array(
                np.array([value]),
                target_dtype=np.dtype(target),
                rounding_mode=rounding,
                out_of_range_mode=out_of_range,
            )
            stored.append(cast.tobytes().hex())
        except ValueError:
            stored.append(None)
    return {
        "from": values.dtype.name,
        "to": np.dtype(target).name,
        "rounding": rounding,
        "out_of_range": out_of_range,
        "values": values.tobytes().hex(),
        "stored": stored,
    }


def write(name, entries):
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
    Path(name).write_text(f"[\n{lines}\n]\n")
    print(name, len(entries))


def main():
    entries = []
    with np.errstate(all="raise"):
        for codec, array in cases():
            try:
                entries.append(entry(codec, array))
            except (FloatingPointError, OverflowError):
                continue
    write("numcodecs.json", entries)
    write("cast_value.json", [cast_entry(*case) for case in casts()])


main()
