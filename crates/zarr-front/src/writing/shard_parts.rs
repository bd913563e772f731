//! A shard that is put together from parts: each is encoded as it comes, and the shard is laid out once all have come.

use super::axis_part::AxisPart;
use super::chunk_encoder::ChunkEncoder;
use super::placed::{Entered, Entry, Placed};
use super::shard_encoder::{Entries, Shard, ShardLayout, THREAD, encode_entries, encode_index, no_encoder};
use super::stored_object::memory_of;
use super::target::no_object;
use crate::Error;
use crate::compiled::Level;
use crate::metadata::IndexLocation;
use crate::threads::on_a_thread_each;
use bytes::Bytes;
use std::ops::Range;
use swath_codecs::Scratch;
use swath_ioengine::{memory_len, storage_len};

/// The entries of a shard that have come so far.
pub(super) struct ShardParts {
    /// What each encoder has encoded.
    runs: Vec<Entries>,
    /// By its number, whether an entry has come: one of nothing but the fill value is in no run.
    has_come: Vec<bool>,
}

impl ShardParts {
    /// None yet. What encoders make will lie in these, one for each.
    pub(super) fn within(
        memory: Vec<Vec<u8>>,
        (layout, level): (&ShardLayout, &Level),
    ) -> Result<ShardParts, Error> {
        let wanted = layout.promised_bytes() / storage_len(memory.len()).max(1);
        let runs = memory.into_iter().map(|memory| Entries::behind(paged(memory, wanted))).collect();
        Ok(ShardParts { runs, has_come: vec![false; memory_len(level.entry_count)?] })
    }

    /// Adds what is put into the shard, of which so many elements along each axis lie in the array: entries that are given whole, as far
    /// as they lie there, and have not come before.
    ///
    /// # Errors
    ///
    /// `Invalid` for other entries: then nothing was added. Those of codecs: then the shard is not to be stored.
    pub(super) fn add(
        &mut self,
        layout: &ShardLayout,
        encoders: &mut [ChunkEncoder<'_>],
        parts: &[AxisPart<'_>],
        valid: &[u64],
    ) -> Result<(), Error> {
        let compiled = encoders.first().ok_or_else(no_encoder)?.subject.compiled;
        let (level, order) = compiled.levels.first().zip(layout.order(0)).ok_or_else(no_object)?;
        let extents = level.entry_shape(&compiled.chunk_shape);
        let shard = Shard { depth: 0, placed: Placed::Box(parts), stored: None };
        let entered = Entered::Box(parts);
        let (mut places, mut entry, mut inside) = (Vec::new(), Entry::default(), Vec::new());
        let rank = extents.len();
        for place in 0..self.has_come.len() {
            let coordinates = order.get(place * rank..(place + 1) * rank).unwrap_or_default();
            let number = level.entry_number(coordinates);
            let Some(placed) = entry.take(&entered, number, (coordinates, &extents)) else { continue };
            let each = valid.iter().zip(coordinates).zip(&extents);
            inside.clear();
            inside.extend(each.map(|((valid, at), extent)| valid.saturating_sub(at * extent).min(*extent)));
            if !placed.covers(&inside) {
                let message = "wanted parts of whole inner chunks, found one of some elements";
                return Err(Error::invalid(format!("{message} of the inner chunk at {coordinates:?}")));
            }
            let number = memory_len(number)?;
            if self.has_come.get(number).copied().unwrap_or(true) {
                let message = "wanted each inner chunk once, found another part";
                return Err(Error::invalid(format!("{message} of the one at {coordinates:?}")));
            }
            places.push((place, number));
        }
        for (_, number) in &places {
            if let Some(has_come) = self.has_come.get_mut(*number) {
                *has_come = true;
            }
        }
        let each = places.len().div_ceil(encoders.len()).max(1);
        let shares = places.chunks(each);
        let workers = encoders.iter_mut().zip(&mut self.runs).zip(shares);
        on_a_thread_each(THREAD, workers, |((encoder, run), share)| {
            let places = share.iter().map(|(place, _)| *place);
            encode_entries(layout, encoder, (&shard, &entered), None, (order, places), run)
        })?;
        Ok(())
    }

    /// Lays entries out as in a shard that is written at once, in whatever order they came.
    pub(super) fn lay_out(
        mut self,
        (layout, level): (&ShardLayout, &Level),
        scratch: &mut Scratch,
    ) -> Result<LaidOut, Error> {
        let mut entries = self.entries(layout, level)?;
        entries.sort_unstable_by_key(|entry| entry.place);
        let mut end = 0;
        let places = entries.iter().map(|entry| {
            end += entry.bytes.len();
            (entry.number, end - entry.bytes.len(), entry.bytes.len())
        });
        let index = encode_index(level, places, scratch)?;
        let mut pieces: Vec<(usize, Range<usize>)> = Vec::new();
        let mut add = |run: usize, bytes: Range<usize>| match pieces.last_mut() {
            Some((last, before)) if *last == run && before.end == bytes.start => before.end = bytes.end,
            _ => pieces.push((run, bytes)),
        };
        let mut index_first = None;
        if let Some(last) = entries.last().map(|entry| entry.run) {
            entries.into_iter().for_each(|entry| add(entry.run, entry.bytes));
            match (level.index_location, self.runs.get_mut(last)) {
                (IndexLocation::End, Some(run)) => {
                    let start = run.bytes.len();
                    run.bytes.extend_from_slice(&index);
                    add(last, start..run.bytes.len());
                }
                _ => index_first = Some(Bytes::from(index)),
            }
        }
        let runs: Vec<Bytes> = self.runs.into_iter().map(|run| Bytes::from(run.bytes)).collect();
        let piece = |(run, bytes): (usize, Range<usize>)| runs.get(run).map(|run| run.slice(bytes));
        let pieces = index_first.into_iter().chain(pieces.into_iter().filter_map(piece)).collect();
        Ok(LaidOut { pieces, runs })
    }

    /// The entries that are stored, in the order in which they lie in the runs.
    fn entries(&self, layout: &ShardLayout, level: &Level) -> Result<Vec<StoredEntry>, Error> {
        let (order, rank) = (layout.order(0).unwrap_or_default(), level.entries.len());
        let mut places = vec![0; self.has_come.len()];
        for place in 0..places.len() {
            let coordinates = order.get(place * rank..(place + 1) * rank).unwrap_or_default();
            if let Some(own) = places.get_mut(memory_len(level.entry_number(coordinates))?) {
                *own = place;
            }
        }
        let mut found = Vec::new();
        for (run, entries) in self.runs.iter().enumerate() {
            for (number, start, len) in &entries.places {
                let place = places.get(memory_len(*number)?).copied().unwrap_or_default();
                found.push(StoredEntry { place, number: *number, run, bytes: *start..start + len });
            }
        }
        Ok(found)
    }
}

/// Memory of which the used part ends where a page begins, so that a device takes what comes next from where it lies. There is room for
/// so many bytes behind, if the system has it, so that it need not move when it grows: pages that nothing is put into cost nothing.
fn paged(mut memory: Vec<u8>, wanted: u64) -> Vec<u8> {
    memory.clear();
    if let Ok(wanted) = usize::try_from(wanted.saturating_add(storage_len(PAGE_BYTES))) {
        // Where there is less, it grows as it is filled.
        let _ = memory.try_reserve_exact(wanted);
    }
    let before = memory.as_ptr().align_offset(PAGE_BYTES);
    if before < PAGE_BYTES {
        memory.resize(before, 0);
    }
    memory
}

/// No device wants bytes to lie at larger multiples.
const PAGE_BYTES: usize = 4096;

/// A shard that all parts have come of.
pub(super) struct LaidOut {
    /// Its stored bytes, one behind the other; none where it holds nothing.
    pub(super) pieces: Vec<Bytes>,
    /// What they lie in.
    runs: Vec<Bytes>,
}

impl LaidOut {
    /// The memory of the shard, but for what its store has kept.
    pub(super) fn into_memory(self) -> impl Iterator<Item = Vec<u8>> {
        drop(self.pieces);
        self.runs.into_iter().filter_map(memory_of)
    }
}

/// An entry of a shard that is to be stored.
struct StoredEntry {
    /// Its place in the order of the shard.
    place: usize,
    number: u64,
    /// The run that it lies in, and where there.
    run: usize,
    bytes: Range<usize>,
}
