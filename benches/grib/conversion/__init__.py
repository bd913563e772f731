"""Conversions of a GRIB file to a sharded Zarr group."""
