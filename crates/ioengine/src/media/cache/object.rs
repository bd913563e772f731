//! What is known of one object: its version, its cached ranges, and who waits for what of it.

use super::extents::{Extent, Extents};
use super::flights::Flights;
use super::table::Table;
use crate::engine::lock;
use crate::{ByteRange, Freshness, Identity, storage_len};
use bytes::Bytes;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// One key of one medium.
pub(super) struct Object {
    pub(super) table: Weak<Table>,
    pub(super) key: Arc<str>,
    state: Mutex<State>,
}

/// The part of an object that changes.
#[derive(Default)]
pub(super) struct State {
    /// Taken out of its table: look it up again.
    pub(super) removed: bool,
    /// The version that the ranges are of.
    pub(super) version: Option<Version>,
    pub(super) extents: Extents,
    pub(super) flights: Flights,
    /// Raised by what makes answers under way outdated.
    pub(super) generation: u64,
}

/// A version of an object.
#[derive(Clone)]
pub(super) struct Version {
    /// `None` where the source names none.
    pub(super) identity: Option<Identity>,
    /// Bytes, where an answer told.
    pub(super) size: Option<u64>,
    /// When the last request was sent whose answer showed this version, in ns since 1970.
    pub(super) confirmed_ns: u64,
}

/// Now, in ns since 1970.
pub(super) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Ends of objects, where their sizes are not known, are kept as if all objects ended here. Real offsets stay far below.
const TAIL_END: u64 = 1 << 63;

/// Objects beyond this size are not cached.
const OFFSET_MAX: u64 = 1 << 61;

/// What a request wants, in the places where ranges are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// `len` bytes at `start`, which may be a place before [`TAIL_END`].
    Run { start: u64, len: u64 },
    /// All bytes of an object of unknown size.
    Whole { len_max: u64 },
}

impl Wanted {
    /// What a range names, whatever the object's size is. Ranges in flight are compared by this: the object may have
    /// another size than the one that is known.
    pub(super) fn of(range: ByteRange) -> Wanted {
        match range {
            ByteRange::Bounded { offset, len } => Wanted::Run { start: offset, len },
            ByteRange::Suffix { len } => Wanted::tail(len.min(TAIL_END)),
            ByteRange::Whole { len_max } => Wanted::Whole { len_max },
        }
    }

    /// The end of an object: its last `len` bytes.
    fn tail(len: u64) -> Wanted {
        Wanted::Run { start: TAIL_END - len, len }
    }

    /// Whether this is counted from the object's end.
    pub(super) fn is_tail(self) -> bool {
        matches!(self, Wanted::Run { start, .. } if OFFSET_MAX < start)
    }
}

impl Object {
    pub(super) fn new(table: Weak<Table>, key: Arc<str>) -> Arc<Object> {
        Arc::new(Object { table, key, state: Mutex::default() })
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Takes an object of which nothing is held out of its table.
    pub(super) fn let_go_if_empty(self: &Arc<Object>) {
        if self.lock().is_empty()
            && let Some(table) = self.table.upgrade()
        {
            table.remove_if_empty(self);
        }
    }
}

impl State {
    pub(super) fn is_empty(&self) -> bool {
        self.extents.is_empty() && self.flights.is_empty()
    }

    /// Where a range would be kept; `None` for one that is not cached: an empty one, one past all sizes, one past the known
    /// end.
    pub(super) fn locate(&mut self, range: ByteRange) -> Option<Wanted> {
        let size = self.version.as_ref().and_then(|version| version.size);
        match (range, size) {
            (ByteRange::Bounded { len: 0, .. } | ByteRange::Suffix { len: 0 }, _) => None,
            (ByteRange::Bounded { offset, len }, size) => {
                let end = offset.checked_add(len)?;
                (end <= size.unwrap_or(OFFSET_MAX)).then_some(Wanted::Run { start: offset, len })
            }
            (ByteRange::Suffix { len }, None) => (len <= OFFSET_MAX).then(|| Wanted::tail(len)),
            (ByteRange::Suffix { .. }, Some(0)) => None,
            (ByteRange::Suffix { len }, Some(size)) => {
                // The end may have been cached before the size was known.
                let kept = len <= size && self.extents.gaps(TAIL_END - len, len).is_empty();
                let run = Wanted::Run { start: size.saturating_sub(len), len: len.min(size) };
                Some(if kept { Wanted::tail(len) } else { run })
            }
            (ByteRange::Whole { len_max }, None) => Some(Wanted::Whole { len_max }),
            (ByteRange::Whole { len_max }, Some(size)) => {
                (0 < size && size <= len_max).then_some(Wanted::Run { start: 0, len: size })
            }
        }
    }

    /// True while ranges may be answered without a request.
    pub(super) fn is_fresh(&self, freshness: Freshness, check_interval: Duration) -> bool {
        let limit = match freshness {
            Freshness::Immutable => return true,
            Freshness::Ttl(limit) => limit,
            Freshness::Checked => check_interval,
        };
        let Some(version) = &self.version else { return false };
        // A clock that was set back confirms nothing.
        let age = now_ns().checked_sub(version.confirmed_ns);
        age.is_some_and(|age| Duration::from_nanos(age) < limit)
    }

    /// Takes note of the version that an answer showed, to a request that was sent at `asked_ns`. True when it is the
    /// current one now; false for an answer that is older than what is known. What was confirmed in the future, by a clock
    /// that was set back since, is older than any answer.
    pub(super) fn learn(
        &mut self,
        identity: Option<&Identity>,
        asked_ns: u64,
        dropped: &mut Dropped,
    ) -> bool {
        let now = now_ns();
        if let Some(version) = &mut self.version
            && now < version.confirmed_ns
        {
            version.confirmed_ns = 0;
        }
        match &mut self.version {
            Some(version) if version.identity.as_ref() == identity => {
                version.confirmed_ns = version.confirmed_ns.max(asked_ns);
                return true;
            }
            Some(version) if asked_ns < version.confirmed_ns => return false,
            Some(_) => self.drop_ranges(dropped),
            None => {}
        }
        self.version = Some(Version { identity: identity.cloned(), size: None, confirmed_ns: asked_ns });
        true
    }

    /// Drops the version and its ranges.
    pub(super) fn drop_ranges(&mut self, dropped: &mut Dropped) {
        dropped.changes += u64::from(self.version.take().is_some());
        dropped.extents.extend(self.extents.take_all().map(|(_, extent)| extent));
    }

    /// Drops everything, and what answers under way would bring.
    pub(super) fn invalidate(&mut self, dropped: &mut Dropped) {
        self.generation += 1;
        self.flights.close();
        self.drop_ranges(dropped);
    }
}

/// What an answer to a request is kept as: where, and the object's size if the answer tells.
pub(super) fn place(range: ByteRange, size: Option<u64>, bytes: &Bytes) -> (u64, Option<u64>) {
    let found = storage_len(bytes.len());
    match (range, size) {
        (ByteRange::Bounded { offset, .. }, size) => (offset, size),
        (ByteRange::Suffix { len }, _) if found < len => (0, Some(found)),
        (ByteRange::Suffix { .. }, Some(size)) => (size.saturating_sub(found), Some(size)),
        (ByteRange::Suffix { .. }, None) => (TAIL_END - found, None),
        (ByteRange::Whole { .. }, _) => (0, Some(found)),
    }
}

/// What was taken out under an object's lock, to be counted and freed outside of it.
#[derive(Default)]
pub(super) struct Dropped {
    pub(super) changes: u64,
    pub(super) extents: Vec<Extent>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that was set back: what it said before keeps no answer from being learnt.
    #[test]
    fn what_was_confirmed_in_the_future_counts_as_never() {
        let [old, new] = ["old", "new"].map(|tag| Some(Identity::Tag(tag.into())));
        let hour = Duration::from_secs(3600);
        for (identity, changes) in [(&new, 1), (&old, 0)] {
            let (mut state, mut dropped) = (State::default(), Dropped::default());
            let confirmed_ns = now_ns() * 2;
            state.version = Some(Version { identity: old.clone(), size: None, confirmed_ns });
            assert!(!state.is_fresh(Freshness::Ttl(hour), Duration::ZERO));
            let asked_ns = now_ns();
            assert!(state.learn(identity.as_ref(), asked_ns, &mut dropped));
            let version = state.version.as_ref().unwrap();
            assert_eq!((&version.identity, version.confirmed_ns), (identity, asked_ns));
            assert_eq!(dropped.changes, changes);
            assert!(state.is_fresh(Freshness::Ttl(hour), Duration::ZERO));
        }
    }
}
