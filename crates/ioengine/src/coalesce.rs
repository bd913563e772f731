//! From wanted ranges to the reads that are issued: merging neighbours, splitting giants, aligning. Pure.

use crate::window::Merging;
use crate::{ByteRange, memory_len, storage_len};

/// One wanted range of an object whose size is known, or a bounded range of one whose size is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) offset: u64,
    pub(crate) len: usize,
    /// Index of the logical read in its window.
    pub(crate) read: u32,
    pub(crate) placement: Placement,
}

impl Part {
    /// The part and what it takes to make its ends multiples of `alignment`: the first byte, and how many.
    pub(crate) fn span(&self, alignment: u64) -> (u64, usize) {
        let before = memory_len(self.offset % alignment).unwrap_or(0);
        let len = self.len.saturating_add(before);
        let len = memory_len(alignment).ok().and_then(|alignment| len.checked_next_multiple_of(alignment));
        (self.offset - storage_len(before), len.unwrap_or(usize::MAX))
    }
}

/// Where a part's bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// Through a buffer: to the sink, or copied to their target.
    Buffered,
    /// Worth a read of its own that fills its target in the batch's output.
    Target,
}

/// A read to issue. It covers the parts `first_part..first_part + part_count`, or a share of one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PhysicalRead {
    pub(crate) range: ByteRange,
    pub(crate) first_part: u32,
    pub(crate) part_count: u32,
    pub(crate) share: Share,
}

impl PhysicalRead {
    /// The first byte, for a bounded range.
    pub(crate) fn offset(&self) -> u64 {
        match self.range {
            ByteRange::Bounded { offset, .. } => offset,
            ByteRange::Suffix { .. } | ByteRange::Whole { .. } => 0,
        }
    }
}

/// Whether a physical read covers whole parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// It covers its parts whole.
    Whole,
    /// It is a share of a split part, `at` bytes from where the first share starts: at the part's start, or that of the
    /// block which the part starts in.
    Split {
        /// Index of the split in its window.
        split: u32,
        /// Bytes from the first share's start.
        at: usize,
    },
}

/// What [`coalesce`] may do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MergePolicy {
    pub(crate) gap_bytes_max: u64,
    pub(crate) merged_bytes_max: usize,
    pub(crate) merged_parts_max: usize,
    pub(crate) split_bytes: usize,
    /// Bounds what is read over beside what is wanted; `None` where only the width of each gap counts.
    pub(crate) bridged: Option<BridgedShare>,
    /// Offsets and lengths of issued reads are multiples of this many bytes: a power of two, of which `split_bytes` is a
    /// multiple. 1 for reads through the page cache.
    pub(crate) alignment: u64,
}

impl MergePolicy {
    /// Makes the policy what a window asks for.
    #[inline]
    pub(crate) fn merge(&mut self, merging: Merging) {
        match merging {
            Merging::ByCost => {}
            Merging::Across(bytes) => (self.gap_bytes_max, self.bridged) = (bytes, None),
            Merging::Never => self.merged_parts_max = 1,
        }
    }
}

/// How many bytes may be read over to save requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BridgedShare {
    /// Of a hundred wanted bytes.
    pub(crate) percent: u64,
    /// However little is wanted.
    pub(crate) bytes: u64,
}

impl BridgedShare {
    fn bytes_max(&self, wanted: u64) -> u64 {
        let share = u128::from(wanted) * u128::from(self.percent) / 100;
        u64::try_from(share).unwrap_or(u64::MAX).max(self.bytes)
    }
}

/// Appends the reads that cover `parts` to `reads`, and to `splits`, for each split part, its index and the number of
/// its shares. Sorts `parts` by offset.
pub(crate) fn coalesce(
    parts: &mut [Part],
    policy: &MergePolicy,
    reads: &mut Vec<PhysicalRead>,
    splits: &mut Vec<(u32, u32)>,
) {
    if !parts.is_sorted_by_key(|part| part.offset) {
        parts.sort_unstable_by_key(|part| (part.offset, part.read));
    }
    match &policy.bridged {
        None => merge(parts, policy, &mut Narrow { gap_bytes_max: policy.gap_bytes_max }, reads, splits),
        Some(share) => merge_bounded(parts, policy, share, reads, splits),
    }
}

/// [`merge`] of reads of a network, out of the way of those that take no longer than their plan.
#[inline(never)]
fn merge_bounded(
    parts: &[Part],
    policy: &MergePolicy,
    share: &BridgedShare,
    reads: &mut Vec<PhysicalRead>,
    splits: &mut Vec<(u32, u32)>,
) {
    merge(parts, policy, &mut Bounded::new(parts, policy, share), reads, splits);
}

/// Merges parts that are sorted by offset, over the gaps that `bridges` takes.
#[inline]
fn merge(
    parts: &[Part],
    policy: &MergePolicy,
    bridges: &mut impl Bridges,
    reads: &mut Vec<PhysicalRead>,
    splits: &mut Vec<(u32, u32)>,
) {
    let mut first = 0;
    while first < parts.len() {
        let run = run_len(&parts[first..], policy, bridges);
        if run == 1 && policy.split_bytes < parts[first].len {
            split(&parts[first], part_index(first), policy, reads, splits);
        } else {
            reads.push(covering(&parts[first..first + run], part_index(first), policy.alignment));
        }
        bridges.pass(&parts[first..first + run]);
        first += run;
    }
}

/// How many of the leading parts one read covers: at least one.
#[inline]
fn run_len(parts: &[Part], policy: &MergePolicy, bridges: &mut impl Bridges) -> usize {
    let first = &parts[0];
    if first.placement == Placement::Target {
        return 1;
    }
    let mut end = first.offset + storage_len(first.len);
    let mut run = 1;
    for part in &parts[1..] {
        let part_end = part.offset + storage_len(part.len);
        let joins = part.placement == Placement::Buffered
            && run < policy.merged_parts_max
            && bridges.may_take(end, part.offset)
            && end.max(part_end) - first.offset <= storage_len(policy.merged_bytes_max)
            && bridges.take(end, part.offset);
        if !joins {
            break;
        }
        end = end.max(part_end);
        run += 1;
    }
    run
}

/// Which gaps are read over.
trait Bridges {
    /// False where the gap from `end` to `offset` is not read over, whatever else is.
    fn may_take(&self, end: u64, offset: u64) -> bool;
    /// Whether to read from `end` on to `offset`, which it may; that counts as done.
    fn take(&mut self, end: u64, offset: u64) -> bool;
    /// Notes that these parts are read.
    fn pass(&mut self, parts: &[Part]);
}

/// All gaps that cost less than another request.
struct Narrow {
    gap_bytes_max: u64,
}

impl Bridges for Narrow {
    #[inline]
    fn may_take(&self, end: u64, offset: u64) -> bool {
        offset.saturating_sub(end) <= self.gap_bytes_max
    }

    #[inline]
    fn take(&mut self, _: u64, _: u64) -> bool {
        true
    }

    #[inline]
    fn pass(&mut self, _: &[Part]) {}
}

/// Of those, as many as leave what is read over a share of what is wanted.
struct Bounded {
    /// Gaps of fewer bytes all are.
    below: u64,
    /// So many of those of exactly as many bytes are.
    equal: usize,
    /// Where the reads before this one end.
    reached: u64,
}

impl Bounded {
    /// Each gap that is read over saves one request, whatever its width: the narrowest are taken.
    fn new(parts: &[Part], policy: &MergePolicy, share: &BridgedShare) -> Bounded {
        let (wanted, mut gaps) = gaps(parts, policy.gap_bytes_max);
        let mut left = share.bytes_max(wanted);
        gaps.sort_unstable();
        for same in gaps.chunk_by(|a, b| a == b) {
            let (gap, count) = (same[0], storage_len(same.len()));
            let affordable = left / gap;
            if affordable < count {
                let equal = usize::try_from(affordable).unwrap_or(usize::MAX);
                return Bounded { below: gap, equal, reached: 0 };
            }
            left -= gap * count;
        }
        Bounded { below: policy.gap_bytes_max.saturating_add(1), equal: 0, reached: 0 }
    }
}

impl Bridges for Bounded {
    fn may_take(&self, _: u64, _: u64) -> bool {
        true
    }

    /// What an earlier read covers is no gap between what is wanted, and was not counted as one: it is not read again.
    fn take(&mut self, end: u64, offset: u64) -> bool {
        let gap = offset.saturating_sub(end);
        if gap < self.below {
            return gap == 0 || self.reached <= end;
        }
        if gap != self.below || self.equal == 0 || end < self.reached {
            return false;
        }
        self.equal -= 1;
        true
    }

    fn pass(&mut self, parts: &[Part]) {
        let ends = parts.iter().map(|part| part.offset.saturating_add(storage_len(part.len)));
        self.reached = ends.fold(self.reached, u64::max);
    }
}

/// The bytes that parts cover, and the gaps between them of at most `gap_bytes_max` bytes. Parts are sorted by offset.
fn gaps(parts: &[Part], gap_bytes_max: u64) -> (u64, Vec<u64>) {
    let (mut wanted, mut end, mut gaps) = (0, 0, Vec::new());
    for part in parts {
        let part_end = part.offset.saturating_add(storage_len(part.len));
        let gap = part.offset.saturating_sub(end);
        if wanted != 0 && gap != 0 && gap <= gap_bytes_max {
            gaps.push(gap);
        }
        wanted += part_end.saturating_sub(end.max(part.offset));
        end = end.max(part_end);
    }
    (wanted, gaps)
}

fn covering(parts: &[Part], first_part: u32, alignment: u64) -> PhysicalRead {
    let end = parts.iter().map(|part| part.offset + storage_len(part.len)).max().unwrap_or(0);
    PhysicalRead {
        range: aligned(parts[0].offset, end, alignment),
        first_part,
        part_count: part_index(parts.len()),
        share: Share::Whole,
    }
}

fn split(
    part: &Part,
    index: u32,
    policy: &MergePolicy,
    reads: &mut Vec<PhysicalRead>,
    splits: &mut Vec<(u32, u32)>,
) {
    let split = part_index(splits.len());
    let mut shares = 0;
    let (start, len) = part.span(policy.alignment);
    for at in (0..len).step_by(policy.split_bytes) {
        let len = policy.split_bytes.min(len - at);
        let range = ByteRange::Bounded { offset: start + storage_len(at), len: storage_len(len) };
        reads.push(PhysicalRead {
            range,
            first_part: index,
            part_count: 1,
            share: Share::Split { split, at },
        });
        shares += 1;
    }
    splits.push((index, shares));
}

fn aligned(offset: u64, end: u64, alignment: u64) -> ByteRange {
    let start = offset - offset % alignment;
    let end = end.checked_next_multiple_of(alignment).unwrap_or(end);
    ByteRange::Bounded { offset: start, len: end - start }
}

/// Windows are bounded far below `u32::MAX` parts; beyond that the index saturates and the lane refuses the window.
fn part_index(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const POLICY: MergePolicy = MergePolicy {
        gap_bytes_max: 100,
        merged_bytes_max: 1000,
        merged_parts_max: 4,
        split_bytes: 2000,
        bridged: None,
        alignment: 1,
    };

    fn part(offset: u64, len: usize, read: u32) -> Part {
        Part { offset, len, read, placement: Placement::Buffered }
    }

    fn planned(parts: &mut [Part], policy: &MergePolicy) -> Vec<(u64, u64, u32)> {
        let (mut reads, mut splits) = (Vec::new(), Vec::new());
        coalesce(parts, policy, &mut reads, &mut splits);
        reads.iter().map(|read| (read.offset(), read.range.len_max(), read.part_count)).collect()
    }

    /// Bytes that the parts of an unsplit read cover.
    fn union_len(parts: &[Part], read: &PhysicalRead) -> u64 {
        match read.share {
            Share::Whole => gaps(&parts[read.first_part as usize..][..read.part_count as usize], 0).0,
            Share::Split { .. } => 0,
        }
    }

    #[test]
    fn neighbours_merge_and_wide_gaps_part() {
        let mut parts = [part(300, 50, 0), part(0, 100, 1), part(200, 50, 2), part(900, 10, 3)];
        assert_eq!(planned(&mut parts, &POLICY), [(0, 350, 3), (900, 10, 1)]);
    }

    #[test]
    fn duplicates_and_overlaps_are_read_once() {
        let mut parts = [part(0, 100, 0), part(0, 100, 1), part(50, 100, 2)];
        assert_eq!(planned(&mut parts, &POLICY), [(0, 150, 3)]);
    }

    #[test]
    fn parts_and_bytes_are_capped() {
        let mut parts: Vec<Part> = (0..6).map(|index| part(u64::from(index) * 10, 10, index)).collect();
        assert_eq!(planned(&mut parts, &POLICY), [(0, 40, 4), (40, 20, 2)]);
        let mut parts = [part(0, 600, 0), part(600, 600, 1)];
        assert_eq!(planned(&mut parts, &POLICY), [(0, 600, 1), (600, 600, 1)]);
    }

    #[test]
    fn giants_split_and_parts_with_targets_stay_alone() {
        let (mut reads, mut splits) = (Vec::new(), Vec::new());
        coalesce(&mut [part(5, 4500, 0)], &POLICY, &mut reads, &mut splits);
        let shares: Vec<_> =
            reads.iter().map(|read| (read.offset(), read.range.len_max(), read.share)).collect();
        assert_eq!(
            shares,
            [
                (5, 2000, Share::Split { split: 0, at: 0 }),
                (2005, 2000, Share::Split { split: 0, at: 2000 }),
                (4005, 500, Share::Split { split: 0, at: 4000 }),
            ]
        );
        assert_eq!(splits, [(0, 3)]);
        let placed = Part { placement: Placement::Target, ..part(10, 10, 1) };
        assert_eq!(
            planned(&mut [part(0, 10, 0), placed, part(20, 10, 2)], &POLICY),
            [(0, 10, 1), (10, 10, 1), (20, 10, 1)]
        );
    }

    #[test]
    fn the_narrowest_gaps_are_bridged_up_to_a_share_of_what_is_wanted() {
        let share = |percent, bytes| MergePolicy {
            bridged: Some(BridgedShare { percent, bytes }),
            merged_parts_max: 100,
            ..POLICY
        };
        // 400 bytes wanted; gaps of 60, 20, 30.
        let mut parts = [part(0, 100, 0), part(160, 100, 1), part(280, 100, 2), part(410, 100, 3)];
        assert_eq!(planned(&mut parts, &share(25, 0)), [(0, 100, 1), (160, 350, 3)]);
        assert_eq!(planned(&mut parts, &share(5, 0)), [(0, 100, 1), (160, 220, 2), (410, 100, 1)]);
        assert_eq!(planned(&mut parts, &share(5, 110)), [(0, 510, 4)]);
        assert_eq!(planned(&mut parts, &share(0, 0)).len(), 4);
        // Of gaps of one width, as many as fit.
        let mut parts: Vec<Part> = (0..11).map(|index| part(u64::from(index) * 30, 20, index)).collect();
        let lens: Vec<u32> = planned(&mut parts, &share(25, 0)).iter().map(|read| read.2).collect();
        assert_eq!(lens, [6, 1, 1, 1, 1, 1]);
        // What touches or overlaps is read together at no cost.
        let mut parts = [part(0, 100, 0), part(100, 100, 1), part(150, 100, 2)];
        assert_eq!(planned(&mut parts, &share(0, 0)), [(0, 250, 3)]);
    }

    #[test]
    fn aligned_reads_cover_their_parts() {
        let policy = MergePolicy { alignment: 512, split_bytes: 2048, ..POLICY };
        assert_eq!(planned(&mut [part(700, 100, 0)], &policy), [(512, 512, 1)]);
        assert_eq!(
            planned(&mut [part(700, 4000, 0)], &policy),
            [(512, 2048, 1), (2560, 2048, 1), (4608, 512, 1)]
        );
    }

    proptest! {
        #[test]
        fn every_part_is_covered_once_within_the_bounds(
            ranges in prop::collection::vec((0u64..5000, 0usize..3000), 1..60),
            gap in 0u64..300,
            parts_max in 1usize..8,
            shift in 0u32..10,
            percent in prop::option::of(0u64..200),
        ) {
            let policy = MergePolicy {
                gap_bytes_max: gap, merged_parts_max: parts_max, alignment: 1 << shift, split_bytes: 2048,
                bridged: percent.map(|percent| BridgedShare { percent, bytes: 50 }), ..POLICY
            };
            let mut parts: Vec<Part> = ranges.iter().enumerate()
                .map(|(index, (offset, len))| part(*offset, *len, u32::try_from(index).unwrap())).collect();
            let (mut reads, mut splits) = (Vec::new(), Vec::new());
            coalesce(&mut parts, &policy, &mut reads, &mut splits);
            let mut covered = vec![0usize; parts.len()];
            for read in &reads {
                let start = read.offset();
                let end = start + read.range.len_max();
                let first = read.first_part as usize;
                for (index, part) in parts.iter().enumerate().skip(first).take(read.part_count as usize) {
                    match read.share {
                        Share::Whole => {
                            prop_assert!(start <= part.offset);
                            prop_assert!(part.offset + part.len as u64 <= end);
                            prop_assert!(start % policy.alignment == 0 && end % policy.alignment == 0);
                            covered[index] += part.len;
                        }
                        Share::Split { at, .. } => {
                            let (span_start, span_len) = part.span(policy.alignment);
                            prop_assert_eq!(start, span_start + at as u64);
                            prop_assert!(end <= span_start + span_len as u64);
                            prop_assert!(start % policy.alignment == 0 && end % policy.alignment == 0);
                            let part_end = part.offset + part.len as u64;
                            let wanted = end.min(part_end) - start.max(part.offset);
                            covered[index] += usize::try_from(wanted).unwrap();
                        }
                    }
                }
                let bytes: usize = parts[first..first + read.part_count as usize].iter().map(|part| part.len).sum();
                let slack = bytes as u64 + gap * u64::from(read.part_count) + 2 * policy.alignment;
                prop_assert!(end - start <= slack);
                prop_assert!(read.part_count as usize <= parts_max);
            }
            if let Some(percent) = percent && shift == 0 {
                let (wanted, _) = gaps(&parts, u64::MAX);
                let sent: u64 = reads.iter().map(|read| union_len(&parts, read)).sum();
                let issued: u64 = reads.iter().filter(|read| read.share == Share::Whole)
                    .map(|read| read.range.len_max()).sum();
                prop_assert!(issued - sent <= (wanted * percent / 100).max(50), "{issued} for {sent}");
            }
            for (part, covered) in parts.iter().zip(covered) {
                prop_assert_eq!(part.len, covered);
            }
        }
    }
}
