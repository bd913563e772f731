//! Where the chunks of a dataset lie.

use super::of_reader;
use super::skipped::Skipped;
use crate::references::Part;
use hdf5_reader::btree_v1::{BTreeV1Key, collect_btree_v1_leaves_storage};
use hdf5_reader::chunk_index::{
    ChunkEntry, collect_implicit_chunk_entries, collect_v2_chunk_entries_storage, single_chunk_entry,
};
use hdf5_reader::extensible_array::collect_extensible_array_chunk_entries_storage;
use hdf5_reader::fixed_array::collect_fixed_array_chunk_entries_storage;
use hdf5_reader::messages::layout::{ChunkIndexing, DataLayout};
use hdf5_reader::{Dataset, Hdf5File};
use serde_json::Value;
use swath_ioengine::memory_len;

/// Bytes of a chunk that a contiguous dataset is cut into, at most.
const CUT_BYTES_MAX: u64 = 8 << 20;

/// The chunks of a dataset, and the elements of each.
pub(super) struct Chunks {
    pub(super) shape: Vec<u64>,
    pub(super) stored: StoredChunks,
}

/// Where chunks are.
pub(super) enum StoredChunks {
    /// In the dataset's own metadata: there is one.
    Inline(Vec<u8>),
    /// Byte ranges of the file, and the keys and bytes of chunks that are none. What has neither was never written.
    Parts(Vec<Part>, Vec<(String, Vec<u8>)>),
}

/// The chunks of a dataset at `path`, whose elements have so many bytes and go through a codec, or none, for each filter.
///
/// # Errors
///
/// Why references cannot say where they are.
pub(super) fn chunks(
    file: &Hdf5File,
    dataset: &Dataset,
    layout: &DataLayout,
    (element_bytes, codecs): (u64, &[Option<Value>]),
    path: &str,
) -> Result<Chunks, String> {
    let shape = dataset.shape();
    let place = Place { file, path };
    match layout {
        DataLayout::Compact { data } => {
            Ok(Chunks { shape: whole(shape), stored: StoredChunks::Inline(data.clone()) })
        }
        DataLayout::Contiguous { address, size } => place.contiguous(shape, *address, *size, element_bytes),
        DataLayout::Chunked { address, dims, chunk_indexing, .. } => {
            let rank = shape.len();
            // Old layouts have the bytes of an element behind the last axis.
            let extents = dims.get(..rank).unwrap_or_default();
            if extents.len() != rank || extents.contains(&0) {
                return Err(format!("chunks of {dims:?} elements of an array of {rank} axes"));
            }
            let chunk: Vec<u64> = extents.iter().map(|extent| u64::from(*extent)).collect();
            let entries = if place.is_nowhere(*address) {
                Vec::new()
            } else {
                let index = Index { file, dataset, address: *address, extents, element_bytes };
                index.entries(chunk_indexing.as_ref())?
            };
            let stored = place.parts(&entries, &chunk, shape, codecs)?;
            Ok(Chunks { shape: chunk, stored })
        }
    }
}

/// A chunk that is all of an array: of at least one element along each axis.
fn whole(shape: &[u64]) -> Vec<u64> {
    shape.iter().map(|length| (*length).max(1)).collect()
}

/// A dataset of a file.
struct Place<'a> {
    file: &'a Hdf5File,
    path: &'a str,
}

impl Place<'_> {
    /// The address of what was never written.
    fn is_nowhere(&self, address: u64) -> bool {
        let unused = 64u32.saturating_sub(8 * u32::from(self.file.superblock().offset_size));
        address == u64::MAX >> unused.min(63)
    }

    fn part(&self, index: &[u64], address: u64, len: u64) -> Result<Part, String> {
        let offset = self.file.superblock().base_address.checked_add(address);
        let end = address.checked_add(len);
        match (offset, end) {
            (Some(offset), Some(end)) if end <= self.file.storage().len() => {
                Ok(Part { key: format!("{}/{}", self.path, key(index)), file: 0, offset, len })
            }
            _ => Err(format!("a chunk of {len} bytes at {address}, behind the file's end")),
        }
    }

    fn contiguous(&self, shape: &[u64], address: u64, size: u64, bytes: u64) -> Result<Chunks, String> {
        let elements = shape.iter().try_fold(1u64, |all, length| all.checked_mul(*length));
        let wanted = elements.and_then(|elements| elements.checked_mul(bytes));
        let parts = |parts| StoredChunks::Parts(parts, Vec::new());
        if self.is_nowhere(address) || size == 0 || wanted == Some(0) {
            return Ok(Chunks { shape: whole(shape), stored: parts(Vec::new()) });
        }
        // Padding may lie behind the elements.
        let wanted = wanted.filter(|wanted| *wanted <= size);
        let wanted = wanted.ok_or_else(|| format!("{size} bytes for {shape:?} elements of {bytes}"))?;
        let (chunk, count) = cut(shape, bytes);
        let len = wanted / count;
        let mut found = Vec::new();
        for number in 0..count {
            let index = index_of(number, &chunk, shape);
            let address = address.checked_add(number * len).ok_or("an address beyond 64 bits")?;
            found.push(self.part(&index, address, len)?);
        }
        Ok(Chunks { shape: chunk, stored: parts(found) })
    }

    fn parts(
        &self,
        entries: &[ChunkEntry],
        chunk: &[u64],
        shape: &[u64],
        codecs: &[Option<Value>],
    ) -> Result<StoredChunks, String> {
        let (mut parts, mut inline) = (Vec::with_capacity(entries.len()), Vec::new());
        let mut skipped = Skipped::default();
        for entry in entries {
            if self.is_nowhere(entry.address) {
                continue;
            }
            let origin = entry.offsets.get(..shape.len());
            let origin = origin.ok_or_else(|| format!("a chunk at {:?}", entry.offsets))?;
            let is_aligned = origin.iter().zip(chunk).all(|(at, extent)| at.is_multiple_of(*extent));
            if !is_aligned {
                return Err(format!("a chunk at {origin:?}, between those of {chunk:?} elements"));
            }
            // Arrays that were made smaller may keep chunks behind their end.
            if origin.iter().zip(shape).all(|(at, length)| at < length) {
                let index: Vec<u64> = origin.iter().zip(chunk).map(|(at, extent)| at / extent).collect();
                if entry.filter_mask == 0 {
                    parts.push(self.part(&index, entry.address, entry.size)?);
                } else {
                    let key = format!("{}/{}", self.path, key(&index));
                    inline.push((key, skipped.encoded(self.file, entry, codecs)?));
                }
            }
        }
        Ok(StoredChunks::Parts(parts, inline))
    }
}

/// The chunk that a contiguous array is cut into, and how many there are: along its first axes, so that each lies in one piece.
fn cut(shape: &[u64], element_bytes: u64) -> (Vec<u64>, u64) {
    let mut chunk = shape.to_vec();
    let bytes = |chunk: &[u64]| chunk.iter().product::<u64>().saturating_mul(element_bytes);
    let mut count = 1;
    for (axis, length) in shape.iter().enumerate() {
        if bytes(&chunk) <= CUT_BYTES_MAX {
            break;
        }
        // The last chunk is as long as the others, as it lies in the file.
        let others = bytes(&chunk) / *length;
        let fits = |extent: &u64| length.is_multiple_of(*extent) && extent * others <= CUT_BYTES_MAX;
        let extent = (1..=(CUT_BYTES_MAX / others.max(1)).clamp(1, *length)).rev().find(fits).unwrap_or(1);
        if let Some(place) = chunk.get_mut(axis) {
            *place = extent;
        }
        count *= length / extent;
    }
    (chunk, count)
}

/// The place of a chunk among the others, by its number.
fn index_of(mut number: u64, chunk: &[u64], shape: &[u64]) -> Vec<u64> {
    let mut index: Vec<u64> = Vec::with_capacity(shape.len());
    for (extent, length) in chunk.iter().zip(shape).rev() {
        let along = length / extent;
        index.push(number % along);
        number /= along;
    }
    index.reverse();
    index
}

/// The key of a chunk in its array.
pub(super) fn key(index: &[u64]) -> String {
    if index.is_empty() {
        return "0".to_owned();
    }
    index.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
}

/// An index of chunks.
struct Index<'a> {
    file: &'a Hdf5File,
    dataset: &'a Dataset,
    address: u64,
    extents: &'a [u32],
    element_bytes: u64,
}

impl Index<'_> {
    fn entries(&self, indexing: Option<&ChunkIndexing>) -> Result<Vec<ChunkEntry>, String> {
        let Self { file, dataset, address, extents, .. } = *self;
        let (storage, shape) = (file.storage(), dataset.shape());
        let superblock = file.superblock();
        let (offset_size, length_size) = (superblock.offset_size, superblock.length_size);
        let rank = u32::try_from(shape.len()).map_err(|_| "too many axes")?;
        let found = match indexing {
            None => {
                let leaves = collect_btree_v1_leaves_storage(
                    storage,
                    address,
                    offset_size,
                    length_size,
                    Some(rank),
                    extents,
                    None,
                );
                leaves.map(|leaves| leaves.into_iter().filter_map(of_leaf).collect())
            }
            Some(ChunkIndexing::SingleChunk { filtered_size, filters }) => {
                let size = if *filtered_size == 0 { self.chunk_bytes()? } else { *filtered_size };
                Ok(vec![single_chunk_entry(address, size, *filters, shape.len())])
            }
            Some(ChunkIndexing::BTreeV2) => collect_v2_chunk_entries_storage(
                storage,
                address,
                offset_size,
                length_size,
                rank,
                extents,
                None,
            ),
            Some(ChunkIndexing::Implicit) => {
                let bytes = memory_len(self.element_bytes).map_err(|error| error.to_string())?;
                collect_implicit_chunk_entries(address, shape, extents, bytes, None, storage.len())
            }
            Some(ChunkIndexing::FixedArray { .. }) => collect_fixed_array_chunk_entries_storage(
                storage,
                address,
                offset_size,
                length_size,
                shape,
                extents,
                None,
            ),
            Some(ChunkIndexing::ExtensibleArray { .. }) => collect_extensible_array_chunk_entries_storage(
                storage,
                address,
                offset_size,
                length_size,
                shape,
                dataset.max_dims(),
                extents,
                None,
            ),
        };
        let mut found = found.map_err(|error| of_reader(error).message().to_owned())?;
        for entry in &mut found {
            // Old indexes have the byte of an element behind the last axis.
            entry.offsets.truncate(shape.len());
            // Where nothing is filtered, the size may be left unsaid.
            if entry.size == 0 {
                entry.size = self.chunk_bytes()?;
            }
        }
        Ok(found)
    }

    fn chunk_bytes(&self) -> Result<u64, String> {
        let extents = self.extents.iter().map(|extent| u64::from(*extent));
        let bytes = extents.into_iter().try_fold(self.element_bytes, u64::checked_mul);
        bytes.ok_or_else(|| "a chunk of more bytes than 64 bits count".to_owned())
    }
}

fn of_leaf((key, address): (BTreeV1Key, u64)) -> Option<ChunkEntry> {
    let BTreeV1Key::RawData { chunk_size, filter_mask, offsets } = key else { return None };
    Some(ChunkEntry { address, size: chunk_size.into(), filter_mask, offsets })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_arrays_are_cut_into_whole_pieces() {
        for (shape, bytes, wanted, count) in [
            (&[][..], 8, &[][..], 1),
            (&[10, 10], 4, &[10, 10], 1),
            (&[12, 1024, 1024], 4, &[2, 1024, 1024], 6),
            (&[3, 4, 2048, 1024], 4, &[1, 1, 2048, 1024], 12),
            (&[2, 7, 3_000_000], 4, &[1, 1, 1_500_000], 28),
        ] {
            assert_eq!(cut(shape, bytes), (wanted.to_vec(), count), "{shape:?}");
        }
        assert_eq!(index_of(7, &[1, 1, 10], &[3, 4, 10]), [1, 3, 0]);
    }
}
