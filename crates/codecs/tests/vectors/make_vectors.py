"""Writes numcodecs.json: see README.md. Run with numcodecs and NumPy installed, in this folder."""

import json

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
    for dtype, astype in [("i4", "i2"), ("f8", "f4"), ("f4", "f8"), ("f8", "i4"), ("f4", "i2"), ("i8", "i4"), ("u2", "u1")]:
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
                yield numcodecs.FixedScaleOffset(offset, scale, dtype, astype), RANDOM.normal(0, 20, 11).astype(dtype)
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


def main():
    entries = []
    with np.errstate(all="raise"):
        for codec, array in cases():
            try:
                entries.append(entry(codec, array))
            except (FloatingPointError, OverflowError):
                continue
    with open("numcodecs.json", "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(entry) for entry in entries) + "\n]\n")
    print(len(entries))


main()
