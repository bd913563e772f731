//! The stored objects of an array, found by listing it.

use super::{Finding, Severity};
use crate::array::ArrayInner;
use crate::copying::JOURNAL;
use crate::store::join;
use crate::stored_size::DOCUMENTS;
use crate::{ChunkKeyEncoding, Error};
use swath_ioengine::Entry;

/// An object that holds a chunk or a shard.
#[derive(Clone, Debug)]
pub(super) struct StoredChunk {
    /// Its coordinates in the grid of objects.
    pub(super) coordinates: Vec<u64>,
    /// Bytes that are stored.
    pub(super) size: u64,
}

/// What lies where an array is stored.
pub(super) enum Listed {
    Chunk(StoredChunk),
    Odd(Finding),
}

/// Calls `visit` with everything that is stored for an array but its documents, folder by folder.
///
/// # Errors
///
/// Those of the store, and those of `visit`.
pub(super) fn visit_stored(
    array: &ArrayInner,
    visit: &mut dyn FnMut(Listed) -> Result<(), Error>,
) -> Result<(), Error> {
    let rank = array.metadata.shape().len();
    let encoding = array.metadata.chunk_key_encoding();
    let mut key = String::new();
    encoding.write_key(&vec![0; rank], &mut key);
    // No chunk lies deeper.
    let depth_max = key.matches('/').count();
    let mut folders = vec![(String::new(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in array.store.list(join(&array.path, &folder).trim_end_matches('/'))? {
            let name = join(&folder, entry.name());
            let odd = |message: &str| {
                let object = array.store.describe(&join(&array.path, &name));
                Listed::Odd(Finding::of_object(Severity::Note, object, message))
            };
            match entry {
                Entry::Prefix { .. } if depth < depth_max => folders.push((name, depth + 1)),
                Entry::Prefix { .. } => visit(odd("wanted chunks only, found a folder that holds none"))?,
                Entry::Object { .. } if depth == 0 && DOCUMENTS.contains(&&*name) => {}
                Entry::Object { .. } if depth == 0 && name == JOURNAL => {
                    let object = array.store.describe(&join(&array.path, &name));
                    let message = "the array is the target of a copy that was not finished";
                    visit(Listed::Odd(Finding::of_object(Severity::Damage, object, message)))?;
                }
                Entry::Object { size, .. } => visit(match coordinates(encoding, &name, rank) {
                    None => odd("wanted chunks only, found an object that is none"),
                    Some(found) if !is_within(&found, &array.compiled.objects) => {
                        odd("found a chunk beyond the array's shape, which nobody reads")
                    }
                    Some(coordinates) => Listed::Chunk(StoredChunk { coordinates, size }),
                })?,
            }
        }
    }
    Ok(())
}

fn is_within(coordinates: &[u64], counts: &[u64]) -> bool {
    coordinates.iter().zip(counts).all(|(at, count)| at < count)
}

/// The coordinates that a key spells, if it is the key of a chunk: no other spelling of them counts.
fn coordinates(encoding: &ChunkKeyEncoding, key: &str, rank: usize) -> Option<Vec<u64>> {
    let digits = key.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty());
    let found = digits.take(rank).map(|run| run.parse().ok()).collect::<Option<Vec<u64>>>()?;
    if found.len() != rank {
        return None;
    }
    let mut spelled = String::with_capacity(key.len());
    encoding.write_key(&found, &mut spelled);
    (spelled == key).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Separator;

    #[test]
    fn only_keys_that_are_written_so_are_chunks() {
        let (slash, dot) = (Separator::Slash, Separator::Dot);
        let default = ChunkKeyEncoding::Default { separator: slash };
        let v2 = ChunkKeyEncoding::V2 { separator: dot };
        let suffix = ChunkKeyEncoding::Suffix { base: Box::new(default.clone()), suffix: ".tif2".to_owned() };
        assert_eq!(coordinates(&default, "c/3/12", 2), Some(vec![3, 12]));
        assert_eq!(coordinates(&v2, "3.12", 2), Some(vec![3, 12]));
        assert_eq!(coordinates(&suffix, "c/3/12.tif2", 2), Some(vec![3, 12]));
        assert_eq!(coordinates(&v2, "0", 0), Some(vec![]));
        assert_eq!(coordinates(&default, "c", 0), Some(vec![]));
        for key in
            ["c/03/12", "c/3/12/1", "c/3", "3.12", "c/3/12.partial", "c/99999999999999999999/1", "readme"]
        {
            assert_eq!(coordinates(&default, key, 2), None, "{key}");
        }
    }
}
