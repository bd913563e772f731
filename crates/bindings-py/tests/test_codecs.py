"""Codecs that swath lacks and numcodecs or zarr-python have: of the user's own, mostly."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
import warnings
from dataclasses import dataclass

import numcodecs
import numpy as np
import pytest
import swath
import zarr
from numcodecs.abc import Codec
from numcodecs.compat import ensure_bytes, ndarray_copy
from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec

SLOW = "decoded by Python, which is slow: codec"


class Inverted(Codec):
    """A compressor, so to speak."""

    codec_id = "swath-inverted"

    def __init__(self, fault=None):
        self.fault = fault

    def encode(self, buf):
        return bytes(255 - byte for byte in ensure_bytes(buf))

    def decode(self, buf, out=None):
        if self.fault == "interrupt":
            raise KeyboardInterrupt
        if self.fault == "unsupported":
            raise swath.UnsupportedError("wanted another version")
        if self.fault == "raises":
            raise ValueError("wanted another chunk")
        decoded = bytes(255 - byte for byte in ensure_bytes(buf))
        if self.fault == "long":
            decoded += b"more"
        return ndarray_copy(decoded, out)


class Halved(Codec):
    """A filter of arrays."""

    codec_id = "swath-halved"

    def encode(self, buf):
        assert buf.dtype == np.dtype("i4")
        return (np.asarray(buf) // 2).astype("i2")

    def decode(self, buf, out=None):
        return ndarray_copy(np.frombuffer(ensure_bytes(buf), "i2").astype("i4") * 2, out)


class Objects(Codec):
    """A filter that makes arrays of Python objects of bytes, as numcodecs' `vlen-utf8` does."""

    codec_id = "swath-objects"

    def encode(self, buf):
        return np.full(len(ensure_bytes(buf)) // 8, "x", "O")

    def decode(self, buf, out=None):
        return np.full(len(ensure_bytes(buf)) // 8, "x", "O")


@dataclass(frozen=True)
class InvertedV3(BytesBytesCodec):
    """The same, for zarr-python's pipeline."""

    is_fixed_size = True

    @classmethod
    def from_dict(cls, data):
        return cls()

    def to_dict(self):
        return {"name": "swath-inverted", "configuration": {}}

    async def _decode_single(self, chunk_data, chunk_spec):
        await asyncio.sleep(0)
        decoded = bytes(255 - byte for byte in chunk_data.to_bytes())
        return chunk_spec.prototype.buffer.from_bytes(decoded)

    _encode_single = _decode_single

    def compute_encoded_size(self, input_byte_length, chunk_spec):
        return input_byte_length


@dataclass(frozen=True)
class Text(ArrayBytesCodec):
    """Numbers in decimal digits."""

    is_fixed_size = False

    @classmethod
    def from_dict(cls, data):
        return cls()

    def to_dict(self):
        return {"name": "swath-text", "configuration": {}}

    async def _decode_single(self, chunk_data, chunk_spec):
        numbers = np.array(json.loads(chunk_data.to_bytes()), chunk_spec.dtype.to_native_dtype())
        return chunk_spec.prototype.nd_buffer.from_numpy_array(numbers.reshape(chunk_spec.shape))

    async def _encode_single(self, chunk_data, chunk_spec):
        return chunk_spec.prototype.buffer.from_bytes(
            json.dumps(chunk_data.as_numpy_array().tolist()).encode()
        )

    def compute_encoded_size(self, input_byte_length, chunk_spec):
        raise NotImplementedError


@dataclass(frozen=True)
class Negated(ArrayArrayCodec):
    """Another array."""

    is_fixed_size = True

    @classmethod
    def from_dict(cls, data):
        return cls()

    def to_dict(self):
        return {"name": "swath-negated", "configuration": {}}

    async def _decode_single(self, chunk_data, chunk_spec):
        return chunk_data

    _encode_single = _decode_single

    def compute_encoded_size(self, input_byte_length, chunk_spec):
        return input_byte_length


@pytest.fixture(scope="module", autouse=True)
def registered():
    numcodecs.register_codec(Inverted)
    numcodecs.register_codec(Halved)
    numcodecs.register_codec(Objects)
    for made in (InvertedV3, Text, Negated):
        zarr.registry.register_codec(made().to_dict()["name"], made)


def numbers():
    return np.random.default_rng(3).integers(-500, 500, (11, 7), "i4") * 2


LAYOUTS = {
    "v2 compressor": {"zarr_format": 2, "compressors": Inverted()},
    "v2 filter": {"zarr_format": 2, "filters": [Halved()], "compressors": numcodecs.Zlib(1)},
    "v2 both": {"zarr_format": 2, "filters": [Halved()], "compressors": Inverted()},
    "v3 behind bytes": {"compressors": [InvertedV3()]},
    "v3 behind gzip": {"compressors": [zarr.codecs.GzipCodec(), InvertedV3()]},
    "v3 in place of bytes": {"serializer": Text(), "compressors": None},
    "v3 in shards": {"serializer": Text(), "compressors": [InvertedV3()], "shards": (8, 4)},
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_codecs_of_the_user_read_and_write(tmp_path, layout):
    values = numbers()
    theirs = zarr.create_array(tmp_path / "a", shape=values.shape, chunks=(4, 4), dtype="i4", **layout)
    theirs[...] = values
    before = swath.stats()["python_codec_calls"]
    with pytest.warns(swath.SwathWarning, match=SLOW) as warned:
        array = swath.open(tmp_path / "a", mode="r+")
    assert len(warned) == 1
    np.testing.assert_array_equal(array[...], values)
    np.testing.assert_array_equal(array[3:9:2, ::-1], values[3:9:2, ::-1])
    assert before + 6 <= swath.stats()["python_codec_calls"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        array[2:9, 1:] = values[2:9, 1:] + 20
    values[2:9, 1:] += 20
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "a")[...], values)


@pytest.mark.filterwarnings("ignore:.*decoded by Python")
def test_threads_and_a_running_loop_may_read(tmp_path):
    values = numbers()
    zarr.create_array(tmp_path / "a", data=values, chunks=(4, 4), compressors=[InvertedV3()])
    array = swath.open(tmp_path / "a")
    found = []

    async def read():
        found.append(array[...])

    threads = [threading.Thread(target=lambda: found.append(array[...])) for _ in range(4)]
    for thread in threads:
        thread.start()
    asyncio.run(read())
    for thread in threads:
        thread.join()
    assert len(found) == 5
    for one in found:
        np.testing.assert_array_equal(one, values)


@pytest.mark.filterwarnings("ignore:.*decoded by Python")
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("raises", "ValueError: wanted another chunk"),
        ("long", "wanted 64 decoded bytes at most, found 68"),
        ("unsupported", "UnsupportedError: wanted another version"),
    ],
)
def test_what_a_codec_does_wrong_is_an_error(tmp_path, fault, message):
    zarr.create_array(
        tmp_path / "a", data=numbers(), chunks=(4, 4), zarr_format=2, compressors=Inverted(fault)
    )
    with pytest.raises(swath.CorruptError, match=message) as raised:
        swath.open(tmp_path / "a")[...]
    assert "swath-inverted" in str(raised.value)


@pytest.mark.filterwarnings("ignore:.*decoded by Python")
def test_addresses_of_objects_are_no_bytes(tmp_path):
    arguments = {"shape": (4,), "chunks": (4,), "dtype": "i8", "zarr_format": 2}
    zarr.create_array(tmp_path / "a", compressors=Objects(), **arguments)
    array = swath.open(tmp_path / "a", mode="r+")
    message = "TypeError: wanted bytes or numbers from Objects.*, found an array of Python objects"
    with pytest.raises(swath.SwathError, match=message):
        array[...] = np.arange(4)
    assert not (tmp_path / "a" / "0").exists()
    (tmp_path / "a" / "0").write_bytes(bytes(32))
    with pytest.raises(swath.CorruptError, match=message):
        array[...]


@pytest.mark.filterwarnings("ignore:.*decoded by Python")
@pytest.mark.parametrize("write", [False, True])
def test_an_interrupt_within_a_codec_is_one(tmp_path, write):
    faulty = Inverted("interrupt")
    zarr.create_array(tmp_path / "a", data=numbers(), chunks=(4, 4), zarr_format=2, compressors=faulty)
    array = swath.open(tmp_path / "a", mode="r+")
    # Shells start what runs in the background with interrupts ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            if write:
                array[1, 1] = 3
            else:
                array[...]
    finally:
        signal.signal(signal.SIGINT, before)
    assert array.shape == (11, 7)


LEAVING = """
import sys, threading, time
import numcodecs, numpy as np, swath, zarr
from numcodecs.abc import Codec

class Slow(Codec):
    codec_id = "swath-slow"
    def encode(self, buf):
        return bytes(buf)
    def decode(self, buf, out=None):
        started.set()
        until = time.perf_counter() + 0.002
        while time.perf_counter() < until:
            pass
        return bytes(buf)

started = threading.Event()
numcodecs.register_codec(Slow)
codec = Slow() if sys.argv[2] == "python" else numcodecs.Zlib(1)
data = np.arange(40_000, dtype="i4")
zarr.create_array(sys.argv[1], data=data, chunks=(20,), zarr_format=2, compressors=codec)
array = swath.open(sys.argv[1], mode="r+")

def work():
    while True:
        if sys.argv[3] == "read":
            array[...]
        else:
            array[1:39_999] = data[1:39_999]
        started.set()

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
started.wait()
"""


@pytest.mark.parametrize("codec", ["python", "zlib"])
@pytest.mark.parametrize("what", ["read", "write"])
def test_python_may_end_while_threads_read_and_write(tmp_path, codec, what):
    for attempt in range(3):
        command = [sys.executable, "-W", "ignore", "-c", LEAVING, str(tmp_path / str(attempt)), codec, what]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        assert (ended.returncode, ended.stderr) == (0, "")


def test_codecs_that_cannot_be_called_are_refused(tmp_path):
    arguments = {"shape": (4,), "chunks": (2,), "dtype": "i4"}
    zarr.create_array(tmp_path / "filtered", filters=[Negated()], **arguments)
    with pytest.raises(swath.InvalidError, match=r"swath-negated.*another array"):
        swath.open(tmp_path / "filtered")
    document = {
        "zarr_format": 2,
        "shape": [2],
        "chunks": [2],
        "dtype": "|O",
        "order": "C",
        "fill_value": None,
    }
    for codec, message in [("pickle", "pickle"), ("nobody-has-it", "nobody-has-it")]:
        (tmp_path / codec).mkdir()
        text = json.dumps(document | {"compressor": None, "filters": [{"id": codec}]})
        (tmp_path / codec / ".zarray").write_text(text)
        with pytest.raises(swath.UnsupportedError, match=message):
            swath.open(tmp_path / codec)
