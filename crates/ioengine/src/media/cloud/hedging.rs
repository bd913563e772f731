//! How many requests may be sent a second time because they are slow. Pure: time is passed in.

use std::time::Duration;

/// The allowance of one endpoint: one request in twenty, and none for a while after the server asked for fewer.
#[derive(Debug, Default)]
pub(super) struct HedgeAllowance {
    requests: u64,
    hedges: u64,
    throttled_at: Option<Duration>,
}

/// Requests for each one that may be sent a second time.
const REQUESTS_EACH: u64 = 20;

/// How long nothing is sent a second time after the server asked for fewer requests.
const QUIET: Duration = Duration::from_secs(30);

impl HedgeAllowance {
    /// A request was sent; second ones do not count.
    pub(super) fn sent(&mut self) {
        self.requests += 1;
    }

    /// The server asked for fewer requests.
    pub(super) fn throttled(&mut self, now: Duration) {
        self.throttled_at = Some(now);
    }

    /// True, and counted, when a request may be sent a second time now.
    pub(super) fn take(&mut self, now: Duration) -> bool {
        let quiet = self.throttled_at.is_some_and(|at| now < at + QUIET);
        let left = (self.hedges + 1).saturating_mul(REQUESTS_EACH) <= self.requests;
        let allowed = left && !quiet;
        self.hedges += u64::from(allowed);
        allowed
    }

    pub(super) fn hedges(&self) -> u64 {
        self.hedges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_twenty_and_none_while_the_server_throttles() {
        let mut allowance = HedgeAllowance::default();
        let second = Duration::from_secs;
        assert!(!allowance.take(second(0)));
        (0..100).for_each(|_| allowance.sent());
        allowance.throttled(second(10));
        assert!(!allowance.take(second(39)));
        assert_eq!((0..100).filter(|_| allowance.take(second(40))).count(), 5);
        assert_eq!(allowance.hedges(), 5);
    }
}
