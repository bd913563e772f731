"""What swath reports to Python's `logging`."""

import logging
import os
import subprocess
import sys
import time

import pytest
import swath
from swath import configuration, logs

# Opens an array whose device has a broken calibration, of which swath warns.
PROGRAM = """
import logging, sys
path, level = sys.argv[1:]
if level != "silent":
    logging.basicConfig(level=int(level), format="%(levelname)s %(name)s %(message)s")
import swath
swath.open_array(path)[...]
"""


@pytest.fixture
def environment(path, tmp_path):
    """That of a process that finds a broken calibration for the device of the tests' folder."""
    status = path.stat()
    kind = subprocess.run(["stat", "-f", "-c", "%t", path], check=True, capture_output=True, text=True)
    folder = tmp_path / "cache" / "swath"
    folder.mkdir(parents=True)
    name = f"calibration-{os.major(status.st_dev)}-{os.minor(status.st_dev)}-{kind.stdout.strip()}.json"
    (folder / name).write_text("no calibration")
    own = {name: value for name, value in os.environ.items() if not name.startswith("SWATH_")}
    return own | {"XDG_CACHE_HOME": str(tmp_path / "cache")}


def logged(path, level, environment):
    command = [sys.executable, "-c", PROGRAM, path, str(level)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stderr


def test_events_are_records(path, environment):
    stderr = logged(path, logging.DEBUG, environment)
    assert "WARNING swath.ioengine.calibration.find a stored calibration is ignored: broken" in stderr
    assert f"path: {environment['XDG_CACHE_HOME']}/swath/calibration-" in stderr


def test_levels_are_loggings(path, environment):
    assert "WARNING swath.ioengine" in logged(path, logging.WARNING, environment)
    assert logged(path, logging.ERROR, environment) == ""
    # Who says nothing of logging is told nothing.
    assert logged(path, "silent", environment) == ""


# A codec that has an interrupt come while a read waits, with an event put down that nobody has passed on.
INTERRUPTED = """
import logging, os, signal, sys, threading, time
import numcodecs, numpy, zarr
from numcodecs.abc import Codec
import swath, swath.logs

handled = []

class Slow(Codec):
    codec_id = "swath-slow"

    def encode(self, buf):
        return bytes(buf)

    def decode(self, buf, out=None):
        time.sleep(0.01)
        return bytes(buf)

numcodecs.register_codec(Slow)
folder, broken = sys.argv[1:]
data = numpy.arange(60_000, dtype="i4")
zarr.create_array(folder, data=data, chunks=(100,), zarr_format=2, compressors=Slow())

class Handler(logging.Handler):
    def emit(self, record):
        # As if Ctrl-C came while the event is handled.
        handled.append(record)
        signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
logging.getLogger("swath").addHandler(Handler())
try:
    swath.open_array(folder)[...]
    swath.open_array(broken)[...]
    print("went on", len(handled))
except KeyboardInterrupt:
    print("interrupted", len(handled))
"""


def test_ctrl_c_comes_through_handlers(path, environment, tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", INTERRUPTED, tmp_path / "slow", path]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert ended.stdout == "interrupted 1\n", ended.stderr


def test_the_level_is_that_of_the_logger(monkeypatch):
    logger = logging.getLogger("swath")
    for level in (logging.DEBUG, logging.ERROR):
        monkeypatch.setattr(logger, "level", level)
        logger.manager._clear_cache()
        assert configuration.level() == level
    monkeypatch.setattr(logger.manager, "disable", logging.ERROR)
    assert logging.ERROR < configuration.level()


def test_records_say_where_when_and_who(caplog):
    caplog.set_level(logging.DEBUG, "swath")
    created = time.time() - 5
    logs.handle([(10, "swath_ioengine::media::cloud", "said", created, "swath-lane-1")], 3)
    first, last = caplog.records
    assert (first.name, first.levelno, first.getMessage()) == ("swath.ioengine.media.cloud", 10, "said")
    assert (first.created, first.threadName) == (created, "swath-lane-1")
    assert last.getMessage() == "3 more events came too fast to be logged"
    caplog.clear()
    caplog.set_level(logging.ERROR, "swath")
    logs.handle([(10, "swath_ioengine::media::cloud", "said", created, "")], 0)
    assert not caplog.records
    assert swath.stats()["lanes"]
