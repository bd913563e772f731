//! From elements to the stored bytes of one shard: what is not written of it is copied as it is stored.

use super::chunk_encoder::{ChunkEncoder, Subject};
use super::morton::morton_order;
use super::placed::{Entered, Entry, Placed};
use crate::compiled::{Compiled, Level};
use crate::metadata::IndexLocation;
use crate::shard_index::{MISSING, ShardIndex, index_within};
use crate::threads::on_a_thread_each;
use crate::{Error, ErrorKind};
use swath_codecs::Scratch;
use swath_ioengine::{memory_len, storage_len};

/// How the entries of an array's shards lie, worked out once a write.
pub(super) struct ShardLayout {
    rank: usize,
    /// Of each level, the coordinates of its entries in the order in which they are stored.
    orders: Vec<Vec<u64>>,
    /// Of each level, the most bytes that the metadata promises of one entry.
    entry_bytes_max: Vec<u64>,
    /// The same of a whole shard.
    pub(super) shard_bytes_max: u64,
    /// Elements have lengths of their own, and the metadata promises nothing of how many bytes a shard has.
    is_variable: bool,
}

impl ShardLayout {
    pub(super) fn new(compiled: &Compiled) -> Result<ShardLayout, Error> {
        let too_large = || Error::unsupported("writing a shard of more chunks than memory holds");
        let order = |level: &Level| morton_order(&level.entries, &level.frame()).ok_or_else(too_large);
        let orders = compiled.levels.iter().map(order).collect::<Result<Vec<_>, Error>>()?;
        let mut bytes = compiled.encoded_len_max;
        let mut entry_bytes_max = Vec::with_capacity(compiled.levels.len());
        for level in compiled.levels.iter().rev() {
            entry_bytes_max.push(bytes);
            bytes = bytes.saturating_mul(level.entry_count).saturating_add(level.index_bytes);
        }
        entry_bytes_max.reverse();
        let rank = compiled.chunk_shape.len();
        let is_variable = compiled.variable.is_some();
        Ok(ShardLayout { rank, orders, entry_bytes_max, shard_bytes_max: bytes, is_variable })
    }

    /// The coordinates of the entries of shards at a depth, in the order in which they are stored.
    pub(super) fn order(&self, depth: usize) -> Option<&[u64]> {
        self.orders.get(depth).map(Vec::as_slice)
    }

    /// The most bytes that the metadata promises of a whole shard; none where it promises nothing.
    pub(super) fn promised_bytes(&self) -> u64 {
        if self.is_variable { 0 } else { self.shard_bytes_max }
    }

    /// What the entries of a sound shard come to at most: what the metadata promises, or, where inner shards have gaps, as
    /// much as the shard itself.
    fn room(&self, shard: &Shard<'_>) -> u64 {
        if self.is_variable {
            return storage_len(shard.stored.map_or(0, <[u8]>::len));
        }
        let entries = self.orders.get(shard.depth).map_or(0, |order| order.len() / self.rank.max(1));
        let promised = self.entry_bytes_max.get(shard.depth).copied().unwrap_or(0);
        let promised = promised.saturating_mul(storage_len(entries).max(1));
        promised.max(storage_len(shard.stored.map_or(0, <[u8]>::len)))
    }
}

/// The shard at hand: its place among the levels, what is put into it, and what is stored.
#[derive(Clone, Copy)]
pub(super) struct Shard<'s> {
    pub(super) depth: usize,
    pub(super) placed: Placed<'s>,
    pub(super) stored: Option<&'s [u8]>,
}

/// The stored bytes of a shard that holds nothing: its index.
pub(super) fn empty_shard(compiled: &Compiled, scratch: &mut Scratch) -> Result<Vec<u8>, Error> {
    let Some(level) = compiled.levels.first() else {
        return Err(Error::new(ErrorKind::Internal, "a shard without a level"));
    };
    laid_out(level, &mut [], scratch)
}

#[cold]
pub(super) fn no_encoder() -> Error {
    Error::new(ErrorKind::Internal, "a shard without an encoder")
}

/// The name of threads that encode some of a shard.
pub(super) const THREAD: &str = "swath-write";

/// Some entries of a shard, one behind the other.
pub(super) struct Entries {
    pub(super) bytes: Vec<u8>,
    /// The number of an entry, where it starts in `bytes`, and how long it is.
    pub(super) places: Vec<(u64, usize, usize)>,
    /// How many of the bytes were copied as they were stored.
    copied: u64,
}

impl Entries {
    /// None yet; they will lie behind what this memory holds.
    pub(super) fn behind(bytes: Vec<u8>) -> Entries {
        Entries { bytes, places: Vec::new(), copied: 0 }
    }

    /// Adds the bytes of an entry that stays what it is, as long as all such do not come to more than `room`.
    fn copy(&mut self, stored: &[u8], room: u64) -> Result<(), Error> {
        self.copied = self.copied.saturating_add(storage_len(stored.len()));
        if room < self.copied {
            let message = format!(
                "the entries of a shard come to more than {room} bytes: some lie one above the other"
            );
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        self.bytes.extend_from_slice(stored);
        Ok(())
    }
}

/// The stored bytes of a shard, encoded by `encoders` at once; `None` where it holds nothing.
pub(super) fn encode_shard(
    layout: &ShardLayout,
    encoders: &mut [ChunkEncoder<'_>],
    shard: &Shard<'_>,
) -> Result<Option<Vec<u8>>, Error> {
    let threads = encoders.len();
    let first = encoders.first_mut().ok_or_else(no_encoder)?;
    let Subject { compiled, picks, .. } = first.subject;
    let Some((level, order)) = compiled.levels.get(shard.depth).zip(layout.order(shard.depth)) else {
        return Err(Error::new(ErrorKind::Internal, "a shard without a level"));
    };
    let index =
        shard.stored.map(|stored| stored_index(level, stored, &mut first.memory.scratch)).transpose()?;
    let entered = Entered::new(shard.placed, level, compiled, picks);
    let count = memory_len(level.entry_count)?;
    let each = count.div_ceil(threads).max(1);
    let mut runs = on_a_thread_each(THREAD, encoders.iter_mut().enumerate(), |(number, encoder)| {
        let places = (number * each).min(count)..((number + 1) * each).min(count);
        let mut found = Entries::behind(encoder.spare());
        encode_entries(layout, encoder, (shard, &entered), index.as_ref(), (order, places), &mut found)?;
        Ok(found)
    })?;
    let scratch = encoders.first_mut().map(|first| &mut first.memory.scratch).ok_or_else(no_encoder)?;
    let assembled = match runs.iter().all(|run| run.places.is_empty()) {
        true => Ok(None),
        false => laid_out(level, &mut runs, scratch).map(Some),
    };
    for (encoder, run) in encoders.iter_mut().zip(runs) {
        encoder.reuse_part(run.bytes);
    }
    assembled
}

/// The index of a stored shard.
fn stored_index(level: &Level, stored: &[u8], scratch: &mut Scratch) -> Result<ShardIndex, Error> {
    let bytes = index_within(stored, level.index_location, level.index_bytes)?;
    ShardIndex::decode(level, bytes, scratch)
}

/// Encodes some of a shard's entries, those at these places of its order, behind what `found` has.
pub(super) fn encode_entries(
    layout: &ShardLayout,
    encoder: &mut ChunkEncoder<'_>,
    (shard, entered): (&Shard<'_>, &Entered<'_>),
    index: Option<&ShardIndex>,
    (order, places): (&[u64], impl IntoIterator<Item = usize>),
    found: &mut Entries,
) -> Result<(), Error> {
    let compiled = encoder.subject.compiled;
    let (rank, level) = (layout.rank, &compiled.levels[shard.depth]);
    let is_innermost = shard.depth + 1 == compiled.levels.len();
    let extents = level.entry_shape(&compiled.chunk_shape);
    let mut entry = Entry::default();
    for place in places {
        let coordinates = order.get(place * rank..(place + 1) * rank).unwrap_or_default();
        let number = level.entry_number(coordinates);
        let stored = stored_entry(layout, shard, index, number)?;
        let start = found.bytes.len();
        let is_stored = match entry.take(entered, number, (coordinates, &extents)) {
            // Nothing of it is written: its bytes stay what they are.
            None => match stored {
                Some(stored) => {
                    found.copy(stored, layout.room(shard))?;
                    true
                }
                None => false,
            },
            Some(placed) if is_innermost => encoder.encode_behind(placed, stored, &mut found.bytes)?,
            Some(placed) => {
                let shard = Shard { depth: shard.depth + 1, placed, stored };
                match encode_shard(layout, std::slice::from_mut(encoder), &shard)? {
                    Some(encoded) => {
                        found.bytes.extend_from_slice(&encoded);
                        true
                    }
                    None => false,
                }
            }
        };
        if is_stored {
            found.places.push((number, start, found.bytes.len() - start));
        }
    }
    Ok(())
}

/// The bytes of an entry as they are stored.
fn stored_entry<'s>(
    layout: &ShardLayout,
    shard: &Shard<'s>,
    index: Option<&ShardIndex>,
    number: u64,
) -> Result<Option<&'s [u8]>, Error> {
    let Some((stored, (offset, len))) = shard.stored.zip(index.and_then(|index| index.entry(number))) else {
        return Ok(None);
    };
    let range = usize::try_from(offset).ok().zip(usize::try_from(len).ok());
    let bytes = range.and_then(|(start, len)| stored.get(start..start.checked_add(len)?));
    // Entries that overlap must not make more of a shard than its metadata promises; those that are shards may have gaps,
    // but no more than fit the shard around them.
    let is_shard = shard.depth + 1 < layout.entry_bytes_max.len();
    let is_sound = is_shard || layout.entry_bytes_max.get(shard.depth).is_some_and(|most| len <= *most);
    match bytes.filter(|_| is_sound) {
        Some(bytes) => Ok(Some(bytes)),
        None => {
            let message = format!(
                "the index of a shard of {} bytes points to {len} bytes at {offset}, as inner chunk {number}",
                stored.len()
            );
            Err(Error::new(ErrorKind::Corrupt, message))
        }
    }
}

/// The entries of a shard one behind the other, with their index. The memory that is not taken for it is left in `runs`.
fn laid_out(level: &Level, runs: &mut [Entries], scratch: &mut Scratch) -> Result<Vec<u8>, Error> {
    let mut end = 0;
    let places = runs.iter().flat_map(|run| {
        end += run.bytes.len();
        let start = end - run.bytes.len();
        run.places.iter().map(move |(number, offset, len)| (*number, start + offset, *len))
    });
    let mut stored_index = encode_index(level, places, scratch)?;
    let (mut shard, runs) = match (level.index_location, runs) {
        (IndexLocation::End, [first, others @ ..]) => (std::mem::take(&mut first.bytes), others),
        (IndexLocation::End, runs) => (Vec::new(), runs),
        (IndexLocation::Start, runs) => (std::mem::take(&mut stored_index), runs),
    };
    runs.iter().for_each(|run| shard.extend_from_slice(&run.bytes));
    // Empty by now where the index came first.
    shard.extend_from_slice(&stored_index);
    Ok(shard)
}

/// The stored index of a shard, of the number of each entry, how far it begins behind the first one, and how long it is.
pub(super) fn encode_index(
    level: &Level,
    places: impl Iterator<Item = (u64, usize, usize)>,
    scratch: &mut Scratch,
) -> Result<Vec<u8>, Error> {
    let index_bytes = memory_len(level.index_bytes)?;
    let first = match level.index_location {
        IndexLocation::Start => index_bytes,
        IndexLocation::End => 0,
    };
    let mut index = vec![MISSING; memory_len(level.entry_count)?];
    for (number, start, len) in places {
        if let Some(entry) = index.get_mut(memory_len(number)?) {
            *entry = [storage_len(first + start), storage_len(len)];
        }
    }
    let index: Vec<u8> = index.as_flattened().iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut stored = Vec::with_capacity(index_bytes);
    level.index_chain.encode(&index, &mut stored, scratch)?;
    Ok(stored)
}
