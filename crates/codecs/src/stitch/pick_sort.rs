//! Sorting runs by their chunk.

use super::picks::Run;

/// Sorts by chunk, runs of one chunk in the order that they have. Takes time in proportion to the runs, and memory for as
/// many more of them.
pub(super) fn sort_by_chunk(runs: &mut Vec<Run>) {
    let (mut low, mut high, mut previous, mut is_sorted) = (u64::MAX, 0, 0, true);
    for run in &*runs {
        let chunk = run.chunk();
        (low, high) = (low.min(chunk), high.max(chunk));
        is_sorted &= previous <= chunk;
        previous = chunk;
    }
    let Some(first) = runs.first().copied().filter(|_| !is_sorted) else { return };
    if runs.len() < RADIX_MIN {
        return runs.sort_by_key(Run::chunk);
    }
    let mut sorted = vec![first; runs.len()];
    let mut shift = 0;
    while shift < u64::BITS && (high - low) >> shift != 0 {
        scatter(runs, &mut sorted, |run| {
            // Masked to `DIGIT_BITS`, a digit fits.
            usize::try_from((run.chunk() - low) >> shift & (BUCKETS as u64 - 1)).unwrap_or(0)
        });
        std::mem::swap(runs, &mut sorted);
        shift += DIGIT_BITS;
    }
}

/// Copies the runs to where they belong by their digits.
fn scatter(runs: &[Run], sorted: &mut [Run], digit: impl Fn(&Run) -> usize) {
    // Fewer runs than 32 bits count: each of them has a target of its own.
    let mut starts = [0u32; BUCKETS];
    for run in runs {
        starts[digit(run)] += 1;
    }
    let mut start = 0;
    for bucket in &mut starts {
        start += std::mem::replace(bucket, start);
    }
    for run in runs {
        let start = &mut starts[digit(run)];
        sorted[*start as usize] = *run;
        *start += 1;
    }
}

/// Bits that are sorted by at a time. The counts of all digits, 8 KiB, fit a first-level cache.
const DIGIT_BITS: u32 = 11;
const BUCKETS: usize = 1 << DIGIT_BITS;

/// Fewer runs are sorted by comparing: counting digits alone would take longer. A guess.
const RADIX_MIN: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn digits_sort_as_comparing_does(
            low in prop_oneof![Just(0u64), any::<u64>()], span in 0u32..64, seed: u64, count in 0usize..3000,
        ) {
            let mut state = seed | 1;
            let mut runs: Vec<Run> = (0u32..)
                .take(count)
                .map(|target| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    Run::new(low.saturating_add((state >> 1) >> (63 - span)), 0, target)
                })
                .collect();
            let mut expected = runs.clone();
            expected.sort_by_key(Run::chunk);
            sort_by_chunk(&mut runs);
            prop_assert_eq!(runs, expected);
        }
    }
}
