//! The cached ranges of one version of an object.

use super::at_hand::{Place, Run, Source};
use super::disk::Stored;
use crate::{memory_len, storage_len};
use bytes::Bytes;
use std::collections::BTreeMap;

/// Bytes of memory that one range is taken to need beyond its bytes. Most of it is its object's, which in the worst case has
/// this range alone; ranges of an object of many take less than half of this.
pub(super) const EXTENT_BYTES: u64 = 1152;

/// A run of bytes, and where it is held. One that is held nowhere does not exist.
pub(super) struct Extent {
    /// Given once in a process: a range dropped and cached again has another one.
    pub(super) id: u64,
    /// Bytes.
    pub(super) len: u64,
    /// In memory, counted within the memory's bound.
    pub(super) memory: Option<Bytes>,
    /// Waiting for the writer.
    pub(super) queued: Option<Bytes>,
    /// In a file.
    pub(super) stored: Option<Box<Stored>>,
    /// Hit since the last look of who makes room.
    pub(super) used: bool,
}

impl Extent {
    fn is_held(&self) -> bool {
        self.memory.is_some() || self.queued.is_some() || self.stored.is_some()
    }

    fn bytes(&self) -> Option<&Bytes> {
        self.memory.as_ref().or(self.queued.as_ref())
    }

    /// All of it, and where it is.
    fn run(&mut self, start: u64) -> Option<Run> {
        self.used = true;
        let source = match (self.bytes(), &self.stored) {
            (Some(bytes), _) => Source::Memory(bytes.clone()),
            (None, Some(stored)) => Source::File { id: self.id, stored: Stored::clone(stored) },
            (None, None) => return None,
        };
        Some(Run { start, len: self.len, source })
    }
}

/// Where a part of a request comes from.
pub(super) enum Part {
    /// Here.
    Memory(Bytes),
    /// `len` bytes from `skip` on of what is stored for the range that starts at `start`.
    Disk { start: u64, id: u64, stored: Stored, skip: u64, len: u64, whole: bool },
    /// Nowhere.
    Missing { start: u64, len: u64 },
}

impl Part {
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, Part::Missing { .. })
    }
}

/// Slices of at most this are copied out of longer ranges, so that they do not keep those from being freed.
const COPIED_BYTES_MAX: usize = 64 << 10;

/// A piece of cached bytes to hand out.
pub(super) fn hand_out(bytes: &Bytes, from: usize, len: usize) -> Bytes {
    let piece = bytes.get(from..from + len).unwrap_or_default();
    if len <= COPIED_BYTES_MAX && len < bytes.len() / 2 {
        Bytes::copy_from_slice(piece)
    } else {
        bytes.slice_ref(piece)
    }
}

/// Disjoint ranges by their starts. Boxed: a map has room for eleven from the first on.
#[derive(Default)]
pub(super) struct Extents(BTreeMap<u64, Box<Extent>>);

impl Extents {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn get_mut(&mut self, start: u64, id: u64) -> Option<&mut Extent> {
        self.0.get_mut(&start).map(Box::as_mut).filter(|extent| extent.id == id)
    }

    /// Takes a range of which something is no longer held out, where nothing of it is.
    pub(super) fn drop_unheld(&mut self, start: u64) {
        if self.0.get(&start).is_some_and(|extent| !extent.is_held()) {
            self.0.remove(&start);
        }
    }

    /// The parts that `start..start + len` is made of, in order, and marks them used. `end` does not overflow: the caller
    /// has checked.
    pub(super) fn cover(&mut self, start: u64, len: u64) -> Vec<Part> {
        let end = start + len;
        let first = self.0.range(..=start).next_back().map_or(start, |(at, _)| *at);
        let mut parts = Vec::with_capacity(1);
        let mut at = start;
        for (from, extent) in self.0.range_mut(first..end) {
            let until = from + extent.len;
            if until <= at {
                continue;
            }
            if at < *from {
                parts.push(Part::Missing { start: at, len: from - at });
                at = *from;
            }
            let upto = until.min(end);
            parts.push(part(*from, extent, at, upto));
            at = upto;
        }
        if at < end {
            parts.push(Part::Missing { start: at, len: end - at });
        }
        parts
    }

    /// The ranges, whole, that bytes are taken of for places sorted by where they begin; each once, in order, and marked
    /// used. `None` where some byte is not held. No place's end overflows: the caller has checked.
    pub(super) fn runs(&mut self, places: &[Place]) -> Option<Vec<Run>> {
        let mut runs = Vec::new();
        // All from the last place's start up to here is covered.
        let mut covered = 0;
        for place in places {
            let mut at = covered.max(place.start);
            while at < place.end() {
                let (start, extent) = self.0.range_mut(..=at).next_back()?;
                let run = extent.run(*start).filter(|run| at < run.end())?;
                at = run.end();
                covered = at;
                runs.push(run);
            }
        }
        Some(runs)
    }

    /// The runs within `start..start + len` that nothing is held of.
    pub(super) fn gaps(&self, start: u64, len: u64) -> Vec<(u64, u64)> {
        let end = start + len;
        let first = self.0.range(..=start).next_back().map_or(start, |(at, _)| *at);
        let mut gaps = Vec::new();
        let mut at = start;
        for (from, extent) in self.0.range(first..end) {
            if at < *from {
                gaps.push((at, from - at));
            }
            at = at.max(from + extent.len);
        }
        if at < end {
            gaps.push((at, end - at));
        }
        gaps
    }

    /// Adds a range that overlaps none.
    pub(super) fn add(&mut self, start: u64, extent: Extent) {
        self.0.insert(start, Box::new(extent));
    }

    /// Takes all ranges out.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = (u64, Extent)> + use<> {
        std::mem::take(&mut self.0).into_iter().map(|(start, extent)| (start, *extent))
    }
}

fn part(from: u64, extent: &mut Extent, at: u64, upto: u64) -> Part {
    extent.used = true;
    let (skip, len) = (at - from, upto - at);
    if let Some(bytes) = extent.bytes() {
        // Both lie within the bytes in memory.
        let (skip, len) = (memory_len(skip).unwrap_or(0), memory_len(len).unwrap_or(0));
        return Part::Memory(hand_out(bytes, skip, len));
    }
    let whole = len == extent.len;
    match &extent.stored {
        Some(stored) => {
            Part::Disk { start: from, id: extent.id, stored: Stored::clone(stored), skip, len, whole }
        }
        None => Part::Missing { start: at, len },
    }
}

/// Bytes of memory that a range of so many bytes takes.
pub(super) fn charge(len: usize) -> u64 {
    storage_len(len) + EXTENT_BYTES
}

#[cfg(test)]
mod tests {
    use super::super::disk::RANGE_BYTES;
    use super::super::memory::PLACE_BYTES;
    use super::super::object::Object;
    use super::*;
    use crate::random::Random;
    use std::sync::Arc;

    fn extent(id: u64, bytes: Bytes) -> Extent {
        let len = storage_len(bytes.len());
        Extent { id, len, memory: Some(bytes), queued: None, stored: None, used: false }
    }

    /// Against a byte of memory for each byte of the object.
    #[test]
    fn ranges_are_covered_as_a_plain_map_says() {
        let seed = 11;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        for _ in 0..50 {
            let mut extents = Extents::default();
            let mut plain = [None::<u8>; 200];
            for id in 0..60 {
                let start = random.below(200);
                let len = random.below(200 - start) + 1;
                let ask = extents.cover(start, len);
                let mut at = usize::try_from(start).unwrap();
                for part in ask {
                    match part {
                        Part::Memory(bytes) => {
                            let found: Vec<_> = bytes.iter().copied().map(Some).collect();
                            assert_eq!(found, plain[at..at + bytes.len()]);
                            at += bytes.len();
                        }
                        Part::Missing { start, len } => {
                            assert_eq!(start, at as u64);
                            let until = at + usize::try_from(len).unwrap();
                            assert!(plain[at..until].iter().all(Option::is_none));
                            at = until;
                        }
                        Part::Disk { .. } => panic!("nothing is stored"),
                    }
                }
                assert_eq!(at as u64, start + len);
                for (from, len) in extents.gaps(start, len.min(9)) {
                    let bytes: Vec<u8> = (0..len).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
                    let from_at = usize::try_from(from).unwrap();
                    for (slot, byte) in plain[from_at..].iter_mut().zip(&bytes) {
                        assert!(slot.replace(*byte).is_none());
                    }
                    extents.add(from, extent(id, bytes.into()));
                }
            }
        }
    }

    /// The worst case: an object with a long key and tag, and one range, in memory and in a file. Of the map's leaf, which
    /// has no name, what eleven keys and values and a header take. Each allocation costs 16 bytes more, and vectors and
    /// tables may be twice as large as what is in them.
    #[test]
    fn bookkeeping_is_not_more_than_charged() {
        let leaf = 11 * size_of::<(u64, Box<Extent>)>() + 16;
        let object =
            16 + size_of::<Object>() + (16 + 80) + (16 + 40) + 2 * size_of::<(Arc<str>, Arc<Object>)>();
        let range = size_of::<Extent>() + size_of::<Stored>() + 32 + 2 * (PLACE_BYTES + RANGE_BYTES);
        let (allocations, range_alone) = (8 * 16, range + 3 * 16);
        println!("{object} an object, {leaf} a leaf, {range} a range");
        assert!(storage_len(object + leaf + range + allocations) <= EXTENT_BYTES);
        assert!(storage_len(range_alone) <= EXTENT_BYTES / 2);
    }

    #[test]
    fn small_slices_do_not_pin_long_ranges() {
        let long = Bytes::from(vec![1; 1000]);
        let small = hand_out(&long, 10, 20);
        assert!(!long.as_ptr_range().contains(&small.as_ptr()));
        let most = hand_out(&long, 10, 900);
        assert!(long.as_ptr_range().contains(&most.as_ptr()));
    }
}
