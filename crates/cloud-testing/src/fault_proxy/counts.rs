//! What went through a proxy.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Requests that are remembered one by one; later ones are only counted.
const SEEN_MAX: usize = 100_000;

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestSeen {
    /// Which one it is, from zero, since the proxy started.
    pub number: u64,
    /// `GET`, and so on.
    pub method: String,
    /// Path and query, as they were sent.
    pub path: String,
    /// The value of `Range`.
    pub range: Option<String>,
    /// The value of `If-Match`.
    pub if_match: Option<String>,
    /// Requests under way when it came, itself included.
    pub in_flight: u64,
}

/// What a proxy counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyCounts {
    /// Requests that came.
    pub requests: u64,
    /// Requests under way now.
    pub in_flight: u64,
    /// Most requests under way at once.
    pub in_flight_max: u64,
    /// Connections that clients opened.
    pub connections: u64,
    /// Connections that are open now.
    pub connections_open: u64,
    /// Most connections open at once.
    pub connections_max: u64,
    /// Bytes of requests, heads and bodies.
    pub bytes_to_server: u64,
    /// Bytes of answers, heads and bodies.
    pub bytes_to_clients: u64,
    /// Faults that were done, by name.
    pub faults: BTreeMap<&'static str, u64>,
    /// The first 100,000 requests.
    pub seen: Vec<RequestSeen>,
}

#[derive(Default)]
pub(super) struct Counts(Mutex<Counted>);

#[derive(Default)]
struct Counted {
    next: u64,
    counts: ProxyCounts,
}

impl Counts {
    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn read(&self) -> ProxyCounts {
        self.lock().counts.clone()
    }

    pub(super) fn reset(&self) {
        let counts = &mut self.lock().counts;
        let (in_flight, open) = (counts.in_flight, counts.connections_open);
        *counts = ProxyCounts {
            in_flight,
            in_flight_max: in_flight,
            connections_open: open,
            connections_max: open,
            ..ProxyCounts::default()
        };
    }

    pub(super) fn connection(&self) -> impl Drop + '_ {
        let counts = &mut self.lock().counts;
        counts.connections += 1;
        counts.connections_open += 1;
        counts.connections_max = counts.connections_max.max(counts.connections_open);
        AtEnd(self, |counts| counts.connections_open -= 1)
    }

    /// Gives a request its number, and counts it until the guard is dropped.
    pub(super) fn request(&self, mut seen: RequestSeen) -> (RequestSeen, impl Drop + '_) {
        let mut counted = self.lock();
        seen.number = counted.next;
        counted.next += 1;
        let counts = &mut counted.counts;
        counts.requests += 1;
        counts.in_flight += 1;
        counts.in_flight_max = counts.in_flight_max.max(counts.in_flight);
        seen.in_flight = counts.in_flight;
        if counts.seen.len() < SEEN_MAX {
            counts.seen.push(seen.clone());
        }
        (seen, AtEnd(self, |counts| counts.in_flight -= 1))
    }

    pub(super) fn fault(&self, name: &'static str) {
        *self.lock().counts.faults.entry(name).or_default() += 1;
    }

    pub(super) fn to_server(&self, bytes: usize) {
        self.lock().counts.bytes_to_server += u64::try_from(bytes).unwrap_or(u64::MAX);
    }

    pub(super) fn to_clients(&self, bytes: usize) {
        self.lock().counts.bytes_to_clients += u64::try_from(bytes).unwrap_or(u64::MAX);
    }
}

struct AtEnd<'c>(&'c Counts, fn(&mut ProxyCounts));

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        (self.1)(&mut self.0.lock().counts);
    }
}
