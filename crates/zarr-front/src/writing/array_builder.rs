//! New arrays: what they are to be, and their metadata.

use super::array_documents::ArrayDocuments;
use super::grid_document::AxisChunks;
use super::hierarchy::{Existing, create_node};
use crate::metadata::{IndexLocation, NodeMetadata, ZarrFormat};
use crate::{Array, ChunkKeyEncoding, DataType, Error, FillValue, Store};
use serde_json::{Map, Value};
use swath_codecs::ByteOrder;

/// A new array: what it is to be, with zarr-python 3's defaults for what is not said.
///
/// The defaults are: Zarr v3; chunks of a guessed shape (one chunk for small arrays, of about a megabyte for those of
/// gigabytes); no shards; little-endian bytes and zstd of level 0 without a checksum, `vlen-utf8` or `vlen-bytes` in place of
/// the bytes where elements have lengths of their own, and around either `optional` where they may be missing; a fill value of
/// zeros, the empty string, or the missing element; no attributes, no names of dimensions; chunk keys `c/0/0` in v3, `0.0` in v2.
///
/// ```
/// use swath_zarr_front::{ArrayBuilder, DataType, Store};
/// use swath_ioengine::MemoryMedium;
///
/// let store = Store::memory(&MemoryMedium::new());
/// let array = ArrayBuilder::new(&[100, 80], DataType::Float32)
///     .chunk_shape(&[10, 10])
///     .shard_shape(&[50, 80])
///     .dimension_names([Some("y".to_owned()), Some("x".to_owned())])
///     .create(&store, "maps/t2m")?;
/// assert_eq!(array.shard_shape(), Some(&[50, 80][..]));
/// assert_eq!(array.codecs(), ["bytes(little)", "zstd(level 0)"]);
/// # Ok::<(), swath_zarr_front::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ArrayBuilder {
    pub(super) zarr_format: ZarrFormat,
    pub(super) shape: Vec<u64>,
    pub(super) data_type: DataType,
    pub(super) byte_order: ByteOrder,
    pub(super) chunk_shape: Option<Vec<u64>>,
    pub(super) axis_chunks: Option<Vec<AxisChunks>>,
    pub(super) shards: Shards,
    pub(super) index_location: IndexLocation,
    pub(super) filters: Option<Vec<Value>>,
    pub(super) serializer: Option<Value>,
    pub(super) compressors: Option<Vec<Value>>,
    pub(super) fill: Fill,
    pub(super) attributes: Map<String, Value>,
    pub(super) dimension_names: Option<Vec<Option<String>>>,
    pub(super) chunk_key_encoding: Option<ChunkKeyEncoding>,
    pub(super) order: MemoryOrder,
    existing: Existing,
}

/// The order in which the elements of a v2 chunk are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MemoryOrder {
    /// The last axis runs fastest.
    #[default]
    C,
    /// The first axis runs fastest.
    F,
}

/// The shards of a new array.
#[derive(Clone, Debug)]
pub(super) enum Shards {
    None,
    Guessed,
    Of(Vec<u64>),
    /// Of different lengths.
    Axes(Vec<AxisChunks>),
}

/// The fill value of a new array.
#[derive(Clone, Debug)]
pub(super) enum Fill {
    Zeros,
    /// `null`, which only v2 has.
    Undefined,
    Value(FillValue),
}

impl ArrayBuilder {
    /// A new array of `shape`, which may hold zeros and be empty.
    #[must_use]
    pub fn new(shape: &[u64], data_type: DataType) -> ArrayBuilder {
        ArrayBuilder {
            zarr_format: ZarrFormat::V3,
            shape: shape.to_vec(),
            data_type,
            byte_order: ByteOrder::Little,
            chunk_shape: None,
            axis_chunks: None,
            shards: Shards::None,
            index_location: IndexLocation::End,
            filters: None,
            serializer: None,
            compressors: None,
            fill: Fill::Zeros,
            attributes: Map::new(),
            dimension_names: None,
            chunk_key_encoding: None,
            order: MemoryOrder::C,
            existing: Existing::Refuse,
        }
    }

    /// The format that the array is stored in.
    #[must_use]
    pub fn zarr_format(self, zarr_format: ZarrFormat) -> Self {
        Self { zarr_format, ..self }
    }

    /// Elements of a chunk along each axis: of an inner chunk, where there are shards.
    #[must_use]
    pub fn chunk_shape(self, chunk_shape: &[u64]) -> Self {
        Self { chunk_shape: Some(chunk_shape.to_vec()), ..self }
    }

    /// How each axis is cut into chunks, which may differ in length: the grid `rectilinear`, which only v3 has, in place of a
    /// chunk shape, and without shards: these have [`axis_shards`](Self::axis_shards). Where the array grows beyond its listed chunks, by
    /// [`Array::resize`] or [`Array::append`], one more is listed.
    #[must_use]
    pub fn axis_chunks(self, axes: impl IntoIterator<Item = AxisChunks>) -> Self {
        Self { axis_chunks: Some(axes.into_iter().collect()), ..self }
    }

    /// Elements of a shard along each axis, whole numbers of chunks. Only v3 has shards.
    #[must_use]
    pub fn shard_shape(self, shard_shape: &[u64]) -> Self {
        Self { shards: Shards::Of(shard_shape.to_vec()), ..self }
    }

    /// How each axis is cut into shards, which may differ in length: the grid `rectilinear`, which only v3 has. Each is made of
    /// whole chunks, whose shape must be given too. Such shards are read and written whole.
    #[must_use]
    pub fn axis_shards(self, axes: impl IntoIterator<Item = AxisChunks>) -> Self {
        Self { shards: Shards::Axes(axes.into_iter().collect()), ..self }
    }

    /// Shards of a guessed shape: two chunks along each axis that has more than eight.
    #[must_use]
    pub fn guessed_shards(self) -> Self {
        Self { shards: Shards::Guessed, ..self }
    }

    /// Which end of a shard its index lies at; the last one by default.
    #[must_use]
    pub fn index_location(self, index_location: IndexLocation) -> Self {
        Self { index_location, ..self }
    }

    /// The order of an element's bytes, little by default; a given serializer has its own.
    #[must_use]
    pub fn byte_order(self, byte_order: ByteOrder) -> Self {
        Self { byte_order, ..self }
    }

    /// What chunks go through first, as metadata lists it: in v3 array-to-array codecs, `{"name": ..., "configuration":
    /// ...}`, in v2 `{"id": ...}`. Empty for none, as by default. Shards are not among them: they can only be asked for by
    /// their shape.
    #[must_use]
    pub fn filters(self, filters: impl IntoIterator<Item = Value>) -> Self {
        Self { filters: Some(filters.into_iter().collect()), ..self }
    }

    /// What makes bytes of elements, as v3 metadata has it; v2 has none.
    #[must_use]
    pub fn serializer(self, serializer: Value) -> Self {
        Self { serializer: Some(serializer), ..self }
    }

    /// What bytes go through last, as metadata lists it; empty for none. In v2 one at most.
    #[must_use]
    pub fn compressors(self, compressors: impl IntoIterator<Item = Value>) -> Self {
        Self { compressors: Some(compressors.into_iter().collect()), ..self }
    }

    /// What elements that are not stored are.
    #[must_use]
    pub fn fill_value(self, fill_value: FillValue) -> Self {
        Self { fill: Fill::Value(fill_value), ..self }
    }

    /// No fill value: `null` in v2, so that chunks of zeros are stored as well; zeros in v3, which has to have one.
    #[must_use]
    pub fn no_fill_value(self) -> Self {
        Self { fill: Fill::Undefined, ..self }
    }

    /// The user's attributes.
    #[must_use]
    pub fn attributes(self, attributes: Map<String, Value>) -> Self {
        Self { attributes, ..self }
    }

    /// A name or none for each dimension. Only v3 has them.
    #[must_use]
    pub fn dimension_names(self, names: impl IntoIterator<Item = Option<String>>) -> Self {
        Self { dimension_names: Some(names.into_iter().collect()), ..self }
    }

    /// How the objects of chunks are named.
    #[must_use]
    pub fn chunk_key_encoding(self, encoding: ChunkKeyEncoding) -> Self {
        Self { chunk_key_encoding: Some(encoding), ..self }
    }

    /// The order of elements in the chunks of a v2 array. In v3 a `transpose` filter says it, and this says nothing.
    #[must_use]
    pub fn order(self, order: MemoryOrder) -> Self {
        Self { order, ..self }
    }

    /// What becomes of a node that is there already; it is an error by default.
    #[must_use]
    pub fn existing(self, existing: Existing) -> Self {
        Self { existing, ..self }
    }

    /// Writes the metadata of the array at `path` of a store, and of the groups above it that are not there yet.
    ///
    /// # Errors
    ///
    /// `Invalid` for an array that breaks the specification, such as shards that are no whole chunks; `Unsupported` for a
    /// codec that swath does not have, and for a store that cannot be written to; `Invalid` where a node is there already
    /// that is not to be replaced.
    pub fn create(&self, store: &Store, path: &str) -> Result<Array, Error> {
        let path = crate::node::node_path(path)?;
        let named = |error: Error| error.with_object(&store.describe(&path));
        let documents = ArrayDocuments::new(self).map_err(named)?;
        let metadata = documents.parse(&store.describe(&path))?;
        // Compiled before anything is written: an array that cannot be read back is not made.
        let array = Array::new(store.clone(), path.clone(), metadata)?;
        let wanted = NodeMetadata::Array(Box::new(array.metadata().clone()));
        create_node(store, &path, &documents.bytes()?, self.existing, &wanted)?;
        Ok(array)
    }
}
