//! What becomes of an answer of the source.

use super::catalog::Kept;
use super::disk::{Insert, Job, Record};
use super::flights::{Ask, Flight, Purpose, share};
use super::object::{Dropped, Object, State, Version, now_ns, place};
use super::source::Front;
use crate::{ByteRange, Error, ErrorKind, Fetched, memory_len, storage_len};
use bytes::Bytes;
use std::sync::Arc;

impl Front {
    /// Keeps what an answer brought, and answers all who share it.
    pub(super) fn land(self: &Arc<Front>, object: &Arc<Object>, number: u64, result: Result<Fetched, Error>) {
        let mut dropped = Dropped::default();
        let has_disk = self.tier.disk.is_some();
        let copy = result.as_ref().ok().and_then(|found| self.tier.catalog.copy(&found.bytes, has_disk));
        let mut state = object.lock();
        let Some(flight) = state.flights.land(number) else { return };
        let kept = match &result {
            Ok(fetched) => self.learn(&mut state, &flight, (fetched, copy), &mut dropped),
            Err(error) => {
                if shows_another(&state, &flight, error) {
                    state.drop_ranges(&mut dropped);
                }
                Vec::new()
            }
        };
        let version = state.version.clone();
        drop(state);
        self.tier.catalog.settle(dropped);
        self.tier.catalog.admit(object, &kept);
        let stored = self.store(object, version, kept);
        object.let_go_if_empty();
        match &self.tier.disk {
            Some(disk) if stored => {
                let front = Arc::clone(self);
                disk.when_caught_up(Box::new(move || front.answer(flight, result)));
            }
            _ => self.answer(flight, result),
        }
    }

    /// Takes note of what an answer says of the object, and keeps its bytes.
    fn learn(
        &self,
        state: &mut State,
        flight: &Flight,
        (fetched, copy): (&Fetched, Option<Bytes>),
        dropped: &mut Dropped,
    ) -> Vec<Kept> {
        let catalog = &self.tier.catalog;
        catalog.counts.bytes_from_source.add(storage_len(fetched.bytes.len()));
        // Written to since: nobody knows whether the answer is of before.
        if flight.generation != state.generation {
            return Vec::new();
        }
        if fetched.identity.is_none() && !catalog.keeps_unnamed() {
            state.drop_ranges(dropped);
            return Vec::new();
        }
        let current = state.learn(fetched.identity.as_ref(), flight.asked_ns, dropped);
        let found = storage_len(fetched.bytes.len());
        let sound = match flight.range {
            ByteRange::Bounded { len, .. } => found == len,
            ByteRange::Suffix { len } | ByteRange::Whole { len_max: len } => found <= len,
        };
        if !current || !sound || found == 0 || flight.purpose == Purpose::Check {
            return Vec::new();
        }
        let known = state.version.as_ref().and_then(|version| version.size);
        let place = place(flight.range, known, &fetched.bytes);
        catalog.keep(state, place, copy.as_ref().unwrap_or(&fetched.bytes), self.tier.disk.is_some())
    }

    /// Hands ranges to the writer. True where there were some.
    fn store(&self, object: &Arc<Object>, version: Option<Version>, kept: Vec<Kept>) -> bool {
        let (Some(disk), Some(version)) = (&self.tier.disk, version) else { return false };
        let any = !kept.is_empty();
        for Kept { start, id, bytes, .. } in kept {
            let record = Record {
                medium: self.table.name.to_string(),
                key: object.key.to_string(),
                identity: version.identity.clone(),
                start,
                len: storage_len(bytes.len()),
                size: version.size,
                confirmed_ns: version.confirmed_ns,
            };
            let job = Job::Write(Box::new(Insert { object: Arc::clone(object), id, bytes, record }));
            if disk.put(job).is_err() {
                self.tier.catalog.counts.drops.add(1);
                let mut state = object.lock();
                if let Some(extent) = state.extents.get_mut(start, id) {
                    extent.queued = None;
                    state.extents.drop_unheld(start);
                }
            }
        }
        any
    }

    /// Has what is stored of an object not count any more, for processes that open the folder later as well.
    pub(super) fn forget_stored(&self, key: &Arc<str>) {
        let Some(disk) = &self.tier.disk else { return };
        let record = Record {
            medium: self.table.name.to_string(),
            key: key.to_string(),
            identity: None,
            start: 0,
            len: 0,
            size: None,
            confirmed_ns: now_ns(),
        };
        if disk.put(Job::Drop(Box::new(record))).is_err() {
            tracing::warn!("the cache is closing: a write to an object is not noted in its folder");
        }
    }

    fn answer(self: &Arc<Front>, flight: Flight, result: Result<Fetched, Error>) {
        let Flight { wanted: brought, if_match, purpose, waiters, .. } = flight;
        for (index, (ask, wanted)) in waiters.into_iter().enumerate() {
            let same = index == 0 || wanted == brought && ask.request.if_match == if_match;
            match (&result, purpose) {
                (Ok(fetched), Purpose::Bytes) => {
                    let place = share(brought, wanted, storage_len(fetched.bytes.len()));
                    let asked = ask.request.if_match == if_match;
                    match piece(fetched, place, &ask).filter(|_| asked || is_named(fetched, &ask)) {
                        Some(answer) => ask.reply.complete(answer),
                        None => self.again(ask, None),
                    }
                }
                (Ok(fetched), Purpose::Check) => self.again(ask, Some(fetched)),
                (Err(error), Purpose::Check) if error.kind() == ErrorKind::Changed => self.again(ask, None),
                (Err(error), _) if error.kind() == ErrorKind::Cancelled && index != 0 => {
                    self.again(ask, None)
                }
                (Err(error), Purpose::Bytes) if same => ask.reply.complete(Err(error.clone())),
                (Err(error), Purpose::Check) => ask.reply.complete(Err(error.clone())),
                (Err(_), Purpose::Bytes) => self.again(ask, None),
            }
        }
    }

    /// Begins a request anew; one that nobody waits for any more ends here.
    fn again(self: &Arc<Front>, ask: Ask, confirmed: Option<&Fetched>) {
        if ask.request.cancelled.is_raised() {
            let error = Error::new(ErrorKind::Cancelled, "cancelled while it waited for another request");
            return ask.reply.complete(Err(error));
        }
        let confirmed = confirmed.map(|fetched| fetched.identity.clone());
        self.begin(Ask { tries: ask.tries + 1, confirmed, ..ask });
    }
}

/// True where an error says that the cached version is not there any more.
fn shows_another(state: &State, flight: &Flight, error: &Error) -> bool {
    let Some(version) = &state.version else { return false };
    let asked_for = flight.if_match.is_some() && flight.if_match == version.identity;
    let newer = version.confirmed_ns <= flight.asked_ns && flight.generation == state.generation;
    match error.kind() {
        ErrorKind::Changed => asked_for && newer,
        ErrorKind::NotFound => newer,
        _ => false,
    }
}

/// False where a version is wanted and the answer does not say which it is of.
fn is_named(fetched: &Fetched, ask: &Ask) -> bool {
    ask.request.if_match.is_none() || fetched.identity.is_some()
}

/// A waiter's part of an answer; `None` where the answer does not have it.
fn piece(fetched: &Fetched, place: Option<(u64, u64)>, ask: &Ask) -> Option<Result<Fetched, Error>> {
    if let (Some(wanted), Some(found)) = (&ask.request.if_match, &fetched.identity)
        && wanted != found
    {
        let message = format!("the object was {wanted:?} and is {found:?}");
        return Some(Err(Error::new(ErrorKind::Changed, message)));
    }
    let (from, len) = place?;
    let (from, len) = (memory_len(from).ok()?, memory_len(len).ok()?);
    let bytes = (from + len <= fetched.bytes.len()).then(|| fetched.bytes.slice(from..from + len))?;
    Some(Ok(Fetched { bytes, identity: fetched.identity.clone() }))
}
