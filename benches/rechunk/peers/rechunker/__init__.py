"""rechunker, over zarr 2, as a peer."""
