"""Progress of long reads and writes."""

import io
import sys
import threading
from typing import ClassVar

import numcodecs
import numpy as np
import pytest
import swath
import swath.progress
import zarr
from numcodecs.abc import Codec


class Waiting(Codec):
    """Goes on once progress was shown, so that a read lasts until then."""

    codec_id = "swath-waiting"
    shown = threading.Event()

    def decode(self, buf, out=None):
        assert self.shown.wait(60)
        return bytes(buf)

    def encode(self, buf):
        return bytes(buf)


class WaitingToEncode(Waiting):
    codec_id = "swath-waiting-to-encode"

    def decode(self, buf, out=None):
        return bytes(buf)

    def encode(self, buf):
        # Longer than nothing is shown; then the caller's thread takes its next object, while others wait.
        is_caller = threading.current_thread() is threading.main_thread()
        assert self.shown.wait(0.6 if is_caller else 60) or is_caller
        return bytes(buf)


class Bar:
    """A bar that remembers."""

    bars: ClassVar[list["Bar"]] = []

    def __init__(self, what, name, total, unit):
        self.said = (what, name, total, unit)
        self.updates = []
        self.is_closed = False
        self.bars.append(self)

    def update(self, done):
        self.updates.append(done)
        Waiting.shown.set()

    def close(self):
        self.is_closed = True


@pytest.fixture(autouse=True)
def bars(monkeypatch):
    monkeypatch.setattr(swath.progress, "bar", Bar)
    Bar.bars = []
    Waiting.shown.clear()
    for codec in (Waiting, WaitingToEncode):
        numcodecs.register_codec(codec)
    yield Bar.bars
    swath.config.reset()


@pytest.fixture
def waiting(tmp_path):
    """An array of 40 chunks that are decoded once progress was shown."""
    data = np.arange(4000, dtype="i4")
    zarr.create_array(tmp_path / "w.zarr", data=data, chunks=(100,), zarr_format=2, compressors=Waiting())
    with pytest.warns(swath.SwathWarning, match="slow"):
        return swath.open_array(tmp_path / "w.zarr")


@pytest.mark.parametrize("way", ["read", "read_many", "config", "item"])
def test_long_reads_show_how_far_they_are(waiting, bars, way):
    if way == "read":
        found = waiting.read(progress=True)
    elif way == "read_many":
        found = waiting.read_many([slice(0, 2000), slice(2000, 4000)], progress=True).ravel()
    else:
        with swath.config.set(progress=True):
            found = waiting[...] if way == "item" else waiting.read()
    np.testing.assert_array_equal(found, np.arange(4000))
    (bar,) = bars
    assert bar.said == ("reading", waiting.store_path, 16_000, "B")
    assert bar.updates == sorted(bar.updates)
    assert bar.updates[-1] == 16_000
    assert bar.is_closed


def after(seconds):
    """Have chunks decoded so much later, though nothing is shown."""
    Waiting.shown.clear()
    threading.Timer(seconds, Waiting.shown.set).start()


def test_nothing_is_shown_unasked(waiting, bars):
    # Twice as long as nothing is shown where it is asked for.
    after(1)
    waiting[...]
    with swath.config.set(progress=True):
        after(1)
        waiting.read(progress=False)
        # What ends soon shows nothing.
        waiting[:100]
    assert not bars


class Failing(Bar):
    """A bar that cannot draw."""

    def update(self, done):
        super().update(done)
        raise BrokenPipeError("no stream")


class NeverMade(Bar):
    def __init__(self, *said):
        super().__init__(*said)
        Waiting.shown.set()
        raise OSError("no stream")


class Unclosed(Bar):
    def close(self):
        super().close()
        raise ValueError("I/O operation on closed file")


@pytest.mark.parametrize("kind", [Failing, NeverMade, Unclosed])
def test_bars_that_fail_end_nothing(waiting, bars, kind, monkeypatch):
    said = []
    monkeypatch.setattr(sys, "unraisablehook", lambda raised: said.append(raised.exc_type))
    monkeypatch.setattr(swath.progress, "bar", kind)
    np.testing.assert_array_equal(waiting.read(progress=True), np.arange(4000))
    # Said once, and no other bar was made.
    assert len(said) == 1
    assert len(bars) == 1
    assert bars[0].is_closed == (kind is not NeverMade)


def written_slowly(path):
    """Write twenty chunks, each of which takes its time to encode, while progress is shown."""
    options = {"chunks": (100,), "zarr_format": 2, "compressors": WaitingToEncode()}
    zarr.create_array(path, shape=(2000,), dtype="i4", **options)
    with pytest.warns(swath.SwathWarning, match="slow"):
        array = swath.open_array(path, "r+")
    with swath.config.set(progress=True, num_threads=2):
        array[...] = np.arange(2000)
    return array


def test_bars_that_fail_end_no_writes(tmp_path, bars, monkeypatch):
    said = []
    monkeypatch.setattr(sys, "unraisablehook", lambda raised: said.append(raised.exc_type))
    monkeypatch.setattr(swath.progress, "bar", Failing)
    array = written_slowly(tmp_path / "w.zarr")
    np.testing.assert_array_equal(array[...], np.arange(2000))
    assert said == [BrokenPipeError]
    assert len(bars) == 1


def test_ctrl_c_in_a_bar_ends_the_read(waiting, monkeypatch):
    class Interrupted(Bar):
        def update(self, done):
            super().update(done)
            raise KeyboardInterrupt

    monkeypatch.setattr(swath.progress, "bar", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        waiting.read(progress=True)


def test_a_function_is_told(array, values):
    told = []
    found = array.read(progress=lambda *numbers: told.append(numbers))
    np.testing.assert_array_equal(found, values)
    assert told[-1] == (values.nbytes, values.nbytes)
    with pytest.raises(TypeError, match="wanted `progress` as a bool or a function"):
        array.read(progress="yes")


def test_a_function_that_fails_ends_the_read(waiting):
    def told(done, total):
        Waiting.shown.set()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        waiting.read(progress=told)


def test_long_writes_show_how_far_they_are(tmp_path, bars):
    array = written_slowly(tmp_path / "w.zarr")
    (bar,) = bars
    assert bar.said == ("writing", array.store_path, 20, "objects")
    assert bar.updates == sorted(bar.updates)
    assert bar.updates[-1] < 20
    assert bar.is_closed
    np.testing.assert_array_equal(array[...], np.arange(2000))


def test_programs_without_stderr_show_nothing(monkeypatch, capsys):
    monkeypatch.undo()
    monkeypatch.setattr(sys, "stderr", None)
    bar = swath.progress.bar("reading", "t2m", 10, "B")
    bar.update(10)
    bar.close()
    assert capsys.readouterr().out == ""


def test_a_second_bar_of_rich_is_lines(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("sys.stderr", io.StringIO())

    def refuse(*_):
        raise RuntimeError("only one live display may be active at once")

    monkeypatch.setattr("rich.progress.Progress.start", refuse)
    assert isinstance(swath.progress.bar("reading", "t2m", 10, "B"), swath.progress.Lines)


def test_lines():
    file = io.StringIO()
    lines = swath.progress.Lines("reading t2m", 10_000_000, "B", file)
    lines.update(2_500_000)
    # The next comes five seconds later.
    lines.update(5_000_000)
    lines.close()
    assert file.getvalue() == "swath: reading t2m: 25 % (2.5 MB of 10.0 MB)\n"


def test_bars_of_tqdm(capsys):
    pytest.importorskip("tqdm")
    bar = swath.progress.Tqdm("reading t2m", 10, "B")
    bar.update(5)
    bar.update(10)
    bar.close()
    assert "reading t2m" in capsys.readouterr().err


@pytest.mark.parametrize("unit", ["B", "objects"])
def test_bars_of_rich(monkeypatch, unit):
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("sys.stderr", file := io.StringIO())
    bar = swath.progress.Rich("reading t2m", 10, unit)
    bar.update(5)
    bar.update(10)
    bar.close()
    assert "reading t2m" in file.getvalue()
