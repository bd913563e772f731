//! A shard that is put together from parts: each is encoded as it comes, and the shard is laid out once all have come.

use super::axis_part::AxisPart;
use super::chunk_encoder::ChunkEncoder;
use super::placed::{Entered, Entry, Placed};
use super::shard_encoder::{Entries, Shard, ShardLayout, assemble, encode_entries, on_threads};
use crate::Error;
use crate::compiled::Level;
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
        let Some(first) = encoders.first() else { return Ok(()) };
        let compiled = first.subject.compiled;
        let Some((level, order)) = compiled.levels.first().zip(layout.order(0)) else { return Ok(()) };
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
        on_threads(&mut workers.collect::<Vec<_>>(), |((encoder, run), share), _| {
            let places = share.iter().map(|(place, _)| *place);
            encode_entries(layout, encoder, (&shard, &entered), None, (order, places), run)
        })?;
        Ok(())
    }

    /// The stored bytes of the shard, `None` where it holds nothing, and memory for others.
    pub(super) fn lay_out(
        mut self,
        level: &Level,
        scratch: &mut Scratch,
    ) -> Result<(Option<Vec<u8>>, impl Iterator<Item = Vec<u8>> + use<>), Error> {
        let shard = assemble(level, &mut self.runs, scratch)?;
        Ok((shard, self.runs.into_iter().map(|run| run.bytes)))
    }
}
