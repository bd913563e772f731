//! Shards that are read whole, index and chunks by one request: where most of a small remote shard is wanted, and its
//! index is not known yet.

use crate::compiled::{Compiled, Level};
use crate::groups::Place;
use crate::index_cache::CachedIndex;
use crate::note::{Note, Wanted, slice, token};
use crate::read_batch::ReadBatch;
use crate::shard_index::{ShardIndex, index_range, index_within};
use crate::shards::{Located, Seen};
use std::sync::atomic::Ordering;
use swath_codecs::Scratch;
use swath_ioengine::{Arrival, Batch, ByteRange, LaneContext, Limits, Window, memory_len};

/// When a shard is read whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WholeShards {
    /// Bytes that are asked for: those of an index and of chunks of which none compressed. Shards that are longer (their
    /// writer left gaps in them) are read by their index, and so are all others of the array from then on.
    len_max: u64,
    /// Chunks that must be wanted, at least.
    chunks_min: u64,
}

impl WholeShards {
    /// For shards that fit one merged read. A shard's length is not known before it is read, so each counts as if none of
    /// its chunks had compressed. So much must be wanted that the rest is no more than may be read over to save requests;
    /// what is saved is a request, and a round trip that longer shards spend no less time beside. `None` where no shard is
    /// read whole.
    pub(crate) fn new(compiled: &Compiled, limits: &Limits) -> Option<WholeShards> {
        let [level] = compiled.levels.as_slice() else { return None };
        let chain = &compiled.chain;
        let decoded = swath_ioengine::storage_len(chain.decoded_len());
        let chunk = chain.encoded_len_fixed().unwrap_or(decoded + decoded / 8 + CHUNK_OVERHEAD_BYTES);
        let chunks = level.entry_count.checked_mul(chunk)?;
        let len_max = chunks.checked_add(level.index_bytes)?;
        let is_small = len_max <= swath_ioengine::storage_len(limits.remote_merged_bytes_max);
        let percent = limits.remote_bridged_percent.saturating_add(100);
        let chunks_min = level.entry_count.saturating_mul(100).div_ceil(percent).max(1);
        is_small.then_some(WholeShards { len_max, chunks_min })
    }
}

/// Headers and checksums of a chunk that does not compress.
const CHUNK_OVERHEAD_BYTES: u64 = 64;

impl ReadBatch<'_> {
    /// Plans the first read of a shard of which nothing is known: of its index, or of all of it.
    pub(crate) fn plan_unread(&self, place: Place, level: &Level, window: &mut Window<'_, '_>) {
        let note = window.note::<Note>();
        note.clear();
        let (range, wanted) = match self.whole_range(&place, note) {
            Some(range) => (range, Wanted::Shard(Box::new(place))),
            None => (index_range(level), Wanted::Index(Box::new(place))),
        };
        note.reads.push(wanted);
        window.read(range, token(0));
    }

    /// The range of the whole shard, and its placements in the note, where it is to be read whole.
    fn whole_range(&self, place: &Place, note: &mut Note) -> Option<ByteRange> {
        let WholeShards { len_max, chunks_min } = self.whole_shards?;
        let is_part = place.slabs.is_some() || place.stretch.is_some();
        if is_part || self.array.has_long_shards.load(Ordering::Relaxed) {
            return None;
        }
        self.collect(place, &mut note.placements);
        let chunks = note.placements.chunk_by(|a, b| a.chunk == b.chunk).count();
        let is_wanted = chunks_min <= swath_ioengine::storage_len(chunks);
        is_wanted.then_some(ByteRange::Whole { len_max })
    }

    /// Takes a whole shard: keeps its index, and puts its chunks where they are wanted.
    #[inline(never)]
    pub(crate) fn shard_arrived(
        &self,
        place: &Place,
        result: Result<Arrival<'_>, swath_ioengine::Error>,
        lane: &mut LaneContext<'_>,
    ) {
        let stored = match result {
            Ok(Arrival::Bytes(stored)) => stored,
            // Longer than all its chunks should be: the index tells where they are. No other shard of the array is asked
            // for in vain, but those that are being read.
            Err(error) if error.kind() == swath_ioengine::ErrorKind::LimitExceeded => {
                self.array.has_long_shards.store(true, Ordering::Relaxed);
                // The duty to read the index goes back, and is taken again.
                drop(self.shards.give_up_ticket(place.group));
                return lane.follow_up(lane.cursor);
            }
            other => return self.index_arrived(place, other, lane),
        };
        let Some(level) = self.array.compiled.levels.first() else { return };
        let index = index_within(stored, level.index_location, level.index_bytes)
            .and_then(|index| ShardIndex::decode(level, index, lane.scratch.get::<Scratch>()));
        let found = match index {
            Ok(index) => self.read_index(index, lane.identity),
            Err(error) => {
                self.fail_group(place.group, &error.with_object(&lane.object.key));
                return drop(self.see(place.group, Seen::Failed));
            }
        };
        let seen = Seen::Index { found: found.clone(), is_fresh: true };
        if let Some(ticket) = self.see(place.group, seen) {
            ticket.complete(&found);
        }
        self.place_shard(place, &found, stored, lane);
        self.shards.planned(place.group);
    }

    fn place_shard(&self, place: &Place, found: &CachedIndex, stored: &[u8], lane: &mut LaneContext<'_>) {
        let Some(note) = lane.note.get::<Note>() else { return };
        let Located { chunks, missing, errors, unread: _ } = match self.array.compiled.is_flat {
            true => self.locate_flat(&note.placements, found),
            false => self.locate(place, &note.placements, found, lane.object),
        };
        for (run, error) in errors {
            self.fail(slice(&note.placements, &run), &error.with_object(&lane.object.key));
        }
        note.missing = missing;
        self.fill_missing(note);
        // Each goes the way of a chunk that was read by itself: the one place where chunks are decoded is worth being
        // compiled for that place alone.
        let first = note.reads.len();
        let ranges: Vec<ByteRange> = chunks.iter().map(|(_, range, _)| *range).collect();
        note.reads.extend(chunks.into_iter().map(|(run, _, part)| Wanted::Chunk { run, part }));
        for (number, range) in ranges.into_iter().enumerate() {
            let chunk = match bytes_of(stored, range) {
                Some(bytes) => Ok(Arrival::Bytes(bytes)),
                None => {
                    let message = format!("the object has {} bytes", stored.len());
                    let kind = swath_ioengine::ErrorKind::UnexpectedEnd;
                    Err(swath_ioengine::Error::new(kind, message).with_range(range))
                }
            };
            self.deliver(token(first + number), chunk, lane);
        }
    }
}

fn bytes_of(stored: &[u8], range: ByteRange) -> Option<&[u8]> {
    let (offset, len) = range.resolve(swath_ioengine::storage_len(stored.len())).ok()?;
    let start = memory_len(offset).ok()?;
    stored.get(start..start.checked_add(memory_len(len).ok()?)?)
}
