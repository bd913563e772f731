"""zarr-python's arrays in remote stores, read by swath's pipeline: natively, and in parts of shards."""

import json
import subprocess
import warnings
from functools import cache
from urllib.parse import unquote

import numpy as np
import obstore.store
import pytest
import swath.zarr
import zarr
from test_cloud import STORES, served, stored
from test_zarr_pipeline import Counted
from zarr.storage import FsspecStore, LoggingStore, ObjectStore

__all__ = ["served", "stored"]


@pytest.fixture(autouse=True)
def _enabled():
    with swath.zarr.enable(strict=True), warnings.catch_warnings():
        warnings.simplefilter("error", swath.zarr.FallbackWarning)
        yield


@cache
def private_key():
    """A new key of an account that nobody has."""
    command = ["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        pytest.skip("no openssl to make a key with")


def gcs(served):
    """Google Cloud Storage at the server, by an account."""
    key = {"gcs_base_url": served.url, "disable_oauth": True, "private_key": private_key()}
    key |= {"private_key_id": "key", "client_email": "account@example.com"}
    return obstore.store.GCSStore(
        "bucket",
        prefix="a.zarr",
        service_account_key=json.dumps(key),
        client_options={"allow_http": True},
        retry_config={"max_retries": 2},
    )


KNOWN = {
    "obstore_s3": lambda served: ObjectStore(STORES["obstore_s3"](served), read_only=True),
    "obstore_gcs": lambda served: ObjectStore(gcs(served), read_only=True),
    "obstore_http": lambda served: ObjectStore(STORES["obstore_http"](served), read_only=True),
    "fsspec_s3": STORES["zarr_fsspec"],
    "fsspec_http": lambda served: FsspecStore.from_url(f"{served.url}/bucket/a.zarr"),
    "swath_s3": lambda served: swath.zarr.Store(
        "s3://bucket/a.zarr", storage_options=served.s3, read_only=True
    ),
    "swath_http": lambda served: swath.zarr.Store(f"{served.url}/bucket/a.zarr", read_only=True),
}


def chunk_requests(served):
    """The range of each request for a shard; None for all of it."""
    return [
        {name.lower(): value for name, value in headers.items()}.get("range")
        for method, path, headers in served.requests()
        if method == "GET" and "/c/" in unquote(path)
    ]


@pytest.mark.parametrize("name", KNOWN)
def test_remote_stores_are_read_natively(stored, values, name):
    array = zarr.open_array(KNOWN[name](stored), mode="r")
    with Counted() as counted:
        np.testing.assert_array_equal(array[1:3, :4, 5:40:3], values[1:3, :4, 5:40:3])
        np.testing.assert_array_equal(array.oindex[[0, 4, 0], 2, 7:9], values[[0, 4, 0], 2, 7:9])
        np.testing.assert_array_equal(array.vindex[[4, 1], [5, 0], [69, 3]], values[[4, 1], [5, 0], [69, 3]])
        np.testing.assert_array_equal(array[...], values)
    assert (counted.native_reads, counted.decoded, counted.fallbacks) == (4, 0, 0)


@pytest.mark.parametrize("name", KNOWN)
def test_what_was_read_once_is_known(stored, values, name):
    array = zarr.open_array(KNOWN[name](stored), mode="r")
    array[0, 0, :3]
    first = chunk_requests(stored)
    # A shard's index and a chunk, or both at once; never through the store's own methods.
    assert 1 <= len(first) <= 2
    np.testing.assert_array_equal(array[0, 0, 20:23], values[0, 0, 20:23])
    # The index is known: one chunk is asked for.
    assert len(chunk_requests(stored)) == len(first) + 1
    assert all(chunk_requests(stored))


@pytest.mark.parametrize("name", ["obstore_s3", "fsspec_http"])
def test_wrapped_remote_stores_are_asked_for_their_bytes(stored, values, name):
    array = zarr.open_array(LoggingStore(KNOWN[name](stored)), mode="r")
    with Counted() as counted:
        np.testing.assert_array_equal(array[1:3, :4, 5:40:3], values[1:3, :4, 5:40:3])
    assert (counted.native_reads, counted.fallbacks) == (0, 0)
    assert 0 < counted.decoded


@pytest.mark.parametrize("name", ["obstore_s3", "fsspec_s3", "fsspec_http"])
def test_missing_chunks_are_filled(stored, values, name):
    (stored.folder / "bucket/a.zarr/c/1/0/0").unlink()
    array = zarr.open_array(KNOWN[name](stored), mode="r")
    wanted = values.copy()
    wanted[2:4] = -1
    np.testing.assert_array_equal(array[...], wanted)
