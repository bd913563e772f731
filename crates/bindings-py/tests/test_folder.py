"""The whole folder of real arrays: each reads to the expected values, or says what it would need."""

import hashlib
import json
import re
import shutil
import zipfile
from collections import Counter

import numpy as np
import swath

# What issue 2 lists; anything else may be refused, by name.
DATA_TYPES = {
    "bool",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "r8",
    "r16",
    "r24",
    "r32",
    "|V3",
}
DATA_TYPES |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
REQUIRED = {
    "codec": {"bytes", "transpose", "gzip", "zlib", "zstd", "blosc", "lz4", "crc32c", "sharding_indexed"},
    "data type": DATA_TYPES,
    "storage transformer": set[str](),
}
REFUSED = re.compile(r"not supported: (codec|data type|storage transformer) `([^`]+)`")


def folder_of(key, data_folder, tmp_path):
    """Where the array of a key of expected.json lies as a folder."""
    path, _, version = key.partition("#")
    if "!" in path:
        archive, _, inner = path.partition("!")
        unpacked = tmp_path / archive
        if not unpacked.exists():
            with zipfile.ZipFile(data_folder / archive) as source:
                source.extractall(unpacked)
        return unpacked / inner.strip("/")
    if version == "v2":
        # Both documents lie side by side, and Zarr v3's is read first.
        alone = tmp_path / "v2" / path
        shutil.copytree(data_folder / path, alone, ignore=shutil.ignore_patterns("zarr.json"))
        return alone
    return data_folder / path


def as_json(elements):
    return json.dumps(elements, separators=(",", ":"), ensure_ascii=False).encode()


def sha256(values):
    if values.dtype.kind == "T":
        return hashlib.sha256(as_json(values.ravel().tolist())).hexdigest()
    if values.dtype.kind == "O":
        hexed = np.frompyfunc(lambda element: {"bytes": element.hex()}, 1, 1)(values)
        return hashlib.sha256(as_json(np.asarray(hexed, dtype=object).ravel().tolist())).hexdigest()
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return hashlib.sha256(np.ascontiguousarray(little).tobytes()).hexdigest()


def check(array, expected):
    """Return what is wrong with an array, if anything."""
    if "sha256" not in expected:
        # No other reader decoded it: that it can be read is all there is to check, unless it tells itself.
        values = array[...]
        assert values.shape == array.shape
        if values.dtype.kind == "V" and values.dtype["value"].kind == "O":
            numbers = np.arange(values.size).reshape(values.shape)
            assert (values["is_present"] == (numbers % 4 != 3)).all()
            assert all(
                value == (f"str_{number:04}" if number % 4 != 3 else "")
                for number, value in zip(numbers.ravel(), values["value"].ravel(), strict=True)
            )
        return None
    if list(array.shape) != expected["shape"]:
        return f"shape {array.shape}, wanted {expected['shape']}"
    values = array[...]
    if "mask_sha256" in expected:
        if sha256(values["is_present"]) != expected["mask_sha256"]:
            return "which elements are present"
        values = values["value"]
    if sha256(values) != expected["sha256"]:
        return "values"
    for name, part in expected.get("slices", {}).items():
        index = tuple(slice(*bounds) for bounds in part["start_stop_step"])
        if sha256(array[index]) != part["sha256"]:
            return f"values of slice {name}"
    return None


def test_every_array(data_folder, tmp_path, capsys):
    arrays = json.loads((data_folder / "expected.json").read_text())["zarr"]
    read, wrong, refused = 0, [], Counter()
    for key, expected in arrays.items():
        try:
            fault = check(swath.open_array(folder_of(key, data_folder, tmp_path)), expected)
        except swath.CorruptError as error:
            wrong.append(f"{key}: {error}")
            continue
        except swath.UnsupportedError as error:
            named = REFUSED.search(str(error))
            if named is None:
                wrong.append(f"{key}: refused without a name: {error}")
            elif named[2] in REQUIRED[named[1]]:
                wrong.append(f"{key}: refused, though it should be read: {error}")
            else:
                refused[f"{named[1]} {named[2]}"] += 1
            continue
        read += 1
        if fault:
            wrong.append(f"{key}: {fault}")
    with capsys.disabled():
        reasons = ", ".join(f"{name} ({count})" for name, count in refused.most_common())
        print(f"\n{read} of {len(arrays)} arrays read to the expected values, {len(wrong)} did not;")
        print(f"{refused.total()} need what swath does not read yet: {reasons}")
    assert not wrong, "\n".join(wrong)
    assert 600 < read
