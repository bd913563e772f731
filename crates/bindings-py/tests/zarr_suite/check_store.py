"""zarr-python's tests for stores, of `swath.zarr.Store`; run by scripts/zarr-suite."""

import os
from pathlib import Path

import pytest
import zarr
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test
from swath.zarr import SwathStore
from zarr.core.buffer import cpu
from zarr.testing.stateful import ZarrHierarchyStateMachine
from zarr.testing.store import StoreTests


class TestSwathStore(StoreTests[SwathStore, cpu.Buffer]):
    store_cls = SwathStore
    buffer_cls = cpu.Buffer

    async def get(self, store, key):
        return self.buffer_cls.from_bytes((Path(store.url) / key).read_bytes())

    async def set(self, store, key, value):
        path = Path(store.url) / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value.to_bytes())

    @pytest.fixture
    def store_kwargs(self, tmp_path):
        return {"url": str(tmp_path)}

    def test_store_repr(self, store):
        assert repr(store) == f"SwathStore('file://{store.url}')"

    def test_store_supports_writes(self, store):
        assert store.supports_writes

    def test_store_supports_listing(self, store):
        assert store.supports_listing


class Hierarchies(ZarrHierarchyStateMachine):
    """zarr-python's machine, but that folders may stay once they are empty, as in its LocalStore."""

    @precondition(lambda self: bool(self.all_groups))
    @rule(data=st.data())
    def check_list_dir(self, data):
        path = self.draw_directory(data)
        found = self._sync_iter(self.store.list_dir(path))
        held = [
            name for name in found if self._sync_iter(self.store.list_prefix(f"{path}/{name}".strip("/")))
        ]
        assert sorted(held) == sorted(self._sync_iter(self.model.list_dir(path)))


@pytest.mark.filterwarnings("ignore::zarr.core.dtype.common.UnstableSpecificationWarning")
def test_hierarchies_of_any_history(tmp_path):
    cases = settings(max_examples=int(os.environ.get("SWATH_CASES", "20")), deadline=None)
    with zarr.config.set({"array.rectilinear_chunks": True}):
        run_state_machine_as_test(lambda: Hierarchies(SwathStore(tmp_path)), settings=cases)
