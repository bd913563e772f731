//! Arrays: opened once, read by selections.

use crate::array_data::ArrayData;
use crate::compiled::Compiled;
use crate::data_type::swap_units;
use crate::decoded_cache::{DecodedArray, DecodedCache};
use crate::fields::Fields;
use crate::metadata::{ArrayCodecs, ArrayMetadata, ZarrFormat};
use crate::node::{Node, open_node};
use crate::read::ReadOptions;
use crate::store::Store;
use crate::{DataType, Error, ErrorKind, FillValue, ResolvedSelection, Selection};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use swath_codecs::Checksums;
use swath_ioengine::{Engine, ObjectRef};

/// A Zarr array, v3 or v2. Cloning shares it; it may be used from any number of threads.
///
/// An array holds its checked metadata and where it is stored, but no open file and no thread: those belong to the
/// [`Engine`], which is the process's shared one unless [`Array::with_engine`] names another.
///
/// ```
/// use swath_zarr_front::{Array, Store};
/// use swath_ioengine::MemoryMedium;
///
/// let memory = MemoryMedium::new();
/// memory.put("zarr.json", &br#"{"zarr_format": 3, "node_type": "array", "shape": [4, 6], "data_type": "uint8",
///     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 6]}},
///     "chunk_key_encoding": {"name": "default"}, "fill_value": 7, "codecs": [{"name": "bytes"}]}"#[..]);
/// memory.put("c/0/0", (0..12).collect::<Vec<u8>>());
///
/// let array = Array::open_in(&Store::memory(&memory), "")?;
/// let crop = array.read(&"1:3, ::-2".parse()?)?;
/// assert_eq!(crop.shape(), [2, 3]);
/// assert_eq!(crop.as_slice::<u8>()?, [11, 9, 7, 7, 7, 7]); // The second chunk is not stored: fill values.
/// # Ok::<(), swath_zarr_front::Error>(())
/// ```
#[derive(Clone)]
pub struct Array {
    pub(crate) inner: Arc<ArrayInner>,
    engine: Option<Engine>,
    pub(crate) decoded: Option<DecodedArray>,
    /// The fields that elements are seen through, where these are not all.
    pub(crate) fields: Option<Arc<Fields>>,
}

pub(crate) struct ArrayInner {
    pub(crate) store: Store,
    pub(crate) path: String,
    pub(crate) metadata: ArrayMetadata,
    pub(crate) compiled: Compiled,
    /// Set once a shard turned out to be longer than all its chunks should be: its writer leaves gaps, and likely in others.
    pub(crate) has_long_shards: AtomicBool,
}

impl Array {
    /// Opens the array in a local directory, or in a zip archive: see [`Store::path`].
    ///
    /// # Errors
    ///
    /// `NotFound` where there is no array, `Invalid` where its metadata breaks the specification, `Unsupported` (naming
    /// the codec, data type, grid ...) where swath cannot read it.
    pub fn open(path: impl AsRef<Path>) -> Result<Array, Error> {
        Array::open_in(&Store::path(path)?, "")
    }

    /// Opens the array at `path` of a store.
    ///
    /// # Errors
    ///
    /// As [`Array::open`].
    pub fn open_in(store: &Store, path: &str) -> Result<Array, Error> {
        match open_node(store, path)? {
            Node::Array(array) => Ok(array),
            Node::Group(_) => {
                let error = Error::new(ErrorKind::NotFound, "wanted an array, found a group");
                Err(error.with_object(&store.describe(path)))
            }
        }
    }

    pub(crate) fn new(store: Store, path: String, metadata: ArrayMetadata) -> Result<Array, Error> {
        let compiled = Compiled::new(&metadata).map_err(|error| error.with_object(&store.describe(&path)))?;
        let compiled = compiled.with_checksums(store.checksums());
        Ok(Array {
            inner: Arc::new(ArrayInner {
                store,
                path,
                metadata,
                compiled,
                has_long_shards: AtomicBool::new(false),
            }),
            engine: None,
            decoded: None,
            fields: None,
        })
    }

    /// The array with other metadata, at the same place.
    pub(crate) fn with_metadata(&self, metadata: ArrayMetadata) -> Result<Array, Error> {
        let array = Array::new(self.inner.store.clone(), self.inner.path.clone(), metadata)?;
        let decoded =
            self.decoded.as_ref().and_then(|decoded| DecodedArray::new(decoded.cache(), &array.inner));
        Ok(Array { engine: self.engine.clone(), decoded, ..array })
    }

    /// The same array, whose chunks are compared with their checksums, and with no cache of decoded ones.
    pub(crate) fn verifying(&self) -> Array {
        let (inner, checksums) = (&self.inner, Checksums::Verify);
        if inner.store.checksums() == checksums {
            return Array { decoded: None, ..self.clone() };
        }
        let inner = ArrayInner {
            store: inner.store.clone().with_checksums(checksums),
            path: inner.path.clone(),
            metadata: inner.metadata.clone(),
            compiled: inner.compiled.clone().with_checksums(checksums),
            has_long_shards: AtomicBool::new(false),
        };
        Array {
            inner: Arc::new(inner),
            engine: self.engine.clone(),
            decoded: None,
            fields: self.fields.clone(),
        }
    }

    /// The same array, read by `engine` instead of the process's shared one.
    #[must_use]
    pub fn with_engine(&self, engine: Engine) -> Array {
        Array { engine: Some(engine), ..self.clone() }
    }

    /// The same array, whose decoded chunks are kept in `cache` for the next read of them. Without one, or with one of 0
    /// bytes, none are kept. Arrays may share a cache; handles of the same array then share its chunks.
    #[must_use]
    pub fn with_decoded_cache(&self, cache: &DecodedCache) -> Array {
        Array { decoded: DecodedArray::new(cache, &self.inner), ..self.clone() }
    }

    /// Whether decoded chunks are kept: a cache was given that has room at all, and decoding them takes more than a copy.
    pub fn keeps_decoded(&self) -> bool {
        self.decoded.is_some()
    }

    /// Drops decoded chunks of the array from the cache that it was given, so that others have their room; those that are
    /// not kept, and any without a cache, are passed over. Nobody needs to: a cache makes room by itself.
    ///
    /// `cells` are chunks of the innermost kind, which [`chunk_shape`](Self::chunk_shape) is the shape of: for each of them
    /// its index along each axis, one after the other. What is beyond the grid is passed over, as is a rest that is no
    /// whole index, and everything of an array without axes but its only chunk, which an empty slice stands for.
    pub fn drop_decoded(&self, cells: &[u64]) {
        let Some(decoded) = &self.decoded else { return };
        let compiled = &self.inner.compiled;
        let are_objects = compiled.chunks_per_object.iter().all(|chunks| *chunks == 1);
        match self.shape().len() {
            0 => decoded.drop_chunks(std::iter::once((0, 0)), are_objects),
            axes => {
                let places = cells.chunks_exact(axes).filter_map(|cell| compiled.place_of(cell));
                decoded.drop_chunks(places, are_objects);
            }
        }
    }

    /// The engine that reads the array.
    pub fn engine(&self) -> Engine {
        self.engine.clone().unwrap_or_else(Engine::global)
    }

    /// The array's checked metadata.
    pub fn metadata(&self) -> &ArrayMetadata {
        &self.inner.metadata
    }

    /// Where the array is stored.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// The array's path in its store; empty for the root.
    pub fn path(&self) -> &str {
        &self.inner.path
    }

    /// What people call the array: its store and path.
    pub fn name(&self) -> String {
        self.inner.store.describe(&self.inner.path)
    }

    /// Elements along each axis.
    pub fn shape(&self) -> &[u64] {
        self.inner.metadata.shape()
    }

    /// What an element is, as far as it is seen: see [`with_fields`](Self::with_fields).
    pub fn data_type(&self) -> &DataType {
        self.fields.as_ref().map_or_else(|| self.inner.metadata.data_type(), |fields| &fields.data_type)
    }

    /// Elements of a chunk along each axis: of the smallest unit that is decoded, an inner chunk where the array is
    /// sharded. Where chunks differ in shape, the longest along each axis: see [`ArrayMetadata::chunk_extents`]. Shards that
    /// differ in shape are decoded whole; their inner chunks' shape is [`common_chunk_shape`](Self::common_chunk_shape).
    pub fn chunk_shape(&self) -> &[u64] {
        &self.inner.compiled.chunk_shape
    }

    /// Elements of each chunk along each axis, of inner chunks where the array is sharded; `None` where they differ.
    pub fn common_chunk_shape(&self) -> Option<Vec<u64>> {
        match self.inner.metadata.has_regular_grid() {
            true => Some(self.chunk_shape().to_vec()),
            // Shards that differ are made of chunks that do not.
            false => self.inner.metadata.inner_chunk_shape(),
        }
    }

    /// Elements of a shard along each axis, where the array is sharded.
    pub fn shard_shape(&self) -> Option<&[u64]> {
        match self.inner.metadata.codecs() {
            ArrayCodecs::Sharding(_) => Some(self.inner.metadata.chunk_shape()),
            ArrayCodecs::Chain(_) => None,
        }
    }

    /// What elements that are not stored are.
    pub fn fill_value(&self) -> &FillValue {
        self.fields.as_ref().map_or_else(|| self.inner.metadata.fill_value(), |fields| &fields.fill_value)
    }

    /// The format that the array is stored in.
    pub fn zarr_format(&self) -> ZarrFormat {
        self.inner.metadata.zarr_format()
    }

    /// Bytes of the whole array once read; `None` where 64 bits do not hold them.
    pub fn nbytes(&self) -> Option<u64> {
        let element = swath_ioengine::storage_len(self.data_type().size_bytes());
        self.shape().iter().try_fold(element, |bytes, length| bytes.checked_mul(*length))
    }

    /// One short phrase for each codec that a chunk goes through, in encoding order.
    pub fn codecs(&self) -> Vec<String> {
        self.inner.compiled.phrases()
    }

    /// Stored chunks (shards, where the array is sharded) along each axis.
    pub fn stored_grid(&self) -> &[u64] {
        &self.inner.compiled.objects
    }

    /// Bytes stored for the array's chunks, and in how many objects; counted by listing, so it takes as long as that
    /// does.
    ///
    /// # Errors
    ///
    /// Those of the store, and `Unsupported` where it cannot list.
    pub fn stored_bytes(&self) -> Result<(u64, u64), Error> {
        crate::stored_size::stored_size(&self.inner.store, &self.inner.path)
    }

    /// A selection checked against the array's shape.
    ///
    /// # Errors
    ///
    /// `OutOfBounds` for an index outside its axis, or more indices than axes.
    pub fn resolve(&self, selection: &Selection) -> Result<ResolvedSelection, Error> {
        selection.resolve(self.shape())
    }

    /// Reads one selection.
    ///
    /// # Errors
    ///
    /// `OutOfBounds` for a selection that does not fit, `Corrupt` for stored bytes that contradict the metadata, `Io`
    /// for storage that fails. What is not stored is not an error: it is the fill value.
    pub fn read(&self, selection: &Selection) -> Result<ArrayData, Error> {
        self.read_with(selection, &ReadOptions::default())
    }

    /// Reads one selection into `target`, in C order and native byte order. `target` must be exactly as long as the
    /// result. After an error, `target` is written to in parts.
    ///
    /// # Errors
    ///
    /// As [`Array::read`]; `Invalid` where `target` has another length.
    pub fn read_into(&self, selection: &Selection, target: &mut [u8]) -> Result<(), Error> {
        self.read_many_into(std::slice::from_ref(selection), target, &ReadOptions::default())
    }

    /// Reads many selections at once: each chunk that any of them needs is read and decoded once.
    ///
    /// # Errors
    ///
    /// As [`Array::read`]. Everything that can be read is read; the error names the first selection that could not, and
    /// how many there were.
    pub fn read_many(&self, selections: &[Selection]) -> Result<Vec<ArrayData>, Error> {
        self.read_many_with(selections, &ReadOptions::default())
    }
}

impl Array {
    /// The same array, seen through some fields.
    pub(crate) fn through(&self, fields: Arc<Fields>) -> Array {
        Array { fields: Some(fields), ..self.clone() }
    }

    /// Gives elements that were read this machine's byte order where chunks are not decoded to it.
    pub(crate) fn make_native(&self, elements: &mut [u8]) {
        match &self.fields {
            None => self.inner.compiled.turn_foreign(elements),
            Some(fields) if !fields.foreign.is_empty() => {
                swap_units(elements, fields.data_type.size_bytes(), &fields.foreign);
            }
            Some(_) => {}
        }
    }
}

impl ArrayInner {
    /// The object at these coordinates of the stored grid.
    pub(crate) fn chunk_object(&self, coordinates: &[u64]) -> ObjectRef {
        let mut key = String::with_capacity(self.path.len() + 24);
        self.write_chunk_key(coordinates, &mut key);
        self.store.object(&key)
    }

    /// Writes the key of the object at these coordinates in place of what `key` holds.
    pub(crate) fn write_chunk_key(&self, coordinates: &[u64], key: &mut String) {
        key.clear();
        if !self.path.is_empty() {
            key.push_str(&self.path);
            key.push('/');
        }
        self.metadata.chunk_key_encoding().write_key(coordinates, key);
    }
}

impl std::fmt::Debug for Array {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Array({}, {:?}, {})", self.name(), self.shape(), self.data_type())
    }
}
