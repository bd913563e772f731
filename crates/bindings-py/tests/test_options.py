"""How storage options become text, and what each store object says of where it points."""

import datetime
from collections import namedtuple
from pathlib import Path, PurePosixPath

import fsspec
import numpy as np
import obstore.store
import pytest
import swath
import zarr.storage
from swath import credentials, options, stores

Options = namedtuple("Options", ["flat", "provider"])


def test_values_become_text():
    given = {
        "region": "eu-central-1",
        "anon": True,
        "skip_signature": np.False_,
        "max_retries": 3,
        "backoff_base": 2.5,
        "concurrency": np.int64(7),
        "profile": None,
        "proxy_excludes": ["a", "b.example"],
        "client_options": {"timeout": datetime.timedelta(seconds=90), "default_headers": {"x-y": b"z"}},
        "retry_config": {
            "backoff": {"init_backoff": datetime.timedelta(milliseconds=100), "max_backoff": None}
        },
        "pool_idle_timeout": datetime.timedelta(microseconds=7),
        "root_certificate": b"-----BEGIN CERTIFICATE-----",
        "service_account": PurePosixPath("/a/key.json"),
        "token": {"type": "service_account", "private_key": "x"},
        "loop": object(),
    }
    flat, provider = options.split(given)
    assert provider is None
    assert flat == {
        "region": "eu-central-1",
        "anon": "true",
        "skip_signature": "false",
        "max_retries": "3",
        "backoff_base": "2.5",
        "concurrency": "7",
        "proxy_excludes": "a,b.example",
        "client_options.timeout": "90s",
        "client_options.default_headers.x-y": "z",
        "retry_config.backoff.init_backoff": "100ms",
        "pool_idle_timeout": "7us",
        "root_certificate": "-----BEGIN CERTIFICATE-----",
        "service_account": "/a/key.json",
        "token": '{"type": "service_account", "private_key": "x"}',
    }
    assert options.split(None) == options.split({}) == ({}, None)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"secret": object()}, ["secret", "object"]),
        ({"client_kwargs": {"verify": [object()]}}, ["client_kwargs.verify", "object"]),
        ({1: "S3CRET"}, ["int"]),
        ({"credential_provider": "S3CRET"}, ["credential_provider", "str"]),
        ({"secret": b"S3CRET\xff"}, ["secret", "UTF-8"]),
    ],
    ids=str,
)
def test_values_that_are_no_text(given, words):
    with pytest.raises(swath.InvalidError) as caught:
        swath.open("s3://bucket/a", storage_options=given)
    for word in words:
        assert word in str(caught.value)
    assert "S3CRET" not in str(caught.value)


def keys():
    return {"access_key_id": "AK", "secret_access_key": "S3CRET", "token": None, "expires_at": None}


HOUR = datetime.timedelta(hours=1)
S3 = {
    "region": "eu-west-1",
    "endpoint": "http://127.0.0.1:1",
    "access_key_id": "AK",
    "secret_access_key": "SK",
    "client_options": {"allow_http": True, "timeout": HOUR},
    "retry_config": {"max_retries": 2, "retry_timeout": HOUR},
}
S3_TEXT = {
    "region": "eu-west-1",
    "endpoint": "http://127.0.0.1:1",
    "access_key_id": "AK",
    "secret_access_key": "SK",
    "client_options.allow_http": "true",
    "retry_config.max_retries": "2",
    "retry_config.retry_timeout": "3600s",
}
LOCAL = Path("/data/a.zarr")


def s3fs_store(**given):
    return zarr.storage.FsspecStore(fsspec.filesystem("s3", asynchronous=True, **given), path="b/a.zarr")


STORES = [
    (obstore.store.GCSStore("b", prefix="p/", skip_signature=True), "gs://b/p", {"skip_signature": "true"}),
    (
        obstore.store.AzureStore("c", account_name="acc", prefix="p", access_key="czNjcmV0"),
        "az://c/p",
        {"account_name": "acc"},
    ),
    (obstore.store.HTTPStore.from_url("http://127.0.0.1:1/a/b"), "http://127.0.0.1:1/a/b", {}),
    (
        zarr.storage.ObjectStore(obstore.store.S3Store("b", skip_signature=True)),
        "s3://b",
        {"skip_signature": "true"},
    ),
    (
        zarr.storage.StorePath(zarr.storage.ObjectStore(obstore.store.S3Store("b", region="r")), "x/y"),
        "s3://b/x/y",
        {"region": "r"},
    ),
    (
        s3fs_store(
            anon=True, endpoint_url="http://h:1", client_kwargs={"region_name": "q"}, requester_pays=True
        ),
        "s3://b/a.zarr",
        {
            "anon": "true",
            "endpoint_url": "http://h:1",
            "client_kwargs.region_name": "q",
            "requester_pays": "true",
            "asynchronous": "true",
        },
    ),
    (
        fsspec.get_mapper("s3://b/a", key="AK", secret="SK", token="T"),
        "s3://b/a",
        {"key": "AK", "secret": "SK", "token": "T"},
    ),
    (fsspec.get_mapper("http://127.0.0.1:1/a b"), "http://127.0.0.1:1/a b", {}),
]


@pytest.mark.parametrize(("store", "url", "text"), STORES, ids=lambda value: type(value).__name__)
def test_store_objects_say_where_they_point(store, url, text):
    found = stores.place(store, None)
    assert found.url == url
    assert found.provider is None
    assert text.items() <= found.options.items()


def test_options_of_obstore():
    store = obstore.store.S3Store("b", prefix="a.zarr", **S3)
    found = stores.place(store, {"region": "r", "anon": True})
    assert found.url == "s3://b/a.zarr"
    assert S3_TEXT.items() <= (found.options | {"region": "eu-west-1"}).items()
    assert (found.options["region"], found.options["anon"]) == ("r", "true")
    assert "bucket" not in found.options
    other = stores.place(store, {"key": "OTHER", "client_kwargs.region_name": "r"}).options
    assert (other["key"], other["client_kwargs.region_name"]) == ("OTHER", "r")
    assert other["secret_access_key"] == "SK"
    assert not {"access_key_id", "region"} & other.keys()
    store = obstore.store.S3Store("b", credential_provider=keys)
    assert stores.place(store, None).provider is keys


@pytest.mark.parametrize(
    "store",
    [
        LOCAL,
        str(LOCAL),
        zarr.storage.LocalStore(LOCAL),
        zarr.storage.StorePath(zarr.storage.LocalStore(LOCAL.parent), LOCAL.name),
        zarr.storage.FsspecStore.from_url(f"file://{LOCAL}"),
        fsspec.get_mapper(str(LOCAL)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_stores_of_local_files(store):
    assert stores.place(store, {}) == stores.Place(str(LOCAL), {}, None)


def test_local_stores_are_read(path, values):
    mapper = fsspec.get_mapper(str(path))
    for store in (zarr.storage.LocalStore(path), obstore.store.LocalStore(path), mapper):
        array = swath.open_array(store)
        assert array == swath.open_array(path)
        np.testing.assert_array_equal(array[1:3, 2], values[1:3, 2])
        assert array.store_stats() is None


class Wrapped(obstore.store.S3Store):
    pass


@pytest.mark.parametrize(
    ("store", "name"),
    [
        (obstore.store.MemoryStore(), "obstore.store.MemoryStore"),
        (fsspec.get_mapper("memory://a"), "MemoryFileSystem"),
        (fsspec.get_mapper("simplecache::s3://b/k", s3={"anon": True}), "SimpleCacheFileSystem"),
        # What a class of somebody else's changes is not known.
        (Wrapped("b", skip_signature=True), "Wrapped"),
        (np.zeros(3), "numpy.ndarray"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_stores_are_refused_by_name(store, name):
    with pytest.raises(swath.UnsupportedError) as caught:
        swath.open(store)
    assert name in str(caught.value)


def test_what_is_no_store():
    for wrong in (3, None, b"a", ["s3://b/a"]):
        with pytest.raises(TypeError):
            swath.open(wrong)


def test_options_are_for_urls(path):
    for store in (path, str(path), f"file://{path}"):
        assert swath.open(store, storage_options={}).shape
        with pytest.raises(swath.InvalidError) as caught:
            swath.open(store, storage_options={"anon": True})
        assert "local" in str(caught.value)


async def async_keys():
    return keys()


def sas():
    return {
        "sas_token": [("sv", "1"), ("sig", "S3CRET")],
        "expires_at": datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC),
    }


def test_credential_providers():
    wanted = {"access_key_id": "AK", "secret_access_key": "S3CRET"}
    assert credentials.fetch(keys) == (wanted, None)
    assert credentials.fetch(async_keys) == (wanted, None)
    assert credentials.fetch(sas) == ({"sas_token": "sv=1&sig=S3CRET"}, 1893456000.0)
    for wrong in (lambda: None, lambda: "S3CRET", lambda: {"token": "S3CRET", "expires_at": "soon"}):
        with pytest.raises(swath.InvalidError) as caught:
            credentials.fetch(wrong)
        assert "S3CRET" not in str(caught.value)

    async def fails():
        raise RuntimeError("no keys today")

    with pytest.raises(RuntimeError, match="no keys today"):
        credentials.fetch(fails)
