"""zarr-python's arrays through swath's pipeline: what it reads and writes is what zarr-python's own does."""

import os
import pickle
import random
import subprocess
import sys
import warnings

import numpy as np
import obstore
import pytest
import swath
import swath.zarr
import zarr
from swath.errors import UnsupportedError
from zarr.codecs import BloscCodec, BytesCodec, GzipCodec, ZstdCodec
from zarr.storage import FsspecStore, LocalStore, LoggingStore, MemoryStore, ObjectStore, ZipStore

OWN = "zarr.core.codec_pipeline.BatchedCodecPipeline"


@pytest.fixture(autouse=True)
def _enabled():
    with swath.zarr.enable(), warnings.catch_warnings():
        warnings.simplefilter("error", swath.zarr.FallbackWarning)
        yield


class Counted:
    """What is added to the report in a block."""

    def __enter__(self):
        self.before = swath.zarr.report()
        return self

    def __exit__(self, *_):
        after = swath.zarr.report()
        self.native_reads = after.native_reads - self.before.native_reads
        self.decoded = after.decoded - self.before.decoded
        self.encoded = after.encoded - self.before.encoded
        self.fallbacks = sum(after.fallbacks.values()) - sum(self.before.fallbacks.values())


LAYOUTS = {
    "chunks": {"chunks": (3, 4, 5)},
    "shards": {"chunks": (3, 2, 5), "shards": (6, 8, 10)},
    "gzip": {"chunks": (3, 4, 5), "compressors": GzipCodec()},
    "big": {"chunks": (3, 4, 5), "serializer": BytesCodec(endian="big")},
    "transposed": {"chunks": (3, 4, 5), "filters": zarr.codecs.TransposeCodec(order=(2, 0, 1))},
    "dots": {"chunks": (3, 4, 5), "chunk_key_encoding": {"name": "default", "separator": "."}},
    "v2": {"chunks": (3, 4, 5), "zarr_format": 2},
    "v2_f": {"chunks": (3, 4, 5), "zarr_format": 2, "order": "F"},
    "v2_slashes": {
        "chunks": (3, 4, 5),
        "zarr_format": 2,
        "chunk_key_encoding": {"name": "v2", "separator": "/"},
    },
}

DTYPES = ["bool", "i1", ">i2", "u4", "f2", "f8", ">c16", "M8[s]", "S3", "U2"]


def random_axis(rng, length, kind):
    if kind == "int":
        return rng.randrange(-length, length)
    if kind == "list":
        return [rng.randrange(length) for _ in range(rng.randrange(1, 6))]
    if kind == "mask":
        return np.array([rng.random() < 0.4 or at == 0 for at in range(length)])
    ends = sorted(rng.randrange(length + 1) for _ in range(2))
    return slice(*ends, rng.choice([None, 1, 2, 3]))


def selections(rng, shape):
    """Ways to read and write, each by a random selection."""
    yield "basic", tuple(random_axis(rng, length, rng.choice(["int", "slice", "slice"])) for length in shape)
    kinds = ["int", "slice", "list", "mask"]
    yield "orthogonal", tuple(random_axis(rng, length, rng.choice(kinds)) for length in shape)
    count = rng.randrange(1, 30)
    yield "coordinate", tuple(np.array([rng.randrange(length) for _ in range(count)]) for length in shape)
    yield "mask", np.array([rng.random() < 0.2 for _ in range(int(np.prod(shape)))]).reshape(shape)


def own(store, path):
    """The same array, opened with zarr-python's own pipeline."""
    with zarr.config.set({"codec_pipeline.path": OWN}):
        return zarr.open_array(store, path=path, mode="r+")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["local", "memory"])
def test_reads_and_writes_are_those_of_zarr_python(tmp_path, kind, layout):
    seed = int(os.environ.get("SWATH_SEED", "0")) or random.randrange(1 << 32)
    print("SWATH_SEED", seed)
    rng = random.Random(seed)
    store = LocalStore(tmp_path) if kind == "local" else MemoryStore()
    for number, dtype in enumerate(rng.sample(DTYPES, 2)):
        shape = (10, 11, 12)
        options = LAYOUTS[layout]
        for name in ("mine", "own"):
            zarr.create_array(store, name=f"{name}{number}", shape=shape, dtype=dtype, **options)
        mine, theirs = zarr.open_array(store, path=f"mine{number}"), own(store, f"own{number}")
        assert type(mine.async_array.codec_pipeline) is swath.zarr.CodecPipeline
        for step in range(3):
            for way, selection in selections(rng, shape):
                found = getattr(mine, f"get_{way}_selection")(selection)
                wanted = getattr(theirs, f"get_{way}_selection")(selection)
                np.testing.assert_array_equal(found, wanted, err_msg=f"{dtype} {way} {selection}")
                assert np.asarray(found).dtype == np.asarray(wanted).dtype
                values = np.random.default_rng(seed + step).integers(0, 2, np.shape(wanted))
                values = values.astype("i8").astype(dtype) if dtype != "M8[s]" else values.astype(dtype)
                for array in (mine, theirs):
                    getattr(array, f"set_{way}_selection")(selection, values)
        np.testing.assert_array_equal(mine[...], theirs[...])
        # What either wrote reads the same by the other.
        np.testing.assert_array_equal(own(store, f"mine{number}")[...], theirs[...])
        np.testing.assert_array_equal(zarr.open_array(store, path=f"own{number}")[...], theirs[...])


@pytest.fixture
def written(tmp_path):
    """An array in a folder, and its values."""
    values = np.arange(20 * 30, dtype="i4").reshape(20, 30)
    with zarr.config.set({"codec_pipeline.path": OWN}):
        zarr.create_array(tmp_path / "a.zarr", name="x/y", data=values, chunks=(2, 5), shards=(10, 10))
    return tmp_path / "a.zarr", values


def known_stores(folder, tmp_path):
    yield LocalStore(folder)
    yield LocalStore(os.path.relpath(folder))
    yield ObjectStore(obstore.store.LocalStore(folder))
    yield FsspecStore.from_url(f"file://{folder}")
    yield swath.zarr.Store(folder)
    with ZipStore(tmp_path / "a.zip", mode="w") as archive:
        for file in (file for file in folder.rglob("*") if file.is_file()):
            key = file.relative_to(folder).as_posix()
            content = zarr.core.buffer.cpu.Buffer.from_bytes(file.read_bytes())
            zarr.core.sync.sync(archive.set(key, content))
    yield ZipStore(tmp_path / "a.zip", mode="r")


def test_stores_that_are_known_are_read_natively(written, tmp_path):
    folder, values = written
    for store in known_stores(folder, tmp_path):
        array = zarr.open_array(store, path="x/y", mode="r")
        with Counted() as counted:
            np.testing.assert_array_equal(array[3:17, ::3], values[3:17, ::3])
            np.testing.assert_array_equal(array.oindex[[1, 19, 1], 4:9], values[[1, 19, 1], 4:9])
        assert (counted.native_reads, counted.decoded, counted.fallbacks) == (2, 0, 0), store


class Subclass(LocalStore):
    pass


def test_subclasses_and_wrappers_are_asked_for_their_bytes(written):
    folder, values = written
    patched = LocalStore(folder)
    asked = []

    async def get(key, *arguments, **named):
        asked.append(key)
        return await LocalStore.get(patched, key, *arguments, **named)

    patched.get = get
    for store in (Subclass(folder), LoggingStore(LocalStore(folder)), patched):
        array = zarr.open_array(store, path="x/y", mode="r+")
        with Counted() as counted:
            np.testing.assert_array_equal(array[3:17, ::3], values[3:17, ::3])
        assert (counted.native_reads, counted.fallbacks) == (0, 0), store
        assert 0 < counted.decoded
    assert "x/y/c/0/0" in asked


class OwnBytes(BytesCodec):
    pass


def test_what_has_no_native_way_warns_once_and_is_counted(tmp_path):
    zarr.registry.register_codec("bytes", OwnBytes)
    name = f"{OwnBytes.__module__}.{OwnBytes.__qualname__}"
    try:
        with zarr.config.set({"codecs.bytes": name}):
            array = zarr.create_array(
                tmp_path / "a", shape=(6,), chunks=(2,), dtype="i4", serializer=OwnBytes()
            )
            with Counted() as counted, pytest.warns(swath.zarr.FallbackWarning, match="OwnBytes") as caught:
                array[...] = 3
                assert array[...].tolist() == [3] * 6
            assert len(caught) == 1
            assert (counted.fallbacks, counted.native_reads, counted.decoded) == (2, 0, 0)
            assert name in str(swath.zarr.report())
            with swath.zarr.enable(strict=True), pytest.raises(UnsupportedError, match="OwnBytes"):
                array[0]
    finally:
        del zarr.registry._codec_registries["bytes"][name]


def test_missing_chunks_are_told_where_that_is_asked_for(tmp_path):
    zarr.create_array(tmp_path / "a", shape=(6,), chunks=(2,), dtype="i4", fill_value=7)
    array = zarr.open_array(tmp_path / "a")
    array[:2] = 1
    assert array[...].tolist() == [1, 1, 7, 7, 7, 7]
    array = zarr.open_array(tmp_path / "a", config={"read_missing_chunks": False})
    with pytest.raises(zarr.errors.ChunkNotFoundError, match=r"2 chunk\(s\) not found"):
        array[...]
    assert array[:2].tolist() == [1, 1]


def test_empty_chunks_are_not_written(tmp_path):
    array = zarr.create_array(tmp_path / "a", shape=(4,), chunks=(2,), dtype="f4", fill_value=np.nan)
    array[...] = [1, 2, np.nan, np.nan]
    assert sorted(path.name for path in (tmp_path / "a" / "c").iterdir()) == ["0"]
    array[:2] = np.nan
    assert not list((tmp_path / "a" / "c").iterdir())
    array = zarr.open_array(tmp_path / "a", config={"write_empty_chunks": True})
    array[...] = np.nan
    assert sorted(path.name for path in (tmp_path / "a" / "c").iterdir()) == ["0", "1"]


def test_outputs_of_any_order_are_filled(written):
    folder, values = written
    array = zarr.open_array(folder, path="x/y", mode="r")
    for out in (np.empty((20, 30), "i4", "F"), np.empty((20, 30), ">i4"), np.empty((40, 60), "i4")[::2, ::2]):
        buffer = zarr.core.buffer.cpu.NDBuffer.from_numpy_array(out)
        array.get_basic_selection(..., out=buffer)
        np.testing.assert_array_equal(out, values)
    with zarr.config.set({"array.order": "F"}):
        found = zarr.open_array(folder, path="x/y", mode="r")[...]
    assert found.flags.f_contiguous
    np.testing.assert_array_equal(found, values)


def test_arrays_that_were_resized_or_moved_are_read_as_they_are(tmp_path):
    store = LocalStore(tmp_path / "a")
    array = zarr.create_array(store, shape=(5,), chunks=(2,), dtype="i4")
    array[...] = range(5)
    assert array[...].tolist() == [0, 1, 2, 3, 4]
    array.resize((9,))
    array[7:] = 9
    assert array[...].tolist() == [0, 1, 2, 3, 4, 0, 0, 9, 9]
    array.resize((3,))
    array.resize((6,))
    assert array[...].tolist() == own(store, "")[...].tolist()
    zarr.core.sync.sync(store.move(tmp_path / "b"))
    zarr.create_array(tmp_path / "a", shape=(6,), chunks=(2,), dtype="i4", fill_value=8)
    assert array[:3].tolist() == [0, 1, 2]


def test_pipelines_are_equal_by_their_codecs_and_pickle(written):
    folder, values = written
    one, other = (zarr.open_array(folder, path="x/y", mode="r") for _ in range(2))
    one[...]
    pipeline = one.async_array.codec_pipeline
    assert pipeline == other.async_array.codec_pipeline
    assert one == other
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert type(again.async_array.codec_pipeline).__name__ == "SwathCodecPipeline"
    assert type(again.async_array.codec_pipeline).__module__ == "swath.zarr"
    np.testing.assert_array_equal(again[...], values)
    zarr.create_array(folder, name="z", shape=(1,), dtype="i4", compressors=ZstdCodec())
    assert zarr.open_array(folder, path="z").async_array.codec_pipeline != pipeline


def test_what_is_broken_fails_as_with_zarr_python(tmp_path):
    array = zarr.create_array(
        tmp_path / "a", shape=(4,), chunks=(4,), dtype="i4", compressors=BloscCodec(cname="lz4")
    )
    array[...] = range(4)
    (tmp_path / "a" / "c" / "0").write_bytes(b"no chunk")
    with pytest.raises(Exception) as theirs:
        own(tmp_path / "a", "")[...]
    with pytest.raises(type(theirs.value)) as mine, pytest.warns(swath.zarr.FallbackWarning, match="failed"):
        array[...]
    assert str(mine.value) == str(theirs.value)


def pieces(rng, shape):
    for _ in range(200):
        starts = [rng.randrange(length) for length in shape]
        ends = [rng.randint(start + 1, length) for start, length in zip(starts, shape, strict=True)]
        parts = [slice(*axis, rng.choice([1, 1, 2, 7])) for axis in zip(starts, ends, strict=True)]
        if rng.random() < 0.2:
            parts[rng.randrange(len(parts))] = rng.randrange(min(shape))
        yield tuple(parts)


@pytest.mark.parametrize("options", [{}, {"shards": (10, 10)}, {"zarr_format": 2}, {"fill_value": 7}])
def test_small_reads_one_after_the_other(tmp_path, options):
    values = np.arange(23 * 31, dtype="i4").reshape(23, 31)
    if "fill_value" in options:
        values[4:18, 10:25] = 7
    array = zarr.create_array(tmp_path / "a", shape=values.shape, dtype="i4", chunks=(2, 5), **options)
    array[...] = values
    seed = random.randrange(1 << 32)
    with Counted() as counted:
        for number, index in enumerate(pieces(random.Random(seed), values.shape)):
            found = array[index]
            np.testing.assert_array_equal(found, values[index], err_msg=f"seed {seed}, number {number}")
            # What is given to the caller is the caller's.
            found[...] = -1
    assert (counted.native_reads, counted.decoded, counted.fallbacks) == (200, 0, 0)


def test_small_reads_see_what_changes_between_them(written):
    folder, values = written
    store = LocalStore(folder)
    array = zarr.open_array(store, path="x/y", mode="r+")
    index, asked = np.s_[3:6, 7:9], []

    def is_native():
        with Counted() as counted:
            np.testing.assert_array_equal(array[index], values[index])
        return counted.native_reads == 1

    assert [is_native() for _ in range(3)] == [True] * 3
    array[4, 8] = values[4, 8] = -5
    assert is_native()

    async def get(key, *arguments, **named):
        asked.append(key)
        return await LocalStore.get(store, key, *arguments, **named)

    store.get = get
    assert not is_native()
    assert asked
    del store.get
    assert is_native()
    for out in (np.empty((3, 2), "i4", "F"), np.empty((3, 2), ">i4"), np.empty((3, 4), "i4")[:, ::2]):
        array.get_basic_selection(index, out=zarr.core.buffer.cpu.NDBuffer.from_numpy_array(out))
        np.testing.assert_array_equal(out, values[index])
    folder.rename(folder.with_name("moved"))
    # Nothing is stored in what is there now.
    folder.mkdir()
    assert array[index].tolist() == [[0, 0]] * 3


def test_what_breaks_between_small_reads_fails_as_with_zarr_python(tmp_path):
    array = zarr.create_array(tmp_path / "a", shape=(9,), chunks=(3,), dtype="i4")
    array[...] = range(9)
    assert [array[start : start + 2].tolist() for start in (0, 4)] == [[0, 1], [4, 5]]
    (tmp_path / "a" / "c" / "1").write_bytes(b"no chunk")
    with pytest.raises(Exception) as theirs:
        own(tmp_path / "a", "")[4:6]
    with (
        Counted() as counted,
        pytest.raises(type(theirs.value)),
        pytest.warns(swath.zarr.FallbackWarning, match="failed"),
    ):
        array[4:6]
    assert counted.native_reads == 0 < counted.fallbacks
    (tmp_path / "a" / "c" / "1").unlink()
    assert array[4:6].tolist() == [0, 0]
    assert array[7:9].tolist() == [7, 8]


def test_enabling_ends_with_its_block():
    with zarr.config.set({"codec_pipeline.path": OWN}):
        with swath.zarr.enable():
            assert zarr.registry.get_pipeline_class() is swath.zarr.CodecPipeline
        assert zarr.registry.get_pipeline_class().__name__ == "BatchedCodecPipeline"


def test_the_configuration_alone_finds_the_pipeline(tmp_path):
    program = (
        "import zarr; zarr.config.set({'codec_pipeline.path': 'swath.zarr.CodecPipeline'});"
        "a = zarr.create_array(store={}, shape=(2,), dtype='i4'); a[...] = 5; print(a[...].tolist(),"
        "type(a.async_array.codec_pipeline).__name__)"
    )
    ended = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert ended.stdout.split("]")[1].strip() == "SwathCodecPipeline"


@pytest.mark.parametrize("kind", ["local", "swath"])
def test_a_root_that_was_made_anew(tmp_path, kind):
    def store():
        return str(tmp_path / "a.zarr") if kind == "local" else swath.zarr.Store(tmp_path / "a.zarr")

    named = {"shape": (8,), "chunks": (4,), "dtype": "i4", "fill_value": -1}
    with swath.zarr.enable():
        array = zarr.create_array(store(), **named)
        array[...] = 1
        np.testing.assert_array_equal(array[...], 1)
        zarr.create_array(store(), overwrite=True, **named)[...] = 2
        np.testing.assert_array_equal(array[...], 2)
        array[...] = 3
        np.testing.assert_array_equal(array[...], 3)


TEXTS = ["", "a", "ünï", "x" * 300, "日本"]


@pytest.mark.parametrize("options", [{"zarr_format": 2}, {}, {"shards": (6, 4)}], ids=["v2", "v3", "shards"])
@pytest.mark.filterwarnings("ignore::zarr.core.dtype.common.UnstableSpecificationWarning")
def test_strings_are_read_natively_and_written_by_zarr_python(tmp_path, options):
    store = LocalStore(tmp_path)
    values = np.array([TEXTS[number % 5] for number in range(10 * 6)], np.dtypes.StringDType()).reshape(10, 6)
    array = zarr.create_array(store, name="a", shape=(10, 6), dtype=str, chunks=(3, 2), **options)
    with Counted() as counted, warnings.catch_warnings():
        warnings.simplefilter("ignore", swath.zarr.FallbackWarning)
        array[:9] = values[:9]
    # Chunks of strings that are given as bytes have no native way.
    assert (counted.fallbacks, counted.encoded) == (1, 0)
    values[9] = ""
    array = zarr.open_array(store, path="a", mode="r")
    with Counted() as counted:
        np.testing.assert_array_equal(array[...], values)
        np.testing.assert_array_equal(array[2:8:3, 1], values[2:8:3, 1])
        np.testing.assert_array_equal(array.oindex[[7, 0], 1:4], values[[7, 0], 1:4])
        np.testing.assert_array_equal(array.vindex[[7, 0], [5, 2]], values[[7, 0], [5, 2]])
        assert array[3, 2] == values[3, 2]
    assert (counted.native_reads, counted.decoded, counted.fallbacks) == (5, 0, 0)
    assert array[...].dtype == own(store, "a")[...].dtype


@pytest.mark.filterwarnings("ignore::zarr.core.dtype.common.UnstableSpecificationWarning")
def test_byte_strings_are_read_natively(tmp_path):
    values = np.array([b"", b"\0\xff", b"ab" * 40] * 4, object)
    array = zarr.create_array(tmp_path / "a", shape=(12,), dtype="variable_length_bytes", chunks=(5,))
    with pytest.warns(swath.zarr.FallbackWarning, match="elements of any length"):
        array[...] = values
    array = zarr.open_array(tmp_path / "a", mode="r")
    with Counted() as counted:
        assert array[1:9:2].tolist() == values[1:9:2].tolist()
    assert (counted.native_reads, counted.fallbacks) == (1, 0)
    assert array[...].tolist() == own(tmp_path / "a", "")[...].tolist()


def test_shards_of_many_small_chunks_are_those_of_zarr_python():
    # Chunks that come as views of one memory are copied below a size, which lies between the two.
    store = MemoryStore()
    values = np.random.default_rng(3).integers(0, 9, (64, 1152), "u1")
    array = zarr.create_array(store, data=values, name="a", chunks=(1, 1152), shards=(64, 1152))
    other = zarr.create_array(store, data=values, name="b", chunks=(16, 576), shards=(64, 1152))
    for one, path in ((array, "a"), (other, "b")):
        np.testing.assert_array_equal(one[...], values)
        np.testing.assert_array_equal(own(store, path)[...], values)
