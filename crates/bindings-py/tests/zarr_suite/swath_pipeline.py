"""A plugin of pytest's: zarr-python's own tests with swath's pipeline as the default.

What its own pipeline does as well passes; ``DESELECTED`` names the tests that cannot, each with its reason.
"""

import os
import warnings

# Tests reset the configuration, to what the environment says when zarr-python is first imported, and later.
os.environ["ZARR_CODEC_PIPELINE__PATH"] = "swath.zarr.CodecPipeline"

import pytest
import swath.zarr

DESELECTED = {
    # They replace a method of zarr-python's own shard index, which native reads do not call.
    "test_sharding_partial_shard_read__index_chunk_slice_fails[local-start]",
    "test_sharding_partial_shard_read__index_chunk_slice_fails[local-end]",
}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    # zarr-python's tests take every warning as an error, some by a mark of their own.
    warnings.filterwarnings("ignore", category=swath.zarr.FallbackWarning)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    # Some fixtures write what falls back.
    warnings.filterwarnings("ignore", category=swath.zarr.FallbackWarning)
    return (yield)


def pytest_collection_modifyitems(config, items):
    left_out = [item for item in items if item.name in DESELECTED]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.name not in DESELECTED]


def pytest_terminal_summary(terminalreporter):
    terminalreporter.section("what swath's pipeline did")
    terminalreporter.write_line(str(swath.zarr.report()))
