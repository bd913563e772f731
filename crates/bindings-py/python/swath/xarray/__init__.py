"""xarray's engine ``swath``: ``xarray.open_dataset(url, engine="swath")``, and loading of much at once.

``load(*objects)`` and the accessor ``dataset.swath.load()`` read what is still lazy of datasets, data
arrays and trees as one batch, where xarray reads variable by variable. Needs the package xarray:
``pip install swath[xarray]``.
"""

from swath.xarray.accessor import SwathAccessor, register
from swath.xarray.engine import SwathBackendEntrypoint
from swath.xarray.loading import load

register()

__all__ = ["SwathAccessor", "SwathBackendEntrypoint", "load"]
