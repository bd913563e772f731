"""The engine's entry point."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from os import PathLike
from typing import Any, ClassVar, Literal, override

from xarray import Dataset, DataTree
from xarray.backends import BackendEntrypoint, StoreBackendEntrypoint

from swath._swath import Group
from swath.errors import InvalidError
from swath.xarray.groups import Arrays, Opening, arrays_of, groups_below
from swath.xarray.prefetch import Prefetch
from swath.xarray.store import GroupStore, read_when_opened


class SwathBackendEntrypoint(BackendEntrypoint):
    """Opens Zarr groups for reading: ``xarray.open_dataset(url, engine="swath")``.

    ``url`` is whatever `swath.open` takes, a path, a URL, a store of zarr-python or obstore, or references;
    or a `swath.Group`. Of what is stored nothing but coordinates is read before it is asked for.

    Keyword arguments are those of the engine ``zarr``, and those of `swath.open` besides:
    ``storage_options``, ``decoded_cache_bytes``, ``cache``, ``cache_dir``, ``cache_freshness``,
    ``checksums``. To write, use ``Dataset.to_zarr``.
    """

    description: ClassVar[str] = "Read Zarr archives by random crops, as fast as the hardware allows"
    supports_groups: ClassVar[bool] = True

    @override
    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: bool | Mapping[str, bool] = True,
        decode_times: Any = True,
        concat_characters: bool | Mapping[str, bool] = True,
        decode_coords: bool | str = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | Mapping[str, bool] | None = None,
        decode_timedelta: Any = None,
        group: str | None = None,
        mode: str = "r",
        consolidated: bool | None = None,
        zarr_format: Literal[2, 3] | None = None,
        use_zarr_fill_value_as_mask: bool | None = None,
        storage_options: Mapping[str, Any] | None = None,
        decoded_cache_bytes: int | None = None,
        cache: int | str | None = None,
        cache_dir: str | PathLike[str] | None = None,
        cache_freshness: Literal["checked", "immutable"] | float | None = None,
        checksums: Literal["verify", "skip"] | None = None,
    ) -> Dataset:
        """Open one group, for `xarray.open_dataset`."""
        opened = _opening(
            group=group,
            mode=mode,
            consolidated=consolidated,
            zarr_format=zarr_format,
            storage_options=storage_options,
            decoded_cache_bytes=decoded_cache_bytes,
            cache=cache,
            cache_dir=cache_dir,
            cache_freshness=cache_freshness,
            checksums=checksums,
        ).open(filename_or_obj)
        arrays = arrays_of(opened)
        decoding = {
            "mask_and_scale": mask_and_scale,
            "decode_times": decode_times,
            "concat_characters": concat_characters,
            "decode_coords": decode_coords,
            "drop_variables": drop_variables,
            "use_cftime": use_cftime,
            "decode_timedelta": decode_timedelta,
        }
        prefetch = Prefetch(read_when_opened(arrays))
        return _decoded(opened, arrays, prefetch, use_zarr_fill_value_as_mask, decoding)

    @override
    def open_groups_as_dict(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: bool | Mapping[str, bool] = True,
        decode_times: Any = True,
        concat_characters: bool | Mapping[str, bool] = True,
        decode_coords: bool | str = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | Mapping[str, bool] | None = None,
        decode_timedelta: Any = None,
        group: str | None = None,
        mode: str = "r",
        consolidated: bool | None = None,
        zarr_format: Literal[2, 3] | None = None,
        use_zarr_fill_value_as_mask: bool | None = None,
        storage_options: Mapping[str, Any] | None = None,
        decoded_cache_bytes: int | None = None,
        cache: int | str | None = None,
        cache_dir: str | PathLike[str] | None = None,
        cache_freshness: Literal["checked", "immutable"] | float | None = None,
        checksums: Literal["verify", "skip"] | None = None,
    ) -> dict[str, Dataset]:
        """Open a group and all groups below it, for `xarray.open_groups`."""
        root = _opening(
            group=group,
            mode=mode,
            consolidated=consolidated,
            zarr_format=zarr_format,
            storage_options=storage_options,
            decoded_cache_bytes=decoded_cache_bytes,
            cache=cache,
            cache_dir=cache_dir,
            cache_freshness=cache_freshness,
            checksums=checksums,
        ).open(filename_or_obj)
        groups = groups_below(root)
        decoding = {
            "mask_and_scale": mask_and_scale,
            "decode_times": decode_times,
            "concat_characters": concat_characters,
            "decode_coords": decode_coords,
            "drop_variables": drop_variables,
            "use_cftime": use_cftime,
            "decode_timedelta": decode_timedelta,
        }
        prefetch = Prefetch(chain.from_iterable(read_when_opened(arrays) for _, arrays in groups.values()))
        # Paths count from the group that was asked for.
        names = {path: (path or ".") if group else f"/{path}" for path in groups}
        return {
            names[path]: _decoded(opened, arrays, prefetch, use_zarr_fill_value_as_mask, decoding)
            for path, (opened, arrays) in groups.items()
        }

    @override
    def open_datatree(self, filename_or_obj: Any, **options: Any) -> DataTree:
        """Open a group and all groups below it as a tree, for `xarray.open_datatree`."""
        return DataTree.from_dict(self.open_groups_as_dict(filename_or_obj, **options))


def _opening(
    *,
    group: str | None,
    mode: str,
    consolidated: bool | None,
    zarr_format: Literal[2, 3] | None,
    **options: Any,
) -> Opening:
    if mode != "r":
        message = f"wanted mode 'r', found {mode!r}: the engine swath reads; write by `Dataset.to_zarr`"
        raise InvalidError(message)
    return Opening(group=group, consolidated=consolidated, zarr_format=zarr_format, options=options)


def _decoded(
    group: Group, arrays: Arrays, prefetch: Prefetch, is_fill_masked: bool | None, decoding: dict[str, Any]
) -> Dataset:
    """Decode a group's variables by the conventions of CF, as lazily as xarray does."""
    store = GroupStore(group, arrays, is_fill_masked=is_fill_masked, prefetch=prefetch)
    dataset = StoreBackendEntrypoint().open_dataset(store, **decoding)
    # `open_mfdataset` calls what is set here; the store's own would go into every pickle.
    dataset.set_close(_close_nothing)
    return dataset


def _close_nothing() -> None:
    """Do nothing: no file is open."""
