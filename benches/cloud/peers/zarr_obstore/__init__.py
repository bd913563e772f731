"""zarr-python, its Fused pipeline, zarrs-python and obstore, all over obstore."""
