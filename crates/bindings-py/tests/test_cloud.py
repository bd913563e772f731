"""Arrays and groups by URL, from a small server in a child process."""

import gc
import json
import multiprocessing
import pickle
import subprocess
import sys
import urllib.request
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import fsspec
import numpy as np
import obstore.store
import pytest
import swath
import zarr
import zarr.storage

SERVER = Path(__file__).with_name("range_server.py")


class Served:
    """A folder behind a server, as a web server and, by path, as S3, Google Cloud Storage and Azure."""

    def __init__(self, folder, url):
        self.folder, self.url = folder, url

    def requests(self):
        """The method, path and headers of every request so far."""
        with urllib.request.urlopen(f"{self.url}/-/requests") as answer:
            return json.load(answer)

    @property
    def s3(self):
        """Options for s3://bucket."""
        return {"endpoint": self.url, "region": "eu-central-1", "allow_http": True, "anon": True}


@contextmanager
def serve(folder):
    command = [sys.executable, SERVER, folder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield Served(folder, json.loads(child.stdout.readline())["url"])
        finally:
            child.stdin.close()


@pytest.fixture
def served(tmp_path):
    with serve(tmp_path) as served:
        yield served


@pytest.fixture
def stored(served, values):
    """An array at bucket/a.zarr, and a consolidated group at bucket/group.zarr with an array below."""
    named = {"chunks": (1, 3, 16), "shards": (2, 6, 80), "fill_value": -1}
    zarr.create_array(served.folder / "bucket/a.zarr", data=values, **named)
    group = zarr.open_group(served.folder / "bucket/group.zarr", mode="w")
    group.create_array("inner/x", data=values, **named)
    zarr.consolidate_metadata(group.store)
    return served


CROPS = [np.s_[t, :, x : x + 20] for t in range(5) for x in (0, 7, 50)]


def check(array, values):
    np.testing.assert_array_equal(array[...], values)
    np.testing.assert_array_equal(array[::2, -2, 3:60:5], values[::2, -2, 3:60:5])
    np.testing.assert_array_equal(array.read_many(CROPS), [values[crop] for crop in CROPS])


def test_http(stored, values):
    url = f"{stored.url}/bucket/a.zarr"
    array = swath.open_array(url)
    check(array, values)
    assert repr(array) == f"<swath.Array {url} shape=(5, 6, 70) dtype=int16>"
    assert array.store_path == url
    assert swath.open(array.store_path) == array
    assert "Path           : " + url in repr(array.info)


def test_s3(stored, values):
    array = swath.open_array("s3://bucket/a.zarr", storage_options=stored.s3)
    check(array, values)
    assert "s3://bucket/a.zarr" in repr(array)
    paths = {path for _, path, _ in stored.requests()}
    assert all(path.startswith("/bucket/a.zarr/") for path in paths)
    # Only parts of shards are read: the index by its length from the end.
    ranges = [headers["range"] for headers in lower(stored) if "range" in headers]
    assert ranges


def lower(served):
    return [{name.lower(): value for name, value in headers.items()} for _, _, headers in served.requests()]


def test_groups(stored, values):
    group = swath.open_group("s3://bucket/group.zarr", storage_options=stored.s3)
    array = group["inner/x"]
    check(array, values)
    assert array.path == "inner/x"
    assert array.store_path == "s3://bucket/group.zarr/inner/x"
    assert "inner" in group
    with pytest.raises(swath.MemberNotFoundError, match=r"s3://bucket/group\.zarr/none"):
        group["none"]
    assert repr(group.tree()) == "/\n└── inner\n    └── x (5, 6, 70) int16"
    for copied in (pickle.loads(pickle.dumps(group)), group):
        assert copied == group
        check(copied["inner/x"], values)


def s3_options(served):
    return {"anon": True, "endpoint_url": served.url, "client_kwargs": {"region_name": "eu-central-1"}}


STORES = {
    "s3fs": lambda served: fsspec.get_mapper("s3://bucket/a.zarr", **s3_options(served)),
    "zarr_fsspec": lambda served: zarr.storage.FsspecStore.from_url(
        "s3://bucket/a.zarr", storage_options=s3_options(served)
    ),
    "http_mapper": lambda served: fsspec.get_mapper(f"{served.url}/bucket/a.zarr"),
    "obstore_s3": lambda served: obstore.store.S3Store(
        "bucket",
        prefix="a.zarr",
        endpoint=served.url,
        region="eu-central-1",
        skip_signature=True,
        client_options={"allow_http": True, "timeout": timedelta(seconds=20)},
        retry_config={"max_retries": 2},
    ),
    "obstore_http": lambda served: obstore.store.HTTPStore.from_url(
        f"{served.url}/bucket/a.zarr", client_options={"allow_http": True}
    ),
}


@pytest.mark.parametrize("name", STORES)
def test_stores_of_others(stored, values, name):
    store = STORES[name](stored)
    array = swath.open_array(store)
    check(array, values)
    check(pickle.loads(pickle.dumps(array)), values)
    if name.startswith("obstore"):
        check(swath.open_array(zarr.storage.ObjectStore(store)), values)


def test_not_found_and_refused(stored):
    with pytest.raises(swath.NotFoundError, match=f"{stored.url}/bucket/none"):
        swath.open(f"{stored.url}/bucket/none")
    with pytest.raises(swath.UnsupportedError, match="regoin"):
        swath.open("s3://bucket/a.zarr", storage_options={"regoin": "x"})
    closed = {**stored.s3, "endpoint": "http://127.0.0.1:9", "max_retries": 1, "retry_timeout": "5s"}
    with pytest.raises(swath.StorageError) as caught:
        swath.open("s3://bucket/a.zarr", storage_options=closed)
    assert "s3://bucket/a.zarr" in str(caught.value)
    for copied in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert type(copied) is swath.StorageError
        assert copied.object == caught.value.object


def test_errors_name_the_object(stored, values):
    array = swath.open_array("s3://bucket/a.zarr", storage_options=stored.s3)
    shard = stored.folder / "bucket/a.zarr/c/0/0/0"
    shard.write_bytes(shard.read_bytes()[:7])
    with pytest.raises(swath.SwathError) as caught:
        array[0]
    assert "s3://bucket/a.zarr/c/0/0/0" in str(caught.value)
    np.testing.assert_array_equal(array[4], values[4])
    shard.unlink()
    assert (swath.open_array(array.store_path, storage_options=stored.s3)[0] == -1).all()


SECRETS = {"access_key_id": "AKIDS3CRET", "secret_access_key": "S3CRET", "token": "S3CRET"}


def signed(served, **more):
    return {"endpoint": served.url, "region": "eu-central-1", "allow_http": True, **more}


def test_secrets_stay_out(stored, values, monkeypatch):
    array = swath.open_array("s3://bucket/a.zarr", storage_options=signed(stored, **SECRETS))
    check(array, values)
    assert "AKIDS3CRET" in lower(stored)[-1]["authorization"]
    dumped = pickle.dumps(array)
    assert b"S3CRET" not in dumped
    for shown in (repr(array), str(array.info), str(array.store_stats())):
        assert "S3CRET" not in shown
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ENVKEY")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    again = pickle.loads(dumped)
    assert again == array
    check(again, values)
    assert "Credential=ENVKEY/" in lower(stored)[-1]["authorization"]
    assert "without access_key_id, secret_access_key, token" in repr(again)
    check(pickle.loads(pickle.dumps(again)), values)


def test_a_pickle_without_its_secrets_says_so(stored):
    array = swath.open_array("s3://bucket/a.zarr", storage_options=signed(stored, **SECRETS))
    again = pickle.loads(pickle.dumps(array))
    (stored.folder / "bucket/a.zarr/zarr.json").unlink()
    with pytest.raises(swath.SwathError) as caught:
        _ = again.shape
    assert any("secret_access_key" in note for note in caught.value.__notes__)
    assert pickle.loads(pickle.dumps(caught.value)).__notes__ == caught.value.__notes__


def test_secrets_of_urls_stay_out(stored, values):
    url = stored.url.replace("http://", "http://user:S3CRET@") + "/bucket/a.zarr"
    array = swath.open_array(url)
    check(array, values)
    for shown in (repr(array), array.store_path, pickle.dumps(array).decode("latin1")):
        assert "S3CRET" not in shown
    with pytest.raises(swath.SwathError) as caught:
        swath.open(url + "/none")
    assert "S3CRET" not in str(caught.value)


def test_urls_that_differ_in_their_query_are_two(stored):
    url = f"{stored.url}/bucket/a.zarr"
    signed_urls = [swath.open_array(f"{url}?sig={number}") for number in (1, 1, 2)]
    assert signed_urls[0] == signed_urls[1] != signed_urls[2]
    assert hash(signed_urls[0]) == hash(signed_urls[1])
    groups = [swath.open_group(f"{stored.url}/bucket/group.zarr?sig={number}") for number in (1, 1, 2)]
    assert groups[0] == groups[1] != groups[2]
    assert hash(groups[0]) == hash(groups[1])


def test_representations_wait_for_no_network(stored):
    array = swath.open_array("s3://bucket/a.zarr", storage_options=stored.s3)
    again = pickle.loads(pickle.dumps(array))
    before = len(stored.requests())
    assert repr(again) == "<swath.Array s3://bucket/a.zarr (not opened yet)>"
    assert len(stored.requests()) == before
    assert again.shape == array.shape
    assert repr(again) == repr(array)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("s3://AKIA:S3/CRET@bucket/k", "s3://bucket/k"),
        ("s3://AKIA:S3?CRET@bucket/k", "s3://bucket/k"),
        ("s3://AKIA:12/S3CRET@bucket/k", "s3://bucket/k"),
        ("s3://AKIA:S@3/CRET@bucket/k", "s3://bucket/k"),
        ("s3://bucket/day@noon/k", "s3://bucket/day@noon/k"),
        ("https://user:S3#CRET@host/k", "https://host/k"),
        ("https://user:S3CRET@host:80/day@noon/k?sig=S3CRET@x", "https://host:80/day@noon/k"),
        ("http://127.0.0.1:8080/day@noon/k", "http://127.0.0.1:8080/day@noon/k"),
        ("http://[::1]/day@noon/k", "http://[::1]/day@noon/k"),
        ("https://host/k?mail=a@b", "https://host/k"),
        (
            "abfs://container@account.dfs.core.windows.net/k@1",
            "abfs://container@account.dfs.core.windows.net/k@1",
        ),
        ("abfs://user:S3/CRET@account.dfs.core.windows.net/k", "abfs://account.dfs.core.windows.net/k"),
    ],
)
def test_passwords_that_are_not_escaped_stay_out(url, shown):
    array = swath._swath._reopen_url("array", (url, {}, None, []), "")
    assert array.store_path == shown
    assert shown in repr(array)
    assert "CRET" not in repr(array) + pickle.dumps(array).decode("latin1")


def test_errors_of_urls_with_passwords_do_not_show_them():
    for url in ("s3://AKIA:S3/CRET@bucket/k", "https://user:S3#CRET@127.0.0.1:1/k", "ftp://u:S3/CRET@host/k"):
        with pytest.raises(swath.SwathError) as caught:
            swath.open(url, storage_options={"anon": True, "max_retries": 0})
        assert "CRET" not in str(caught.value), url


class Keys:
    """A credential provider that pickles, and counts how often it was asked."""

    def __init__(self):
        self.asked = 0

    def __call__(self):
        self.asked += 1
        expires_at = datetime.now(UTC) + timedelta(hours=1)
        return {
            "access_key_id": f"KEY{self.asked}",
            "secret_access_key": "S3CRET",
            "token": None,
            "expires_at": expires_at,
        }


def test_credential_provider(stored, values):
    keys = Keys()
    array = swath.open_array("s3://bucket/a.zarr", storage_options=signed(stored, credential_provider=keys))
    check(array, values)
    assert keys.asked == 1
    authorizations = {headers["authorization"].split("/")[0] for headers in lower(stored)}
    assert authorizations == {"AWS4-HMAC-SHA256 Credential=KEY1"}
    again = pickle.loads(pickle.dumps(array))
    assert b"S3CRET" not in pickle.dumps(array)
    check(again, values)
    assert "without" not in repr(again)


@pytest.mark.parametrize(
    ("error", "retryable"),
    [(RuntimeError, False), (PermissionError, False), (FileNotFoundError, False)]
    + [(error, True) for error in (OSError, TimeoutError, ConnectionRefusedError)],
)
def test_a_credential_provider_that_fails(stored, error, retryable):
    def fails():
        raise error("no keys today")

    options = signed(stored, credential_provider=fails, max_retries=0)
    with pytest.raises(swath.StorageError, match=r"s3://bucket/a\.zarr.*no keys today") as caught:
        swath.open_array("s3://bucket/a.zarr", storage_options=options)
    assert caught.value.retryable is retryable


def test_store_stats(stored):
    array = swath.open_array("s3://bucket/a.zarr", storage_options=stored.s3)
    before, served_before = array.store_stats(), len(stored.requests())
    array[1:3]
    after = array.store_stats()
    assert after["requests"] - before["requests"] == len(stored.requests()) - served_before
    assert before["bytes_received"] < after["bytes_received"]
    assert after["endpoint"] == stored.url
    assert 0 < after["first_byte_seconds"]["median"] <= after["first_byte_seconds"]["max"]
    assert after["in_flight"] == 0
    assert (after["retries"], after["throttled"], after["hedges"]) == (0, 0, 0)
    assert 1 <= after["connections_opened"] <= after["requests"]
    assert json.loads(json.dumps(after)) is not None
    group = swath.open_group("s3://bucket/group.zarr", storage_options=stored.s3)
    assert group.store_stats().keys() == after.keys()


def crop_sum(arguments):
    array, index = arguments
    return int(array[index].sum(dtype="int64"))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_processes(stored, values, method):
    array = swath.open_array("s3://bucket/a.zarr", storage_options=stored.s3)
    # The parent has read already: it has connections and a runtime when it forks.
    check(array, values)
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        found = list(pool.map(crop_sum, [(array, crop) for crop in CROPS], timeout=120))
    assert found == [int(values[crop].sum(dtype="int64")) for crop in CROPS]
    check(array, values)


def read_in_child(array, values, queue):
    check(array, values)
    queue.put(array.store_stats()["requests"])


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_reads_the_handle_it_inherited(stored, values):
    array = swath.open_array("s3://bucket/a.zarr", storage_options=stored.s3)
    check(array, values)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    children = [context.Process(target=read_in_child, args=(array, values, queue)) for _ in range(3)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    assert all(0 < queue.get() for _ in children)
    check(array, values)


def test_what_is_replaced_is_read_anew(stored, values):
    array = swath.open_array(f"{stored.url}/bucket/a.zarr")
    check(array, values)
    zarr.open_array(stored.folder / "bucket/a.zarr")[...] = values[::-1]
    check(array, values[::-1])


def test_named_memory_is_empty_at_first():
    with pytest.raises(swath.NotFoundError, match="memory://test_cloud/a"):
        swath.open("memory://test_cloud/a")


def test_providers_are_dropped_with_their_arrays(stored):
    keys = Keys()
    array = swath.open_array("s3://bucket/a.zarr", storage_options=signed(stored, credential_provider=keys))
    array[0]
    held = sys.getrefcount(keys)
    copies = [pickle.loads(pickle.dumps(array)) for _ in range(10)]
    del copies
    gc.collect()
    assert sys.getrefcount(keys) == held
