//! When batches that nobody blocks on must end.

use crate::batch_state::BatchState;
use crate::engine::lock;
use crate::{Error, ErrorKind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// The deadlines of spawned batches. Lanes look at the next one each turn (one load), and sleep no longer than to it.
pub(crate) struct Deadlines {
    start: Instant,
    /// The next deadline, in ns from `start`; `u64::MAX` for none.
    next_ns: AtomicU64,
    batches: Mutex<Vec<(Instant, Weak<BatchState>)>>,
}

impl Deadlines {
    pub(crate) fn new() -> Deadlines {
        Deadlines { start: Instant::now(), next_ns: AtomicU64::new(u64::MAX), batches: Mutex::default() }
    }

    /// Has lanes end `batch` at `deadline`. The caller wakes a lane afterwards, so that none sleeps past it.
    pub(crate) fn add(&self, deadline: Instant, batch: &Arc<BatchState>) {
        let mut batches = lock(&self.batches);
        batches.retain(|(_, batch)| batch.strong_count() != 0);
        batches.push((deadline, Arc::downgrade(batch)));
        self.set_next(&batches);
    }

    /// Ends the batches whose deadline has passed.
    pub(crate) fn end_due(&self, now: Instant) {
        if self.since_start(now) < self.next_ns.load(Ordering::SeqCst) {
            return;
        }
        let mut due = Vec::new();
        {
            let mut batches = lock(&self.batches);
            batches.retain(|(deadline, batch)| {
                let is_due = *deadline <= now;
                if is_due {
                    due.extend(batch.upgrade());
                }
                !is_due
            });
            self.set_next(&batches);
        }
        for batch in due {
            batch.end_early(passed());
        }
    }

    /// How long a lane may sleep that would sleep for `longest`.
    pub(crate) fn sleep_max(&self, longest: Duration) -> Duration {
        let next_ns = self.next_ns.load(Ordering::SeqCst);
        if next_ns == u64::MAX {
            return longest;
        }
        longest.min(Duration::from_nanos(next_ns.saturating_sub(self.since_start(Instant::now()))))
    }

    fn set_next(&self, batches: &[(Instant, Weak<BatchState>)]) {
        let next = batches.iter().map(|(deadline, _)| self.since_start(*deadline)).min();
        self.next_ns.store(next.unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    fn since_start(&self, instant: Instant) -> u64 {
        let elapsed = instant.saturating_duration_since(self.start).as_nanos();
        u64::try_from(elapsed).unwrap_or(u64::MAX - 1).min(u64::MAX - 1)
    }
}

pub(crate) fn passed() -> Error {
    Error::new(ErrorKind::DeadlineExceeded, "the batch's deadline passed")
}
