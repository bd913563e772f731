//! Checking one array: what is stored of it, batch by batch.

use super::chunk_boxes::ChunkBoxes;
use super::chunk_reads::failed_selections;
use super::shard_check::{read_indexes, unsound_entries};
use super::stored_chunks::{Listed, StoredChunk, visit_stored};
use super::{Finding, Severity};
use crate::raveling::{cell_count, unravel};
use crate::read::{ReadOptions, ReadPlan};
use crate::shard_index::ShardIndex;
use crate::{Array, Error, ErrorKind};
use swath_ioengine::{memory_len, storage_len};

/// How a check is run.
#[derive(Clone, Default)]
pub struct ValidateOptions<'a> {
    /// How reads are run: cancelled, interrupted, counted.
    pub read: ReadOptions<'a>,
    /// Called after each batch with what was checked so far.
    pub progress: Option<&'a dyn Fn(&Validated)>,
}

/// What was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Validated {
    /// Stored objects: chunks, or shards.
    pub objects: u64,
    /// Stored chunks that were decoded, or could not be; of shards the inner ones, and of shards within shards all that a
    /// stored one has room for.
    pub chunks: u64,
    /// Bytes of the objects.
    pub stored_bytes: u64,
    /// Findings that are damage.
    pub damages: u64,
    /// Findings that are not.
    pub notes: u64,
}

/// Bytes of decoded chunks that are held at once, unless one chunk has more.
const BATCH_BYTES: u64 = 64 << 20;

/// Chunks that are decoded at once.
const BATCH_CHUNKS: usize = 16_384;

/// Objects that are checked at once, and bytes of their indexes.
const BATCH_OBJECTS: usize = 512;
const BATCH_INDEX_BYTES: u64 = 64 << 20;

impl Array {
    /// Reads and decodes every stored chunk, and tells `report` what is wrong, as it is found.
    ///
    /// Where the store can list, only stored objects are looked at, and those that nobody reads are noted. Else every chunk
    /// of the grid is read, and what is not stored counts as sound.
    ///
    /// ```
    /// use swath_zarr_front::{ArrayBuilder, DataType, Store, ValidateOptions};
    /// use swath_ioengine::MemoryMedium;
    ///
    /// let memory = MemoryMedium::new();
    /// let array = ArrayBuilder::new(&[4], DataType::UInt8).chunk_shape(&[2]).create(&Store::memory(&memory), "a")?;
    /// array.write(&"...".parse()?, &[1, 2, 3, 4])?;
    /// memory.put("a/c/1", &b"no chunk"[..]);
    /// let mut found = Vec::new();
    /// let validated = array.validate(&ValidateOptions::default(), &mut |finding| found.push(finding))?;
    /// assert_eq!((validated.chunks, validated.damages), (2, 1));
    /// assert_eq!((&*found[0].object, &found[0].chunk), ("memory/a/c/1", &Some(vec![1])));
    /// # Ok::<(), swath_zarr_front::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// What ends the check as a whole: `Cancelled`, `DeadlineExceeded`, a listing that fails. Whatever cannot be read is a
    /// finding.
    pub fn validate(
        &self,
        options: &ValidateOptions<'_>,
        report: &mut dyn FnMut(Finding),
    ) -> Result<Validated, Error> {
        // Whatever the store passes over, a check does not; nor does it take decoded chunks for stored ones.
        let array = self.verifying();
        let chunks = ChunkBoxes::new(&array)?;
        let mut check =
            Check { array: &array, options, report, chunks, pending: Vec::new(), done: Validated::default() };
        let listed = visit_stored(&array.inner, &mut |listed| match listed {
            Listed::Odd(finding) => {
                check.report(finding);
                Ok(())
            }
            Listed::Chunk(chunk) => check.add(chunk),
        });
        match listed {
            Err(error) if error.kind() == ErrorKind::Unsupported && check.done == Validated::default() => {
                check.all_chunks()?;
            }
            listed => listed?,
        }
        check.flush()?;
        Ok(check.done)
    }
}

struct Check<'a> {
    array: &'a Array,
    options: &'a ValidateOptions<'a>,
    report: &'a mut dyn FnMut(Finding),
    /// The array cut into chunks.
    chunks: ChunkBoxes<'a>,
    pending: Vec<StoredChunk>,
    done: Validated,
}

impl Check<'_> {
    fn report(&mut self, finding: Finding) {
        match finding.severity {
            Severity::Damage => self.done.damages += 1,
            Severity::Note => self.done.notes += 1,
        }
        (self.report)(finding);
    }

    fn add(&mut self, chunk: StoredChunk) -> Result<(), Error> {
        self.pending.push(chunk);
        let compiled = &self.array.inner.compiled;
        let index_bytes = compiled.levels.first().map_or(0, |level| level.index_bytes);
        let fits = storage_len(self.pending.len()).saturating_mul(index_bytes) < BATCH_INDEX_BYTES;
        let chunk_bytes = compiled.chain.decoded_len();
        let decoded = storage_len(self.pending.len()).saturating_mul(storage_len(chunk_bytes));
        let is_full = BATCH_OBJECTS <= self.pending.len() && BATCH_BYTES <= decoded;
        if fits && !is_full && self.pending.len() < BATCH_CHUNKS { Ok(()) } else { self.flush() }
    }

    /// Checks the objects that were found since the last time.
    fn flush(&mut self) -> Result<(), Error> {
        let objects = std::mem::take(&mut self.pending);
        if objects.is_empty() {
            return Ok(());
        }
        self.done.objects += storage_len(objects.len());
        self.done.stored_bytes += objects.iter().map(|object| object.size).sum::<u64>();
        let inner = &self.array.inner;
        let level = inner.compiled.levels.first().filter(|_| inner.store.catalog().is_none());
        match level {
            None => self.objects(&objects)?,
            Some(level) => {
                let engine = self.array.engine();
                let indexes = read_indexes(inner, level, &objects, &engine, &self.options.read)?;
                let mut reads = Reads::new(self);
                for (object, index) in objects.iter().zip(indexes) {
                    reads.shard(object, index)?;
                }
                reads.finish()?;
            }
        }
        if let Some(progress) = self.options.progress {
            progress(&self.done);
        }
        Ok(())
    }

    /// Objects without an index, or whose index cannot be read by itself.
    fn objects(&mut self, objects: &[StoredChunk]) -> Result<(), Error> {
        let compiled = &self.array.inner.compiled;
        // How long a whole file is, no reference to it tells.
        let is_told = compiled.levels.is_empty() && self.array.inner.store.catalog().is_none();
        let len = compiled.chain.encoded_len_fixed().filter(|_| is_told && compiled.shaped.is_none());
        let mut reads = Reads::new(self);
        for object in objects {
            match len {
                Some(len) if len != object.size && compiled.variable.is_none() => {
                    reads.wrong_length(object, len);
                }
                _ => reads.object(object, |_| true)?,
            }
        }
        reads.finish()
    }

    /// Reads the whole grid, of a store that cannot be listed.
    fn all_chunks(&mut self) -> Result<(), Error> {
        let inner = &self.array.inner;
        let count = cell_count(&inner.compiled.objects).ok_or_else(|| Error::invalid("too many chunks"))?;
        let mut reads = Reads::new(self);
        for number in 0..count {
            let mut coordinates = vec![0; inner.compiled.objects.len()];
            unravel(number, &inner.compiled.objects, &mut coordinates);
            reads.object(&StoredChunk { coordinates, size: 0 }, |_| true)?;
        }
        reads.finish()
    }

    fn object_name(&self, object: &StoredChunk) -> String {
        let mut key = String::new();
        self.array.inner.write_chunk_key(&object.coordinates, &mut key);
        self.array.store().describe(&key)
    }
}

/// Chunks that are to be read together.
struct Reads<'c, 'a> {
    check: &'c mut Check<'a>,
    plan: ReadPlan<'a>,
    /// The coordinates of the chunk that each selection of the plan is.
    chunks: Vec<Vec<u64>>,
}

impl<'c, 'a> Reads<'c, 'a> {
    fn new(check: &'c mut Check<'a>) -> Reads<'c, 'a> {
        let plan = ReadPlan::empty(check.array);
        Reads { check, plan, chunks: Vec::new() }
    }

    fn wrong_length(&mut self, object: &StoredChunk, len: u64) {
        let message = format!("wanted a chunk of {len} bytes, found {}", object.size);
        let name = self.check.object_name(object);
        let chunk = Some(object.coordinates.clone());
        self.check.done.chunks += 1;
        self.check.report(Finding { severity: Severity::Damage, object: name, chunk, message });
    }

    /// A shard, its index read or not.
    fn shard(&mut self, object: &StoredChunk, index: Result<ShardIndex, Error>) -> Result<(), Error> {
        let compiled = &self.check.array.inner.compiled;
        let Some(level) = compiled.levels.first() else { return Ok(()) };
        let name = self.check.object_name(object);
        let index = match index {
            Ok(index) => index,
            Err(error) => {
                let error = error.about(&name).with_message_prefix("the shard's index: ");
                self.check.report(Finding::of_error(&error, &name, None));
                return Ok(());
            }
        };
        let (unsound, findings) = unsound_entries(level, &index, object.size, &name);
        findings.into_iter().for_each(|finding| self.check.report(finding));
        self.object(object, |chunk| {
            let entry = level.entry_of(chunk);
            index.entry(entry).is_some() && unsound.binary_search(&entry).is_err()
        })
    }

    /// The chunks of an object that `is_wanted` by their coordinates within it, but for those beyond the array.
    fn object(&mut self, object: &StoredChunk, is_wanted: impl Fn(&[u64]) -> bool) -> Result<(), Error> {
        let per_object = &self.check.array.inner.compiled.chunks_per_object;
        let rank = per_object.len();
        let (mut within, mut chunk) = (vec![0; rank], vec![0; rank]);
        for number in 0..self.check.array.inner.compiled.chunks_in_object() {
            unravel(number, per_object, &mut within);
            for (axis, chunk) in chunk.iter_mut().enumerate() {
                *chunk =
                    object.coordinates[axis].saturating_mul(per_object[axis]).saturating_add(within[axis]);
            }
            let counts = self.check.chunks.counts();
            if chunk.iter().zip(counts).all(|(at, count)| at < count) && is_wanted(&within) {
                self.chunk(&chunk)?;
            }
        }
        Ok(())
    }

    fn chunk(&mut self, chunk: &[u64]) -> Result<(), Error> {
        self.plan.push(&self.check.chunks.at(chunk).selection()?)?;
        self.chunks.push(chunk.to_vec());
        if BATCH_CHUNKS <= self.chunks.len() || memory_len(BATCH_BYTES)? <= self.plan.total_bytes() {
            self.read()?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), Error> {
        self.read()
    }

    fn read(&mut self) -> Result<(), Error> {
        let array = self.check.array;
        let plan = std::mem::replace(&mut self.plan, ReadPlan::empty(array));
        let chunks = std::mem::take(&mut self.chunks);
        if chunks.is_empty() {
            return Ok(());
        }
        let failed = failed_selections(&plan, &self.check.options.read)?;
        self.check.done.chunks += storage_len(chunks.len());
        for (number, error) in failed {
            let chunk = chunks.get(number).cloned();
            self.check.report(Finding::of_error(&error, &array.name(), chunk));
        }
        if let Some(progress) = self.check.options.progress {
            progress(&self.check.done);
        }
        Ok(())
    }
}
