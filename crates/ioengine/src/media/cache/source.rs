//! A remote source with a cache in front: what becomes of a request.

use super::assembly::Assembly;
use super::disk::CameFrom;
use super::extents::Part;
use super::flights::{Ask, Departure, Purpose};
use super::forecast::Forecast;
use super::object::{Dropped, Object, State, Wanted, now_ns};
use super::table::Table;
use super::tier::{Generations, Tier};
use crate::per_process::PerProcess;
use crate::{
    AtHand, ByteRange, CostModel, Entry, Error, ErrorKind, FetchRequest, Fetched, Freshness, Identity,
    MediumId, PutCondition, RemoteSource, RemoteStats, Reply, storage_len,
};
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// A source with a cache in front.
pub(super) struct CachedSource {
    generations: Arc<Generations>,
    source: Arc<dyn RemoteSource>,
    /// The user's; `None` for the source's own.
    name: Option<Arc<str>>,
    /// `None` where the source has no name. Of the connection that is in use: a forked child has another.
    fronts: PerProcess<Option<Arc<Front>>>,
}

/// One process's cache in front of one source.
pub(super) struct Front {
    pub(super) tier: Arc<Tier>,
    pub(super) table: Arc<Table>,
    pub(super) source: Arc<dyn RemoteSource>,
    pub(super) forecast: Forecast,
}

/// After so many beginnings a request is the source's, as if there were no cache.
pub(super) const TRIES_MAX: u32 = 3;

/// Requests for parts of one: more are not worth their bookkeeping.
const GAPS_MAX: usize = 16;

/// What is to be done about a request, once its object's lock is released.
enum Step {
    /// Somebody else's request will bring it.
    Shared,
    /// The source's alone.
    Pass(Ask),
    /// A request of that number is to be sent.
    Send { object: Arc<Object>, number: u64, request: FetchRequest },
    /// From these parts, the missing ones from the source.
    Serve { object: Arc<Object>, ask: Ask, identity: Option<Identity>, parts: Vec<Part> },
}

impl CachedSource {
    pub(super) fn new(
        generations: Arc<Generations>,
        source: Arc<dyn RemoteSource>,
        name: Option<&str>,
    ) -> CachedSource {
        CachedSource { generations, source, name: name.map(Arc::from), fronts: PerProcess::new() }
    }

    /// What answers in this process; nothing where the source has no name, or none that can be had now: it then says why
    /// when it is asked for bytes.
    fn front(&self) -> Option<&Arc<Front>> {
        let make = || {
            let name = match &self.name {
                Some(name) => Some(Arc::clone(name)),
                None => self.source.lasting_name()?,
            };
            let tier = Arc::clone(self.generations.current());
            let (source, forecast) = (Arc::clone(&self.source), Forecast::default());
            let front = |table| Arc::new(Front { tier, table, source, forecast });
            Ok(name.map(|name| front(self.generations.current().catalog.table(&name))))
        };
        self.fronts.get(make).ok()?.as_ref()
    }

    fn invalidate(&self, key: &str) {
        if let Some(front) = self.front() {
            front.invalidate(&Arc::from(key));
        }
    }
}

impl RemoteSource for CachedSource {
    fn id(&self) -> MediumId {
        self.source.id()
    }

    fn describe(&self) -> String {
        let config = self.generations.config();
        let files = config.folder.as_ref().map_or(String::new(), |folder| {
            format!(" and {} bytes of files in {}", config.disk_bytes, folder.display())
        });
        let memory = config.memory_bytes;
        format!("{}, behind a cache of {memory} bytes of memory{files}", self.source.describe())
    }

    fn lasting_name(&self) -> Result<Option<Arc<str>>, Error> {
        self.source.lasting_name()
    }

    fn cost(&self) -> CostModel {
        self.source.cost()
    }

    /// As many of them as are likely to be missed here.
    fn expect(&self, fetches: u64) {
        let expected = self.front().map_or(fetches, |front| front.expected(fetches));
        self.source.expect(expected);
    }

    fn is_near(&self) -> bool {
        self.source.is_near()
    }

    fn at_hand(
        &self,
        key: &Arc<str>,
        identity: Option<&Identity>,
        ranges: &mut dyn Iterator<Item = ByteRange>,
    ) -> Option<Box<dyn AtHand + '_>> {
        let held = self.front()?.held(key, identity, ranges)?;
        Some(Box::new(held))
    }

    fn fetch(&self, request: FetchRequest, reply: Reply) {
        match self.front() {
            Some(front) => front.begin(Ask::new(request, reply)),
            None => self.source.fetch(request, reply),
        }
    }

    fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        self.source.list(prefix)
    }

    fn size(&self, key: &str) -> Result<u64, Error> {
        self.source.size(key)
    }

    fn put(&self, key: &str, bytes: Bytes, condition: &PutCondition) -> Result<Option<Identity>, Error> {
        let result = self.source.put(key, bytes, condition);
        // Also where it failed: it may have been written all the same.
        self.invalidate(key);
        result
    }

    fn delete(&self, key: &str) -> Result<(), Error> {
        let result = self.source.delete(key);
        self.invalidate(key);
        result
    }

    fn delete_version(&self, key: &str, version: &Identity) -> Result<(), Error> {
        let result = self.source.delete_version(key, version);
        self.invalidate(key);
        result
    }

    fn stats(&self) -> RemoteStats {
        self.source.stats()
    }
}

impl Front {
    /// Of so many fetches, those that the source is likely to be asked for: all where nothing is cached.
    fn expected(&self, fetches: u64) -> u64 {
        let expected = self.forecast.expected(fetches);
        if self.table.is_empty() { fetches } else { expected }
    }

    /// Answers a request from the cache, or has the source answer it.
    pub(super) fn begin(self: &Arc<Front>, ask: Ask) {
        if TRIES_MAX <= ask.tries {
            return self.source.fetch(ask.request, ask.reply);
        }
        let key = Arc::clone(&ask.request.key);
        match self.table.with(&key, |object, state| self.decide(object, state, ask)) {
            Step::Shared => {}
            Step::Pass(ask) => {
                self.table.object(&key).let_go_if_empty();
                self.source.fetch(ask.request, ask.reply);
            }
            Step::Send { object, number, request } => {
                let front = Arc::clone(self);
                let landed = move |result| front.land(&object, number, result);
                self.source.fetch(request, Reply::calling(landed));
            }
            Step::Serve { object, ask, identity, parts } => self.serve(&object, ask, identity, parts),
        }
    }

    fn decide(&self, object: &Arc<Object>, state: &mut State, mut ask: Ask) -> Step {
        let counts = &self.tier.catalog.counts;
        let Some(wanted) = state.locate(ask.request.range) else { return Step::Pass(ask) };
        let Some((identity, parts)) = self.find(state, wanted, &ask) else {
            return self.send(object, state, Purpose::Bytes, ask);
        };
        let config = &self.tier.config;
        let whole = !parts.iter().any(Part::is_missing);
        let fresh = state.is_fresh(config.freshness, config.check_interval)
            || ask.confirmed.as_ref().is_some_and(|confirmed| *confirmed == identity);
        if whole && !fresh {
            return self.send(object, state, Purpose::Check, ask);
        }
        if !std::mem::replace(&mut ask.counted, true) {
            if whole {
                self.forecast.hit(1)
            } else {
                self.forecast.missed()
            }
            counts.hits.add(u64::from(whole));
            counts.misses.add(u64::from(!whole));
            counts.partial.add(u64::from(!whole));
        }
        Step::Serve { object: Arc::clone(object), ask, identity, parts }
    }

    /// The parts of what is wanted, where enough of it is cached of the wanted version.
    fn find(&self, state: &mut State, wanted: Wanted, ask: &Ask) -> Option<(Option<Identity>, Vec<Part>)> {
        let Wanted::Run { start, len } = wanted else { return None };
        let identity = state.version.as_ref()?.identity.clone();
        if ask.request.if_match.is_some() && ask.request.if_match != identity {
            return None;
        }
        let parts = state.extents.cover(start, len);
        let gaps = parts.iter().filter(|part| part.is_missing()).count();
        if gaps == 0 {
            return Some((identity, parts));
        }
        let pays = gaps < parts.len() && gaps <= GAPS_MAX && self.pays(&parts, gaps);
        (pays && !wanted.is_tail() && ask.tries == 0).then_some((identity, parts))
    }

    /// Whether the parts that are missing cost less than all of them in one request.
    fn pays(&self, parts: &[Part], gaps: usize) -> bool {
        let cost = self.source.cost();
        let cached = |part: &Part| match part {
            Part::Memory(bytes) => storage_len(bytes.len()),
            Part::Disk { len, .. } => *len,
            Part::Missing { .. } => 0,
        };
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let (saved, more) = (parts.iter().map(cached).sum::<u64>() as f64, (gaps - 1) as f64);
        more * cost.request_cost_ns <= saved * cost.byte_cost_ns
    }

    /// Shares a request under way, or notes a new one.
    fn send(&self, object: &Arc<Object>, state: &mut State, purpose: Purpose, mut ask: Ask) -> Step {
        let counts = &self.tier.catalog.counts;
        if purpose == Purpose::Bytes && !std::mem::replace(&mut ask.counted, true) {
            self.forecast.missed();
            counts.misses.add(1);
        }
        let now = now_ns();
        let ask = match state.flights.join(purpose, self.oldest_ns(now), ask) {
            Ok(()) => {
                counts.shared.add(1);
                return Step::Shared;
            }
            Err(ask) => *ask,
        };
        let (range, if_match) = match purpose {
            Purpose::Bytes => (ask.request.range, ask.request.if_match.clone()),
            Purpose::Check => {
                counts.checks.add(1);
                let known = state.version.as_ref().and_then(|version| version.identity.clone());
                (one_byte_of(ask.request.range), known)
            }
        };
        let request = FetchRequest {
            key: Arc::clone(&ask.request.key),
            range,
            if_match: if_match.clone(),
            cancelled: ask.request.cancelled.clone(),
        };
        let generation = state.generation;
        let departure = Departure { range, if_match, asked_ns: now, generation, purpose };
        let number = state.flights.depart(departure, ask);
        Step::Send { object: Arc::clone(object), number, request }
    }

    /// When a request must have been sent for its answer to be new enough for one of now.
    fn oldest_ns(&self, now: u64) -> u64 {
        let config = &self.tier.config;
        let age = match config.freshness {
            Freshness::Immutable => Duration::MAX,
            Freshness::Ttl(limit) => limit,
            Freshness::Checked => config.check_interval,
        };
        now.saturating_sub(u64::try_from(age.as_nanos()).unwrap_or(u64::MAX))
    }

    fn serve(
        self: &Arc<Front>,
        object: &Arc<Object>,
        ask: Ask,
        identity: Option<Identity>,
        mut parts: Vec<Part>,
    ) {
        if let [Part::Memory(bytes)] = parts.as_mut_slice() {
            let bytes = std::mem::take(bytes);
            self.tier.catalog.counts.bytes_from_memory.add(storage_len(bytes.len()));
            return ask.reply.complete(Ok(Fetched { bytes, identity }));
        }
        let (front, version) = (Arc::clone(self), identity.clone());
        let (key, cancelled) = (Arc::clone(&ask.request.key), ask.request.cancelled.clone());
        let answer = move |result: Result<Bytes, Error>| match result {
            Ok(bytes) => ask.reply.complete(Ok(Fetched { bytes, identity: version })),
            Err(error) if error.kind() == ErrorKind::Changed => {
                front.begin(Ask { tries: ask.tries + 1, confirmed: None, ..ask });
            }
            Err(error) => ask.reply.complete(Err(error)),
        };
        let assembly = Assembly::new(parts.len(), Box::new(answer));
        for (index, part) in parts.into_iter().enumerate() {
            let assembly = Arc::clone(&assembly);
            match part {
                Part::Memory(bytes) => {
                    self.tier.catalog.counts.bytes_from_memory.add(storage_len(bytes.len()));
                    assembly.put(index, Ok(bytes));
                }
                Part::Missing { start, len } => {
                    let identity = identity.clone();
                    let range = ByteRange::Bounded { offset: start, len };
                    let (key, cancelled) = (Arc::clone(&key), cancelled.clone());
                    let request = FetchRequest { key, range, if_match: identity.clone(), cancelled };
                    let reply =
                        Reply::calling(move |result| assembly.put(index, fitting(result, &identity, len)));
                    self.begin(Ask::part(request, reply));
                }
                Part::Disk { .. } => self.read(object, part, move |result| assembly.put(index, result)),
            }
        }
    }

    /// Reads a part from its file. What is lost there is dropped, and counts as changed.
    fn read(
        self: &Arc<Front>,
        object: &Arc<Object>,
        part: Part,
        then: impl FnOnce(Result<Bytes, Error>) + Send + 'static,
    ) {
        let lost = || Error::new(ErrorKind::Changed, "a cached range was lost");
        let (Part::Disk { start, id, stored, skip, len, whole }, Some(disk)) = (part, &self.tier.disk) else {
            return then(Err(lost()));
        };
        let (front, object) = (Arc::clone(self), Arc::clone(object));
        let whole = whole && stored.is_all(len);
        disk.read(stored, (skip, len), move |found| {
            let catalog = &front.tier.catalog;
            let Some((bytes, came_from)) = found else {
                catalog.lose(&object, start, id);
                return then(Err(lost()));
            };
            catalog.counts.bytes_from_disk.add(len);
            if whole && came_from == CameFrom::Device {
                catalog.promote(&object, start, id, &bytes);
            }
            then(Ok(bytes));
        });
    }

    /// Drops what is cached of an object that was written to.
    fn invalidate(&self, key: &Arc<str>) {
        let mut dropped = Dropped::default();
        self.tier.catalog.note_written(&self.table.name, key, now_ns());
        let object = self.table.with(key, |object, state| {
            state.invalidate(&mut dropped);
            Arc::clone(object)
        });
        dropped.changes = 0;
        self.tier.catalog.settle(dropped);
        self.forget_stored(key);
        object.let_go_if_empty();
    }
}

/// The bytes of a part that was fetched, if they are of the version and as many as wanted.
fn fitting(result: Result<Fetched, Error>, identity: &Option<Identity>, len: u64) -> Result<Bytes, Error> {
    let fetched = result?;
    if fetched.identity != *identity {
        let message = format!("the object was {identity:?} and is {:?}", fetched.identity);
        return Err(Error::new(ErrorKind::Changed, message));
    }
    let found = storage_len(fetched.bytes.len());
    if found != len {
        return Err(Error::new(ErrorKind::Io, format!("the medium answered {found} bytes of {len}")));
    }
    Ok(fetched.bytes)
}

/// The first byte of a range, or the object's last.
fn one_byte_of(range: ByteRange) -> ByteRange {
    match range {
        ByteRange::Bounded { offset, .. } => ByteRange::Bounded { offset, len: 1 },
        ByteRange::Suffix { .. } | ByteRange::Whole { .. } => ByteRange::Suffix { len: 1 },
    }
}
