//! What the fuzz targets call.

pub mod chain;
pub mod codec;
