"""Ctrl-C ends every call that waits for a server; reads of arrays are in `test_endings.py`."""

import signal
import subprocess
import sys
import textwrap
import time

import pytest
import zarr
from holding_server import Silent, held

# What none of the programs takes, on a machine that is busy.
LIMIT_SECONDS = 60

PROGRAM = """
    import asyncio, os, signal, sys, time
    import numpy as np
    import swath, swath.fsspec, swath.io, swath.zarr

    # A shell that starts the tests in the background has it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    local, web, cloud = sys.argv[1], sys.argv[2], "s3://bucket"
    options = dict(endpoint=web, region="eu-central-1", allow_http=True, anon=True)

    def there():
        return swath.open_group(f"{cloud}/answered.zarr", mode="r+", storage_options=options)

    def store():
        return swath.zarr.Store(cloud, storage_options=options)

    def files():
        swath.fsspec.register("s3")
        import fsspec
        return fsspec.filesystem("s3", skip_instance_cache=True, **options)

    prepared = PREPARED
    try:
        CALL
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
    # The engine, its threads and the network's go on.
    found = swath.open_array(local)[2].sum()
    again = swath.open_group(f"{cloud}/answered.zarr", storage_options=options)
    assert (found, again.attrs["title"]) == (20, "served"), (found, again)
"""

# What is made before, and the call that waits.
CALLS = {
    "open": ("None", "swath.open(f'{web}/a.zarr')"),
    "open_array": ("None", "swath.open_array(f'{web}/a.zarr')"),
    "open_group": ("None", "swath.open_group(f'{cloud}/a.zarr', storage_options=options)"),
    "open_zip": ("None", "swath.open(f'{web}/a.zip')"),
    "open_references": ("None", "swath.open(f'reference::{web}/a.json')"),
    "open_lazily": ("there()", "prepared['a'].shape"),
    "member": ("there()", "prepared['below/t2m']"),
    "contains": ("there()", "'t2m' in prepared"),
    "keys": ("there()", "prepared.keys()"),
    "members": ("there()", "prepared.members()"),
    "tree": ("there()", "prepared.tree()"),
    "create_array": ("there()", "prepared.create_array('new', shape=(4,), dtype='i4')"),
    "attributes": ("there()", "prepared.attrs.update(a=1)"),
    "remove": ("there()", "prepared.__delitem__('t2m')"),
    "store_get": ("store()._keys", "prepared.get([('a', None, None), ('b', 3, 9)])"),
    "store_size": ("store()._keys", "prepared.size('a')"),
    "store_list": ("store()._keys", "prepared.keys('')"),
    "store_put": ("store()._keys", "prepared.put('a', np.zeros(9, 'u1'), False)"),
    "store_delete": ("store()._keys", "prepared.delete('a')"),
    "store_delete_below": ("store()._keys", "prepared.delete_below('a')"),
    "store_sync": ("store()", "prepared.get_sync('a')"),
    "fsspec_info": ("files()", "prepared.info('bucket/a')"),
    "fsspec_ls": ("files()", "prepared.ls('bucket/a')"),
    "fsspec_cat": ("files()", "prepared.cat('bucket/a')"),
    "fsspec_ranges": ("files()", "prepared.cat_ranges(['bucket/a'], [0], [9])"),
    "fsspec_open": ("files()", "prepared.open('bucket/a').read(9)"),
    "get_ranges": ("None", "swath.io.get_ranges(f'{web}/a', starts=[0], lengths=[9])"),
    "get_range": ("None", "swath.io.get_range(f'{web}/a', start=0, length=9)"),
}


@pytest.fixture
def served(tmp_path):
    """An array on disk, and a server that answers for nothing but the metadata of a group."""
    array = zarr.create_array(tmp_path / "local.zarr", shape=(4, 4), chunks=(1, 4), dtype="i4")
    array[...] = 5
    zarr.create_group(tmp_path / "bucket/answered.zarr", attributes={"title": "served"})
    with held(tmp_path, Silent) as (handler, url):
        yield handler, str(tmp_path / "local.zarr"), url


@pytest.mark.parametrize("prepared, call", CALLS.values(), ids=CALLS)
def test_ctrl_c_ends_a_call_that_waits(served, prepared, call):
    handler, *arguments = served
    text = textwrap.dedent(PROGRAM).replace("PREPARED", prepared).replace("CALL", call)
    pipe = subprocess.PIPE
    command = [sys.executable, "-X", "faulthandler", "-c", text, *arguments]
    running = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    assert handler.asked.wait(LIMIT_SECONDS), running.communicate(timeout=LIMIT_SECONDS)
    pressed = time.monotonic()
    running.send_signal(signal.SIGINT)
    printed, failed = ended(running)
    assert (running.returncode, failed) == (0, "")
    assert not handler.released.is_set()
    # The bar is 0.2 s, on a machine that is not busy with other tests.
    assert float(printed) - pressed < 2


def test_an_exception_of_a_handler_is_what_is_raised(served):
    """Any signal's, not only Ctrl-C's; and a handler that raises nothing ends nothing."""
    handler, _, url = served
    program = f"""
        import signal, swath, threading
        class Enough(Exception):
            pass
        told = []
        def counted(*_):
            told.append(1)
            if len(told) == 3:
                raise Enough
        signal.signal(signal.SIGUSR1, counted)
        def press():
            for _ in range(3):
                threading.Event().wait(0.2)
                signal.raise_signal(signal.SIGUSR1)
        threading.Thread(target=press).start()
        try:
            swath.open("{url}/a.zarr")
        except Enough:
            print(len(told))
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
    )
    assert (ran.returncode, ran.stdout.strip(), ran.stderr) == (0, "3", "")
    assert handler.asked.is_set()


# An array of 64 chunks on a server that never answers, and how it is written to.
WRITE = """
import json, signal, sys, threading, time
import numpy as np
from swath import _swath

signal.signal(signal.SIGINT, signal.default_int_handler)
keys = {"zarr_format": 3, "node_type": "array", "shape": [64], "data_type": "uint8", "fill_value": 0,
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
    "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}], "attributes": {}}
options = dict(endpoint=sys.argv[1], region="eu-central-1", allow_http=True, anon=True)
array = _swath._described(_swath.KeyStore("s3://bucket", options), "a.zarr", json.dumps(keys))
BEFORE
try:
    array[...] = np.arange(64, dtype="u1")
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
"""

# What is under way before.
BEFORE = {
    # On other threads than the one that is asked.
    "of_many_objects": "",
    # All of them taken by another thread, which is asked for nothing.
    "of_objects_that_are_taken": """
threading.Thread(target=array.__setitem__, args=(..., 1), daemon=True).start()
time.sleep(0.5)
""",
}


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
def test_writes_end_too(served, before):
    handler, _, url = served
    pipe = subprocess.PIPE
    command = [sys.executable, "-X", "faulthandler", "-c", WRITE.replace("BEFORE", before), url]
    running = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    assert handler.asked.wait(LIMIT_SECONDS), running.communicate(timeout=LIMIT_SECONDS)
    # Until the write has begun that is ended, also where another was asked for first.
    time.sleep(1 if before else 0)
    pressed = time.monotonic()
    running.send_signal(signal.SIGINT)
    printed, failed = ended(running)
    assert (running.returncode, failed) == (0, "")
    assert float(printed) - pressed < 2


def ended(running):
    """What a program printed and what it failed with; one that hangs says where."""
    try:
        return running.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        # faulthandler, which is on, prints the stacks.
        running.send_signal(signal.SIGABRT)
        pytest.fail(f"hangs:\n{running.communicate()[1]}")
