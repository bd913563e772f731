//! How much of what is asked for reaches the source, of late.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts requests, older ones less and less. What two threads do at once may be counted a little wrong: it is an estimate.
#[derive(Default)]
pub(super) struct Forecast {
    asked: AtomicU64,
    missed: AtomicU64,
}

impl Forecast {
    /// Requests that the cache answered.
    pub(super) fn hit(&self, requests: u64) {
        self.asked.fetch_add(requests, Ordering::Relaxed);
    }

    /// A request that the source answers, or a part of it.
    pub(super) fn missed(&self) {
        self.missed.fetch_add(1, Ordering::Relaxed);
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    /// Of so many requests to come, those that the source is going to answer, if they are as the last ones were: none before
    /// the first, which a cache with something in it may answer. What was counted so far counts half from then on.
    pub(super) fn expected(&self, requests: u64) -> u64 {
        let half = |count: &AtomicU64| {
            let before = count.load(Ordering::Relaxed);
            count.fetch_sub(before - before / 2, Ordering::Relaxed);
            before
        };
        let (asked, missed) = (half(&self.asked), half(&self.missed));
        let share = u128::from(requests) * u128::from(missed.min(asked)) / u128::from(asked.max(1));
        u64::try_from(share).unwrap_or(requests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_expected_is_the_share_that_was_missed_of_late() {
        let forecast = Forecast::default();
        assert_eq!(forecast.expected(1000), 0);
        (0..100).for_each(|_| forecast.missed());
        assert_eq!(forecast.expected(1000), 1000);
        forecast.hit(50);
        assert_eq!(forecast.expected(1000), 500);
        for _ in 0..10 {
            forecast.hit(100);
            forecast.expected(1000);
        }
        assert_eq!(forecast.expected(1000), 0);
        (0..300).for_each(|_| forecast.missed());
        assert!(700 < forecast.expected(1000));
        assert_eq!(forecast.expected(0), 0);
    }
}
