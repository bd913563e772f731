"""ecCodes by its C library, and cfgrib above it."""
