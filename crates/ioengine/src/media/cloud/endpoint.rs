//! What all sources of one endpoint share: turns, costs, counters.

use super::concurrency::{Bounds, Usage};
use super::cost_estimate::{Completed, CostEstimate};
use super::failure::{Failure, TroubleKind};
use super::first_bytes::FirstBytes;
use super::hedging::HedgeAllowance;
use super::limiter::{Limiter, Load, Turn};
use crate::engine::lock;
use crate::{CostModel, RemoteStats};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// A service, by scheme, host and port.
#[derive(Debug)]
pub(super) struct Endpoint {
    name: Arc<str>,
    epoch: Instant,
    limiter: Limiter,
    learned: Mutex<Learned>,
    requests: AtomicU64,
    bytes_received: AtomicU64,
    retries: AtomicU64,
    resumed: AtomicU64,
    throttled: AtomicU64,
    seeds: AtomicU64,
}

#[derive(Debug, Default)]
struct Learned {
    costs: CostEstimate,
    first_bytes: FirstBytes,
    hedges: HedgeAllowance,
}

impl Endpoint {
    pub(super) fn new(name: Arc<str>, bounds: Bounds) -> Endpoint {
        Endpoint {
            name,
            epoch: Instant::now(),
            limiter: Limiter::new(bounds),
            learned: Mutex::default(),
            requests: AtomicU64::new(0),
            bytes_received: AtomicU64::new(0),
            retries: AtomicU64::new(0),
            resumed: AtomicU64::new(0),
            throttled: AtomicU64::new(0),
            seeds: AtomicU64::new(first_seed()),
        }
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Waits for the right to send a request.
    pub(super) async fn turn(&self) -> Turn {
        self.limiter.turn().await
    }

    /// How many more requests would be under way at once, if they were sent now: as many as may be, and no more than are sent
    /// in the time that an answer takes.
    pub(super) fn room(&self) -> usize {
        self.limiter.room()
    }

    pub(super) fn costs(&self) -> CostModel {
        lock(&self.learned).costs.costs()
    }

    /// True where answers begin within [`NEAR`], which those from other buildings do not.
    pub(super) fn is_near(&self) -> bool {
        self.limiter.quickest().is_some_and(|quickest| quickest < NEAR)
    }

    /// Connections of one request each that so many fetches keep busy: some of them are merged, and answered before others
    /// are sent. Near servers answer before a connection more would be of use.
    pub(super) fn connections_for(&self, fetches: u64) -> usize {
        let connections = usize::try_from(fetches / FETCHES_A_CONNECTION).unwrap_or(usize::MAX);
        let is_small = connections < CONNECTIONS_AHEAD_MIN;
        if is_small || self.is_near() { 0 } else { connections.min(self.limiter.limit()) }
    }

    /// A seed that no other operation of the process has.
    pub(super) fn seed(&self) -> u64 {
        self.seeds.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_retry(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_resumed(&self) {
        self.resumed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_bytes(&self, bytes: usize) {
        self.bytes_received.fetch_add(crate::storage_len(bytes), Ordering::Relaxed);
    }

    /// A request of a fetch was sent, in its first try.
    pub(super) fn sent(&self) {
        lock(&self.learned).hedges.sent();
    }

    /// The first byte of the answer to a request of `started` came.
    pub(super) fn answered(&self, started: Instant) -> Load {
        lock(&self.learned).first_bytes.note(started.elapsed());
        self.limiter.answered(started)
    }

    /// The whole body of `bytes` came, that began to at `first_byte`.
    pub(super) fn completed(&self, load: Load, first_byte: Instant, bytes: usize) {
        let now = self.epoch.elapsed();
        lock(&self.learned).costs.completed(Completed {
            now,
            bytes,
            body: first_byte.elapsed(),
            in_flight: load.in_flight,
            is_full: load.usage == Usage::Full,
            quickest: load.quickest,
        });
    }

    /// Learns from a failure: servers that ask for fewer requests get fewer.
    pub(super) fn note_failure(&self, failure: &Failure, started: Instant) {
        if let Failure::Again(trouble) = failure
            && trouble.kind == TroubleKind::Throttled
        {
            self.throttled.fetch_add(1, Ordering::Relaxed);
            self.limiter.throttled(started);
            lock(&self.learned).hedges.throttled(self.epoch.elapsed());
        }
    }

    /// How long an answer may take before it counts as late; `None` before that is known.
    pub(super) fn late(&self) -> Option<Duration> {
        lock(&self.learned).first_bytes.late()
    }

    /// A turn for a second request, where one may be sent now.
    pub(super) fn hedge(&self) -> Option<Turn> {
        let turn = self.limiter.turn_now()?;
        let allowed = lock(&self.learned).hedges.take(self.epoch.elapsed());
        allowed.then_some(turn)
    }

    /// What was counted, without what connections count.
    pub(super) fn stats(&self) -> RemoteStats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let standing = self.limiter.standing();
        let learned = lock(&self.learned);
        let measured = learned.costs.measured();
        RemoteStats {
            endpoint: Arc::clone(&self.name),
            requests: get(&self.requests),
            bytes_received: get(&self.bytes_received),
            retries: get(&self.retries),
            resumed: get(&self.resumed),
            hedges: learned.hedges.hedges(),
            throttled: get(&self.throttled),
            in_flight: crate::storage_len(standing.in_flight),
            in_flight_max: crate::storage_len(standing.in_flight_max),
            concurrency: crate::storage_len(standing.limit),
            concurrency_history: standing.history,
            first_byte: learned.first_bytes.summary(),
            request_cost_ns: measured.map_or(0.0, |costs| costs.request_cost_ns),
            byte_cost_ns: measured.map_or(0.0, |costs| costs.byte_cost_ns),
            ..RemoteStats::default()
        }
    }
}

/// Seconds. Object stores of providers take several milliseconds to answer even from the same zone, and a round trip between
/// zones alone takes about one.
const NEAR: f64 = 0.001;

/// Fetches that one connection is made ready for: so that few are made in vain where most of what is expected is merged.
/// Chosen, not measured.
const FETCHES_A_CONNECTION: u64 = 4;

/// Fewer are not made ahead: what the first requests leave idle is nearly enough.
const CONNECTIONS_AHEAD_MIN: usize = 8;

/// Seeds of pauses differ from process to process: clients that were refused together shall not come back together.
fn first_seed() -> u64 {
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::from(std::process::id()) << 32 ^ u64::from(clock.subsec_nanos())
}
