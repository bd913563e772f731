//! Timing in turn: the contestants alternate, so that a machine that slows down slows all of them.

use std::time::{Duration, Instant};

/// One contestant: its name, and a pass that returns a checksum of what it read.
pub struct Contestant<'a> {
    /// What the table calls it.
    pub name: &'a str,
    /// One pass.
    pub pass: Box<dyn FnMut() -> u64 + 'a>,
}

/// Median, fastest and slowest pass of each contestant, after one pass each that does not count.
///
/// # Panics
///
/// When two contestants disagree about what they read.
pub fn in_turn(contestants: &mut [Contestant<'_>], passes: usize) -> Vec<[Duration; 3]> {
    let sums: Vec<u64> = contestants.iter_mut().map(|contestant| (contestant.pass)()).collect();
    for (contestant, sum) in contestants.iter().zip(&sums) {
        assert_eq!(sums[0], *sum, "{} and {} read different values", contestants[0].name, contestant.name);
    }
    let mut times = vec![Vec::with_capacity(passes); contestants.len()];
    for _ in 0..passes {
        for (contestant, times) in contestants.iter_mut().zip(&mut times) {
            let start = Instant::now();
            std::hint::black_box((contestant.pass)());
            times.push(start.elapsed());
        }
    }
    times.iter_mut().map(|times| summary(times)).collect()
}

fn summary(times: &mut [Duration]) -> [Duration; 3] {
    times.sort();
    [times[times.len() / 2], times[0], times[times.len() - 1]]
}

/// A checksum that costs little beside a read: every 61st word of the bytes.
pub fn checksum(bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks::<8>();
    let sampled = words.iter().step_by(61).map(|word| u64::from_le_bytes(*word));
    sampled.fold(0u64, |sum, word| sum.rotate_left(5).wrapping_add(word))
}
