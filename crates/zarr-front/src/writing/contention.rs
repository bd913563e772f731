//! How often a change is tried anew that others were faster with, and after what pause.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Times that a change is tried.
pub(super) const TRIES_MAX: u32 = 32;

/// The longest pause, in milliseconds.
const PAUSE_MS_MAX: u64 = 64;

/// Waits before the try of this number, the first of which is 1: a random time, up to one that doubles each time, so that
/// writers that were in step are not in step again.
pub(super) fn pause(number: u32) {
    let longest = 1_000 * 1u64.checked_shl(number).unwrap_or(PAUSE_MS_MAX).min(PAUSE_MS_MAX);
    let random = RandomState::new().hash_one(number);
    std::thread::sleep(Duration::from_micros(random % longest));
}
