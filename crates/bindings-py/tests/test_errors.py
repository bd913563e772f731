"""Every class of error, what it derives from, and what its message names."""

import copy
import copyreg
import json
import multiprocessing
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import swath
import zarr


def raised(call):
    with pytest.raises(swath.SwathError) as caught:
        call()
    return caught.value


CLASSES = [
    (swath.NotFoundError, FileNotFoundError),
    (swath.MemberNotFoundError, KeyError),
    (swath.OutOfBoundsError, IndexError),
    (swath.InvalidError, ValueError),
    (swath.UnsupportedError, NotImplementedError),
    (swath.UnsupportedSelectionError, IndexError),
    (swath.CorruptError, ValueError),
    (swath.StorageError, OSError),
    (swath.DeadlineExceededError, TimeoutError),
    (swath.InternalError, RuntimeError),
    (swath.CancelledError, Exception),
]


@pytest.mark.parametrize(("error", "builtin"), CLASSES, ids=lambda value: value.__name__)
def test_classes(error, builtin):
    assert issubclass(error, swath.SwathError)
    assert issubclass(error, builtin)
    made = error("what was wanted", object="a/zarr.json", retryable=True)
    for copied in (made, pickle.loads(pickle.dumps(made))):
        assert type(copied) is error
        assert str(copied) == "what was wanted"
        assert (copied.object, copied.retryable) == ("a/zarr.json", True)
        assert copied.args == ("what was wanted",)


def whole(error):
    """Make an error with all that one can carry."""
    made = error("what was wanted", object="a/zarr.json", retryable=True)
    made.seen_by = "a worker"
    made.add_note("while the model was trained")
    made.__cause__ = swath.StorageError("the disk is gone", object="a/c/0")
    made.__cause__.__cause__ = OSError(5, "Input/output error", "a/c/0")
    return made


def raise_whole(error):
    raise whole(error)


def assert_whole(found, error):
    assert type(found) is error
    assert (str(found), found.args) == ("what was wanted", ("what was wanted",))
    assert (found.object, found.retryable, found.seen_by) == ("a/zarr.json", True, "a worker")
    assert found.__notes__[0] == "while the model was trained"


def assert_causes(found):
    assert type(found.__cause__) is swath.StorageError
    assert (str(found.__cause__), found.__cause__.object) == ("the disk is gone", "a/c/0")
    assert type(found.__cause__.__cause__) is OSError
    assert found.__cause__.__cause__.errno == 5


EVERY = [swath.SwathError, *(error for error, _ in CLASSES)]


@pytest.mark.parametrize("error", EVERY)
def test_errors_pickle_with_notes_and_causes(error):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(whole(error), protocol)), protocol))
        assert_whole(again, error)
        assert_causes(again)
    copied = copy.deepcopy(whole(error))
    assert_whole(copied, error)
    assert_causes(copied)


def test_a_cause_that_cannot_be_pickled_is_told(monkeypatch):
    # tblib, which distributed brings, registers a way of its own, which wants causes that pickle.
    monkeypatch.delitem(copyreg.dispatch_table, swath.StorageError, raising=False)
    made = swath.StorageError("gone")
    made.__cause__ = ValueError(threading.Lock())
    again = pickle.loads(pickle.dumps(made))
    assert str(again) == "gone"
    assert again.__cause__ is None
    assert "ValueError" in again.__notes__[0]
    assert not hasattr(made, "__notes__")


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_errors_cross_processes(method):
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        futures = [pool.submit(raise_whole, error) for error in EVERY]
        for future, error in zip(futures, EVERY, strict=True):
            # That of the process pool is put in the cause's place: the text of the worker's traceback.
            assert_whole(future.exception(60), error)
    with context.Pool(1) as pool:
        for error in EVERY:
            with pytest.raises(error) as caught:
                pool.apply(raise_whole, (error,))
            assert_whole(caught.value, error)


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (5, ["index 5", "axis 0", "length 5"]),
        (-6, ["index -6", "axis 0", "length 5"]),
        ((0, 0, 70), ["index 70", "axis 2", "length 70"]),
        ((..., 6, 0), ["index 6", "axis 1", "length 6"]),
        ((..., 2**70), [str(2**70), "axis 2", "length 70"]),
        (-(2**70), [str(-(2**70)), "axis 0", "length 5"]),
        ((0, 0, 0, 0), ["too many", "3 dimensions"]),
        ((slice(None),) * 4, ["too many", "3 dimensions"]),
        ((..., ...), ["ellipsis"]),
    ],
    ids=str,
)
def test_out_of_bounds(array, path, index, words):
    for call in (lambda: array[index], lambda: array.read(index), lambda: array.read_many([0, index])):
        error = raised(call)
        assert type(error) is swath.OutOfBoundsError
        for word in (*words, str(path)):
            assert word in str(error)
        assert error.object == str(path)
        assert not error.retryable


@pytest.mark.parametrize(
    ("index", "word"),
    [
        (None, "newaxis"),
        ((0, None), "newaxis"),
        (True, "True"),
        (np.True_, "True"),
        (np.array(1.5), "ndarray"),
        (1.0, "float"),
        ("x", "str"),
        (slice(1.0, 2), "slice"),
        (object, "type"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_unsupported_selections(array, path, index, word):
    for call in (lambda: array[index], lambda: array.read(index), lambda: array.read_many([0, index])):
        error = raised(call)
        assert type(error) is swath.UnsupportedSelectionError
        assert word in str(error)
        assert str(path) in str(error)
        assert "integers" in str(error)


def test_a_step_of_zero(array):
    error = raised(lambda: array[::0])
    assert type(error) is swath.InvalidError
    assert "step" in str(error)


@pytest.mark.parametrize(
    ("out", "word"),
    [
        (np.zeros((6, 71), "int16"), "(6, 71)"),
        (np.zeros(420, "int16"), "(420,)"),
        (np.zeros((6, 70), "uint16"), "uint16"),
        (np.zeros((6, 70), ">i2"), ">i2"),
        (np.zeros((70, 6), "int16").T, "contiguous"),
        (np.zeros((6, 140), "int16")[:, ::2], "contiguous"),
        (np.broadcast_to(np.int16(0), (6, 70)), "contiguous"),
        ([[0] * 70] * 6, "list"),
        (bytearray(840), "bytearray"),
    ],
    ids=lambda value: str(value)[:12].replace("\n", ""),
)
def test_out_does_not_fit(array, path, out, word):
    error = raised(lambda: array.read(0, out=out))
    assert type(error) is swath.InvalidError
    assert word in str(error)
    assert str(path) in str(error)


def test_out_is_read_only(array):
    out = np.zeros((6, 70), "int16")
    out.flags.writeable = False
    error = raised(lambda: array.read(0, out=out))
    assert type(error) is swath.InvalidError
    assert "read-only" in str(error)
    assert not out.any()


def test_shapes_to_stack(array):
    error = raised(lambda: array.read_many([0, np.s_[0:1], 0]))
    assert type(error) is swath.InvalidError
    for word in ("(6, 70)", "(1, 6, 70)", "number 1", "stack=False"):
        assert word in str(error)
    assert "stack=False" in str(raised(lambda: array.read_many([])))
    assert "stack=False" in str(
        raised(lambda: array.read_many([0], np.zeros((1, 6, 70), "int16"), stack=False))
    )
    with pytest.raises(TypeError):
        array.read_many(3)


def test_nothing_there(tmp_path):
    for call in (swath.open, swath.open_array, swath.open_group):
        for path in (tmp_path / "absent", tmp_path):
            error = raised(lambda call=call, path=path: call(path))
            assert type(error) is swath.NotFoundError
            assert str(path) in str(error)


def test_the_other_kind_of_node(tmp_path, path):
    zarr.create_group(tmp_path / "group.zarr")
    assert "found an array" in str(raised(lambda: swath.open_group(path)))
    assert "found a group" in str(raised(lambda: swath.open_array(tmp_path / "group.zarr")))


def test_other_arguments_of_open(path, tmp_path):
    assert type(raised(lambda: swath.open(path, mode="read"))) is swath.InvalidError
    error = raised(lambda: swath.open("ftp://user:S3CRET@host/a.zarr?sig=S3CRET"))
    assert type(error) is swath.UnsupportedError
    assert "ftp" in str(error)
    assert "S3CRET" not in str(error)
    assert "simplecache" in str(raised(lambda: swath.open("simplecache::s3://bucket/a.zarr")))
    (tmp_path / "a.zip").write_bytes(b"PK")
    assert "no end record" in str(raised(lambda: swath.open(tmp_path / "a.zip")))
    (tmp_path / "a.tar").write_bytes(b"")
    assert "zip archives" in str(raised(lambda: swath.open(tmp_path / "a.tar")))
    with pytest.raises(TypeError):
        swath.open(3)


def rewrite(path, **fields):
    document = json.loads((path / "zarr.json").read_text())
    (path / "zarr.json").write_text(json.dumps(document | fields))


def test_metadata_that_is_invalid(path):
    rewrite(path, shape=[5, 6])
    error = raised(lambda: swath.open(path))
    assert type(error) is swath.InvalidError
    assert "zarr.json" in str(error)
    (path / "zarr.json").write_text("{")
    assert type(raised(lambda: swath.open(path))) is swath.InvalidError


def test_metadata_that_is_not_supported(path):
    rewrite(path, codecs=[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "imaginary"}])
    error = raised(lambda: swath.open(path))
    assert type(error) is swath.UnsupportedError
    assert "imaginary" in str(error)
    rewrite(path, data_type="int3")
    assert "int3" in str(raised(lambda: swath.open(path)))


def shard(path) -> Path:
    return path / "c" / "0" / "0" / "0"


def test_corrupt_chunks(path, array, values):
    stored = bytearray(shard(path).read_bytes())
    stored[-1] ^= 0xFF
    shard(path).write_bytes(stored)
    error = raised(lambda: array[0])
    assert type(error) is swath.CorruptError
    assert "c/0/0/0" in str(error)
    assert not error.retryable
    np.testing.assert_array_equal(array[4], values[4])
    out = np.zeros((3, 6, 70), "int16")
    error = raised(lambda: array.read_many([4, 0, 2], out=out))
    assert "1 of 3 selections failed, number 1 first" in str(error)
    np.testing.assert_array_equal(out[[0, 2]], values[[4, 2]])


def test_a_truncated_shard(path, array):
    shard(path).write_bytes(shard(path).read_bytes()[:10])
    error = raised(lambda: array[0])
    assert type(error) is swath.CorruptError
    assert "c/0/0/0" in str(error)


def test_storage_that_fails(path, array):
    shard(path).unlink()
    shard(path).symlink_to(shard(path))
    error = raised(lambda: array[0])
    assert type(error) is swath.StorageError
    assert isinstance(error, OSError)
    assert "c/0/0/0" in str(error)


def test_missing_chunks_are_no_error(path, array):
    shard(path).unlink()
    assert (array[0] == -1).all()


@pytest.mark.parametrize("layout", [{}, {"shards": (4, 4)}], ids=["plain", "sharded"])
def test_checksums_of_chunks_can_be_passed_over(tmp_path, layout):
    values = np.arange(16, dtype="i4").reshape(4, 4)
    codecs = {"compressors": [zarr.codecs.Crc32cCodec()], **layout}
    zarr.create_array(tmp_path / "a", data=values, chunks=(2, 4), **codecs)
    path = next(path for path in sorted(tmp_path.rglob("c/0/0")))
    stored = bytearray(path.read_bytes())
    stored[0] ^= 1
    path.write_bytes(stored)
    with pytest.raises(swath.CorruptError, match="codec `crc32c`"):
        swath.open(tmp_path / "a")[...]
    values[0, 0] ^= 1
    for opened in (swath.open, swath.open_array):
        array = opened(tmp_path / "a", checksums="skip")
        np.testing.assert_array_equal(array[...], values)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(array))[...], values)
    zarr.create_group(tmp_path, overwrite=False)
    np.testing.assert_array_equal(swath.open_group(tmp_path, checksums="skip")["a"][...], values)
    with pytest.raises(swath.InvalidError, match='wanted checksums "verify" or "skip", found "never"'):
        swath.open(tmp_path / "a", checksums="never")
    if layout:
        # Where chunks lie is never taken on trust.
        stored[-10] ^= 1
        path.write_bytes(stored)
        with pytest.raises(swath.CorruptError):
            swath.open(tmp_path / "a", checksums="skip")[...]
