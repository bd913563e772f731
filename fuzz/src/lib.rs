//! What the fuzz targets call.

pub mod chain;
pub mod codec;
pub mod filters;
pub mod read;
pub mod shard_index;
pub mod stored;
