"""GRIB readers: decoding messages of every packing, and listing the fields of a file."""
