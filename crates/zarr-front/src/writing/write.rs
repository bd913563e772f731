//! Writing a selection: object by object, encoded on several threads.

use super::chunk_encoder::{ChunkEncoder, EncoderMemory, Subject};
use super::chunk_form::ChunkForm;
use super::contention::{TRIES_MAX, pause};
use super::elements::{Elements, Spread};
use super::object_locks::ObjectLocks;
use super::options::WriteOptions;
use super::placed::Placed;
use super::shard_encoder::{Shard, ShardLayout, empty_shard, encode_shard};
use super::stored_object::{Replaced, Stored, delete, delete_read, replace};
use super::target::{Objects, Target, no_object, object_extents};
use crate::raveling::cell_count;
use crate::{Array, Error, ErrorKind, Selection};
use bytes::Bytes;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use swath_ioengine::{Engine, ObjectRef, storage_len, with_helpers};

impl Array {
    /// Writes `data` to what a selection selects: elements in C order and native byte order, exactly as many as it selects.
    ///
    /// ```
    /// use swath_zarr_front::{ArrayBuilder, DataType, Store};
    /// use swath_ioengine::MemoryMedium;
    ///
    /// let store = Store::memory(&MemoryMedium::new());
    /// let array = ArrayBuilder::new(&[4, 6], DataType::UInt8).chunk_shape(&[2, 4]).create(&store, "t2m")?;
    /// array.write(&"1:3, ::-2".parse()?, &[1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(array.read(&"1".parse()?)?.as_slice::<u8>()?, [0, 3, 0, 2, 0, 1]);
    /// # Ok::<(), swath_zarr_front::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Array::write_from`].
    pub fn write(&self, selection: &Selection, data: &[u8]) -> Result<(), Error> {
        let target = Target::new(self, selection)?;
        let source = Elements::new(data, &target.shape(), self.data_type().size_bytes());
        let source = source.map_err(|error| error.with_object(&self.name()))?;
        self.write_target(&target, &source, &WriteOptions::default())
    }

    /// Writes elements to what a selection selects, broadcast to its shape as NumPy does. Of what is named more often than
    /// once the last element counts.
    ///
    /// Chunks (or shards) that are written whole are encoded and put in place of what was there. Of others the rest is read
    /// first and kept: a shard's other chunks as they are stored. So are those at the array's edge that reach beyond it. Each object is replaced in one step, so that a reader sees
    /// the old or the new of it, and a writer that is killed leaves no half. Objects are written in no order, and where some
    /// cannot be written others may have been.
    ///
    /// # Errors
    ///
    /// `OutOfBounds` for a selection that does not fit; `Invalid` for elements that cannot be broadcast to it;
    /// `Unsupported` where the store cannot be written to, or a codec only decodes; `Corrupt` where what is stored, and to
    /// be kept, cannot be decoded; `Io` where the storage fails, or others kept replacing the same object in between;
    /// `Cancelled` where the interrupt said so.
    pub fn write_from(
        &self,
        selection: &Selection,
        source: &Elements<'_>,
        options: &WriteOptions<'_>,
    ) -> Result<(), Error> {
        self.write_target(&Target::new(self, selection)?, source, options)
    }

    pub(super) fn write_target(
        &self,
        target: &Target,
        source: &Elements<'_>,
        options: &WriteOptions<'_>,
    ) -> Result<(), Error> {
        self.require_writable()?;
        self.require_kind(source)?;
        let spread = target.spread(source, self.data_type().size_bytes());
        let spread = spread.map_err(|error| error.with_object(&self.name()))?;
        if target.is_empty()? {
            return Ok(());
        }
        let write = Write::new(self, target, &spread, options)?;
        write.run(options).map_err(|error| self.store().named(error))
    }
}

/// A write that is under way, shared by its threads.
struct Write<'a> {
    array: &'a Array,
    engine: Engine,
    locks: Arc<ObjectLocks>,
    subject: Subject<'a>,
    layout: Option<ShardLayout>,
    objects: Objects,
    object_count: u64,
    past_cache: bool,
    next: AtomicU64,
    is_over: AtomicBool,
    /// The most bytes of elements of any length, or of the object itself, that an object came to which was read before a part of it was
    /// written.
    kept_bytes: AtomicU64,
    error: Mutex<Option<Error>>,
}

/// How much is written of what lies in the array of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// All, and nothing of the object lies beyond the array.
    Entire,
    Whole,
    InPart,
}

/// How many threads a write takes: so many objects at once, each encoded by so many.
#[derive(Clone, Copy)]
struct Threads {
    objects: usize,
    each: usize,
}

/// Objects of a remote store that are written at once, at least: each waits for an answer most of its time.
const REMOTE_OBJECTS: usize = 32;

impl<'a> Write<'a> {
    fn new(
        array: &'a Array,
        target: &'a Target,
        source: &'a Spread<'a>,
        options: &WriteOptions<'_>,
    ) -> Result<Write<'a>, Error> {
        let inner = &array.inner;
        if array.fields.is_some() {
            return Err(Error::unsupported("writing to some fields of elements"));
        }
        let objects = target.objects(array);
        let object_count = objects.count()?;
        let source = (source, target.picks());
        let engine = array.engine();
        let sharded = !inner.compiled.levels.is_empty();
        Ok(Write {
            array,
            locks: ObjectLocks::of_process(),
            engine,
            subject: Subject::new(&inner.metadata, &inner.compiled, source, options.empty_chunks),
            layout: sharded.then(|| ShardLayout::new(&inner.compiled)).transpose()?,
            objects,
            object_count,
            past_cache: options.past_cache,
            next: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            kept_bytes: AtomicU64::new(0),
            error: Mutex::new(None),
        })
    }

    fn run(self, options: &WriteOptions<'_>) -> Result<(), Error> {
        if self.is_variable() {
            // How long the elements are that are stored already is known once an object of them was read.
            self.step(&mut self.encoders(1), options);
        }
        let threads = self.threads();
        let help = |number| self.work(number, threads.each, &WriteOptions::default());
        with_helpers("swath-write", threads.objects, help, || self.work(0, threads.each, options));
        match self.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn is_variable(&self) -> bool {
        self.subject.compiled.variable.is_some()
    }

    /// As many as the engine has lanes, and more where each waits for a network; as few as their memory needs.
    fn threads(&self) -> Threads {
        let limits = &self.engine.config().limits;
        let metadata = &self.array.inner.metadata;
        let object_elements = cell_count(metadata.chunk_shape()).unwrap_or(u64::MAX);
        let element = storage_len(self.subject.fill.len());
        // What was stored, what is written, and a chunk before and after it is encoded.
        let bytes = object_elements.saturating_mul(element).saturating_mul(3).max(1);
        let bytes = bytes.saturating_add(self.content_bytes(object_elements).saturating_mul(3));
        let fit = storage_len(limits.in_flight_bytes_max) / bytes;
        let most = match self.array.inner.store.is_remote() {
            true => limits.lanes.max(REMOTE_OBJECTS),
            false => limits.lanes,
        };
        let objects = storage_len(most).min(fit).min(self.object_count).max(1);
        let objects = usize::try_from(objects).unwrap_or(1);
        let each = if self.layout.is_some() { (limits.lanes / objects).max(1) } else { 1 };
        Threads { objects, each }
    }

    /// What elements of any length come to in an object, as far as those tell that are written, and those that were stored in the
    /// objects before.
    fn content_bytes(&self, object_elements: u64) -> u64 {
        let source = self.subject.source;
        let count = storage_len((source.bytes.len() / self.subject.fill.len().max(1)).max(1));
        let written = (storage_len(source.content.len()) / count).saturating_mul(object_elements);
        written.max(self.kept_bytes.load(Ordering::Relaxed))
    }

    /// Writes objects until there are none left, or one fails; or until this thread, by its number, is one more than fit their memory.
    /// Of the options, only what is called in between counts.
    fn work(&self, thread: usize, encoders: usize, options: &WriteOptions<'_>) {
        let mut encoders = self.encoders(encoders);
        while (!self.is_variable() || thread < self.threads().objects) && self.step(&mut encoders, options) {}
    }

    fn encoders(&self, count: usize) -> Vec<ChunkEncoder<'a>> {
        (0..count).map(|_| ChunkEncoder::new(self.subject, EncoderMemory::default())).collect()
    }

    /// Writes the next object; `false` where there is none, or one has failed.
    fn step(&self, encoders: &mut [ChunkEncoder<'_>], options: &WriteOptions<'_>) -> bool {
        if self.is_over.load(Ordering::Relaxed) {
            return false;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if self.object_count <= number {
            return false;
        }
        if let Some(progress) = options.progress {
            progress(number, self.object_count);
        }
        let written = options.check_interrupt().and_then(|()| self.object(number, encoders));
        if let Err(error) = written {
            self.is_over.store(true, Ordering::Relaxed);
            self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
        true
    }

    fn object(&self, number: u64, encoders: &mut [ChunkEncoder<'_>]) -> Result<(), Error> {
        match &self.objects {
            Objects::Boxes(boxes) => {
                let Some((coordinates, parts)) = boxes.object(self.array, number)? else { return Ok(()) };
                self.replace_object(&coordinates, Placed::Box(&parts), encoders)
            }
            Objects::Tiles(objects) => {
                let found = usize::try_from(number).ok().and_then(|number| objects.get(number));
                let (coordinates, tiles) = found.ok_or_else(no_object)?;
                let tiles: Vec<u64> = tiles.clone().collect();
                self.replace_object(coordinates, Placed::Tiles(&tiles), encoders)
            }
        }
    }

    fn replace_object(
        &self,
        coordinates: &[u64],
        placed: Placed<'_>,
        encoders: &mut [ChunkEncoder<'_>],
    ) -> Result<(), Error> {
        let inner = &self.array.inner;
        let (extents, valid) = object_extents(self.array, coordinates);
        let object = inner.chunk_object(coordinates);
        let seen = match (placed.covers(&extents), placed.covers(&valid)) {
            (true, _) => Seen::Entire,
            (false, true) => Seen::Whole,
            (false, false) => Seen::InPart,
        };
        if let Some(form) = ChunkForm::at(&inner.compiled, coordinates)? {
            encoders.iter_mut().for_each(|encoder| encoder.form = form.clone());
        }
        self.replace_with(&object, placed, seen, encoders).map_err(|error| error.with_object(&object.key))
    }

    fn replace_with(
        &self,
        object: &ObjectRef,
        placed: Placed<'_>,
        seen: Seen,
        encoders: &mut [ChunkEncoder<'_>],
    ) -> Result<(), Error> {
        let _alone = self.locks.lock_chunk(object)?;
        if seen == Seen::Entire {
            return match self.encode(placed, None, encoders)? {
                Some(bytes) => self.store(object, bytes, None, encoders).map(|_| ()),
                None => delete(object),
            };
        }
        for number in 0..TRIES_MAX {
            if number != 0 {
                pause(number);
            }
            if self.replace_part(object, placed, seen, encoders)? == Replaced::Done {
                return Ok(());
            }
        }
        let message = format!("others replaced the object {TRIES_MAX} times while a part of it was written");
        Err(Error::new(ErrorKind::Io, message).with_retryable(true))
    }

    /// Puts a part into what is stored, as long as nobody else replaces that meanwhile. An object at the array's edge is
    /// written in part also where all of it is written that lies in the array: others may have appended to it since this
    /// array was opened.
    fn replace_part(
        &self,
        object: &ObjectRef,
        placed: Placed<'_>,
        seen: Seen,
        encoders: &mut [ChunkEncoder<'_>],
    ) -> Result<Replaced, Error> {
        let is_damage = |error: &Error| error.kind() == ErrorKind::Corrupt && seen == Seen::Whole;
        let stored = match Stored::read(&self.engine, object, self.object_bytes_max()) {
            // Nothing of it is to be kept.
            Err(error) if is_damage(&error) => {
                return match self.encode(placed, None, encoders)? {
                    Some(bytes) => self.store(object, bytes, None, encoders),
                    None => delete(object).map(|()| Replaced::Done),
                };
            }
            stored => stored?,
        };
        let bytes = stored.as_ref().map(|stored| &*stored.bytes);
        let encoded = match self.encode(placed, bytes, encoders) {
            Err(error) if is_damage(&error) => self.encode(placed, None, encoders)?,
            encoded => encoded?,
        };
        let content = encoders.iter().map(|encoder| encoder.kept_bytes).max().unwrap_or(0);
        self.kept_bytes
            .fetch_max(content.max(bytes.map_or(0, |bytes| storage_len(bytes.len()))), Ordering::Relaxed);
        match (encoded, &stored) {
            (Some(bytes), _) => self.store(object, bytes, Some(stored.as_ref()), encoders),
            (None, None) => Ok(Replaced::Done),
            (None, Some(stored)) => match delete_read(object, stored)? {
                Some(replaced) => Ok(replaced),
                // Where nothing is removed on a condition, what is stored stays stored, as the fill values that it is now.
                None => self.store_fill(object, stored, encoders),
            },
        }
    }

    /// Stores an object of nothing but the fill value, in place of this one.
    fn store_fill(
        &self,
        object: &ObjectRef,
        stored: &Stored,
        encoders: &mut [ChunkEncoder<'_>],
    ) -> Result<Replaced, Error> {
        let Some(first) = encoders.first_mut() else {
            return Err(Error::new(ErrorKind::Internal, "a write without an encoder"));
        };
        let bytes = match &self.layout {
            Some(_) => empty_shard(self.subject.compiled, &mut first.memory.scratch)?,
            None => first.fill_chunk()?,
        };
        self.store(object, bytes, Some(Some(stored)), encoders)
    }

    /// [`replace`], and keeps the memory for the next object.
    fn store(
        &self,
        object: &ObjectRef,
        bytes: Vec<u8>,
        read: Option<Option<&Stored>>,
        encoders: &mut [ChunkEncoder<'_>],
    ) -> Result<Replaced, Error> {
        let bytes = Bytes::from(bytes);
        let replaced = replace(object, bytes.clone(), read, self.past_cache);
        if let Some(encoder) = encoders.first_mut() {
            encoder.reuse(bytes);
        }
        replaced
    }

    /// What an object may come to. Writers may leave gaps in shards, so twice what its chunks come to.
    fn object_bytes_max(&self) -> u64 {
        match &self.layout {
            Some(layout) => layout.shard_bytes_max.saturating_mul(2),
            None => self.subject.compiled.encoded_len_max,
        }
    }

    /// The bytes that an object is to have; `None` where it is not to be stored.
    fn encode(
        &self,
        placed: Placed<'_>,
        stored: Option<&[u8]>,
        encoders: &mut [ChunkEncoder<'_>],
    ) -> Result<Option<Vec<u8>>, Error> {
        match (&self.layout, encoders) {
            (Some(layout), encoders) => encode_shard(layout, encoders, &Shard { depth: 0, placed, stored }),
            (None, [encoder, ..]) => encoder.encode_object(placed, stored),
            (None, []) => Err(Error::new(ErrorKind::Internal, "a write without an encoder")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArrayBuilder, DataType, Store, VariableArrayData};
    use swath_ioengine::{EngineConfig, Limits, MemoryMedium};

    /// Short strings that are put among long ones, which are known once an object of them was read.
    #[test]
    fn threads_are_as_few_as_what_is_stored_needs() {
        let store = Store::memory(&MemoryMedium::new());
        let array = ArrayBuilder::new(&[64], DataType::String).chunk_shape(&[4]).create(&store, "").unwrap();
        let long = VariableArrayData::of_strings(&[64], vec!["x".repeat(1 << 18); 64]).unwrap();
        let options = WriteOptions::default();
        array.write_variable(&Selection::all(), &long, &options).unwrap();
        let limits = Limits { lanes: 8, in_flight_bytes_max: 4 << 20, ..Limits::default() };
        let array = array.with_engine(Engine::new(EngineConfig { limits, ..EngineConfig::default() }));
        let selection: Selection = "::2".parse().unwrap();
        let short = VariableArrayData::of_strings(&[32], ["y"; 32]).unwrap();
        let target = Target::new(&array, &selection).unwrap();
        let places = array.places_of(&short).unwrap();
        let source = Elements::of_places(&places, &short).unwrap();
        let spread = target.spread(&source, array.data_type().size_bytes()).unwrap();
        let write = Write::new(&array, &target, &spread, &options).unwrap();
        assert_eq!(write.threads().objects, 8);
        assert!(write.step(&mut write.encoders(1), &WriteOptions::default()));
        // With the length of each.
        assert_eq!(write.kept_bytes.load(Ordering::Relaxed), (4 << 18) + 5 * 4);
        assert_eq!(write.threads().objects, 1);
        write.run(&options).unwrap();
        let read = array.read_variable(&"60:".parse().unwrap()).unwrap();
        assert_eq!(read.iter().map(<[u8]>::len).collect::<Vec<_>>(), [1, 1 << 18, 1, 1 << 18]);
    }
}
