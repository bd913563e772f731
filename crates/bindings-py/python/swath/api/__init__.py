"""swath's functions, by zarr-python's layout: ``swath.api.asynchronous`` has those that are awaited."""

from swath.api import asynchronous

__all__ = ["asynchronous"]
