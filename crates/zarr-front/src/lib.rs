//! Zarr v3 and v2: array slices to byte ranges, and decoded chunks to arrays.

#![forbid(unsafe_code)]

mod chunk_key;
mod data_type;
mod error;
mod fill_value;
mod metadata;
mod selection;

pub use chunk_key::{ChunkKeyEncoding, Separator};
pub use data_type::DataType;
pub use error::{Error, ErrorKind};
pub use fill_value::FillValue;
pub use metadata::{
    ArrayCodecs, ArrayMetadata, Consolidated, ConsolidatedNode, GroupMetadata, IndexLocation, NodeMetadata,
    Sharding, ZarrFormat,
};
pub use selection::{AxisKind, AxisSelection, ResolvedAxis, ResolvedSelection, Selection};
