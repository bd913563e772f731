"""zarr-python as a peer."""
