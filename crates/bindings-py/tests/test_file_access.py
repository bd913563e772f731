"""Saying how files are read."""

import os
import subprocess
import sys

import pytest
import swath

# Reads an array many times by the way that is given, and prints what read its files.
PROGRAM = """
import sys, swath
path, way = sys.argv[1:]
if way:
    swath.set_file_access(None if way == "none" else way)
array = swath.open_array(path)
array[...]
print("\\n".join(swath.stats()["drivers"]))
"""


def drivers(path, way="", variable=None):
    environment = {name: value for name, value in os.environ.items() if name != "SWATH_FILE_ACCESS"}
    environment |= {} if variable is None else {"SWATH_FILE_ACCESS": variable}
    command = [sys.executable, "-c", PROGRAM, path, way]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("way", "variable", "found"),
    [
        ("", None, "past the page cache where it pays"),
        ("probe", "pread", "past the page cache where it pays"),
        ("pread", None, "pread threads (asked for)"),
        ("pread", "direct", "pread threads (asked for)"),
        ("none", "pread", "pread threads (asked for)"),
        ("", "pread", "pread threads (asked for)"),
        ("direct", None, "past the page cache"),
    ],
)
def test_files_are_read_as_was_said(path, way, variable, found):
    ended = drivers(path, way, variable)
    assert found in ended.stdout, ended.stderr


def test_a_way_that_is_none_is_refused(path):
    with pytest.raises(swath.InvalidError, match=r'wanted one of probe, .* found "fast"'):
        swath.set_file_access("fast")
    ended = drivers(path, variable="fast")
    assert "swath.errors.UnsupportedError" in ended.stderr
    assert "SWATH_FILE_ACCESS" in ended.stderr
    assert '"fast"' in ended.stderr
