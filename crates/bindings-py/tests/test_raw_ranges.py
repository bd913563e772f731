"""Ranges of bytes of any object."""

import numpy as np
import pytest
import swath
from hypothesis import given
from hypothesis import strategies as st
from test_cloud import serve

BYTES = np.random.default_rng(1).integers(0, 256, 200_000, np.uint8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("ranges")
    for number in range(3):
        (path / f"{number}.bin").write_bytes(np.roll(BYTES, number).tobytes())
    return path


ranges = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 200_000), st.integers(0, 5000)), max_size=40)


@given(ranges=ranges, coalesce=st.sampled_from([None, 0, 1, 100_000]), by_ends=st.booleans())
def test_ranges_are_what_files_hold(folder, ranges, coalesce, by_ends):
    starts = [start for _, start, _ in ranges]
    ends = [min(start + length, 200_000) for _, start, length in ranges]
    lengths = [end - start for start, end in zip(starts, ends, strict=True)]
    urls = [folder / f"{number}.bin" for number, _, _ in ranges]
    extent = {"ends": ends} if by_ends else {"lengths": lengths}
    read = swath.io.get_ranges(urls, starts=starts, coalesce=coalesce, **extent)
    assert read.buffer.dtype == np.uint8
    assert read.offsets.tolist() == [0, *np.cumsum(lengths)]
    for (number, start, _), end, found in zip(ranges, ends, read.split(), strict=True):
        np.testing.assert_array_equal(found, np.roll(BYTES, number)[start:end])


def test_one_object_and_out(folder):
    out = np.empty(12, np.uint8)
    buffer, offsets = swath.io.get_ranges(
        str(folder / "0.bin"), starts=np.array([5, 100]), lengths=(4, 8), out=out
    )
    assert buffer is out
    assert offsets.tolist() == [0, 4, 12]
    np.testing.assert_array_equal(out, np.concatenate([BYTES[5:9], BYTES[100:108]]))
    assert swath.io.get_range(folder / "0.bin", start=3, end=10) == BYTES[3:10].tobytes()


def test_merging_is_as_asked_for(folder):
    def count(**options):
        before = swath.stats()["logical_reads"], swath.stats()["merged_reads"]
        swath.io.get_ranges(folder / "0.bin", starts=range(0, 4000, 40), lengths=[10] * 100, **options)
        after = swath.stats()["logical_reads"], swath.stats()["merged_reads"]
        return after[0] - before[0], after[1] - before[1]

    swath.set_file_access("buffered")
    try:
        assert count(coalesce=0) == (100, 0)
        assert count(coalesce=29) == (100, 0)
        logical, merged = count(coalesce=30)
        assert logical == 100
        assert 0 < merged
    finally:
        swath.set_file_access(None)


def test_urls(folder):
    with serve(folder) as served:
        options = {"allow_http": True}
        urls = [f"{served.url}/0.bin", f"{served.url}/1.bin", f"{served.url}/0.bin"]
        for coalesce, requests in [(0, 3), (1000, 2)]:
            before = len(served.requests())
            read = swath.io.get_ranges(
                urls, starts=[1, 2, 500], lengths=[3, 4, 5], coalesce=coalesce, storage_options=options
            )
            np.testing.assert_array_equal(read.split()[0], BYTES[1:4])
            np.testing.assert_array_equal(read.split()[1], np.roll(BYTES, 1)[2:6])
            np.testing.assert_array_equal(read.split()[2], BYTES[500:505])
            asked = [request for request in served.requests()[before:] if not request[1].startswith("/-/")]
            assert len(asked) == requests


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"starts": [0]}, "neither"),
        ({"starts": [0], "ends": [1], "lengths": [1]}, "both"),
        ({"starts": [0, 1], "ends": [1]}, "as many"),
        ({"starts": [5], "ends": [1]}, "before its start"),
        ({"starts": [-1], "lengths": [1]}, "at least 0"),
        ({"starts": [0.5], "lengths": [1]}, "integers"),
        ({"starts": [[0]], "lengths": [1]}, "shape"),
        ({"starts": [0], "lengths": [1], "coalesce": -1}, "coalesce"),
        ({"starts": [0], "lengths": [5], "out": np.empty(4, np.uint8)}, "shape"),
        ({"starts": [0], "lengths": [5], "out": np.empty(5, np.int8)}, "dtype"),
        ({"starts": [0], "lengths": [2**63]}, "address"),
    ],
)
def test_what_does_not_fit(folder, arguments, message):
    with pytest.raises(swath.InvalidError, match=message):
        swath.io.get_ranges(folder / "0.bin", **arguments)


def test_what_is_not_there(folder):
    with pytest.raises(swath.SwathError, match=r"gone\.bin"):
        swath.io.get_ranges(folder / "gone.bin", starts=[0], lengths=[1])
    with pytest.raises(swath.SwathError, match=r"0\.bin"):
        swath.io.get_ranges(folder / "0.bin", starts=[0, 199_999], lengths=[1, 2])
    with pytest.raises(swath.InvalidError, match="one for each"):
        swath.io.get_ranges([folder / "0.bin"] * 3, starts=[0, 1], lengths=[1, 1])
    with pytest.raises(swath.UnsupportedError, match="gopher"):
        swath.io.get_ranges("gopher://host/a", starts=[0], lengths=[1])
