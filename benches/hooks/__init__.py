"""The race of what reads for zarr-python and for xarray: their own ways, zarrs-python's, and swath's."""
