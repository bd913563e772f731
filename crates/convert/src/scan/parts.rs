//! Files that are walked in several parts at once.

use crate::{Found, Span};
use std::sync::{Mutex, PoisonError};
use swath_ioengine::Identity;

/// Parts of a file at most. Each reads one head after the other: so many are in flight.
const PARTS_MAX: usize = 128;

/// Messages of a part at least: the end of each part's last message takes a read of its own.
const MESSAGES_MIN: usize = 4;

/// Cuts a file where messages are said to begin: into parts of as many messages each, as far as that goes. One part where nothing is
/// said.
pub(super) fn cut(starts: &[u64], size: u64) -> Vec<Span> {
    let within = starts.partition_point(|start| *start < size);
    let starts = starts.get(..within).unwrap_or_default();
    let step = starts.len().div_ceil(PARTS_MAX).max(MESSAGES_MIN);
    // The first part begins where the file does, whatever is said.
    let mut cuts: Vec<u64> = starts.iter().copied().step_by(step).skip(1).collect();
    cuts.push(size);
    let mut offset = 0;
    let part = |end: u64| {
        let span = Span { offset, len: end - offset };
        offset = end;
        span
    };
    cuts.into_iter().map(part).collect()
}

/// What was found in the parts of a file. All of it is kept until every part is done: only then is it sure that messages begin
/// where the file was cut.
pub(super) struct Parts(Mutex<State>);

struct State {
    found: Vec<Vec<Found>>,
    left: usize,
    identity: Option<Identity>,
    /// A part is damaged, or of another version of the file.
    is_doubtful: bool,
}

/// What came of a part.
pub(super) enum Finished {
    /// Other parts are under way.
    Part,
    /// All parts are done: this is in the file.
    All(Vec<Found>),
    /// All parts are done, and one of them is damaged: the cuts may be to blame.
    Doubtful,
}

impl Parts {
    pub(super) fn new(count: usize) -> Parts {
        let found = (0..count).map(|_| Vec::new()).collect();
        Parts(Mutex::new(State { found, left: count, identity: None, is_doubtful: false }))
    }

    /// Takes what was found in a part, of a version of the file.
    pub(super) fn finish(&self, number: usize, found: Vec<Found>, identity: Option<&Identity>) -> Finished {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_damaged = found.iter().any(|found| matches!(found, Found::Damage(_)));
        let is_other = identity.is_some_and(|one| state.identity.as_ref().is_some_and(|first| first != one));
        state.is_doubtful |= is_damaged || is_other;
        if state.identity.is_none() {
            state.identity = identity.cloned();
        }
        if let Some(slot) = state.found.get_mut(number) {
            *slot = found;
        }
        state.left = state.left.saturating_sub(1);
        match (state.left, state.is_doubtful) {
            (0, true) => Finished::Doubtful,
            (0, false) => Finished::All(std::mem::take(&mut state.found).into_iter().flatten().collect()),
            _ => Finished::Part,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_whole_file() {
        for (starts, size, wanted) in [
            (&[][..], 10, vec![(0, 10)]),
            (&[0, 4], 10, vec![(0, 10)]),
            (&[0, 1, 2, 3, 4, 5, 9], 10, vec![(0, 4), (4, 6)]),
            (&[1, 2, 3, 4, 6, 10, 11, 12, 99], 10, vec![(0, 6), (6, 4)]),
        ] {
            let parts: Vec<(u64, u64)> =
                cut(starts, size).iter().map(|span| (span.offset, span.len)).collect();
            assert_eq!(parts, wanted);
        }
        let starts: Vec<u64> = (0..1000).map(|number| number * 7).collect();
        let parts = cut(&starts, 7000);
        assert!(parts.len() <= PARTS_MAX && 100 < parts.len());
        assert!(parts.iter().all(|part| part.offset.is_multiple_of(7)));
        assert_eq!(parts.iter().map(|part| part.len).sum::<u64>(), 7000);
    }
}
