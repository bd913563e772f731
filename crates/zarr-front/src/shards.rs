//! The shards of one read: what is known of each, and how their indexes come to be known.

use crate::groups::Place;
use crate::index_cache::{CachedIndex, LoadTicket, LookUp};
use crate::note::{ChunkPart, Note, number};
use crate::placement::Placement;
use crate::raveling::unravel;
use crate::read_batch::ReadBatch;
use crate::shard_index::{ShardIndex, WHOLE_OBJECT, nested_index_range, within};
use crate::stretches::Stretch;
use crate::{Error, ErrorKind};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use swath_codecs::Scratch;
use swath_ioengine::{Arrival, ByteRange, Cursor, Identity, LaneContext, ObjectRef, PlanContext};

/// What lanes share of the shards while a batch runs. Locked a few times a window, not once a chunk; a shard is let go
/// once its last window is planned.
#[derive(Default)]
pub(crate) struct Shards {
    states: Mutex<HashMap<usize, ShardState>>,
    /// The version that the first bytes came from, of shards that are read in stretches: at most one for each lane.
    versions: Mutex<HashMap<usize, Option<Identity>>>,
}

/// An inner shard: its group, its level and its number within its object.
pub(crate) type InnerKey = (usize, usize, u64);

#[derive(Default)]
struct ShardState {
    seen: Option<Seen>,
    /// The duty to read the index, while this batch does.
    ticket: Option<LoadTicket>,
    /// Indexes of inner shards, by level and number.
    inner: HashMap<(usize, u64), Result<Arc<ShardIndex>, Error>>,
    /// Windows that were planned to their end.
    windows_planned: u64,
    /// Windows in all.
    windows: u64,
}

/// What this batch knows of a shard.
#[derive(Clone)]
pub(crate) enum Seen {
    Index { found: CachedIndex, is_fresh: bool },
    Absent,
    Failed,
}

/// What is known of the shard around a window.
pub(crate) enum Shard {
    /// Its index; fresh when this batch has read it.
    Known { index: CachedIndex, is_fresh: bool },
    /// The shard does not exist.
    Absent,
    /// Its index could not be read.
    Failed,
    /// Its index has to be read first.
    Unread,
    /// Somebody else is reading its index.
    Awaited,
}

/// Where the chunks of a window are.
#[derive(Default)]
pub(crate) struct Located {
    /// Chunks that are stored, by their placements.
    pub(crate) chunks: Vec<(Range<u32>, ByteRange, ChunkPart)>,
    /// Chunks that are not.
    pub(crate) missing: Vec<Range<u32>>,
    /// Chunks that the index puts where none can be.
    pub(crate) errors: Vec<(Range<u32>, Error)>,
    /// Indexes of inner shards that have to be read first, where each starts, and the range of each index.
    pub(crate) unread: Vec<(InnerKey, u64, ByteRange)>,
}

/// Where one chunk is.
enum Location {
    /// At this offset of the object, and of as many bytes.
    At((u64, u64)),
    Missing,
    BehindIndex {
        key: InnerKey,
        offset: u64,
        range: ByteRange,
    },
}

impl Located {
    /// Keeps what is of one stretch; what is not stored is of the first.
    pub(crate) fn keep(&mut self, stretch: Stretch) {
        let ranges: Vec<ByteRange> = self.chunks.iter().map(|(_, range, _)| *range).collect();
        let mut held = stretch.holds(&ranges).into_iter();
        self.chunks.retain(|_| held.next().unwrap_or(false));
        if stretch.number != 0 {
            self.missing.clear();
            self.errors.clear();
        }
    }

    fn stored(&mut self, run: Range<u32>, found: Result<(ByteRange, ChunkPart), Error>) {
        match found {
            Ok((range, part)) => self.chunks.push((run, range, part)),
            Err(error) => self.errors.push((run, error)),
        }
    }
}

impl From<Seen> for Shard {
    fn from(seen: Seen) -> Shard {
        match seen {
            Seen::Index { found, is_fresh } => Shard::Known { index: found, is_fresh },
            Seen::Absent => Shard::Absent,
            Seen::Failed => Shard::Failed,
        }
    }
}

impl Shards {
    fn lock(&self) -> MutexGuard<'_, HashMap<usize, ShardState>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a stretch of a shard is of the version that those before it were of. Each is planned from the index of the
    /// version that it is read from: of two versions, stretches might overlap, or leave chunks out.
    fn agree(&self, group: usize, identity: Option<&Identity>) -> bool {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        versions.entry(group).or_insert_with(|| identity.cloned()).as_ref() == identity
    }

    /// A window of the shard needs nothing more of its indexes.
    pub(crate) fn planned(&self, group: usize) {
        let mut shards = self.lock();
        let Some(shard) = shards.get_mut(&group) else { return };
        shard.windows_planned += 1;
        if shard.windows <= shard.windows_planned && shard.ticket.is_none() {
            shards.remove(&group);
        }
    }

    /// Forgets what is known of a shard that is another by now.
    pub(crate) fn forget(&self, group: usize) {
        if let Some(shard) = self.lock().get_mut(&group) {
            shard.seen = None;
            shard.inner.clear();
            // Some windows are planned again. Which of them were counted is not known: none is let go early.
            shard.windows = u64::MAX;
        }
    }

    /// Gives up the duty to read the shard's index.
    pub(crate) fn give_up_ticket(&self, group: usize) -> Option<LoadTicket> {
        self.lock().get_mut(&group)?.ticket.take()
    }

    /// True where the shard's index could not be read.
    pub(crate) fn failed(&self, group: usize) -> bool {
        self.lock().get(&group).is_some_and(|shard| matches!(shard.seen, Some(Seen::Failed)))
    }
}

impl ReadBatch<'_> {
    /// Whether the stretch of a shard at a cursor, read from this version, may be placed; else its results fail.
    #[cold]
    pub(crate) fn agrees(&self, cursor: Cursor, identity: Option<&Identity>) -> bool {
        let Some(place) = self.groups.place(cursor.window) else { return false };
        let agrees = self.shards.agree(place.group, identity);
        if !agrees {
            let kind = swath_ioengine::ErrorKind::Changed;
            let error = swath_ioengine::Error::new(kind, "the object was replaced while it was read");
            let error = Error::from(error).with_object(&self.object(&place).key);
            self.fail_group(place.group, &error);
        }
        agrees
    }

    fn new_shard(&self, group: usize) -> ShardState {
        ShardState { windows: self.groups.windows_of(group), ..ShardState::default() }
    }

    /// What is known of the shard of a window; loading its index is this caller's duty where it says `Unread`.
    pub(crate) fn shard(&self, place: &Place, object: &ObjectRef, context: &PlanContext<'_>) -> Shard {
        if let Some(seen) = self.shards.lock().get(&place.group).and_then(|shard| shard.seen.clone()) {
            return seen.into();
        }
        let look_up = || self.cache.look_up(object, || context.resume());
        let mut found = look_up();
        if let LookUp::Found(kept) = &found
            && !self.array.compiled.levels.first().is_some_and(|level| kept.index.is_of(level))
        {
            // Of an array whose metadata are others, and whose shard is the same object.
            self.cache.forget(object);
            found = look_up();
        }
        match found {
            LookUp::Wait => Shard::Awaited,
            LookUp::Found(found) => {
                let needed_again =
                    1 < self.groups.windows_of(place.group) || 1 < self.array.compiled.levels.len();
                let seen = Seen::Index { found, is_fresh: false };
                if needed_again {
                    let mut shards = self.shards.lock();
                    let shard = shards.entry(place.group).or_insert_with(|| self.new_shard(place.group));
                    shard.seen = Some(seen.clone());
                }
                seen.into()
            }
            LookUp::Load(ticket) => {
                let mut shards = self.shards.lock();
                let shard = shards.entry(place.group).or_insert_with(|| self.new_shard(place.group));
                // It may have arrived, without being cached, between the first look and this one.
                if let Some(seen) = shard.seen.clone() {
                    drop(shards);
                    drop(ticket);
                    return seen.into();
                }
                let before = shard.ticket.replace(ticket);
                drop(shards);
                drop(before);
                Shard::Unread
            }
        }
    }

    /// Looks every chunk of a window up, through as many indexes as there are levels.
    pub(crate) fn locate(
        &self,
        place: &Place,
        placements: &[Placement],
        known: &CachedIndex,
        object: &ObjectRef,
    ) -> Located {
        let compiled = &self.array.compiled;
        let mut located = Located::default();
        let mut coordinates = vec![0; compiled.chunks_per_object.len()];
        let mut seen = HashSet::new();
        let mut shards = (1 < compiled.levels.len()).then(|| self.shards.lock());
        let mut none = HashMap::new();
        let inner = match &mut shards {
            Some(shards) => {
                &mut shards.entry(place.group).or_insert_with(|| self.new_shard(place.group)).inner
            }
            None => &mut none,
        };
        for (run, chunk) in runs(placements) {
            unravel(chunk[0].chunk, &compiled.chunks_per_object, &mut coordinates);
            match self.locate_chunk(place.group, &coordinates, known, inner, object) {
                Ok(Location::At(extent)) => located.stored(run, self.stored(chunk, extent)),
                Ok(Location::Missing) => located.missing.push(run),
                Ok(Location::BehindIndex { key, offset, range }) => {
                    if seen.insert(key) {
                        located.unread.push((key, offset, range));
                    }
                }
                Err(error) => located.errors.push((run, error)),
            }
        }
        located
    }

    /// [`locate`](Self::locate), where the one index numbers chunks as windows do.
    pub(crate) fn locate_flat(&self, placements: &[Placement], known: &CachedIndex) -> Located {
        let mut located = Located::default();
        located.chunks.reserve(placements.len());
        for (run, chunk) in runs(placements) {
            match known.index.entry(chunk[0].chunk) {
                Some(part) => {
                    let extent = within(WHOLE_OBJECT, part);
                    located.stored(run, extent.and_then(|extent| self.stored(chunk, extent)));
                }
                None => located.missing.push(run),
            }
        }
        located
    }

    fn locate_chunk(
        &self,
        group: usize,
        coordinates: &[u64],
        known: &CachedIndex,
        inner: &mut HashMap<(usize, u64), Result<Arc<ShardIndex>, Error>>,
        object: &ObjectRef,
    ) -> Result<Location, Error> {
        let (mut index, mut extent, mut number) = (Arc::clone(&known.index), WHOLE_OBJECT, 0);
        for (depth, level) in self.array.compiled.levels.iter().enumerate() {
            if depth != 0 {
                let found = inner.get(&(depth, number)).cloned().or_else(|| {
                    let found = self.cache.inner(object, (depth, extent.0), known.identity.as_ref()?)?;
                    let found = Some(found).filter(|found| found.is_of(level))?;
                    inner.insert((depth, number), Ok(Arc::clone(&found)));
                    Some(Ok(found))
                });
                index = match found {
                    Some(found) => found?,
                    None => {
                        let range = nested_index_range(level, extent)?;
                        return Ok(Location::BehindIndex {
                            key: (group, depth, number),
                            offset: extent.0,
                            range,
                        });
                    }
                };
            }
            let entry = level.entry_of(coordinates);
            let Some(part) = index.entry(entry) else { return Ok(Location::Missing) };
            extent = within(extent, part)?;
            number = number * level.entry_count + entry;
        }
        Ok(Location::At(extent))
    }

    /// What to read of a stored chunk, if it is no longer than any sound one.
    #[inline]
    fn stored(
        &self,
        placements: &[Placement],
        (offset, len): (u64, u64),
    ) -> Result<(ByteRange, ChunkPart), Error> {
        let chain = &self.array.compiled.chain;
        let len_max = self.array.compiled.encoded_len_max;
        if len_max < len {
            return Err(unsound(len, len_max));
        }
        // A chunk of another length is no sound one: read whole, it is refused where it is decoded.
        if chain.encoded_len_fixed() == Some(len)
            && let Some(part) = self.part(placements)
        {
            let (start, len) = (u64::from(part.start), u64::from(part.end - part.start));
            return Ok((ByteRange::Bounded { offset: offset + start, len }, ChunkPart::From(part.start)));
        }
        Ok((ByteRange::Bounded { offset, len }, ChunkPart::Whole))
    }

    /// Takes the index of a shard, and has the chunks of its window planned.
    pub(crate) fn index_arrived(
        &self,
        place: &Place,
        result: Result<Arrival<'_>, swath_ioengine::Error>,
        lane: &mut LaneContext<'_>,
    ) {
        let level = self.array.compiled.levels.first();
        let found = match (result, level) {
            (Err(error), _) if self.says_missing(&error) => Ok(None),
            (Err(error), _) => Err(self.storage_error(error)),
            (Ok(Arrival::Bytes(stored)), Some(level)) => {
                let index = ShardIndex::decode(level, stored, lane.scratch.get::<Scratch>());
                index.map(|index| Some(self.read_index(index, lane.identity)))
            }
            (Ok(_), _) => Err(Error::new(ErrorKind::Internal, "an index arrived without bytes")),
        };
        let seen = match &found {
            Ok(Some(found)) => Seen::Index { found: found.clone(), is_fresh: true },
            Ok(None) => Seen::Absent,
            Err(error) => {
                self.fail_group(place.group, &error.clone().with_object(&lane.object.key));
                Seen::Failed
            }
        };
        let ticket = self.see(place.group, seen);
        lane.follow_up(lane.cursor);
        // Both ways, those who wait for the index are planned again, outside the lock.
        match (ticket, found) {
            (Some(ticket), Ok(Some(found))) => ticket.complete(&found),
            (ticket, _) => drop(ticket),
        }
    }

    /// An index that was read just now.
    pub(crate) fn read_index(&self, index: ShardIndex, identity: Option<&Identity>) -> CachedIndex {
        CachedIndex { index: Arc::new(index), identity: identity.cloned(), writes: self.writes }
    }

    /// Notes what is known of a shard by now; returns the duty to read its index, where this batch had it.
    pub(crate) fn see(&self, group: usize, seen: Seen) -> Option<LoadTicket> {
        let mut shards = self.shards.lock();
        let shard = shards.entry(group).or_insert_with(|| self.new_shard(group));
        shard.seen = Some(seen);
        shard.ticket.take()
    }

    /// Takes the index of an inner shard; the last one of a window has its chunks planned.
    pub(crate) fn inner_index_arrived(
        &self,
        (group, depth, number): InnerKey,
        offset: u64,
        result: Result<Arrival<'_>, swath_ioengine::Error>,
        lane: &mut LaneContext<'_>,
    ) {
        let level = self.array.compiled.levels.get(depth);
        let changed = matches!(&result, Err(error) if error.kind() == swath_ioengine::ErrorKind::Changed);
        let decoded = match (result, level) {
            (Ok(Arrival::Bytes(stored)), Some(level)) => {
                ShardIndex::decode(level, stored, lane.scratch.get::<Scratch>())
            }
            (Ok(_), _) => Err(Error::new(ErrorKind::Internal, "an inner index arrived without bytes")),
            (Err(error), _) => Err(self.storage_error(error)),
        };
        let decoded = decoded.map(Arc::new);
        if let Ok(index) = &decoded {
            let found = CachedIndex {
                index: Arc::clone(index),
                identity: lane.identity.cloned(),
                writes: self.writes,
            };
            self.cache.keep_inner(lane.object, (depth, offset), found);
        }
        // What changed is looked up anew.
        if !changed {
            let mut shards = self.shards.lock();
            let shard = shards.entry(group).or_insert_with(|| self.new_shard(group));
            shard.inner.insert((depth, number), decoded);
        }
        let cursor = lane.cursor;
        if let Some(note) = lane.note.get::<Note>() {
            note.inner_left = note.inner_left.saturating_sub(1);
            if note.inner_left == 0 {
                lane.follow_up(cursor);
            }
        }
    }
}

#[cold]
fn unsound(len: u64, len_max: u64) -> Error {
    let message = format!("the shard index gives a chunk {len} bytes, where at most {len_max} are sound");
    Error::new(ErrorKind::Corrupt, message)
}

/// Runs of placements of one chunk, by number, and the placements themselves.
fn runs(placements: &[Placement]) -> impl Iterator<Item = (Range<u32>, &[Placement])> {
    let mut start = 0;
    placements.chunk_by(|a, b| a.chunk == b.chunk).map(move |run| {
        let range = number(start)..number(start + run.len());
        start += run.len();
        (range, run)
    })
}
