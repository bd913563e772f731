//! Requests to the source that are under way for an object, and who shares them.

use super::object::Wanted;
use crate::{ByteRange, FetchRequest, Identity, Reply};

/// Requests that may share one to the source; further ones get their own.
const WAITERS_MAX: usize = 1024;

/// Somebody's request, with the way back.
pub(super) struct Ask {
    pub(super) request: FetchRequest,
    pub(super) reply: Reply,
    /// The version that a check found to be current after this was asked for.
    pub(super) confirmed: Option<Option<Identity>>,
    /// How often it was begun anew, because what it relied on had gone.
    pub(super) tries: u32,
    /// Whether it is counted already, or a part of one that is.
    pub(super) counted: bool,
}

impl Ask {
    pub(super) fn new(request: FetchRequest, reply: Reply) -> Ask {
        Ask { request, reply, confirmed: None, tries: 0, counted: false }
    }

    /// A part of another's request.
    pub(super) fn part(request: FetchRequest, reply: Reply) -> Ask {
        Ask { counted: true, ..Ask::new(request, reply) }
    }
}

/// One request to the source.
pub(super) struct Flight {
    pub(super) number: u64,
    /// What the source was asked for.
    pub(super) range: ByteRange,
    pub(super) wanted: Wanted,
    pub(super) if_match: Option<Identity>,
    pub(super) asked_ns: u64,
    pub(super) generation: u64,
    /// A check brings one byte, which is not for its waiters: they begin anew, with what it found.
    pub(super) purpose: Purpose,
    /// No one may join any more.
    closed: bool,
    /// Each with what it wants.
    pub(super) waiters: Vec<(Ask, Wanted)>,
}

/// What a request to the source is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Bytes.
    Bytes,
    /// Whether the object is still what it was.
    Check,
}

/// What is under way for one object.
#[derive(Default)]
pub(super) struct Flights {
    next: u64,
    flights: Vec<Flight>,
}

/// A request to be sent.
pub(super) struct Departure {
    pub(super) range: ByteRange,
    pub(super) if_match: Option<Identity>,
    pub(super) asked_ns: u64,
    pub(super) generation: u64,
    pub(super) purpose: Purpose,
}

impl Flights {
    pub(super) fn is_empty(&self) -> bool {
        self.flights.is_empty()
    }

    /// Has an ask share a request under way that covers it and was sent after `since_ns`. Gives it back where there is none.
    pub(super) fn join(&mut self, purpose: Purpose, since_ns: u64, ask: Ask) -> Result<(), Box<Ask>> {
        let wanted = Wanted::of(ask.request.range);
        let if_match = ask.request.if_match.as_ref();
        let found = self.flights.iter_mut().find(|flight| {
            let same_version = flight.if_match.is_none() || flight.if_match.as_ref() == if_match;
            let same = match purpose {
                Purpose::Bytes => same_version && covers(flight.wanted, wanted),
                Purpose::Check => true,
            };
            !flight.closed && flight.purpose == purpose && same && since_ns <= flight.asked_ns
        });
        match found {
            Some(flight) if flight.waiters.len() < WAITERS_MAX => {
                flight.waiters.push((ask, wanted));
                Ok(())
            }
            _ => Err(Box::new(ask)),
        }
    }

    /// Notes a request that is about to be sent. Returns its number.
    pub(super) fn depart(&mut self, departure: Departure, first: Ask) -> u64 {
        let Departure { range, if_match, asked_ns, generation, purpose } = departure;
        let wanted = Wanted::of(range);
        self.next += 1;
        let number = self.next;
        let waiters = vec![(first, wanted)];
        let closed = false;
        let flight =
            Flight { number, range, wanted, if_match, asked_ns, generation, purpose, closed, waiters };
        self.flights.push(flight);
        number
    }

    /// Takes a request whose answer is there.
    pub(super) fn land(&mut self, number: u64) -> Option<Flight> {
        let index = self.flights.iter().position(|flight| flight.number == number)?;
        Some(self.flights.swap_remove(index))
    }

    /// What is under way now is for those who wait already.
    pub(super) fn close(&mut self) {
        for flight in &mut self.flights {
            flight.closed = true;
        }
    }
}

fn covers(flight: Wanted, wanted: Wanted) -> bool {
    match (flight, wanted) {
        (Wanted::Run { start, len }, Wanted::Run { start: from, len: wants }) => {
            start <= from && from + wants <= start + len
        }
        (flight, wanted) => flight == wanted,
    }
}

/// The part of a flight's bytes that one of its waiters wants: `(from, len)` among `found` bytes. `None` where the answer
/// is too short for it.
pub(super) fn share(flight: Wanted, wanted: Wanted, found: u64) -> Option<(u64, u64)> {
    match (flight, wanted) {
        (Wanted::Run { .. }, Wanted::Run { len, .. }) if flight.is_tail() => {
            let len = len.min(found);
            Some((found - len, len))
        }
        (Wanted::Run { start, .. }, Wanted::Run { start: from, len }) => {
            let at = from.checked_sub(start)?;
            (at + len <= found).then_some((at, len))
        }
        _ => Some((0, found)),
    }
}
