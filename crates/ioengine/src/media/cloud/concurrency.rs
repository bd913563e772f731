//! How many requests may be under way at once: learned from what answers take. Pure: time is passed in.

use std::time::Duration;

/// Bounds of the number of requests under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) min: usize,
    pub(super) initial: usize,
    pub(super) max: usize,
}

/// The limit of one endpoint.
///
/// Up to [`DOUBLED_MAX`] it doubles each round trip until there is a reason to stop; else it grows by about its square root. It
/// grows only while it is used. It stops growing when answers take twice as long as the quickest did and [`SLACK`] more: requests then
/// wait in a queue somewhere (the link's, the server's), and more of them would only wait longer. From four times on it
/// shrinks by a tenth, and by three tenths when the server asks for fewer requests; once a round trip each.
///
/// What the quickest answer takes may change for good. So, once in [`PROBE_EVERY`] in which no answer came near it, the limit
/// is a quarter for a round trip, and what answers take then is what counts from there on.
#[derive(Debug)]
pub(super) struct Concurrency {
    bounds: Bounds,
    limit: f64,
    /// Until the first sign of a queue the limit doubles each round trip.
    doubling: bool,
    /// What the quickest answers take.
    quickest: Option<f64>,
    /// When an answer last came near `quickest`.
    near_quickest_at: Duration,
    /// What answers take now: a moving average.
    recent: f64,
    /// Requests that started before this do not shrink the limit: they knew nothing of the last time it shrank.
    shrunk_at: Option<Duration>,
    probe: Option<Probe>,
}

#[derive(Debug)]
struct Probe {
    since: Duration,
    until: Duration,
    quickest: Option<f64>,
}

/// An answer whose first byte came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered {
    pub(super) started: Duration,
    pub(super) now: Duration,
    /// Whether the limit held back other requests, or nearly did, when this one was under way.
    pub(super) usage: Usage,
}

/// How much of the limit is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usage {
    /// Four fifths or more.
    Full,
    Partial,
}

/// Answers that take no longer than twice the quickest and this much are no sign of a queue: on a fast network, work on
/// either end varies by as much.
const SLACK: f64 = 0.005;

/// Limits from here on grow slowly: each connection more takes a round trip and some work to make, and reads of a thousand
/// requests were slower where the limit doubled from 256 (docs/decisions/0013-cloud-reads.md).
const DOUBLED_MAX: f64 = 256.0;

/// Seconds of a processor that a request takes, from its fetch to the last byte of a short answer: 20 to 40 us were measured
/// (docs/decisions/0013-cloud-reads.md).
pub(super) const SENDING: f64 = 25e-6;

/// How long the quickest answer counts without another one near it.
const PROBE_EVERY: Duration = Duration::from_secs(30);

const THROTTLED_FACTOR: f64 = 0.7;
const QUEUED_FACTOR: f64 = 0.9;
const PROBE_FACTOR: f64 = 0.25;

impl Concurrency {
    pub(super) fn new(bounds: Bounds) -> Concurrency {
        Concurrency {
            bounds,
            limit: bounds.initial as f64,
            doubling: true,
            quickest: None,
            near_quickest_at: Duration::ZERO,
            recent: 0.0,
            shrunk_at: None,
            probe: None,
        }
    }

    /// Requests that may be under way now.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded by two usize")]
    pub(super) fn limit(&self) -> usize {
        let limit = if self.probe.is_some() { self.limit * PROBE_FACTOR } else { self.limit };
        (limit as usize).clamp(self.bounds.min, self.bounds.max)
    }

    /// What the first byte of an answer takes when nothing queues, in seconds; `None` before the first answer.
    pub(super) fn quickest(&self) -> Option<f64> {
        self.quickest
    }

    /// Requests that can be sent before the first of them is answered: more of them are not under way at once.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a bounded, positive number")]
    pub(super) fn useful(&self) -> usize {
        let sent = self.quickest.map_or(f64::MAX, |quickest| quickest / SENDING);
        sent.min(self.bounds.max as f64) as usize
    }

    /// True when answers take so long that requests must be waiting in a queue.
    fn is_queueing(&self) -> bool {
        self.quickest.is_some_and(|quickest| 2.0 * quickest + SLACK < self.recent)
    }

    /// The first byte of an answer came.
    pub(super) fn answered(&mut self, answered: Answered) {
        let Answered { started, now, usage } = answered;
        let took = now.saturating_sub(started).as_secs_f64();
        self.learn(took, started, now);
        if self.probe.is_some() {
            return;
        }
        let Some(quickest) = self.quickest else { return };
        if 4.0 * quickest + 2.0 * SLACK < self.recent {
            self.shrink(started, now, QUEUED_FACTOR);
        } else if self.is_queueing() {
            self.doubling = false;
        } else if usage == Usage::Full {
            self.grow();
        }
    }

    /// The server asked for fewer requests.
    pub(super) fn throttled(&mut self, started: Duration, now: Duration) {
        self.shrink(started, now, THROTTLED_FACTOR);
    }

    fn grow(&mut self) {
        let doubles = self.doubling && self.limit < DOUBLED_MAX;
        let step = if doubles { 1.0 } else { 1.0 / self.limit.max(1.0).sqrt() };
        self.limit = (self.limit + step).min(self.bounds.max as f64);
    }

    fn shrink(&mut self, started: Duration, now: Duration, factor: f64) {
        self.doubling = false;
        if self.shrunk_at.is_some_and(|shrunk| started < shrunk) {
            return;
        }
        self.shrunk_at = Some(now);
        self.limit = (self.limit * factor).max(self.bounds.min as f64);
    }

    fn learn(&mut self, took: f64, started: Duration, now: Duration) {
        let Some(quickest) = self.quickest else {
            (self.quickest, self.recent, self.near_quickest_at) = (Some(took), took, now);
            return;
        };
        // An average over about as many answers as are under way: one round trip.
        let weight = (2.0 / (self.limit + 1.0)).clamp(0.01, 0.25);
        self.recent += weight * (took - self.recent);
        self.quickest = Some(quickest.min(took));
        if took <= 1.25 * quickest + SLACK / 2.0 {
            self.near_quickest_at = now;
        }
        match &mut self.probe {
            Some(probe) if started < probe.since => {}
            Some(probe) => {
                probe.quickest = Some(probe.quickest.map_or(took, |quickest| quickest.min(took)));
                if probe.until <= now {
                    self.end_probe(now);
                }
            }
            None if self.near_quickest_at + PROBE_EVERY <= now => {
                // What is under way drains first, which takes a round trip; the next one is the probe.
                let round = Duration::from_secs_f64(self.recent);
                let since = now + round;
                self.probe = Some(Probe { since, until: since + round, quickest: None });
            }
            None => {}
        }
    }

    fn end_probe(&mut self, now: Duration) {
        if let Some(probe) = self.probe.take() {
            self.near_quickest_at = now;
            self.shrunk_at = Some(now);
            self.quickest = probe.quickest.or(self.quickest);
            self.recent = self.quickest.unwrap_or(self.recent);
        }
    }
}

#[cfg(test)]
mod tests;
