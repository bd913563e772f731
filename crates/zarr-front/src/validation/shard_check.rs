//! The indexes of stored shards: read many at once, and each entry held against the length of its shard.

use super::stored_chunks::StoredChunk;
use super::{Finding, Severity};
use crate::Error;
use crate::array::ArrayInner;
use crate::compiled::Level;
use crate::read::ReadOptions;
use crate::shard_index::{ShardIndex, index_range};
use std::sync::{Mutex, PoisonError};
use swath_codecs::Scratch;
use swath_ioengine::{ByteRange, Engine, ObjectRef, RangeRead};

/// Reads the index of each shard; the answer has one entry for each, in order.
///
/// # Errors
///
/// What ended the read as a whole.
pub(super) fn read_indexes(
    array: &ArrayInner,
    level: &Level,
    shards: &[StoredChunk],
    engine: &Engine,
    options: &ReadOptions<'_>,
) -> Result<Vec<Result<ShardIndex, Error>>, Error> {
    let objects: Vec<ObjectRef> = shards.iter().map(|shard| array.chunk_object(&shard.coordinates)).collect();
    let range: ByteRange = index_range(level);
    let reads: Vec<RangeRead> = (0..objects.len()).map(|object| RangeRead { object, range }).collect();
    let lost = || Err(Error::new(crate::ErrorKind::Internal, "an index was never delivered"));
    let found: Vec<Mutex<Result<ShardIndex, Error>>> = shards.iter().map(|_| Mutex::new(lost())).collect();
    let keep = |number: usize, result: Result<&[u8], swath_ioengine::Error>| {
        let index = match result {
            Ok(stored) => ShardIndex::decode(level, stored, &mut Scratch::default()),
            Err(error) => Err(error.into()),
        };
        if let Some(slot) = found.get(number) {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = index;
        }
    };
    engine.read_ranges(&objects, &reads, keep, &options.run()).map_err(Error::from)?;
    Ok(found.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
}

/// The entries of an index that do not lie within their shard, and a note where some lie over each other.
pub(super) fn unsound_entries(
    level: &Level,
    index: &ShardIndex,
    size: u64,
    object: &str,
) -> (Vec<u64>, Vec<Finding>) {
    let mut stored: Vec<(u64, u64, u64)> = Vec::new();
    let (mut unsound, mut findings) = (Vec::new(), Vec::new());
    for number in 0..level.entry_count {
        let Some((offset, len)) = index.entry(number) else { continue };
        match offset.checked_add(len) {
            Some(end) if end <= size => stored.push((offset, end, number)),
            _ => {
                unsound.push(number);
                let message = format!(
                    "wanted inner chunk {number} within the shard's {size} bytes, found {len} bytes at {offset}"
                );
                findings.push(Finding::of_object(Severity::Damage, object.to_owned(), message));
            }
        }
    }
    stored.sort_unstable();
    // Writers may store equal chunks once: entries that are the same bytes are sound.
    let overlap = stored.windows(2).find_map(|pair| match pair {
        [(start, end, first), (next, next_end, second)] => {
            (next < end && (start, end) != (next, next_end)).then_some((*first, *second))
        }
        _ => None,
    });
    if let Some((first, second)) = overlap {
        let message = format!("inner chunks {first} and {second} share some of their bytes");
        findings.push(Finding::of_object(Severity::Note, object.to_owned(), message));
    }
    (unsound, findings)
}
