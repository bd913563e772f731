//! Chunks of lengths of their own along an axis. Pure.

use std::ops::Range;

/// How an axis is cut into chunks whose lengths differ: as many runs of chunks of one length as it takes.
///
/// There is at least one chunk, and none is empty. Whatever lies behind the last one belongs to it: the metadata were checked to
/// have chunks for every element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AxisEdges {
    /// By where they start.
    runs: Vec<Run>,
}

/// Chunks of one length that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// The first element of the first one.
    start: u64,
    /// The number of the first one.
    chunk: u64,
    /// Elements of each.
    extent: u64,
}

impl AxisEdges {
    /// Chunks of these lengths, each so many times, as far as they are needed for an axis of `length` elements: the first one
    /// at least. `None` where there are too few, or one is empty.
    pub(crate) fn new(lengths: &[(u64, u64)], length: u64) -> Option<AxisEdges> {
        let mut runs: Vec<Run> = Vec::new();
        let (mut start, mut chunk) = (0u64, 0u64);
        for (extent, count) in lengths {
            if *extent == 0 || *count == 0 {
                return None;
            }
            let is_needed = start < length || runs.is_empty();
            if is_needed && runs.last().is_none_or(|run| run.extent != *extent) {
                runs.push(Run { start, chunk, extent: *extent });
            }
            chunk = chunk.checked_add(*count)?;
            start = start.saturating_add(extent.saturating_mul(*count));
        }
        (length <= start && !runs.is_empty()).then_some(AxisEdges { runs })
    }

    /// The length of every chunk, where all have the same.
    pub(crate) fn common(&self) -> Option<u64> {
        match self.runs.as_slice() {
            [run] => Some(run.extent),
            _ => None,
        }
    }

    /// A length that does not divide into parts of `extent` elements, if there is one.
    pub(crate) fn not_a_multiple_of(&self, extent: u64) -> Option<u64> {
        self.runs.iter().map(|run| run.extent).find(|length| !length.is_multiple_of(extent))
    }

    /// The longest chunk.
    pub(crate) fn longest(&self) -> u64 {
        self.runs.iter().map(|run| run.extent).max().unwrap_or(1)
    }

    /// Chunks that hold the first `length` elements.
    pub(crate) fn count(&self, length: u64) -> u64 {
        length.checked_sub(1).map_or(0, |last| self.chunk_of(last).0.saturating_add(1))
    }

    /// The chunk that an element lies in, and the element's number there.
    pub(crate) fn chunk_of(&self, element: u64) -> (u64, u64) {
        let run = self.run_of(|run| run.start <= element);
        let (chunks, within) = ((element - run.start) / run.extent, (element - run.start) % run.extent);
        (run.chunk + chunks, within)
    }

    /// The elements of a chunk.
    pub(crate) fn elements(&self, chunk: u64) -> Range<u64> {
        let run = self.run_of(|run| run.chunk <= chunk);
        let start = run.start.saturating_add((chunk - run.chunk).saturating_mul(run.extent));
        start..start.saturating_add(run.extent)
    }

    /// Elements of a chunk.
    pub(crate) fn extent(&self, chunk: u64) -> u64 {
        self.run_of(|run| run.chunk <= chunk).extent
    }

    /// The last run of which something is true that is true of the first ones.
    fn run_of(&self, is_before: impl Fn(&Run) -> bool) -> Run {
        let after = self.runs.partition_point(is_before);
        // The first run starts with element 0 and chunk 0, so that there is one before any.
        self.runs.get(after.saturating_sub(1)).copied().unwrap_or(Run { start: 0, chunk: 0, extent: 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn elements_are_where_lists_have_them(
            lengths in prop::collection::vec((1u64..5, 1u64..4), 1..6), cut in 0u64..8,
        ) {
            let listed: Vec<u64> =
                lengths.iter().flat_map(|(extent, count)| vec![*extent; usize::try_from(*count).unwrap()]).collect();
            let length = listed.iter().sum::<u64>().saturating_sub(cut);
            let edges = AxisEdges::new(&lengths, length).unwrap();
            let mut element = 0;
            for (chunk, extent) in (0u64..).zip(&listed) {
                for within in (0..*extent).take_while(|within| element + within < length) {
                    prop_assert_eq!(edges.chunk_of(element + within), (chunk, within));
                    prop_assert_eq!(edges.elements(chunk), element..element + extent);
                    prop_assert_eq!(edges.extent(chunk), *extent);
                    prop_assert_eq!(edges.count(element + within + 1), chunk + 1);
                }
                element += extent;
            }
            prop_assert_eq!(edges.count(0), 0);
            let needed = usize::try_from(edges.count(length)).unwrap().max(1);
            prop_assert_eq!(edges.longest(), *listed[..needed].iter().max().unwrap());
            let first = (listed[..needed].iter().all(|extent| *extent == listed[0])).then_some(listed[0]);
            prop_assert_eq!(edges.common(), first);
        }
    }

    #[test]
    fn chunks_have_to_be_enough_and_not_empty() {
        assert!(AxisEdges::new(&[], 0).is_none());
        assert!(AxisEdges::new(&[(0, 1)], 0).is_none());
        assert!(AxisEdges::new(&[(3, 0)], 0).is_none());
        assert!(AxisEdges::new(&[(3, 2)], 7).is_none());
        assert!(AxisEdges::new(&[(3, u64::MAX), (1, 2)], 7).is_none());
        let edges = AxisEdges::new(&[(u64::MAX, 3), (2, 1)], u64::MAX).unwrap();
        assert_eq!((edges.common(), edges.count(u64::MAX)), (Some(u64::MAX), 1));
        assert_eq!(AxisEdges::new(&[(4, 1)], 0).unwrap().common(), Some(4));
    }
}
