"""zarr-python over obstore, and obstore by itself."""
