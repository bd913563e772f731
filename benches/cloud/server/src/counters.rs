//! What went over the link.

use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the last `take`.
#[derive(Default)]
pub(crate) struct Counters {
    /// Requests, those for listings and those told to come back later included.
    pub(crate) requests: AtomicU64,
    /// Of those, listings.
    pub(crate) listings: AtomicU64,
    /// Of those, told to come back later.
    pub(crate) throttled: AtomicU64,
    /// Of those, for the end of an object whose length the client does not know.
    pub(crate) suffixes: AtomicU64,
    /// Bytes of bodies.
    pub(crate) body_bytes: AtomicU64,
    /// Bytes of all that was received and sent, without what TCP adds.
    pub(crate) wire_bytes: AtomicU64,
    /// Connections opened.
    pub(crate) connections: AtomicU64,
    in_flight: AtomicU64,
    in_flight_max: AtomicU64,
    rounds_ended: AtomicU64,
    rounds: AtomicU64,
}

impl Counters {
    /// Notes a request that has arrived. Returns how many are under way, and its round: the first is 1, and each
    /// request that arrives after the end of an answer is of a later round than that answer.
    pub(crate) fn arrive(&self) -> (u64, u64) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let in_flight = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        self.in_flight_max.fetch_max(in_flight, Ordering::Relaxed);
        let round = self.rounds_ended.load(Ordering::Acquire) + 1;
        self.rounds.fetch_max(round, Ordering::Relaxed);
        (in_flight, round)
    }

    /// Notes that the last byte of an answer is about to be handed to the client.
    pub(crate) fn end(&self, round: u64) {
        self.rounds_ended.fetch_max(round, Ordering::Release);
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    /// The counts, which start anew but for requests that are still under way.
    pub(crate) fn take(&self) -> Value {
        let take = |count: &AtomicU64| count.swap(0, Ordering::Relaxed);
        self.rounds_ended.store(0, Ordering::Relaxed);
        json!({
            "requests": take(&self.requests),
            "listings": take(&self.listings),
            "throttled": take(&self.throttled),
            "suffixes": take(&self.suffixes),
            "body_bytes": take(&self.body_bytes),
            "wire_bytes": take(&self.wire_bytes),
            "connections": take(&self.connections),
            "in_flight_max": take(&self.in_flight_max),
            "rounds": take(&self.rounds),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Counters;

    #[test]
    fn rounds_follow_one_another() {
        let counters = Counters::default();
        let (_, first) = counters.arrive();
        let (in_flight, second) = counters.arrive();
        assert_eq!((first, second, in_flight), (1, 1, 2));
        counters.end(first);
        let (_, third) = counters.arrive();
        assert_eq!(third, 2);
        counters.end(second);
        counters.end(third);
        assert_eq!(counters.arrive().1, 3);
        let counts = counters.take();
        assert_eq!(counts["rounds"], 3);
        assert_eq!(counts["in_flight_max"], 2);
        assert_eq!(counters.arrive().1, 1);
    }
}
