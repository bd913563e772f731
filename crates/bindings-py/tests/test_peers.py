"""What swath writes the others read, and the reverse, over random arrays; NumPy says what they hold."""

import json
import os
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from compatibility.libraries import LIBRARIES
from hypothesis import HealthCheck, given, note, seed, settings
from hypothesis import strategies as st
from peers import cases

# Cases that are tried; SWATH_CASES=20000 for a full run, SWATH_SEED for the same ones again.
CASES = int(os.environ.get("SWATH_CASES", "100"))
SEED = int(os.environ.get("SWATH_SEED", random.randrange(1 << 32)))


@pytest.fixture(scope="module")
def counts():
    """How many arrays each library read of each writer; printed, so that a run says what it was worth."""
    counted = {}
    yield counted
    for (writer, reader), count in sorted(counted.items()):
        print(f"{reader} read {count} arrays that {writer} wrote")
    if 1000 <= CASES:
        assert len(counted) == (1 + len(LIBRARIES)) * len(LIBRARIES), counted


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("peers")


def box(draw, shape):
    """Draw a box of at least one element, where there are some."""
    bounds = [sorted((draw(st.integers(0, length - 1)), draw(st.integers(1, length)))) for length in shape]
    return tuple(slice(first, max(last, first + 1)) for first, last in bounds)


@seed(SEED)
@settings(deadline=None, max_examples=CASES, print_blob=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_library_reads_what_every_other_wrote(folder, counts, data):
    note(f"SWATH_SEED={SEED}")
    case = data.draw(cases())
    path = Path(folder) / "a"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    (path / (".zarray" if case.zarr_format == 2 else "zarr.json")).write_text(json.dumps(case.document))
    note(json.dumps(case.document))
    writers = [one for one in LIBRARIES if case.able(one.name, "w")]
    expected = np.full(case.shape, case.fill_value, case.dtype.newbyteorder("="))
    wrote = "nobody"
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 16)))
    for _ in range(data.draw(st.sampled_from([1, 2, 3, 0]))):
        writer = data.draw(st.sampled_from(writers))
        part = box(data.draw, case.shape) if 0 not in case.shape else (slice(None),) * len(case.shape)
        # Few values, so that some chunks are the fill value and nothing else.
        values = (
            rng.integers(0, data.draw(st.sampled_from([1, 2, 100])), expected[part].shape) + case.fill_value
        )
        expected[part] = values.astype(expected.dtype)
        wrote = writer.name
        # All of it: what two libraries make of a part of an array is not in the table.
        writer.write(path, case.zarr_format, expected)
    for reader in LIBRARIES:
        if case.able(reader.name, "r"):
            found = reader.read(path, case.zarr_format)
            assert found.shape == expected.shape, f"{reader.name} of what {wrote} wrote"
            np.testing.assert_array_equal(found, expected, f"{reader.name} of what {wrote} wrote")
            counts[wrote, reader.name] = counts.get((wrote, reader.name), 0) + 1
