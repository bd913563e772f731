//! Large remote shards, cut by where their chunks are stored: what lies together is still read together, while several
//! lanes decode one shard. Pure.

use crate::compiled::Compiled;
use swath_ioengine::{ByteRange, Limits, storage_len};

/// When the wanted chunks of an object are cut into stretches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretches {
    chunk_bytes: u64,
    /// Objects of which no more bytes are wanted, decoded, are not cut.
    whole_bytes_max: u64,
    lanes: u64,
}

/// One stretch of an object: so many equal shares of its wanted bytes, in the order in which they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) number: u64,
    pub(crate) count: u64,
}

/// Decoded bytes of a stretch, at least: each is planned from all that is wanted of its object.
const STRETCH_BYTES_MIN: u64 = 4 << 20;

impl Stretches {
    /// `None` where no object is cut: where chunks are found through more than one index, each stretch would read them all.
    pub(crate) fn new(compiled: &Compiled, limits: &Limits) -> Option<Stretches> {
        let is_cut = compiled.levels.len() == 1 && 1 < limits.lanes;
        is_cut.then(|| Stretches {
            chunk_bytes: storage_len(compiled.chain.decoded_len()),
            whole_bytes_max: storage_len(limits.remote_merged_bytes_max),
            lanes: storage_len(limits.lanes),
        })
    }

    /// Decoded bytes of a stretch, where so many tiles are wanted of each object: a lane's share of them all, so that
    /// objects are cut only where they are too few to keep all lanes busy.
    pub(crate) fn bytes(&self, tile_counts: &[u64]) -> u64 {
        let tiles = tile_counts.iter().fold(0u64, |sum, tiles| sum.saturating_add(*tiles));
        (tiles.saturating_mul(self.chunk_bytes) / self.lanes.max(1)).max(STRETCH_BYTES_MIN)
    }

    /// Stretches of an object of which so many tiles are wanted, at so many bytes each: at least one.
    pub(crate) fn count(&self, tiles: u64, stretch_bytes: u64) -> u64 {
        let bytes = tiles.saturating_mul(self.chunk_bytes);
        if bytes <= self.whole_bytes_max {
            return 1;
        }
        (bytes / stretch_bytes.max(1)).clamp(1, self.lanes.max(1))
    }
}

impl Stretch {
    /// For each range, in the order given, whether it is of this stretch. Each is of exactly one.
    pub(crate) fn holds(&self, ranges: &[ByteRange]) -> Vec<bool> {
        let start = |range: &ByteRange| match range {
            ByteRange::Bounded { offset, .. } => *offset,
            ByteRange::Suffix { .. } | ByteRange::Whole { .. } => 0,
        };
        let total: u128 = ranges.iter().map(|range| u128::from(range.len_max())).sum();
        let mut order: Vec<usize> = (0..ranges.len()).collect();
        order.sort_unstable_by_key(|index| (start(&ranges[*index]), *index));
        let mut held = vec![false; ranges.len()];
        let mut before = 0u128;
        for index in order {
            let number = (before * u128::from(self.count)).checked_div(total).unwrap_or(0);
            held[index] = number.min(u128::from(self.count) - 1) == u128::from(self.number);
            before += u128::from(ranges[index].len_max());
        }
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn few_large_objects_are_cut_and_others_are_not() {
        let stretches = Stretches { chunk_bytes: 1 << 20, whole_bytes_max: 8 << 20, lanes: 4 };
        let counts = |tiles: &[u64]| -> Vec<u64> {
            let bytes = stretches.bytes(tiles);
            tiles.iter().map(|tiles| stretches.count(*tiles, bytes)).collect()
        };
        assert_eq!(counts(&[64]), [4]);
        assert_eq!(counts(&[8]), [1]);
        assert_eq!(counts(&[9]), [2]);
        assert_eq!(counts(&[64, 1, 1]), [3, 1, 1]);
        assert_eq!(counts(&[64; 4]), [1; 4]);
        assert_eq!(counts(&[u64::MAX, 0]), [4, 1]);
        assert_eq!(counts(&[]), [0; 0]);
    }

    proptest! {
        #[test]
        fn each_range_is_of_one_stretch_and_stretches_follow_one_another(
            ranges in prop::collection::vec((0u64..10_000, 0u64..500), 0..200),
            count in 1u64..9,
        ) {
            let ranges: Vec<ByteRange> =
                ranges.into_iter().map(|(offset, len)| ByteRange::Bounded { offset, len }).collect();
            let offset = |range: &ByteRange| match range {
                ByteRange::Bounded { offset, .. } => *offset,
                _ => 0,
            };
            let total: u64 = ranges.iter().map(|range| range.len_max()).sum();
            let mut times = vec![0; ranges.len()];
            let mut reached = 0;
            for number in 0..count {
                let held = Stretch { number, count }.holds(&ranges);
                let held: Vec<usize> = (0..ranges.len()).filter(|index| held[*index]).collect();
                for index in &held {
                    times[*index] += 1;
                    prop_assert!(reached <= offset(&ranges[*index]));
                }
                reached = held.iter().map(|index| offset(&ranges[*index])).max().unwrap_or(0).max(reached);
                let bytes: u64 = held.iter().map(|index| ranges[*index].len_max()).sum();
                prop_assert!(bytes <= total / count + 1 + 500);
            }
            prop_assert!(times.iter().all(|times| *times == 1));
        }
    }
}
