//! Elements that are taken one by one, in any order: sorted by the chunk that they lie in.

use super::pick_sort::sort_by_chunk;
use crate::error::Error;
use std::ops::Range;

/// Elements picked in any order, repeats included: along one axis, or anywhere in an array.
///
/// Chunks have numbers, and elements numbers within their chunk: along an axis, the chunk's coordinate and the element's
/// distance from the chunk's start; for whole chunks, any number, and the element's number in C order. The picks of one
/// chunk are a *tile*; tiles are numbered in the order of their chunks.
///
/// A pick takes 20 bytes, or as much as all that follow on it where neighbours are picked one after the other; a tile 4.
/// Whatever was pushed, the places in the result are `0..count`, each in one tile: what relies on tiles being disjoint may
/// rely on it.
///
/// ```
/// use swath_codecs::Picks;
///
/// // Elements 7, 2, 3 and 7 again of an axis whose chunks hold 5 each.
/// let mut picks = Picks::default();
/// picks.push(&[1, 0, 0, 1], &[2, 2, 3, 2])?;
/// let picks = picks.sorted();
/// assert_eq!((picks.count(), picks.tile_count(), picks.chunk(1)), (4, 2, 1));
/// # Ok::<(), swath_codecs::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picks {
    runs: Vec<Run>,
    /// The first run of each tile, and one more at the end; empty until the picks are sorted.
    starts: Vec<u32>,
    count: u32,
}

/// Elements that follow each other in their chunk and in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The chunk's number, its upper and its lower half: 64 bits as one would take 4 bytes more.
    chunk: [u32; 2],
    pub(super) source: u32,
    pub(super) target: u32,
    pub(super) count: u32,
}

impl Run {
    #[inline]
    pub(super) fn new(chunk: u64, source: u32, target: u32) -> Run {
        // Halves of 64 bits fit 32.
        let half = |bits: u64| u32::try_from(bits).unwrap_or(u32::MAX);
        Run { chunk: [half(chunk >> 32), half(chunk & u64::from(u32::MAX))], source, target, count: 1 }
    }

    #[inline]
    pub(super) fn chunk(&self) -> u64 {
        u64::from(self.chunk[0]) << 32 | u64::from(self.chunk[1])
    }

    /// Whether an element follows the run's last one both in the chunk and in the result.
    #[inline]
    fn goes_on(&self, chunk: u64, source: u32, target: u32) -> bool {
        self.source_last().checked_add(1) == Some(source)
            && self.chunk() == chunk
            && self.target.checked_add(self.count) == Some(target)
    }

    /// The last element taken of the chunk.
    #[inline]
    pub(super) fn source_last(&self) -> u32 {
        self.source.saturating_add(self.count - 1)
    }
}

impl Picks {
    /// Adds the next elements of the result: `sources[i]` of the chunk `chunks[i]`. Where one is longer than the other,
    /// what is left over is not added.
    ///
    /// # Errors
    ///
    /// `Unsupported` for more than 2^32 - 1 elements in all.
    pub fn push(&mut self, chunks: &[u64], sources: &[u32]) -> Result<(), Error> {
        let count = chunks.len().min(sources.len());
        let first = self.count;
        let end = u32::try_from(count).ok().and_then(|count| first.checked_add(count));
        self.count = end.ok_or_else(|| {
            Error::unsupported("output", "wanted at most 2^32 - 1 elements picked one by one, found more")
        })?;
        let mut last = self.runs.pop();
        for ((chunk, source), target) in chunks.iter().zip(sources).zip(first..) {
            match &mut last {
                Some(run) if run.goes_on(*chunk, *source, target) => run.count += 1,
                last => self.runs.extend(last.replace(Run::new(*chunk, *source, target))),
            }
        }
        self.runs.extend(last);
        self.starts.clear();
        Ok(())
    }

    /// Adds the next `count` elements of the result: those that follow each other in a chunk, from its element `source` on.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push), and for elements whose numbers 32 bits do not hold.
    pub fn push_run(&mut self, chunk: u64, source: u32, count: u32) -> Result<(), Error> {
        let first = self.count;
        let end = first.checked_add(count).filter(|_| source.checked_add(count).is_some());
        self.count = end.ok_or_else(|| {
            Error::unsupported("output", "wanted at most 2^32 - 1 elements picked one by one, found more")
        })?;
        match self.runs.last_mut() {
            _ if count == 0 => {}
            Some(run) if run.goes_on(chunk, source, first) => run.count += count,
            _ => self.runs.push(Run { count, ..Run::new(chunk, source, first) }),
        }
        self.starts.clear();
        Ok(())
    }

    /// The same picks, sorted by chunk and cut into tiles. Takes time in proportion to their number.
    #[must_use]
    pub fn sorted(mut self) -> Picks {
        sort_by_chunk(&mut self.runs);
        self.starts.clear();
        let mut previous = None;
        for (number, run) in (0u32..).zip(&self.runs) {
            if previous != Some(run.chunk()) {
                self.starts.push(number);
                previous = Some(run.chunk());
            }
        }
        // No more runs than elements.
        self.starts.push(u32::try_from(self.runs.len()).unwrap_or(u32::MAX));
        self
    }

    /// Elements of the result.
    #[must_use]
    pub fn count(&self) -> u64 {
        u64::from(self.count)
    }

    /// Chunks that elements are picked of; none before the picks are [`sorted`](Self::sorted).
    #[must_use]
    pub fn tile_count(&self) -> u64 {
        self.starts.len().saturating_sub(1) as u64
    }

    /// The chunk of a tile below [`tile_count`](Self::tile_count). Ascends from tile to tile.
    #[must_use]
    pub fn chunk(&self, tile: u64) -> u64 {
        self.runs_of(tile).first().map_or(u64::MAX, Run::chunk)
    }

    /// The tiles whose chunks have numbers in `low..high`.
    #[must_use]
    pub fn tiles_between(&self, low: u64, high: u64) -> Range<u64> {
        let starts = &self.starts[..self.starts.len().saturating_sub(1)];
        let before = |chunk: u64| {
            starts.partition_point(|start| {
                self.runs.get(*start as usize).is_some_and(|run| run.chunk() < chunk)
            })
        };
        let start = before(low);
        start as u64..before(high).max(start) as u64
    }

    /// The first and the last of a chunk's elements that a tile takes.
    #[must_use]
    pub fn reach(&self, tile: u64) -> (u64, u64) {
        let (mut low, mut high) = (u32::MAX, 0);
        for run in self.runs_of(tile) {
            (low, high) = (low.min(run.source), high.max(run.source_last()));
        }
        (u64::from(low.min(high)), u64::from(high))
    }

    /// What a tile takes: elements of its chunk that follow each other, the place of the first in the result, and how many
    /// they are.
    pub fn runs(&self, tile: u64) -> impl ExactSizeIterator<Item = (Range<u64>, u64)> {
        self.runs_of(tile).iter().map(|run| {
            let source = u64::from(run.source);
            (source..source + u64::from(run.count), u64::from(run.target))
        })
    }

    /// Bytes that the picks take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.runs.capacity() * size_of::<Run>() + self.starts.capacity() * size_of::<u32>()
    }

    #[inline]
    pub(super) fn runs_of(&self, tile: u64) -> &[Run] {
        let bounds = usize::try_from(tile).ok().and_then(|tile| self.starts.get(tile..tile.checked_add(2)?));
        match bounds {
            Some([start, end]) => self.runs.get(*start as usize..*end as usize).unwrap_or_default(),
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_element_is_in_one_tile(
            elements in prop::collection::vec((0u64..4, 0u32..9), 0..40), cut in 0usize..40, low in 0u64..5,
            high in 0u64..5,
        ) {
            let (chunks, sources): (Vec<u64>, Vec<u32>) = elements.iter().copied().unzip();
            let cut = cut.min(elements.len());
            let mut picks = Picks::default();
            picks.push(&chunks[..cut], &sources[..cut]).unwrap();
            picks.push(&chunks[cut..], &sources[cut..]).unwrap();
            let picks = picks.sorted();
            prop_assert_eq!(picks.count(), elements.len() as u64);
            let mut found = vec![None; elements.len()];
            let mut previous = None;
            for tile in 0..picks.tile_count() {
                let chunk = picks.chunk(tile);
                prop_assert!(previous < Some(chunk));
                previous = Some(chunk);
                let mut taken = Vec::new();
                for (source, target) in picks.runs(tile) {
                    for (source, target) in source.zip(target..) {
                        let place = &mut found[usize::try_from(target).unwrap()];
                        prop_assert!(place.replace((chunk, u32::try_from(source).unwrap())).is_none());
                        taken.push(source);
                    }
                }
                let reach = (*taken.iter().min().unwrap(), *taken.iter().max().unwrap());
                prop_assert_eq!(picks.reach(tile), reach);
            }
            prop_assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), elements);
            let between: Vec<u64> = picks.tiles_between(low, high).collect();
            let expected = (0..picks.tile_count()).filter(|tile| (low..high).contains(&picks.chunk(*tile)));
            prop_assert_eq!(between, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn runs_are_as_their_elements() {
        let (mut runs, mut elements) = (Picks::default(), Picks::default());
        for (chunk, source, count) in [(3, 4, 2), (3, 6, 1), (3, 6, 2), (1, 8, 3), (1, 0, 0), (1, 11, 1)] {
            runs.push_run(chunk, source, count).unwrap();
            for source in source..source + count {
                elements.push(&[chunk], &[source]).unwrap();
            }
        }
        assert_eq!(runs.clone().sorted(), elements.sorted());
        assert_eq!(runs.runs.len(), 3);
        assert!(runs.push_run(0, u32::MAX, 1).is_err() && runs.push_run(0, 0, u32::MAX).is_err());
        assert_eq!(runs.count(), 9);
    }

    #[test]
    fn neighbours_are_one_run() {
        let mut picks = Picks::default();
        picks.push(&[3; 5], &[4, 5, 6, 6, 5]).unwrap();
        picks.push(&[3, u64::MAX], &[6, 7]).unwrap();
        let picks = picks.sorted();
        assert_eq!(picks.runs(0).collect::<Vec<_>>(), [(4..7, 0), (6..7, 3), (5..7, 4)]);
        assert_eq!((picks.tile_count(), picks.chunk(1)), (2, u64::MAX));
        assert_eq!(picks.bytes(), picks.runs.capacity() * 20 + picks.starts.capacity() * 4);
        assert_eq!(Picks::default().sorted().tile_count(), 0);
        // What is added to sorted picks goes behind those that were added before.
        let mut picks = Picks::default();
        picks.push(&[1, 0], &[4, 8]).unwrap();
        let mut picks = picks.sorted();
        picks.push(&[1], &[5]).unwrap();
        assert_eq!(picks.sorted().runs(1).collect::<Vec<_>>(), [(4..5, 0), (5..6, 2)]);
    }
}
