//! Zarr v3 and v2: array slices to byte ranges, and decoded chunks to arrays.
