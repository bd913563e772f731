//! A link of a certain width, shared by everything that holds it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How much of the time in which nothing was sent may be caught up with: the timer's tick of 1 ms, twice.
const CATCH_UP: Duration = Duration::from_millis(2);

/// Says when bytes have passed a link. Bytes pass one after the other, each at the link's rate.
#[derive(Debug)]
pub(crate) struct Rate {
    bytes_per_second: u64,
    free_at: Mutex<Option<Instant>>,
}

impl Rate {
    /// A link of so many bytes a second; zero is taken as one.
    pub(crate) fn new(bytes_per_second: u64) -> Rate {
        Rate { bytes_per_second: bytes_per_second.max(1), free_at: Mutex::new(None) }
    }

    /// Takes the link for `bytes` from `now` on, or from when it is free, and returns when the last byte has passed.
    pub(crate) fn reserve(&self, bytes: usize, now: Instant) -> Instant {
        let nanoseconds = u128::from(u64::try_from(bytes).unwrap_or(u64::MAX)) * 1_000_000_000
            / u128::from(self.bytes_per_second);
        let takes = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let earliest = now.checked_sub(CATCH_UP).unwrap_or(now);
        let start = free_at.map_or(now, |free_at| free_at.max(earliest));
        let end = start + takes;
        *free_at = Some(end);
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_pass_one_after_the_other() {
        let rate = Rate::new(1_000_000);
        let start = Instant::now();
        assert_eq!(rate.reserve(1000, start), start + Duration::from_millis(1));
        assert_eq!(rate.reserve(9000, start), start + Duration::from_millis(10));
        let later = start + Duration::from_secs(1);
        assert_eq!(rate.reserve(5000, later), later + Duration::from_millis(3));
    }
}
