//! Pauses before a request is sent again.

use crate::random::Random;
use std::time::Duration;

/// Draws pauses with full jitter ("Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
#[derive(Debug)]
pub(super) struct Backoff {
    random: Random,
    longest: Duration,
    max: Duration,
}

impl Backoff {
    pub(super) fn new(base: Duration, max: Duration, seed: u64) -> Backoff {
        Backoff { random: Random::new(seed), longest: base.min(max), max }
    }

    /// The next pause: evenly between nothing and a bound that doubles each time; at least what the server asked for.
    pub(super) fn next(&mut self, asked: Option<Duration>) -> Duration {
        let nanos = u64::try_from(self.longest.as_nanos()).unwrap_or(u64::MAX);
        let pause = Duration::from_nanos(self.random.below(nanos));
        self.longest = self.longest.saturating_mul(2).min(self.max);
        // Those whom the server asked for one and the same pause do not come back all at once.
        asked.map_or(pause, |asked| asked.saturating_add(pause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_within_their_bounds() {
        let (base, max) = (Duration::from_millis(100), Duration::from_secs(3));
        for seed in 0..100 {
            let mut backoff = Backoff::new(base, max, seed);
            for step in 0..20 {
                let bound = (base * (1 << step.min(10))).min(max);
                assert!(backoff.next(None) < bound);
            }
            let asked = Duration::from_secs(7);
            let pause = backoff.next(Some(asked));
            assert!(asked <= pause && pause < asked + max);
            let mut longest = Backoff::new(Duration::MAX, Duration::MAX, seed);
            assert!((0..3).all(|_| longest.next(Some(Duration::MAX)) == Duration::MAX));
        }
    }
}
