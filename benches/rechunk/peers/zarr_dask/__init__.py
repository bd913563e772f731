"""dask over zarr-python as a peer."""
