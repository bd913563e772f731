//! What the fuzz targets call.

pub mod chain;
pub mod codec;
pub mod filters;
pub mod folder;
pub mod grib;
pub mod hdf5;
pub mod nat;
pub mod nodes;
pub mod read;
pub mod shard_index;
pub mod stored;
