//! Zarr v3 and v2: array slices to byte ranges, and decoded chunks to arrays; arrays to stored chunks and shards.

#![forbid(unsafe_code)]

mod array;
mod array_data;
mod axis_cut;
mod axis_edges;
mod cached_reads;
mod catalog;
mod changed_objects;
mod chunk_codec;
mod chunk_key;
mod compiled;
mod contained_reads;
mod converted;
mod copying;
mod counting_sort;
mod data_type;
mod decoded_cache;
mod described_array;
mod error;
mod fields;
mod fill_value;
mod group;
mod groups;
mod index_cache;
mod member_reads;
mod metadata;
mod node;
mod node_documents;
mod note;
mod objects;
mod percent;
mod picked;
mod picking;
mod placement;
mod placing;
mod plan_memory;
mod point_placement;
mod raveling;
mod read;
mod read_batch;
mod read_each;
mod reading_ahead;
mod rectilinear;
mod region;
mod selection;
mod shaped_chains;
mod shard_codec;
mod shard_index;
mod shards;
mod slabs;
mod store;
mod store_path;
#[cfg(feature = "cloud")]
mod store_url;
mod stored_keys;
mod stored_size;
mod stretches;
mod strided_copy;
mod threads;
mod validation;
mod variable;
mod whole_shards;
mod writing;

pub use array::Array;
pub use array_data::ArrayData;
pub use catalog::icechunk::{IcechunkOptions, Revision};
pub use catalog::references::ReferenceTargets;
pub use chunk_codec::ChunkCodec;
pub use chunk_key::{ChunkKeyEncoding, Separator};
pub use converted::ConvertedArray;
pub use copying::{
    CopyCodecs, CopyExisting, CopyOptions, CopyPlan, CopyProgress, CopyReport, CopyShards, CopyStage, Verify,
};
pub use data_type::{DataType, SmallFloat, StructField, StructType, TimeUnit};
pub use decoded_cache::DecodedCache;
pub use error::{Error, ErrorKind};
pub use fill_value::FillValue;
pub use group::{Group, NamedNode};
pub use metadata::{
    ArrayCodecs, ArrayMetadata, Consolidated, ConsolidatedNode, GroupMetadata, IndexLocation, NodeMetadata,
    Sharding, ZarrFormat,
};
pub use node::Node;
pub use objects::Objects;
pub use read::{ReadOptions, ReadPlan};
pub use read_each::EachResult;
pub use region::{Region, RegionGrid};
pub use selection::{AxisKind, AxisSelection, Points, ResolvedAxis, ResolvedSelection, Selection};
pub use store::{Store, StoreRecipe};
pub use stored_keys::KeyRange;
pub use swath_codecs::{Conversion, NanMeans, Number, NumberType};
pub use validation::{ConsolidatedCheck, Finding, Severity, ValidateOptions, Validated};
pub use variable::VariableArrayData;
pub use writing::{
    ArrayBuilder, AxisChunks, Elements, EmptyChunks, Existing, GatheredWrite, KeyPut, MemoryOrder,
    WriteMemory, WriteOptions,
};
