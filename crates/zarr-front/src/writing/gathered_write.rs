//! Writes whose elements come part by part, and whose objects are stored once.

use super::at_once::each_at_once;
use super::axis_grid::AxisGrid;
use super::chunk_encoder::{ChunkEncoder, EncoderMemory, Subject};
use super::chunk_form::ChunkForm;
use super::elements::Elements;
use super::morton::morton_code;
use super::object_locks::ObjectLocks;
use super::options::WriteOptions;
use super::shard_encoder::ShardLayout;
use super::shard_parts::ShardParts;
use super::stored_object::{delete, put_pieces};
use super::target::{BoxedObjects, Objects, Target, no_object, object_extents};
use crate::array::ArrayInner;
use crate::{Array, Error, Selection};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::num::NonZeroUsize;

/// A write of whole shards whose elements come part by part: each part is encoded as it comes, while its elements are still
/// in the processor's caches, and each shard is stored once, whole, at the end. In memory are the encoded bytes of the shards that
/// parts have come of, and not their elements.
///
/// Shards are those of one write of all, byte by byte, in whatever order parts come. They are put in place of what was there, and of what
/// no part has come of they hold nothing. Where the array has no shards, each
/// part is written at once, as by [`Array::write_from`]. One that is dropped stores no shard.
///
/// ```
/// use swath_ioengine::MemoryMedium;
/// use swath_zarr_front::{ArrayBuilder, DataType, Elements, Store, WriteMemory, WriteOptions};
///
/// let store = Store::memory(&MemoryMedium::new());
/// let builder = ArrayBuilder::new(&[4, 6], DataType::UInt8).chunk_shape(&[1, 6]).shard_shape(&[2, 6]);
/// let array = builder.create(&store, "t2m")?;
/// let mut write = array.gathered_write(&WriteOptions::default(), WriteMemory::default())?;
/// for row in 0..4u8 {
///     write.add(&format!("{row}").parse()?, &Elements::new(&[row; 6], &[6], 1)?)?;
/// }
/// let memory = write.store()?;
/// assert_eq!(array.read(&":, 5".parse()?)?.as_slice::<u8>()?, [0, 1, 2, 3]);
/// // The next one needs no memory of its own.
/// let write = array.gathered_write(&WriteOptions::default(), memory)?;
/// # drop(write);
/// # Ok::<(), swath_zarr_front::Error>(())
/// ```
pub struct GatheredWrite<'a> {
    array: &'a Array,
    options: WriteOptions<'a>,
    layout: Option<ShardLayout>,
    memory: WriteMemory,
    /// By their coordinates in the array's grid of shards.
    shards: BTreeMap<Vec<u64>, ShardParts>,
}

/// Memory and codecs' contexts that gathered writes use one after the other, of whatever arrays.
pub struct WriteMemory {
    encoders: Vec<EncoderMemory>,
    /// For shards, or parts of them.
    shards: Vec<Vec<u8>>,
}

impl WriteMemory {
    /// That of writes which encode each part on so many threads, the calling one among them.
    #[must_use]
    pub fn of_threads(threads: NonZeroUsize) -> WriteMemory {
        WriteMemory { encoders: Vec::new(), shards: Vec::new() }.with_threads(threads)
    }

    /// The same, for writes which encode each part on so many threads.
    #[must_use]
    pub fn with_threads(mut self, threads: NonZeroUsize) -> WriteMemory {
        self.encoders.resize_with(threads.get(), EncoderMemory::default);
        self
    }
}

impl Default for WriteMemory {
    /// That of writes which encode on the calling thread.
    fn default() -> WriteMemory {
        WriteMemory::of_threads(NonZeroUsize::MIN)
    }
}

impl Array {
    /// Begins a write of whole shards whose elements come part by part.
    ///
    /// # Errors
    ///
    /// `Unsupported` where the store cannot be written to, or some fields of elements are asked for.
    pub fn gathered_write<'a>(
        &'a self,
        options: &WriteOptions<'a>,
        memory: WriteMemory,
    ) -> Result<GatheredWrite<'a>, Error> {
        self.require_writable()?;
        if self.fields.is_some() {
            return Err(Error::unsupported("writing to some fields of elements").with_object(&self.name()));
        }
        let compiled = &self.inner.compiled;
        let layout = (!compiled.levels.is_empty()).then(|| ShardLayout::new(compiled)).transpose()?;
        Ok(GatheredWrite { array: self, options: *options, layout, memory, shards: BTreeMap::new() })
    }
}

impl GatheredWrite<'_> {
    /// Adds elements, broadcast to what a selection selects as by [`Array::write_from`]: inner chunks of shards, each whole, or as far as
    /// it lies in the array, and each once.
    ///
    /// # Errors
    ///
    /// `OutOfBounds` for a selection that does not fit the array; `Invalid` for elements that cannot be broadcast to it, for one that names
    /// some elements of an inner chunk, and for an inner chunk that has come before; `Unsupported` for elements that are named one by
    /// one, and where a codec only decodes; `Cancelled` where the interrupt said so. Of a part that was refused some chunks may have been
    /// added. Where the array has no shards, those of [`Array::write_from`].
    pub fn add(&mut self, selection: &Selection, source: &Elements<'_>) -> Result<(), Error> {
        let array = self.array;
        let target = Target::new(array, selection)?;
        let Some(layout) = &self.layout else { return array.write_target(&target, source, &self.options) };
        self.options.check_interrupt()?;
        array.require_kind(source)?;
        if target.is_empty()? {
            return Ok(());
        }
        let Objects::Boxes(objects) = target.objects(array) else {
            let message = "parts of shards whose elements are named one by one";
            return Err(Error::unsupported(message).with_object(&array.name()));
        };
        let spread = target.spread(source, array.data_type().size_bytes());
        let spread = spread.map_err(|error| error.with_object(&array.name()))?;
        let inner = &array.inner;
        let subject =
            Subject::new(&inner.metadata, &inner.compiled, (&spread, None), self.options.empty_chunks);
        let memory = std::mem::take(&mut self.memory.encoders).into_iter();
        let mut encoders: Vec<_> = memory.map(|memory| ChunkEncoder::new(subject, memory)).collect();
        let mut shards = Shards { array, layout, of: &mut self.shards, memory: &mut self.memory.shards };
        let added = shards.add(&objects, &mut encoders);
        self.memory.encoders = encoders.into_iter().map(|encoder| encoder.memory).collect();
        added.map_err(|error| array.store().named(error))
    }

    /// The place in its shard of the inner chunk that an element of these coordinates lies in. It grows with the place, and is no number of
    /// chunks. A shard whose parts come sorted by it, on one thread, lies in memory as it is stored, if its index is at the end; of any other
    /// the encoded bytes are copied once more. `None` where the array has no shards, or other axes.
    pub fn place_in_shard(&self, element: &[u64]) -> Option<u128> {
        let ArrayInner { compiled, metadata, .. } = &*self.array.inner;
        let level = compiled.levels.first()?;
        let extents = level.entry_shape(&compiled.chunk_shape);
        if element.len() != extents.len() {
            return None;
        }
        let each = element.iter().zip(&extents).zip(metadata.chunk_shape()).enumerate();
        let coordinates = each.map(|(axis, ((element, extent), object_extent))| {
            let grid = AxisGrid::new(compiled, axis, *object_extent);
            let start = grid.elements(grid.object_of(*element)).start;
            element.saturating_sub(start) / (*extent).max(1)
        });
        Some(morton_code(&coordinates.collect::<Vec<_>>(), &level.entries, &level.frame()))
    }

    /// Stores the shards that parts have come of, several at once where the store is remote, and returns the memory for another
    /// write.
    ///
    /// # Errors
    ///
    /// Those of the store; `Cancelled` where the interrupt said so. Some shards may have been stored.
    pub fn store(mut self) -> Result<WriteMemory, Error> {
        self.options.check_interrupt()?;
        let array = self.array;
        let mut objects = Vec::new();
        let level = array.inner.compiled.levels.first();
        if let (Some(layout), Some(level), Some(encoder)) =
            (&self.layout, level, self.memory.encoders.first_mut())
        {
            for (coordinates, parts) in std::mem::take(&mut self.shards) {
                let shard = parts.lay_out((layout, level), &mut encoder.scratch)?;
                objects.push((array.inner.chunk_object(&coordinates), shard));
            }
        }
        let locks = ObjectLocks::of_process();
        let past_cache = self.options.past_cache;
        each_at_once(array.store(), &objects, |(object, shard)| {
            let _alone = locks.lock_chunk(object)?;
            let stored = match shard.pieces.is_empty() {
                true => delete(object),
                false => put_pieces(object, &shard.pieces, past_cache),
            };
            stored.map_err(|error| array.store().named(error.with_object(&object.key)))
        })?;
        self.memory.shards.extend(objects.into_iter().flat_map(|(_, shard)| shard.into_memory()));
        Ok(self.memory)
    }
}

/// The shards of a write, and what one needs to add to them.
struct Shards<'a> {
    array: &'a Array,
    layout: &'a ShardLayout,
    of: &'a mut BTreeMap<Vec<u64>, ShardParts>,
    memory: &'a mut Vec<Vec<u8>>,
}

impl Shards<'_> {
    fn add(&mut self, objects: &BoxedObjects, encoders: &mut [ChunkEncoder<'_>]) -> Result<(), Error> {
        let compiled = &self.array.inner.compiled;
        let Some(level) = compiled.levels.first() else { return Err(no_object()) };
        for number in 0..objects.count()? {
            let Some((coordinates, parts)) = objects.object(self.array, number)? else { continue };
            if let Some(form) = ChunkForm::at(compiled, &coordinates)? {
                encoders.iter_mut().for_each(|encoder| encoder.form = form.clone());
            }
            let (_, valid) = object_extents(self.array, &coordinates);
            let key = || self.array.inner.chunk_object(&coordinates).key;
            let shard = match self.of.entry(coordinates.clone()) {
                Entry::Occupied(shard) => shard.into_mut(),
                Entry::Vacant(place) => {
                    let memory = encoders.iter().map(|_| self.memory.pop().unwrap_or_default());
                    place.insert(ShardParts::within(memory.collect(), (self.layout, level))?)
                }
            };
            let added = shard.add(self.layout, encoders, &parts, &valid);
            added.map_err(|error| error.with_object(&key()))?;
        }
        Ok(())
    }
}
