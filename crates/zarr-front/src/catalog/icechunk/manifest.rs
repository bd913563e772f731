//! What one manifest says: where chunks of arrays are.

use super::format::{NodeId, ObjectId};
use crate::{Error, ErrorKind};
use std::cmp::Ordering;
use swath_ioengine::{ObjectRef, storage_len};

/// A manifest, in a form of its own: of its file nothing is kept.
pub(super) struct Manifest {
    arrays: Vec<ArrayChunks>,
    locations: Vec<Location>,
    /// What references hold themselves, one behind the other.
    inline: ObjectRef,
    memory_bytes: u64,
}

/// Where the bytes of a chunk are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkRef {
    /// In the manifest itself.
    Inline { offset: u64, len: u64 },
    /// In an object of the repository.
    Native { id: ObjectId, offset: u64, len: u64 },
    /// In an object elsewhere, by the number of its location in the manifest.
    Virtual { location: u32, offset: u64, len: u64 },
}

/// An object elsewhere, and which version of it is meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Location {
    pub(super) url: String,
    pub(super) checksum: Option<Checksum>,
}

impl Location {
    /// Bytes of memory that it takes, roughly.
    pub(super) fn memory_bytes(&self) -> usize {
        let tag = match &self.checksum {
            Some(Checksum::Tag(tag)) => tag.len(),
            Some(Checksum::Modified(_)) | None => 0,
        };
        self.url.len() + tag + size_of::<Location>()
    }
}

/// Which version of an object is meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Checksum {
    /// That of an entity tag.
    Tag(String),
    /// One that was not written to after so many seconds since the epoch.
    Modified(u32),
}

/// The chunks of one array, in ascending order of their coordinates.
pub(super) struct ArrayChunks {
    node: NodeId,
    rank: usize,
    /// Of all chunks, one behind the other.
    coordinates: Vec<u32>,
    references: Vec<ChunkRef>,
}

impl ArrayChunks {
    /// An array of no chunks yet, which have so many coordinates.
    pub(super) fn new(node: NodeId, rank: usize) -> ArrayChunks {
        ArrayChunks { node, rank, coordinates: Vec::new(), references: Vec::new() }
    }

    /// Adds a chunk with so many coordinates, behind all others.
    ///
    /// # Errors
    ///
    /// `Corrupt` where it is not behind them, or of another rank.
    pub(super) fn push(
        &mut self,
        coordinates: impl Iterator<Item = u32>,
        rank: usize,
        reference: ChunkRef,
    ) -> Result<(), Error> {
        if rank != self.rank {
            let message = format!("wanted chunks of {} coordinates in a manifest, found {rank}", self.rank);
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        let before = self.coordinates.len().saturating_sub(self.rank);
        self.coordinates.extend(coordinates);
        let (earlier, last) = self.coordinates.split_at(self.coordinates.len() - self.rank);
        if !self.references.is_empty() && last <= earlier.get(before..).unwrap_or_default() {
            return Err(Error::new(ErrorKind::Corrupt, "chunks that are not in order in a manifest"));
        }
        self.references.push(reference);
        Ok(())
    }

    /// Says that it is whole.
    pub(super) fn finish(&mut self) {
        self.coordinates.shrink_to_fit();
        self.references.shrink_to_fit();
    }

    fn find(&self, coordinates: &[u32]) -> Option<ChunkRef> {
        if coordinates.len() != self.rank {
            return None;
        }
        let (mut low, mut high) = (0, self.references.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.coordinates.get(middle * self.rank..(middle + 1) * self.rank)?.cmp(coordinates) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return self.references.get(middle).copied(),
                Ordering::Greater => high = middle,
            }
        }
        None
    }
}

impl Manifest {
    pub(super) fn new(
        arrays: Vec<ArrayChunks>,
        locations: Vec<Location>,
        inline: ObjectRef,
        inline_len: usize,
    ) -> Manifest {
        let table = |array: &ArrayChunks| {
            array.coordinates.capacity() * size_of::<u32>()
                + array.references.capacity() * size_of::<ChunkRef>()
        };
        let texts = locations.iter().map(Location::memory_bytes).sum::<usize>();
        let bytes = arrays.iter().map(table).sum::<usize>() + texts;
        let memory_bytes = storage_len(bytes.saturating_add(inline_len));
        Manifest { arrays, locations, inline, memory_bytes }
    }

    /// Where a chunk of an array is; `None` where the manifest does not say.
    pub(super) fn find(&self, node: NodeId, coordinates: &[u32]) -> Option<ChunkRef> {
        self.arrays.iter().filter(|array| array.node == node).find_map(|array| array.find(coordinates))
    }

    /// The object of a virtual chunk.
    pub(super) fn location(&self, number: u32) -> Option<&Location> {
        self.locations.get(number as usize)
    }

    /// What references hold themselves.
    pub(super) fn inline(&self) -> &ObjectRef {
        &self.inline
    }

    /// Bytes of memory that it takes, roughly.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(coordinates: &[[u32; 2]]) -> Result<ArrayChunks, Error> {
        let mut chunks = ArrayChunks::new([1; 8], 2);
        for (number, at) in (0u64..).zip(coordinates) {
            chunks.push(at.iter().copied(), 2, ChunkRef::Inline { offset: number, len: 1 })?;
        }
        Ok(chunks)
    }

    #[test]
    fn chunks_are_found_by_their_coordinates() {
        let coordinates = [[0, 0], [0, 7], [2, 1], [2, 3], [9, 0]];
        let chunks = chunks(&coordinates).unwrap();
        for (number, at) in (0u64..).zip(&coordinates) {
            assert_eq!(chunks.find(at), Some(ChunkRef::Inline { offset: number, len: 1 }));
        }
        for missing in [&[0, 1][..], &[2, 2], &[9, 1], &[0], &[], &[0, 0, 0]] {
            assert_eq!(chunks.find(missing), None, "{missing:?}");
        }
    }

    #[test]
    fn an_array_without_axes_has_one_chunk() {
        let mut chunks = ArrayChunks::new([1; 8], 0);
        let reference = ChunkRef::Native { id: [3; 12], offset: 0, len: 5 };
        chunks.push(std::iter::empty(), 0, reference).unwrap();
        assert_eq!(chunks.find(&[]), Some(reference));
        assert_eq!(chunks.push(std::iter::empty(), 0, reference).unwrap_err().kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn chunks_out_of_order_are_refused() {
        for wrong in [[[0, 1], [0, 0]], [[1, 1], [1, 1]], [[1, 0], [0, 9]]] {
            assert_eq!(chunks(&wrong).err().unwrap().kind(), ErrorKind::Corrupt, "{wrong:?}");
        }
        let mut mixed = chunks(&[[0, 0]]).unwrap();
        let reference = ChunkRef::Inline { offset: 0, len: 0 };
        assert!(mixed.push([1].into_iter(), 1, reference).is_err());
    }
}
