//! What can go wrong with a request, and which requests it happens to.

use super::counts::RequestSeen;
use crate::throw::{throw, throw_below};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One thing that goes wrong. Places in a body are in thousandths of its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The answer comes so much later.
    Delay(Duration),
    /// The server's own answer is this status, with an empty body; the request never reaches the server.
    Status {
        /// 429, 500, 503 and the like.
        status: u16,
        /// Seconds in `Retry-After`.
        retry_after: Option<u64>,
    },
    /// The connection is reset before the answer.
    ResetBeforeAnswer,
    /// The connection is closed, in order, before the answer.
    EmptyAnswer,
    /// Nothing comes for so long, or for ever.
    StallBeforeAnswer(Option<Duration>),
    /// A first line that is no HTTP.
    GarbageStatusLine,
    /// The connection is reset within the body.
    ResetInBody(u16),
    /// The connection is closed, in order, within the body.
    CloseInBody(u16),
    /// Within the body nothing comes for so long, or for ever.
    StallInBody(u16, Option<Duration>),
    /// The body comes at so many bytes a second.
    SlowBody(u64),
    /// `Content-Length` promises so many bytes more than come.
    LengthTooLong(u64),
    /// `Content-Length` promises so many bytes fewer than come.
    LengthTooShort(u64),
    /// A 206 with so many bytes fewer than asked for, whose headers say so.
    ShortRange(u64),
    /// A 200 with the whole object in place of a 206. What lies outside the range is filled with 0xa5.
    IgnoredRange,
    /// A 206 with the right bytes, whose `Content-Range` names those behind them.
    WrongContentRange,
    /// The right bytes with another `ETag`.
    ChangedEtag,
    /// A redirect of this status: to the same path here by another name of the host.
    RedirectToOtherHost(u16),
    /// A redirect of this status: to itself, for ever.
    RedirectToItself(u16),
    /// The body in chunks, and the connection closed before the last one.
    TruncatedChunks(u16),
}

impl Fault {
    /// The fault's name in counts.
    pub fn name(&self) -> &'static str {
        match self {
            Fault::Delay(_) => "delay",
            Fault::Status { .. } => "status",
            Fault::ResetBeforeAnswer => "reset before answer",
            Fault::EmptyAnswer => "empty answer",
            Fault::StallBeforeAnswer(_) => "stall before answer",
            Fault::GarbageStatusLine => "garbage status line",
            Fault::ResetInBody(_) => "reset in body",
            Fault::CloseInBody(_) => "close in body",
            Fault::StallInBody(..) => "stall in body",
            Fault::SlowBody(_) => "slow body",
            Fault::LengthTooLong(_) => "length too long",
            Fault::LengthTooShort(_) => "length too short",
            Fault::ShortRange(_) => "short range",
            Fault::IgnoredRange => "ignored range",
            Fault::WrongContentRange => "wrong content range",
            Fault::ChangedEtag => "changed etag",
            Fault::RedirectToOtherHost(_) => "redirect to other host",
            Fault::RedirectToItself(_) => "redirect to itself",
            Fault::TruncatedChunks(_) => "truncated chunks",
        }
    }

    /// One of each kind, with stalls that last.
    pub fn every() -> Vec<Fault> {
        let mut all: Vec<Fault> = [429, 500, 503]
            .into_iter()
            .flat_map(|status| [None, Some(1)].map(|retry_after| Fault::Status { status, retry_after }))
            .collect();
        all.extend((0..MIXED_KINDS).map(|kind| fault(kind, 500, None)));
        all.extend([301, 307].map(Fault::RedirectToOtherHost));
        all.extend([301, 307].map(Fault::RedirectToItself));
        all
    }
}

/// Kinds of faults that [`fault`] makes.
const MIXED_KINDS: u64 = 19;

/// A fault of a kind, at a place in the body, with stalls of a length.
fn fault(kind: u64, place: u16, stall: Option<Duration>) -> Fault {
    match kind {
        0 => Fault::Delay(Duration::from_millis(20)),
        1 => Fault::Status { status: 503, retry_after: None },
        2 => Fault::ResetBeforeAnswer,
        3 => Fault::EmptyAnswer,
        4 => Fault::StallBeforeAnswer(stall),
        5 => Fault::GarbageStatusLine,
        6 => Fault::ResetInBody(place),
        7 => Fault::CloseInBody(place),
        8 => Fault::StallInBody(place, stall),
        9 => Fault::SlowBody(10_000_000),
        10 => Fault::LengthTooLong(7),
        11 => Fault::LengthTooShort(7),
        12 => Fault::ShortRange(5),
        13 => Fault::IgnoredRange,
        14 => Fault::WrongContentRange,
        15 => Fault::ChangedEtag,
        16 => Fault::RedirectToOtherHost(302),
        17 => Fault::RedirectToItself(302),
        _ => Fault::TruncatedChunks(place),
    }
}

type Rule = Arc<dyn Fn(&RequestSeen) -> Option<Fault> + Send + Sync>;

/// Says which requests a proxy breaks, and how.
#[derive(Clone)]
pub struct Faults(Rule);

impl Faults {
    /// By a function of the request.
    pub fn by(rule: impl Fn(&RequestSeen) -> Option<Fault> + Send + Sync + 'static) -> Faults {
        Faults(Arc::new(rule))
    }

    /// None.
    pub fn none() -> Faults {
        Faults::by(|_| None)
    }

    /// The same for every request.
    pub fn always(fault: Fault) -> Faults {
        Faults::by(move |_| Some(fault.clone()))
    }

    /// The same for the next `count` requests, and none for those that follow.
    pub fn next(count: u64, fault: Fault) -> Faults {
        Faults::script(vec![Some(fault); usize::try_from(count).unwrap_or(0)])
    }

    /// One for each request from now on, in order of arrival, and none for those that follow.
    pub fn script(faults: Vec<Option<Fault>>) -> Faults {
        let next = std::sync::atomic::AtomicUsize::new(0);
        Faults::by(move |_| {
            let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            faults.get(index).cloned().flatten()
        })
    }

    /// Any fault, for so many of a thousand requests: which and where comes from the seed and the request's number.
    /// Stalls last 300 ms or for ever.
    pub fn mixed(seed: u64, per_mille: u16) -> Faults {
        Faults::by(move |seen| {
            let (chance, which) = (throw(seed, seen.number) % 1000, throw(seed ^ 1, seen.number));
            let place = u16::try_from(which / MIXED_KINDS % 1000).unwrap_or(0);
            let stall = (throw_below(seed ^ 2, seen.number, 2) == 0).then(|| Duration::from_millis(300));
            (chance < u64::from(per_mille)).then(|| fault(which % MIXED_KINDS, place, stall))
        })
    }

    /// 503 with `Retry-After: 0` for requests that find `in_flight_max` others under way, as a server does that throttles.
    pub fn throttle_above(in_flight_max: u64) -> Faults {
        Faults::by(move |seen| {
            (in_flight_max < seen.in_flight).then_some(Fault::Status { status: 503, retry_after: Some(0) })
        })
    }

    pub(super) fn of(&self, seen: &RequestSeen) -> Option<Fault> {
        (self.0)(seen)
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Faults")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn mixed_faults_come_again_with_their_seed_and_are_of_every_kind() {
        let seen = |number| RequestSeen {
            number,
            method: "GET".into(),
            path: "/".into(),
            range: None,
            if_match: None,
            in_flight: 1,
        };
        let run = |seed| -> Vec<Option<Fault>> {
            let faults = Faults::mixed(seed, 250);
            (0..4000).map(|number| faults.of(&seen(number))).collect()
        };
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
        let faults: Vec<Fault> = run(7).into_iter().flatten().collect();
        assert!((800..1200).contains(&faults.len()), "{}", faults.len());
        let names: BTreeSet<&str> = faults.iter().map(Fault::name).collect();
        assert_eq!(names.len(), 19);
    }
}
