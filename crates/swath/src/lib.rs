//! Read huge Zarr archives by random crops, as fast as the hardware allows.
