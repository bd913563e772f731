"""Other GRIB readers, each with an environment of its own."""
