//! Read huge Zarr archives by random crops, as fast as the hardware allows.
//!
//! This crate is the front door for Rust users: it re-exports the entry points of the engine ([`ioengine`]), the codecs
//! ([`codecs`]) and the Zarr front-end. It has no logic of its own.
//!
//! ```
//! # let folder = std::env::temp_dir().join(format!("swath-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(folder.join("c"))?;
//! # std::fs::write(folder.join("zarr.json"), r#"{"zarr_format": 3, "node_type": "array", "shape": [6],
//! #     "data_type": "int16", "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [6]}},
//! #     "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
//! #     "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}"#)?;
//! # std::fs::write(folder.join("c/0"), [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0])?;
//! let array = swath::Array::open(&folder)?;
//! let crops = array.read_many(&["0:2".parse()?, "::-3".parse()?])?;
//! assert_eq!(crops[0].as_slice::<i16>()?, [1, 2]);
//! assert_eq!(crops[1].as_slice::<i16>()?, [6, 3]);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub use swath_codecs as codecs;
#[cfg(feature = "convert")]
pub use swath_convert as convert;
pub use swath_ioengine as ioengine;
#[cfg(feature = "cloud")]
pub use swath_ioengine::CloudOptions;
#[cfg(feature = "cache")]
pub use swath_ioengine::{CacheConfig, CacheStats, CacheTier};
pub use swath_zarr_front::{
    Array, ArrayBuilder, ArrayCodecs, ArrayData, ArrayMetadata, AxisChunks, AxisKind, AxisSelection,
    ChunkCodec, ChunkKeyEncoding, Consolidated, ConsolidatedCheck, ConsolidatedNode, Conversion,
    ConvertedArray, CopyCodecs, CopyExisting, CopyOptions, CopyPlan, CopyProgress, CopyReport, CopyShards,
    CopyStage, DataType, DecodedCache, EachResult, Elements, EmptyChunks, Error, ErrorKind, Existing,
    FillValue, Finding, Group, GroupMetadata, IndexLocation, KeyPut, KeyRange, MemoryOrder, NamedNode,
    NanMeans, Node, NodeMetadata, Number, NumberType, Objects, Points, ReadOptions, ReadPlan, Region,
    RegionGrid, ResolvedAxis, ResolvedSelection, Selection, Separator, Severity, Sharding, SmallFloat, Store,
    StructField, StructType, TimeUnit, ValidateOptions, Validated, VariableArrayData, Verify, WriteOptions,
    ZarrFormat,
};
pub use swath_zarr_front::{IcechunkOptions, ReferenceTargets, Revision};

/// The README's example is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
