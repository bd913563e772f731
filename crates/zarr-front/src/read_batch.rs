//! One read of an array: a plan and a sink for the engine.

use crate::Error;
use crate::array::{Array, ArrayInner};
use crate::contained_reads::{Contained, ContainedChunk, ContainedShard};
use crate::decoded_cache::{DecodedArray, DecodedChunks};
use crate::fields::Fields;
use crate::groups::{Groups, Place};
use crate::index_cache::IndexCache;
use crate::member_reads::MemberRead;
use crate::note::{ChunkPart, Note, Wanted, number, slice, token};
use crate::placement::{Placement, Placements, part_of};
use crate::shards::{Shard, Shards};
use crate::slabs::Slabs;
use crate::stretches::Stretches;
use crate::variable::Contents;
use crate::whole_shards::WholeShards;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use swath_codecs::Output;
use swath_ioengine::{
    Arrival, Batch, ByteRange, Cursor, Engine, Estimate, Freshness, LaneContext, Medium, ObjectRef,
    PlanContext, Planned, Token, Window,
};

/// Reads selections of one array into an output.
pub(crate) struct ReadBatch<'m> {
    pub(crate) array: Arc<ArrayInner>,
    pub(crate) results: Arc<Results<'m>>,
    pub(crate) groups: Groups,
    pub(crate) cache: Arc<IndexCache>,
    pub(crate) shards: Shards,
    /// The array's decoded chunks, where they are kept.
    pub(crate) decoded: Option<DecodedChunks>,
    pub(crate) is_immutable: bool,
    /// The writes of this process when the read began: what was kept before the last of them is looked at again.
    pub(crate) writes: u64,
    /// Whether chunks are copied straight from where they lie: those that are converted on the way are not.
    takes_pieces: bool,
    /// When shards are read whole.
    pub(crate) whole_shards: Option<WholeShards>,
    /// Where the objects are, in a store whose keys are parts of other objects.
    pub(crate) contained: Option<Contained>,
    /// The fields that are read, where these are not all.
    pub(crate) fields: Option<Arc<Fields>>,
}

/// What a read comes to. Its waiter shares this, and not the batch: a batch that has ended must not hold back the
/// duties to read indexes that others wait for, however late its waiter looks.
pub(crate) struct Results<'m> {
    pub(crate) output: Output<'m>,
    /// The first error of each result.
    errors: Mutex<BTreeMap<usize, Error>>,
    /// The bytes of chunks whose elements have lengths of their own.
    contents: Option<Contents>,
}

impl<'m> Results<'m> {
    pub(crate) fn new(output: Output<'m>) -> Arc<Results<'m>> {
        Arc::new(Results { output, errors: Mutex::default(), contents: None })
    }

    /// Of elements that have lengths of their own, whose bytes go to `contents`.
    pub(crate) fn with_contents(output: Output<'m>, contents: Contents) -> Arc<Results<'m>> {
        Arc::new(Results { output, errors: Mutex::default(), contents: Some(contents) })
    }

    pub(crate) fn contents(&self) -> Option<&Contents> {
        self.contents.as_ref()
    }

    /// The errors of single results, and the output; `None` while the batch is there.
    pub(crate) fn finish(self: Arc<Self>) -> Option<(BTreeMap<usize, Error>, Output<'m>)> {
        let Results { output, errors, .. } = Arc::into_inner(self)?;
        Some((errors.into_inner().unwrap_or_else(PoisonError::into_inner), output))
    }
}

impl<'m> ReadBatch<'m> {
    pub(crate) fn new(
        array: &Array,
        results: &Arc<Results<'m>>,
        engine: &Engine,
    ) -> Result<ReadBatch<'m>, Error> {
        // Fields in a foreign byte order are swapped once a read has ended, and converted as they arrive.
        if array.fields.is_some() && results.output.conversion().is_some() {
            return Err(Error::unsupported("converting some fields of elements"));
        }
        let limits = &engine.config().limits;
        let reads_max = swath_ioengine::storage_len(limits.window_reads_max);
        let chunks = &array.inner.compiled.chunks_per_object;
        let is_catalog = array.inner.store.catalog().is_some();
        let (slabs, whole_shards) = match array.inner.store.is_remote() {
            // Compressed members are inflated whole: they are not cut by where their chunks are stored.
            true if is_catalog => (Slabs::of_whole_objects(chunks, reads_max, None), None),
            true => {
                let compiled = &array.inner.compiled;
                let stretches = Stretches::new(compiled, limits);
                (Slabs::of_whole_objects(chunks, reads_max, stretches), WholeShards::new(compiled, limits))
            }
            false => (Slabs::new(chunks, reads_max), None),
        };
        let groups = Groups::new(&results.output, &array.inner.compiled, slabs)?;
        let contained = Contained::of(&array.inner, &groups, engine)?;
        array.inner.store.expect(results.output.total_tile_count());
        Ok(ReadBatch {
            array: Arc::clone(&array.inner),
            results: Arc::clone(results),
            groups,
            cache: engine.extension::<IndexCache>(),
            shards: Shards::default(),
            decoded: array.decoded.as_ref().and_then(DecodedArray::chunks),
            is_immutable: engine.config().freshness == Freshness::Immutable,
            writes: swath_ioengine::writes(),
            takes_pieces: array.inner.compiled.takes_pieces
                && results.output.conversion().is_none()
                && array.fields.is_none(),
            whole_shards,
            contained,
            fields: array.fields.clone(),
        })
    }

    /// Whether what was kept after so many writes needs no look at its object.
    #[inline]
    pub(crate) fn is_taken_for_fresh(&self, writes: u64) -> bool {
        self.is_immutable && writes == self.writes
    }

    fn errors(&self) -> MutexGuard<'_, BTreeMap<usize, Error>> {
        self.results.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn object(&self, place: &Place) -> ObjectRef {
        if let Some(contained) = &self.contained
            && let Some(object) = self.contained_object(contained, place)
        {
            return object;
        }
        let coordinates = self.groups.coordinates(place.object, &self.array.compiled.objects);
        self.array.chunk_object(&coordinates)
    }

    pub(crate) fn collect(&self, place: &Place, placements: &mut Placements) {
        placements.collect(place, &self.groups, &self.results.output, &self.array.compiled);
    }

    /// Plans the one read of a chunk that is an object of its own.
    fn plan_chunk(&self, place: &Place, object: ObjectRef, window: &mut Window<'_, '_>) {
        window.set_object(object.clone());
        let note = window.note::<Note>();
        note.clear();
        self.collect(place, &mut note.placements);
        if self.plan_cached_chunk(place, &object, window) {
            return;
        }
        let note = window.note::<Note>();
        let run = 0..number(note.placements.len());
        let (range, part) = match self.part(&note.placements) {
            Some(part) => {
                let (offset, len) = (u64::from(part.start), u64::from(part.end - part.start));
                (ByteRange::Bounded { offset, len }, ChunkPart::From(part.start))
            }
            None => (ByteRange::Whole { len_max: self.array.compiled.encoded_len_max }, ChunkPart::Whole),
        };
        note.reads.push(Wanted::Chunk { run, part });
        self.read_chunk(window, range, token(0));
    }

    #[inline]
    pub(crate) fn read_chunk(&self, window: &mut Window<'_, '_>, range: ByteRange, token: Token) {
        if self.takes_pieces {
            window.read_pieces(range, token);
        } else {
            window.read(range, token);
        }
    }

    /// The bytes that are wanted of a stored chunk, where it can be read in part and not all of it is wanted.
    pub(crate) fn part(&self, placements: &[Placement]) -> Option<Range<u32>> {
        self.array.compiled.part_strides.as_ref()?;
        let part = part_of(placements);
        let is_part = part.start < part.end
            && (part.end - part.start) as usize != self.array.compiled.chain.decoded_len();
        is_part.then_some(part)
    }

    /// Plans the chunks of a shard whose index is known.
    fn plan_shard(&self, place: &Place, shard: &Shard, object: &ObjectRef, window: &mut Window<'_, '_>) {
        let Shard::Known { index: known, is_fresh } = shard else { return };
        let mut note = std::mem::take(window.note::<Note>());
        note.clear();
        self.collect(place, &mut note.placements);
        let mut located = if self.array.compiled.is_flat {
            self.locate_flat(&note.placements, known)
        } else {
            self.locate(place, &note.placements, known, object)
        };
        if let Some(stretch) = place.stretch {
            located.keep(stretch);
            note.is_unsure = true;
        }
        // Of a stretch it counts what the others are of.
        let is_sure = place.stretch.is_none() && (*is_fresh || known.identity.is_none())
            || self.is_taken_for_fresh(known.writes);
        if is_sure {
            self.fail_unsound(&note.placements, &located.errors, &object.key);
            located.errors.clear();
        }
        if !located.unread.is_empty() {
            // The chunks are planned again, from the cursor, once these have arrived.
            for (key, offset, range) in located.unread {
                window.read(range, token(note.reads.len()));
                note.reads.push(Wanted::InnerIndex(Box::new((key, offset))));
                note.inner_left += 1;
            }
        } else {
            let kept = self.kept_version(place, known.identity.as_ref());
            for (run, range, part) in located.chunks {
                if kept.is_some_and(|version| self.take_cached(&mut note, version, &run)) {
                    continue;
                }
                self.read_chunk(window, range, token(note.reads.len()));
                note.reads.push(Wanted::Chunk { run, part });
            }
            note.missing = located.missing;
            if !located.errors.is_empty() {
                window.read(version_range(object), token(note.reads.len()));
                note.reads.push(Wanted::Unsound(located.errors.into()));
            }
            if note.reads.is_empty() && is_sure {
                self.fill_missing(&mut note);
                self.place_cached(&mut note);
            } else if note.reads.is_empty() && !(note.missing.is_empty() && note.cached.is_empty()) {
                window.read(version_range(object), token(0));
                note.reads.push(Wanted::Version);
            }
            Self::await_reads(&mut note);
            self.shards.planned(place.group);
        }
        if let Some(identity) = &known.identity {
            window.expect_identity(identity.clone());
        }
        *window.note::<Note>() = note;
    }

    /// Puts the fill value where chunks are not stored.
    #[inline]
    pub(crate) fn fill_missing(&self, note: &mut Note) {
        if note.missing.is_empty() {
            return;
        }
        let mut missing = std::mem::take(&mut note.missing);
        for run in missing.drain(..) {
            self.fill(slice(&note.placements, &run));
        }
        note.missing = missing;
    }

    pub(crate) fn fill(&self, placements: &[Placement]) {
        let fill = self.fields.as_ref().map_or(&self.array.compiled.fill, |fields| &fields.fill);
        for placement in placements {
            if let Some(tile) = self.results.output.claim(placement.result(), placement.tile)
                && let Err(error) = tile.fill(fill)
            {
                self.fail(&[*placement], &error.into());
            }
        }
    }

    /// Notes an error for the results that these placements belong to.
    pub(crate) fn fail(&self, placements: &[Placement], error: &Error) {
        let mut errors = self.errors();
        for placement in placements {
            errors.entry(placement.result()).or_insert_with(|| error.clone());
        }
    }

    /// Notes an error for every result that wants something of an object.
    pub(crate) fn fail_group(&self, group: usize, error: &Error) {
        let mut errors = self.errors();
        for result in self.groups.members(group) {
            errors.entry(result).or_insert_with(|| error.clone());
        }
    }

    /// Notes the errors of chunks that an index puts where none can be.
    fn fail_unsound(&self, placements: &Placements, errors: &[(Range<u32>, Error)], object: &str) {
        for (run, error) in errors {
            self.fail(slice(placements, run), &error.clone().with_object(object));
        }
    }
}

/// The least read that shows which version of an object there is: local files tell when they are opened.
pub(crate) fn version_range(object: &ObjectRef) -> ByteRange {
    let len = match object.medium {
        Medium::Local(_) => 0,
        Medium::Remote(_) => 1,
    };
    ByteRange::Bounded { offset: 0, len }
}

impl Batch for ReadBatch<'_> {
    fn window_count(&self) -> u64 {
        let contained = self.contained.as_ref().and_then(Contained::window_count);
        contained.unwrap_or_else(|| self.groups.window_count())
    }

    fn estimate(&self) -> Estimate {
        let tiles = self.results.output.total_tile_count();
        let indexes = if self.array.compiled.levels.is_empty() { 0 } else { self.groups.window_count() };
        let chunk_bytes = self.array.compiled.chain.encoded_len_max();
        Estimate { reads: tiles.saturating_add(indexes), bytes: tiles.saturating_mul(chunk_bytes) }
    }

    fn plan<'b>(&'b self, cursor: Cursor, context: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        if let Some(contained) = &self.contained
            && contained.window_count().is_some()
        {
            self.plan_contained(contained, cursor, window);
            return Planned::Complete;
        }
        let Some(place) = self.groups.place(cursor.window) else { return Planned::Complete };
        let (object, part) = match &self.contained {
            None => (self.object(&place), None),
            Some(contained) => match self.plan_contained_shard(contained, &place, window) {
                ContainedShard::At(object, part) => (object, part),
                ContainedShard::Planned => return Planned::Complete,
            },
        };
        let Some(level) = self.array.compiled.levels.first() else {
            self.plan_chunk(&place, object, window);
            return Planned::Complete;
        };
        let shard = self.shard(&place, &object, context);
        match part {
            None => window.set_object(object.clone()),
            Some(part) => self.set_part(window, &place, object.clone(), part),
        }
        match shard {
            Shard::Awaited => return Planned::Parked,
            Shard::Known { .. } => self.plan_shard(&place, &shard, &object, window),
            // Its results have their error.
            Shard::Failed => self.shards.planned(place.group),
            Shard::Absent => {
                let note = window.note::<Note>();
                note.clear();
                self.collect(&place, &mut note.placements);
                self.fill(&note.placements);
                self.shards.planned(place.group);
            }
            Shard::Unread => self.plan_unread(place, level, window),
        }
        Planned::Complete
    }

    fn deliver(
        &self,
        token: Token,
        result: Result<Arrival<'_>, swath_ioengine::Error>,
        lane: &mut LaneContext<'_>,
    ) {
        let Some(note) = lane.note.get::<Note>() else { return };
        if note.is_unsure && result.is_ok() {
            if !self.agrees(lane.cursor, lane.identity) {
                return;
            }
            note.is_unsure = false;
        }
        self.fill_missing(note);
        if !note.cached.is_empty() {
            self.judge_cached(note, &result, lane.object);
        }
        let wanted = usize::try_from(token.0).ok().and_then(|number| note.reads.get(number));
        match wanted {
            Some(Wanted::Chunk { run, part }) => {
                let keep = self.admission(&mut note.cached, lane.cursor, lane.identity);
                let chunk = (slice(&note.placements, run), *part);
                self.chunk_arrived(chunk, keep, &result, (lane.object, lane.scratch));
            }
            Some(Wanted::Index(place)) => {
                let place = Place::clone(place);
                self.index_arrived(&place, result, lane);
            }
            Some(Wanted::Shard(place)) => {
                let place = Place::clone(place);
                self.shard_arrived(&place, result, lane);
            }
            Some(Wanted::Contained(chunk)) => {
                self.contained_arrived(&ContainedChunk::clone(chunk), result, lane);
            }
            Some(Wanted::Member(read)) => self.member_arrived(&MemberRead::clone(read), result, lane),
            Some(Wanted::InnerIndex(inner)) => {
                let (key, offset) = **inner;
                self.inner_index_arrived(key, offset, result, lane);
            }
            Some(Wanted::Unsound(errors)) => match result {
                Ok(_) => self.fail_unsound(&note.placements, errors, &lane.object.key),
                Err(error) if self.says_missing(&error) => {
                    errors.iter().for_each(|(run, _)| self.fill(slice(&note.placements, run)));
                }
                Err(error) => {
                    self.fail(&note.placements, &self.storage_error(error).with_object(&lane.object.key));
                }
            },
            Some(Wanted::Version) => {
                // An object that is gone by now has nothing stored either.
                if let Err(error) = result
                    && !self.says_missing(&error)
                {
                    self.fail(&note.placements, &self.storage_error(error).with_object(&lane.object.key));
                }
            }
            None => {}
        }
    }

    fn stale(&self, cursor: Cursor) {
        self.forget_stale(cursor);
    }

    fn spoiled(&self, cursor: Cursor, error: swath_ioengine::Error, lane: &mut LaneContext<'_>) {
        self.fail_spoiled(cursor, error, lane);
    }
}
