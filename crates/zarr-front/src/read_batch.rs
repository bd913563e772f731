//! One read of an array: a plan and a sink for the engine.

use crate::array::ArrayInner;
use crate::groups::{Groups, Place};
use crate::index_cache::{CachedIndex, IndexCache, LoadTicket, LookUp};
use crate::placement::{Placement, collect};
use crate::raveling::{ravel, unravel};
use crate::shard_index::{ShardIndex, index_range, nested_index_range, within};
use crate::{Error, ErrorKind};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use swath_codecs::{Output, Scratch};
use swath_ioengine::{
    Arrival, Batch, ByteRange, Cursor, Engine, Estimate, LaneContext, ObjectRef, PlanContext, Planned, Token,
    Window,
};

/// Reads selections of one array into an output.
pub(crate) struct ReadBatch<'m> {
    array: Arc<ArrayInner>,
    output: Output<'m>,
    groups: Groups,
    cache: Arc<IndexCache>,
    state: Mutex<State>,
}

/// What lanes share while the batch runs. Locked once a shard, not once a chunk.
#[derive(Default)]
struct State {
    /// Shard indexes that this batch has seen, by group; `None` for shards that do not exist.
    indexes: HashMap<usize, Option<CachedIndex>>,
    /// Indexes of inner shards, by group, level and number of the shard within its object.
    nested: HashMap<NestedKey, Arc<ShardIndex>>,
    /// The indexes that this batch is reading, by group.
    tickets: HashMap<usize, LoadTicket>,
    /// The first error of each result.
    errors: BTreeMap<usize, Error>,
}

type NestedKey = (usize, usize, u64);

/// What a window's reads are, by token.
#[derive(Default)]
struct Note {
    placements: Vec<Placement>,
    reads: Vec<Wanted>,
    /// Inner shard indexes of this window that have not arrived.
    nested_left: usize,
}

/// One read of a window.
enum Wanted {
    /// The index of the window's shard.
    Index(Place),
    /// The index of an inner shard.
    NestedIndex(NestedKey),
    /// A chunk, for these placements.
    Chunk(Range<usize>),
}

/// What is known of the shard around a window.
enum Shard {
    /// Its index.
    Known(CachedIndex),
    /// The shard does not exist.
    Absent,
    /// Its index has to be read first.
    Unread,
    /// Somebody else is reading its index.
    Awaited,
}

impl<'m> ReadBatch<'m> {
    pub(crate) fn new(
        array: Arc<ArrayInner>,
        output: Output<'m>,
        engine: &Engine,
    ) -> Result<ReadBatch<'m>, Error> {
        let groups = Groups::new(&output, &array.compiled)?;
        Ok(ReadBatch {
            array,
            output,
            groups,
            cache: engine.extension::<IndexCache>(),
            state: Mutex::default(),
        })
    }

    /// The errors of single results, and the output.
    pub(crate) fn finish(self) -> (BTreeMap<usize, Error>, Output<'m>) {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        (state.errors, self.output)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn object(&self, place: &Place) -> ObjectRef {
        let coordinates = self.groups.coordinates(place.object, &self.array.compiled.objects);
        self.array.chunk_object(&coordinates)
    }

    /// What is known of the shard of a window; loading it is this caller's duty where it says `Unread`.
    fn shard(&self, place: &Place, object: &ObjectRef, context: &PlanContext<'_>) -> Shard {
        if let Some(seen) = self.state().indexes.get(&place.group) {
            return seen.clone().map_or(Shard::Absent, Shard::Known);
        }
        match self.cache.look_up(object, || context.resume()) {
            LookUp::Wait => Shard::Awaited,
            LookUp::Found(found) => {
                if 1 < self.groups.windows_of(place.group) {
                    self.state().indexes.insert(place.group, Some(found.clone()));
                }
                Shard::Known(found)
            }
            LookUp::Load(ticket) => {
                let mut state = self.state();
                // It may have arrived, without being cached, between the first look and this one.
                if let Some(seen) = state.indexes.get(&place.group).cloned() {
                    drop(state);
                    drop(ticket);
                    return seen.map_or(Shard::Absent, Shard::Known);
                }
                state.tickets.insert(place.group, ticket);
                Shard::Unread
            }
        }
    }

    /// Plans the chunks of a shard whose index is known.
    fn plan_shard<'b>(&'b self, place: &Place, known: &CachedIndex, window: &mut Window<'_, 'b>) {
        if let Some(identity) = &known.identity {
            window.expect_identity(identity.clone());
        }
        let mut note = std::mem::take(window.note::<Note>());
        note.reads.clear();
        collect(place, &self.groups, &self.output, &self.array.compiled, &mut note.placements);
        let mut unread: Vec<(NestedKey, ByteRange)> = Vec::new();
        let mut chunks: Vec<(Range<usize>, ByteRange)> = Vec::new();
        for run in runs(&note.placements) {
            match self.locate(place.group, note.placements[run.start].chunk, &known.index, &mut unread) {
                Ok(Located::At(range)) => chunks.push((run, range)),
                Ok(Located::Missing) => self.fill(&note.placements[run]),
                Ok(Located::BehindIndex) => {}
                Err(error) => self.fail(&note.placements[run], &error),
            }
        }
        if unread.is_empty() {
            for (run, range) in chunks {
                window.read(range, token(note.reads.len()));
                note.reads.push(Wanted::Chunk(run));
            }
        } else {
            // The chunks are planned again, from the cursor, once these have arrived. What is missing was filled.
            for (key, range) in unread {
                window.read(range, token(note.reads.len()));
                note.reads.push(Wanted::NestedIndex(key));
                note.nested_left += 1;
            }
        }
        *window.note::<Note>() = note;
    }

    /// Where a chunk lies in its object, through as many indexes as there are levels.
    fn locate(
        &self,
        group: usize,
        chunk: u64,
        index: &Arc<ShardIndex>,
        unread: &mut Vec<(NestedKey, ByteRange)>,
    ) -> Result<Located, Error> {
        let compiled = &self.array.compiled;
        let [_, inner @ ..] = compiled.levels.as_slice() else { return Ok(Located::Missing) };
        if inner.is_empty() {
            return index.entry(chunk).map_or(Ok(Located::Missing), |(offset, len)| self.stored(offset, len));
        }
        let mut coordinates = vec![0; compiled.chunks_per_object.len()];
        unravel(chunk, &compiled.chunks_per_object, &mut coordinates);
        let (mut index, mut extent, mut shard) = (Arc::clone(index), (0, u64::MAX), 0);
        for (depth, level) in compiled.levels.iter().enumerate() {
            if depth != 0 {
                let key = (group, depth, shard);
                let Some(found) = self.state().nested.get(&key).cloned() else {
                    if unread.last().is_none_or(|(last, _)| *last != key)
                        && !unread.iter().any(|(seen, _)| *seen == key)
                    {
                        unread.push((key, nested_index_range(level, extent)?));
                    }
                    return Ok(Located::BehindIndex);
                };
                index = found;
            }
            let within_level = coordinates.iter().zip(&level.chunks_per_entry).zip(&level.entries);
            let entry =
                ravel(within_level.map(|((at, chunks), entries)| at / chunks % entries), &level.entries);
            let Some(part) = index.entry(entry) else { return Ok(Located::Missing) };
            extent = within(extent, part)?;
            shard = shard * level.entry_count + entry;
        }
        self.stored(extent.0, extent.1)
    }

    /// A stored chunk, if it is no longer than any sound one.
    fn stored(&self, offset: u64, len: u64) -> Result<Located, Error> {
        let len_max = self.array.compiled.chain.encoded_len_max();
        if len_max < len {
            let message =
                format!("the shard index gives a chunk {len} bytes, where at most {len_max} are sound");
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        Ok(Located::At(ByteRange::Bounded { offset, len }))
    }

    /// Puts the fill value where a chunk is not stored.
    fn fill(&self, placements: &[Placement]) {
        let fill = self.array.metadata.fill_value();
        for placement in placements {
            // A window that is planned again has filled its missing chunks before.
            if let Some(tile) = self.output.claim(placement.result, placement.tile)
                && let Err(error) = tile.fill(fill.bytes())
            {
                self.fail(&[*placement], &error.into());
            }
        }
    }

    /// Notes an error for the results that these placements belong to.
    fn fail(&self, placements: &[Placement], error: &Error) {
        let mut state = self.state();
        for placement in placements {
            state.errors.entry(placement.result).or_insert_with(|| error.clone());
        }
    }

    /// Notes an error for every result that wants something of an object.
    fn fail_group(&self, group: usize, error: &Error) {
        let mut state = self.state();
        for member in self.groups.members(group) {
            state.errors.entry(member.result).or_insert_with(|| error.clone());
        }
    }

    /// Decodes a chunk and puts it where it is wanted.
    fn place(&self, placements: &[Placement], stored: &[u8], scratch: &mut Scratch) -> Result<(), Error> {
        let chain = &self.array.compiled.chain;
        let claim = |placement: &Placement| {
            let tile = self.output.claim(placement.result, placement.tile);
            tile.ok_or_else(|| Error::new(ErrorKind::Internal, "a tile was filled twice"))
        };
        if let [placement] = placements
            && chain.decodes_in_place()
        {
            let tile = claim(placement)?;
            let whole = tile.covers(&self.array.compiled.chunk_shape);
            let tile = if whole { tile.into_contiguous() } else { Err(tile) };
            return match tile {
                Ok(target) => Ok(chain.decode_into(stored, target, scratch)?),
                Err(tile) => Ok(tile.write(&chain.decode_view(stored, scratch)?)?),
            };
        }
        let chunk = chain.decode_view(stored, scratch)?;
        for placement in placements {
            claim(placement)?.write(&chunk)?;
        }
        Ok(())
    }

    fn chunk_arrived(
        &self,
        placements: &[Placement],
        result: Result<Arrival<'_>, swath_ioengine::Error>,
        object: &ObjectRef,
        scratch: &mut Scratch,
    ) {
        let placed = match result {
            Ok(Arrival::Placed(_)) => {
                Err(Error::new(ErrorKind::Internal, "a chunk was placed without a target"))
            }
            Ok(Arrival::Bytes(stored)) => self.place(placements, stored, scratch),
            Err(error) if error.kind() == swath_ioengine::ErrorKind::NotFound => {
                self.fill(placements);
                Ok(())
            }
            Err(error) => Err(Error::from(error)),
        };
        if let Err(error) = placed {
            self.fail(placements, &error.with_object(&object.key));
        }
    }

    fn index_arrived(
        &self,
        place: Place,
        result: Result<Arrival<'_>, swath_ioengine::Error>,
        lane: &mut LaneContext<'_>,
    ) {
        let level = self.array.compiled.levels.first();
        let found = match (result, level) {
            (Err(error), _) if error.kind() == swath_ioengine::ErrorKind::NotFound => Ok(None),
            (Err(error), _) => Err(Error::from(error)),
            (Ok(Arrival::Bytes(stored)), Some(level)) => {
                ShardIndex::decode(level, stored, lane.scratch.get::<Scratch>()).map(|index| {
                    Some(CachedIndex { index: Arc::new(index), identity: lane.identity.cloned() })
                })
            }
            (Ok(_), _) => Err(Error::new(ErrorKind::Internal, "an index arrived without bytes")),
        };
        let ticket = match found {
            Ok(found) => {
                let mut state = self.state();
                let ticket = state.tickets.remove(&place.group);
                state.indexes.insert(place.group, found.clone());
                drop(state);
                lane.follow_up(lane.cursor);
                if let (Some(found), Some(ticket)) = (found, ticket) {
                    return ticket.complete(&found);
                }
                None
            }
            Err(error) => {
                let error = error.with_object(&lane.object.key);
                self.fail_group(place.group, &error);
                // The other windows of this shard are told that there is nothing to read.
                let mut state = self.state();
                state.indexes.insert(place.group, None);
                state.tickets.remove(&place.group)
            }
        };
        drop(ticket);
    }

    fn nested_arrived(
        &self,
        key: NestedKey,
        result: Result<Arrival<'_>, swath_ioengine::Error>,
        lane: &mut LaneContext<'_>,
    ) {
        let level = self.array.compiled.levels.get(key.1);
        let decoded = match (result, level) {
            (Ok(Arrival::Bytes(stored)), Some(level)) => {
                ShardIndex::decode(level, stored, lane.scratch.get::<Scratch>())
            }
            (Ok(_), _) => Err(Error::new(ErrorKind::Internal, "an inner index arrived without bytes")),
            (Err(error), _) => Err(Error::from(error)),
        };
        match decoded {
            Ok(index) => drop(self.state().nested.insert(key, Arc::new(index))),
            Err(error) => {
                self.fail_group(key.0, &error.with_object(&lane.object.key));
                // An empty index: its chunks are not read, and the results have their error.
                self.state().nested.insert(key, Arc::new(ShardIndex::empty()));
            }
        }
        let cursor = lane.cursor;
        if let Some(note) = lane.note.get::<Note>() {
            note.nested_left -= 1;
            if note.nested_left == 0 {
                lane.follow_up(cursor);
            }
        }
    }
}

/// Where a chunk is.
enum Located {
    /// Stored here.
    At(ByteRange),
    /// Not stored.
    Missing,
    /// Behind an index that has to be read first.
    BehindIndex,
}

/// Runs of placements of one chunk.
fn runs(placements: &[Placement]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    placements.chunk_by(|a, b| a.chunk == b.chunk).map(move |run| {
        let range = start..start + run.len();
        start = range.end;
        range
    })
}

fn token(number: usize) -> Token {
    Token(swath_ioengine::storage_len(number))
}

impl Batch for ReadBatch<'_> {
    fn window_count(&self) -> u64 {
        self.groups.window_count()
    }

    fn estimate(&self) -> Estimate {
        let tiles = self.output.unclaimed();
        let indexes = if self.array.compiled.levels.is_empty() { 0 } else { self.groups.window_count() };
        let chunk_bytes = self.array.compiled.chain.encoded_len_max();
        Estimate { reads: tiles.saturating_add(indexes), bytes: tiles.saturating_mul(chunk_bytes) }
    }

    fn plan<'b>(&'b self, cursor: Cursor, context: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        let compiled = &self.array.compiled;
        let Some(place) = self.groups.place(cursor.window, compiled) else { return Planned::Complete };
        let object = self.object(&place);
        let Some(level) = compiled.levels.first() else {
            window.set_object(object);
            let mut note = std::mem::take(window.note::<Note>());
            note.reads.clear();
            collect(&place, &self.groups, &self.output, compiled, &mut note.placements);
            let range = ByteRange::Whole { len_max: compiled.chain.encoded_len_max() };
            window.read(range, token(0));
            note.reads.push(Wanted::Chunk(0..note.placements.len()));
            *window.note::<Note>() = note;
            return Planned::Complete;
        };
        let shard = self.shard(&place, &object, context);
        window.set_object(object);
        match shard {
            Shard::Awaited => return Planned::Parked,
            Shard::Known(known) => self.plan_shard(&place, &known, window),
            Shard::Absent => {
                let note = window.note::<Note>();
                collect(&place, &self.groups, &self.output, compiled, &mut note.placements);
                self.fill(&note.placements);
            }
            Shard::Unread => {
                let note = window.note::<Note>();
                note.placements.clear();
                note.reads.clear();
                note.reads.push(Wanted::Index(place));
                window.read(index_range(level), token(0));
            }
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
        let wanted = usize::try_from(token.0).ok().and_then(|number| note.reads.get(number));
        match wanted {
            Some(Wanted::Chunk(run)) => {
                let placements = &note.placements[run.clone()];
                self.chunk_arrived(placements, result, lane.object, lane.scratch.get::<Scratch>());
            }
            Some(Wanted::Index(place)) => {
                let place = *place;
                self.index_arrived(place, result, lane);
            }
            Some(Wanted::NestedIndex(key)) => {
                let key = *key;
                self.nested_arrived(key, result, lane);
            }
            None => {}
        }
    }

    fn stale(&self, cursor: Cursor) {
        let Some(place) = self.groups.place(cursor.window, &self.array.compiled) else { return };
        self.cache.forget(&self.object(&place));
        let mut state = self.state();
        state.indexes.remove(&place.group);
        state.nested.retain(|(group, _, _), _| *group != place.group);
    }

    fn spoiled(&self, cursor: Cursor, error: swath_ioengine::Error, _lane: &mut LaneContext<'_>) {
        let Some(place) = self.groups.place(cursor.window, &self.array.compiled) else { return };
        self.cache.forget(&self.object(&place));
        self.fail_group(place.group, &Error::from(error));
    }
}
