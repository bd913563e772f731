//! A shard that is put together from parts: each is encoded as it comes, and the shard is laid out once all have come.

use super::axis_part::AxisPart;
use super::chunk_encoder::ChunkEncoder;
use super::placed::{Entered, Entry, Placed};
use super::shard_encoder::{Entries, Shard, ShardLayout, THREAD, assemble, encode_entries, no_encoder};
use super::target::no_object;
use crate::Error;
use crate::compiled::Level;
use crate::threads::on_a_thread_each;
use std::ops::Range;
use swath_codecs::Scratch;
use swath_ioengine::memory_len;

/// The entries of a shard that have come so far.
pub(super) struct ShardParts {
    /// What each encoder has encoded.
    runs: Vec<Entries>,
    /// By its number, whether an entry has come: one of nothing but the fill value is in no run.
    has_come: Vec<bool>,
}

impl ShardParts {
    /// None yet. What encoders make will lie in these, one for each.
    pub(super) fn within(memory: Vec<Vec<u8>>, level: &Level) -> Result<ShardParts, Error> {
        let runs = memory.into_iter().map(Entries::within).collect();
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

    /// The stored bytes of the shard are those of one that is written at once, in whatever order its parts came. Where that was another
    /// one than theirs, entries are moved to this `spare` memory.
    pub(super) fn lay_out(
        mut self,
        (layout, level): (&ShardLayout, &Level),
        spare: Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<LaidOut, Error> {
        let mut left = Vec::new();
        let mut entries = self.entries(layout, level)?;
        if entries.is_sorted_by_key(|entry| entry.place) {
            left.push(spare);
        } else {
            entries.sort_unstable_by_key(|entry| entry.place);
            let mut ordered = Entries::within(spare);
            for entry in entries {
                let run = self.runs.get(entry.run).map_or(&[][..], |run| &run.bytes);
                let start = ordered.bytes.len();
                ordered.bytes.extend_from_slice(run.get(entry.bytes).unwrap_or_default());
                ordered.places.push((entry.number, start, ordered.bytes.len() - start));
            }
            let runs = std::mem::replace(&mut self.runs, vec![ordered]);
            left.extend(runs.into_iter().map(|run| run.bytes));
        }
        let shard = assemble(level, &mut self.runs, scratch)?;
        left.extend(self.runs.into_iter().map(|run| run.bytes));
        Ok(LaidOut { shard, left })
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

/// A shard that all parts have come of.
pub(super) struct LaidOut {
    /// Its stored bytes; `None` where it holds nothing.
    pub(super) shard: Option<Vec<u8>>,
    /// Memory that was not taken for them.
    pub(super) left: Vec<Vec<u8>>,
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
