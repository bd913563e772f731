//! A remote source that is none: objects in memory behind a latency, a bandwidth and seeded faults.

use crate::engine::lock;
use crate::media::memory::list_keys;
use crate::medium::{Entry, Medium, MediumId, ObjectRef, RemoteSource};
use crate::random::Random;
use crate::remote::{FetchRequest, Fetched, Reply};
use crate::writing::check_condition;
use crate::{
    ByteRange, CostModel, Error, ErrorKind, Identity, PutCondition, RemoteStats, memory_len, storage_len,
};
use bytes::Bytes;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How a [`SimulatedRemote`] behaves.
#[derive(Clone, Debug)]
pub struct SimulatedConfig {
    /// Time from a request to its answer.
    pub latency: Duration,
    /// Up to this much more, uniformly.
    pub jitter: Duration,
    /// Bytes a second of each answer; `None` for no limit.
    pub bytes_per_second: Option<u64>,
    /// Requests of a thousand that fail as [`Unavailable`](ErrorKind::Unavailable).
    pub unavailable_per_mille: u32,
    /// Requests of a thousand that are never answered: their reply is dropped.
    pub dropped_per_mille: u32,
    /// What it says that requests and bytes cost.
    pub cost: CostModel,
    /// When requests are answered.
    pub answers: Answers,
    /// Seed of jitter and faults.
    pub seed: u64,
}

/// When a [`SimulatedRemote`] answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answers {
    /// Each request after its own latency, jitter and transfer.
    #[default]
    EachInTime,
    /// All together, once none came for the latency: what is asked for without waiting for another answer is one round,
    /// however slowly it is asked. For counting round trips.
    InRounds,
}

impl Default for SimulatedConfig {
    fn default() -> SimulatedConfig {
        SimulatedConfig {
            latency: Duration::from_millis(2),
            jitter: Duration::from_millis(1),
            bytes_per_second: None,
            unavailable_per_mille: 0,
            dropped_per_mille: 0,
            cost: CostModel { request_cost_ns: 10_000.0, byte_cost_ns: 0.1 },
            answers: Answers::EachInTime,
            seed: 1,
        }
    }
}

/// A remote source for tests, and for planning what this machine does not have. Its one thread stops with its last
/// clone.
#[derive(Clone)]
pub struct SimulatedRemote(Arc<Remote>);

struct Remote {
    id: MediumId,
    config: SimulatedConfig,
    objects: Mutex<BTreeMap<Arc<str>, (Bytes, Identity)>>,
    network: Arc<Network>,
}

struct Network {
    state: Mutex<NetworkState>,
    changed: Condvar,
}

struct NetworkState {
    random: Random,
    writes: u64,
    requests: u64,
    /// Bytes of bodies answered.
    bytes: u64,
    /// Times that a request came while none was pending.
    rounds: u64,
    listings: u64,
    /// Most requests pending at once.
    pending_max: usize,
    pending: BinaryHeap<Reverse<Pending>>,
    stop: bool,
}

struct Pending {
    due: Instant,
    number: u64,
    answer: Option<(Reply, Result<Fetched, Error>)>,
}

impl PartialEq for Pending {
    fn eq(&self, other: &Pending) -> bool {
        self.number == other.number
    }
}

impl Eq for Pending {}

impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Pending) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pending {
    fn cmp(&self, other: &Pending) -> std::cmp::Ordering {
        (self.due, self.number).cmp(&(other.due, other.number))
    }
}

impl SimulatedRemote {
    /// A source without objects.
    ///
    /// # Errors
    ///
    /// [`Io`](ErrorKind::Io) where its thread cannot be started.
    pub fn new(config: SimulatedConfig) -> Result<SimulatedRemote, Error> {
        let state = NetworkState {
            random: Random::new(config.seed),
            writes: 0,
            requests: 0,
            bytes: 0,
            rounds: 0,
            listings: 0,
            pending_max: 0,
            pending: BinaryHeap::new(),
            stop: false,
        };
        let network = Arc::new(Network { state: Mutex::new(state), changed: Condvar::new() });
        let answering = Arc::clone(&network);
        std::thread::Builder::new()
            .name("swath-simulated".to_owned())
            .spawn(move || answering.answer())
            .map_err(Error::from_io)?;
        let remote = Remote { id: MediumId::unique(), config, objects: Mutex::default(), network };
        Ok(SimulatedRemote(Arc::new(remote)))
    }

    /// Writes an object; its entity tag changes.
    pub fn put(&self, key: &str, bytes: impl Into<Bytes>) {
        let tag = self.0.next_tag();
        lock(&self.0.objects).insert(Arc::from(key), (bytes.into(), tag));
    }

    /// Requests received so far.
    pub fn requests(&self) -> u64 {
        lock(&self.0.network.state).requests
    }

    /// Listings asked for so far, which are not among the requests.
    pub fn listings(&self) -> u64 {
        lock(&self.0.network.state).listings
    }

    /// Times that a request came while none was pending: where answers come [in rounds](Answers::InRounds), the round trips
    /// that were waited for.
    pub fn rounds(&self) -> u64 {
        lock(&self.0.network.state).rounds
    }

    /// The medium, as arrays and batches take it.
    pub fn medium(&self) -> Medium {
        Medium::Remote(Arc::clone(&self.0) as Arc<dyn RemoteSource>)
    }

    /// A reference to the object `key`, whether it exists or not.
    pub fn object(&self, key: &str) -> ObjectRef {
        ObjectRef { medium: self.medium(), key: Arc::from(key) }
    }
}

impl Remote {
    fn next_tag(&self) -> Identity {
        let mut state = lock(&self.network.state);
        state.writes += 1;
        Identity::Tag(Arc::from(format!("\"{}\"", state.writes)))
    }

    fn look_up(&self, request: &FetchRequest) -> Result<Fetched, Error> {
        let found = lock(&self.objects).get(&request.key).cloned();
        let (bytes, identity) =
            found.ok_or_else(|| Error::new(ErrorKind::NotFound, "no such object (404)"))?;
        if request.if_match.as_ref().is_some_and(|wanted| *wanted != identity) {
            return Err(Error::new(ErrorKind::Changed, format!("the object is now {identity:?} (412)")));
        }
        let (offset, len) = request.range.resolve(storage_len(bytes.len()))?;
        let (offset, len) = (memory_len(offset)?, memory_len(len)?);
        Ok(Fetched { bytes: bytes.slice(offset..offset + len), identity: Some(identity) })
    }

    fn transfer(&self, range: ByteRange) -> Duration {
        let rate = self.config.bytes_per_second.unwrap_or(0);
        let ns = range.len_max().saturating_mul(1_000_000_000).checked_div(rate);
        Duration::from_nanos(ns.unwrap_or(0))
    }
}

impl RemoteSource for Remote {
    fn id(&self) -> MediumId {
        self.id
    }

    fn describe(&self) -> String {
        format!("simulated remote, {:?} latency", self.config.latency)
    }

    fn cost(&self) -> CostModel {
        self.config.cost
    }

    fn fetch(&self, request: FetchRequest, reply: Reply) {
        let transfer = self.transfer(request.range);
        let mut result = self.look_up(&request);
        let mut state = lock(&self.network.state);
        state.requests += 1;
        state.rounds += u64::from(state.pending.is_empty());
        let jitter_ns = u64::try_from(self.config.jitter.as_nanos()).unwrap_or(u64::MAX);
        let jitter = Duration::from_nanos(state.random.below(jitter_ns));
        if state.random.chance(self.config.unavailable_per_mille) {
            result = Err(Error::new(ErrorKind::Unavailable, "injected: service unavailable (503)"));
        }
        state.bytes += result.as_ref().map_or(0, |fetched| storage_len(fetched.bytes.len()));
        let answer =
            if state.random.chance(self.config.dropped_per_mille) { None } else { Some((reply, result)) };
        let due = Instant::now() + self.config.latency + jitter + transfer;
        let number = state.requests;
        state.pending.push(Reverse(Pending { due, number, answer }));
        state.pending_max = state.pending_max.max(state.pending.len());
        if self.config.answers == Answers::InRounds {
            state.hold_round(due);
        }
        drop(state);
        self.network.changed.notify_one();
    }

    fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        lock(&self.network.state).listings += 1;
        let objects = lock(&self.objects);
        Ok(list_keys(objects.iter().map(|(key, (bytes, _))| (key.as_ref(), bytes.len())), prefix))
    }

    fn put(&self, key: &str, bytes: Bytes, condition: &PutCondition) -> Result<Option<Identity>, Error> {
        let mut objects = lock(&self.objects);
        check_condition(condition, objects.get(key).map(|(_, identity)| identity))?;
        let identity = self.next_tag();
        objects.insert(Arc::from(key), (bytes, identity.clone()));
        Ok(Some(identity))
    }

    fn delete(&self, key: &str) -> Result<(), Error> {
        lock(&self.objects).remove(key);
        Ok(())
    }

    fn stats(&self) -> RemoteStats {
        let state = lock(&self.network.state);
        RemoteStats {
            requests: state.requests,
            bytes_received: state.bytes,
            in_flight: storage_len(state.pending.len()),
            in_flight_max: storage_len(state.pending_max),
            ..RemoteStats::default()
        }
    }
}

impl NetworkState {
    /// Takes the answers that are due, all of a round at once: what is asked for on their account is another round.
    fn take_due(&mut self, now: Instant) -> Vec<(Reply, Result<Fetched, Error>)> {
        let mut answers = Vec::new();
        while self.pending.peek().is_some_and(|Reverse(pending)| pending.due <= now) {
            answers.extend(self.pending.pop().and_then(|Reverse(pending)| pending.answer));
        }
        answers
    }

    /// Holds all answers until `due`.
    fn hold_round(&mut self, due: Instant) {
        let held = std::mem::take(&mut self.pending).into_iter();
        self.pending = held.map(|Reverse(pending)| Reverse(Pending { due, ..pending })).collect();
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        lock(&self.network.state).stop = true;
        self.network.changed.notify_one();
    }
}

impl Network {
    /// Answers requests when they are due, until stopped; what is pending then is dropped, which answers it.
    fn answer(&self) {
        let mut state = lock(&self.state);
        while !state.stop {
            let now = Instant::now();
            let due = state.pending.peek().map(|Reverse(pending)| pending.due);
            state = match due {
                Some(due) if due <= now => {
                    let answers = state.take_due(now);
                    drop(state);
                    for (reply, result) in answers {
                        reply.complete(result);
                    }
                    lock(&self.state)
                }
                Some(due) => {
                    self.changed.wait_timeout(state, due - now).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}
