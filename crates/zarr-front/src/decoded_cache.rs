//! Decoded chunks kept between reads: bounded in bytes, there only where somebody asked for it, tied to the identity of
//! the objects that they were decoded from.

use crate::array::ArrayInner;
use crate::index_cache::is_settled;
use crate::{Error, ErrorKind};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use serde_json::Value;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use swath_codecs::{Chain, Checksums, Scratch};
use swath_ioengine::{Identity, MediumId, storage_len};

/// Memory for decoded chunks, for the arrays and groups that it is given to. Cloning shares it.
///
/// Reading a chunk again is then one copy out of memory, without the storage and the codecs. Chunks of arrays without a
/// compressor or a checksum are not kept: the page cache has them already, and reading them costs no more than copying
/// them. A chunk counts only as long as its object is the one that it was decoded from, which is looked at as
/// [`Freshness`](swath_ioengine::Freshness) says: by a `stat(2)` of a local file, by a conditional read of one byte of a
/// remote object of which nothing else is wanted.
///
/// The memory is taken as chunks are read, and given back with the last clone. A forked child starts with an empty cache
/// of the same size.
///
/// ```
/// use swath_zarr_front::{Array, DecodedCache, Store};
/// use swath_ioengine::MemoryMedium;
///
/// # let memory = MemoryMedium::new();
/// # memory.put("zarr.json", &br#"{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8",
/// #     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
/// #     "chunk_key_encoding": {"name": "default"}, "fill_value": 7, "codecs": [{"name": "bytes"}, {"name": "crc32c"}]}"#[..]);
/// # memory.put("c/0", vec![0, 1, 2, 3, 0xA3, 0x1A, 0x33, 0xD9]);
/// let cache = DecodedCache::new(256 << 20);
/// let array = Array::open_in(&Store::memory(&memory), "")?.with_decoded_cache(&cache);
/// assert_eq!(array.read(&"1:3".parse()?)?.as_bytes(), [1, 2]);
/// assert!(0 < cache.bytes());
/// assert_eq!(array.read(&"2:4".parse()?)?.as_bytes(), [2, 3]); // Out of the cache.
/// # Ok::<(), swath_zarr_front::Error>(())
/// ```
#[derive(Clone)]
pub struct DecodedCache(Arc<Slot>);

/// The cache of one process. A forked child may not touch the locks that it inherits, so it has a slot of its own.
struct Slot {
    bytes_max: u64,
    generation: u64,
    chunks: OnceLock<Arc<Chunks>>,
    in_child: OnceLock<Arc<Slot>>,
}

impl DecodedCache {
    /// A cache of at most so many bytes of decoded chunks, and of what it takes to find them; 0 keeps nothing.
    ///
    /// A chunk that is larger than the cache, or than one of the few parts that large caches of small chunks are divided
    /// into, is not kept.
    #[must_use]
    pub fn new(bytes_max: u64) -> DecodedCache {
        DecodedCache(Arc::new(Slot::new(bytes_max)))
    }

    /// The most bytes that the cache takes.
    #[must_use]
    pub fn bytes_max(&self) -> u64 {
        self.0.bytes_max
    }

    /// Bytes that it takes by now, in this process.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.here().chunks.get().map_or(0, |chunks| chunks.bytes())
    }

    /// Chunks that were taken from it so far, in this process.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.here().chunks.get().map_or(0, |chunks| chunks.counts.hits.load(Ordering::Relaxed))
    }

    /// Chunks that were decoded so far, in this process, by reads of arrays that it was given to.
    #[must_use]
    pub fn misses(&self) -> u64 {
        self.here().chunks.get().map_or(0, |chunks| chunks.counts.misses.load(Ordering::Relaxed))
    }

    /// Whether both are one cache.
    #[must_use]
    pub fn is_same(&self, other: &DecodedCache) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The slot of this process.
    fn here(&self) -> &Slot {
        let generation = swath_ioengine::fork_generation();
        let mut slot = &*self.0;
        while slot.generation != generation {
            slot = slot.in_child.get_or_init(|| Arc::new(Slot::new(slot.bytes_max)));
        }
        slot
    }
}

impl std::fmt::Debug for DecodedCache {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "DecodedCache({} of {} bytes)", self.bytes(), self.bytes_max())
    }
}

impl Slot {
    fn new(bytes_max: u64) -> Slot {
        let generation = swath_ioengine::fork_generation();
        Slot { bytes_max, generation, chunks: OnceLock::new(), in_child: OnceLock::new() }
    }
}

/// A cache, and what an array is called in it.
#[derive(Clone)]
pub(crate) struct DecodedArray {
    cache: DecodedCache,
    key: Arc<ArrayKey>,
    chunk_bytes: u64,
}

/// An array: where it is, its metadata without the user's attributes, and what is done with its checksums. An array that
/// was written anew with other codecs may have objects that are still the same; and one that is to be compared with its
/// checksums may not have chunks that were not.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayKey {
    medium: MediumId,
    path: Arc<str>,
    document: String,
    checksums: Checksums,
}

impl DecodedArray {
    /// `None` where nothing would be kept.
    pub(crate) fn new(cache: &DecodedCache, array: &ArrayInner) -> Option<DecodedArray> {
        let chain = &array.compiled.chain;
        let is_variable = array.compiled.variable.is_some() || array.compiled.shaped.is_some();
        if cache.bytes_max() == 0 || chain.part_strides().is_some() || is_variable {
            return None;
        }
        let mut document = array.metadata.document().clone();
        if let Value::Object(fields) = &mut document {
            fields.remove("attributes");
        }
        let (medium, path) = array.store.identity_of(&array.path);
        let checksums = array.store.checksums();
        let key = ArrayKey { medium, path, document: document.to_string(), checksums };
        let chunk_bytes = storage_len(chain.decoded_len());
        Some(DecodedArray { cache: cache.clone(), key: Arc::new(key), chunk_bytes })
    }

    /// The cache.
    pub(crate) fn cache(&self) -> &DecodedCache {
        &self.cache
    }

    /// The array's chunks in this process, for one read. The only look-up of it by name.
    pub(crate) fn chunks(&self) -> Option<DecodedChunks> {
        let slot = self.cache.here();
        let chunks = slot.chunks.get_or_init(|| Arc::new(Chunks::new(slot.bytes_max, self.chunk_bytes)));
        if chunks.entry_bytes_max < self.chunk_bytes.saturating_add(ENTRY_OVERHEAD_BYTES) {
            return None;
        }
        let entry_bytes = self.chunk_bytes + ENTRY_OVERHEAD_BYTES;
        Some(DecodedChunks { array: chunks.array(&self.key), chunks: Arc::clone(chunks), entry_bytes })
    }

    /// Drops chunks, each told as an object and its number there; those that are not kept are passed over. Where chunks
    /// are objects of their own, what is known of these goes with them.
    pub(crate) fn drop_chunks(&self, dropped: impl Iterator<Item = (u64, u64)>, are_objects: bool) {
        let Some(kept) = self.chunks() else { return };
        for (object, chunk) in dropped {
            if let Some(known) = kept.kept(object) {
                kept.chunks.chunks.remove(&(known.version.0, chunk));
                if are_objects {
                    kept.forget(object);
                }
            }
        }
    }
}

/// The chunks of one array.
pub(crate) struct DecodedChunks {
    chunks: Arc<Chunks>,
    array: u64,
    entry_bytes: u64,
}

/// A version of an object: a number that no other object and no other version ever has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Version(u64);

impl DecodedChunks {
    /// The version of an object that chunks are kept of.
    pub(crate) fn kept(&self, object: u64) -> Option<Known> {
        self.chunks.objects.get(&(self.array, object))
    }

    /// Notes that an object was found to be what is kept of it, after so many writes of this process.
    #[cold]
    pub(crate) fn note_look(&self, object: u64, writes: u64) {
        let key = (self.array, object);
        if let Some(known) = self.chunks.objects.get(&key) {
            self.chunks.objects.insert(key, Known { writes, ..known });
        }
    }

    /// A chunk of an object, by its number there: in C order and native byte order.
    #[inline]
    pub(crate) fn get(&self, version: Version, chunk: u64) -> Option<Arc<[u8]>> {
        self.chunks.chunks.get(&(version.0, chunk))
    }

    /// Under what to keep chunks of an object that were read from this version of it, after so many writes; `None` where it is not sure enough.
    pub(crate) fn admit(&self, object: u64, identity: &Identity, writes: u64) -> Option<Version> {
        is_settled(identity).then(|| self.chunks.version((self.array, object), identity, writes))
    }

    /// Counts chunks that were placed without decoding them.
    #[inline]
    pub(crate) fn count_hits(&self, chunks: usize) {
        self.chunks.counts.hits.fetch_add(storage_len(chunks), Ordering::Relaxed);
    }

    /// Counts a chunk that is decoded.
    #[inline]
    pub(crate) fn count_miss(&self) {
        self.chunks.counts.misses.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether to keep a chunk that was read. Of large ones that others must leave for, some only: memory that was not
    /// touched before adds a third to the time of decoding into it, and those that leave are mostly wanted as much.
    #[inline]
    pub(crate) fn takes_another(&self) -> bool {
        let chunks = &self.chunks;
        if !chunks.are_few || chunks.chunks.weight() + self.entry_bytes <= chunks.chunks.capacity() {
            return true;
        }
        chunks.refused.fetch_add(1, Ordering::Relaxed) % KEPT_ONE_OF == KEPT_ONE_OF - 1
    }

    /// Decodes a chunk, and keeps it.
    pub(crate) fn decode(
        &self,
        (version, chunk): (Version, u64),
        chain: &Chain,
        stored: &[u8],
        scratch: &mut Scratch,
    ) -> Result<Arc<[u8]>, Error> {
        let mut decoded: Arc<[u8]> = std::iter::repeat_n(0, chain.decoded_len()).collect();
        let target = Arc::get_mut(&mut decoded);
        let target = target.ok_or_else(|| Error::new(ErrorKind::Internal, "a new chunk is shared"))?;
        chain.decode_into(stored, target, scratch)?;
        self.chunks.chunks.insert((version.0, chunk), Arc::clone(&decoded));
        Ok(decoded)
    }

    /// Drops what is kept of an object. Its chunks are found no more, and leave when others need their room.
    pub(crate) fn forget(&self, object: u64) {
        self.chunks.objects.remove(&(self.array, object));
    }
}

/// What is kept, in three tables: arrays by name to their numbers, objects by number to their versions, and chunks by
/// version and number. Numbers are given once, so whatever leaves a table takes what hangs on it out of reach.
struct Chunks {
    arrays: Cache<Arc<ArrayKey>, u64, NameWeighter>,
    objects: Cache<(u64, u64), Known, ObjectWeighter>,
    chunks: Cache<(u64, u64), Arc<[u8]>, ChunkWeighter>,
    /// The table of chunks holds few of them.
    are_few: bool,
    /// Chunks that found such a table full.
    refused: AtomicU64,
    counts: Counts,
    /// The largest entry that the table of chunks takes.
    entry_bytes_max: u64,
    next: AtomicU64,
    /// Held to give a number, so that two lanes that want one for the same thing agree.
    numbering: Mutex<()>,
}

/// Chunks that were found and that were not. Every lane writes these, and only reads the tables: they have cache lines of their own.
#[derive(Default)]
#[repr(align(128))]
struct Counts {
    hits: AtomicU64,
    misses: AtomicU64,
}

/// The version of an object that chunks are kept of.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) version: Version,
    pub(crate) identity: Identity,
    /// The writes of this process that were done before it was last looked at.
    pub(crate) writes: u64,
}

/// What an entry costs beside its bytes: 48 bytes of the table's slab and 8 of its map (measured, quick_cache 0.6.24, at
/// 20,000 entries), half as much again for the keys that it remembers of what it evicted, 32 for the allocation and its
/// counts, and some to spare for a slab that has grown.
const ENTRY_OVERHEAD_BYTES: u64 = 160;

/// Of how many parts of the cache the names of arrays get one, and the versions of objects another.
const NAMES_PART: u64 = 32;

/// Chunks of one part of the table, at least: where there are fewer, parts fill unevenly, and chunks are evicted though
/// there is room.
const PART_CHUNKS_MIN: u64 = 256;

/// Of chunks that find a table of few chunks full, one of so many is kept.
const KEPT_ONE_OF: u64 = 4;

/// Parts of the table for each processor, each with a lock of its own.
const PARTS_PER_PROCESSOR: u64 = 4;

/// Chunks that the table is laid out for at first, at most.
const CHUNKS_EXPECTED_MAX: u64 = 1 << 20;

/// Arrays and objects that the tables are laid out for at first.
const NAMES_EXPECTED: usize = 64;

impl Chunks {
    /// A cache of so many bytes, divided for chunks of `chunk_bytes`.
    fn new(bytes_max: u64, chunk_bytes: u64) -> Chunks {
        let names = bytes_max / NAMES_PART;
        let bytes = bytes_max - 2 * names;
        let expected = bytes / chunk_bytes.saturating_add(ENTRY_OVERHEAD_BYTES);
        let processors = std::thread::available_parallelism().map_or(1, |count| storage_len(count.get()));
        let parts = (processors * PARTS_PER_PROCESSOR).min(expected / PART_CHUNKS_MIN).max(1);
        let parts = 1 << parts.ilog2();
        let chunks = table(bytes / parts * parts, expected.min(CHUNKS_EXPECTED_MAX), parts, ChunkWeighter);
        Chunks {
            arrays: table(names, storage_len(NAMES_EXPECTED), 1, NameWeighter),
            objects: table(names, storage_len(NAMES_EXPECTED), 1, ObjectWeighter),
            are_few: expected < PART_CHUNKS_MIN,
            refused: AtomicU64::new(0),
            counts: Counts::default(),
            entry_bytes_max: chunks.shard_capacity(),
            chunks,
            next: AtomicU64::new(0),
            numbering: Mutex::default(),
        }
    }

    fn bytes(&self) -> u64 {
        self.arrays.weight() + self.objects.weight() + self.chunks.weight()
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn array(&self, key: &Arc<ArrayKey>) -> u64 {
        if let Some(number) = self.arrays.get(key) {
            return number;
        }
        let _numbering = self.numbering.lock().unwrap_or_else(PoisonError::into_inner);
        self.arrays.get(key).unwrap_or_else(|| {
            let number = self.number();
            self.arrays.insert(Arc::clone(key), number);
            number
        })
    }

    fn version(&self, object: (u64, u64), identity: &Identity, writes: u64) -> Version {
        let find = || self.objects.get(&object).filter(|known| known.identity == *identity);
        if let Some(known) = find() {
            return known.version;
        }
        let _numbering = self.numbering.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = find() {
            return known.version;
        }
        let version = Version(self.number());
        self.objects.insert(object, Known { version, identity: identity.clone(), writes });
        version
    }
}

/// A table of at most so many bytes, in so many parts.
fn table<Key, Value, Weigh>(bytes: u64, expected: u64, parts: u64, weigh: Weigh) -> Cache<Key, Value, Weigh>
where
    Key: Eq + std::hash::Hash,
    Value: Clone,
    Weigh: Weighter<Key, Value> + Clone,
{
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let options = OptionsBuilder::new()
        .weight_capacity(bytes)
        .estimated_items_capacity(count(expected))
        .shards(count(parts))
        .build();
    match options {
        Ok(options) => {
            Cache::with_options(options, weigh, DefaultHashBuilder::default(), DefaultLifecycle::default())
        }
        // Both that are needed are given.
        Err(_) => Cache::with_weighter(count(expected), bytes, weigh),
    }
}

#[derive(Clone)]
struct NameWeighter;

impl Weighter<Arc<ArrayKey>, u64> for NameWeighter {
    fn weight(&self, key: &Arc<ArrayKey>, _: &u64) -> u64 {
        storage_len(size_of::<ArrayKey>() + key.document.len() + key.path.len()) + ENTRY_OVERHEAD_BYTES
    }
}

#[derive(Clone)]
struct ObjectWeighter;

impl Weighter<(u64, u64), Known> for ObjectWeighter {
    fn weight(&self, _: &(u64, u64), known: &Known) -> u64 {
        let tag = match &known.identity {
            Identity::Tag(tag) => tag.len(),
            Identity::File(_) | Identity::Version(_) => 0,
        };
        storage_len(size_of::<Known>() + tag) + ENTRY_OVERHEAD_BYTES
    }
}

#[derive(Clone)]
struct ChunkWeighter;

impl Weighter<(u64, u64), Arc<[u8]>> for ChunkWeighter {
    fn weight(&self, _: &(u64, u64), bytes: &Arc<[u8]>) -> u64 {
        storage_len(bytes.len()) + ENTRY_OVERHEAD_BYTES
    }
}
