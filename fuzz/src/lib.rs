//! What the fuzz targets call.

pub mod chain;
pub mod codec;
pub mod read;
pub mod shard_index;
