//! Answers that wait for the writer, so that the source is as slow as the disk; none waits for ever.

use crate::engine::lock;
use crate::media::cache::catalog::Catalog;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// An answer waits at most so long: a disk that hangs does not take its readers with it.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(5);

/// An answer that is given when called.
type Then = Box<dyn FnOnce() + Send>;

/// Answers in the order in which they began to wait. They are as many as requests in flight.
pub(super) struct Parked {
    catalog: Arc<Catalog>,
    wait_max: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiter>,
    next: u64,
    /// A thread looks after the time.
    watched: bool,
}

struct Waiter {
    number: u64,
    until: Instant,
    then: Then,
}

impl Parked {
    pub(super) fn new(catalog: &Arc<Catalog>, wait_max: Duration) -> Arc<Parked> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Arc::new(Parked { catalog: Arc::clone(catalog), wait_max, state, changed })
    }

    /// Keeps an answer until it is [released](Parked::release) by the number that this returns, or its time has passed.
    pub(super) fn park(self: &Arc<Parked>, then: Then) -> u64 {
        let mut state = lock(&self.state);
        let number = state.next;
        state.next += 1;
        state.waiting.push_back(Waiter { number, until: Instant::now() + self.wait_max, then });
        let watched = std::mem::replace(&mut state.watched, true);
        drop(state);
        if !watched {
            let parked = Arc::clone(self);
            let named = std::thread::Builder::new().name("swath-cache-wait".to_owned());
            if let Err(error) = named.spawn(move || parked.watch()) {
                tracing::warn!(%error, "no thread to look after waiting answers could be started");
                lock(&self.state).watched = false;
                self.release(number);
            }
        }
        number
    }

    /// Gives the answer of that number, and all that have waited longer.
    pub(super) fn release(&self, number: u64) {
        let mut state = lock(&self.state);
        let count = state.waiting.partition_point(|waiter| waiter.number <= number);
        let released: Vec<Waiter> = state.waiting.drain(..count).collect();
        drop(state);
        self.changed.notify_all();
        released.into_iter().for_each(|waiter| (waiter.then)());
    }

    /// Gives answers whose time has passed, until none waits.
    fn watch(&self) {
        let mut state = lock(&self.state);
        loop {
            let Some(first) = state.waiting.front() else {
                state.watched = false;
                return;
            };
            let (number, left) = (first.number, first.until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                drop(state);
                self.catalog.counts.overdue.add(1);
                self.release(number);
                state = lock(&self.state);
            } else {
                state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Freshness;
    use std::sync::mpsc::channel;

    #[test]
    fn answers_are_given_when_released_or_when_they_have_waited_long() {
        let catalog = Catalog::new(0, Freshness::Immutable);
        let (told, heard) = channel();
        let tell = |name: &'static str| -> Then {
            let told = told.clone();
            Box::new(move || told.send(name).unwrap())
        };
        let patient = Parked::new(&catalog, Duration::from_secs(3600));
        let numbers = ["first", "second", "third"].map(|name| patient.park(tell(name)));
        patient.release(numbers[1]);
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["first", "second"]);
        assert_eq!(catalog.counts.overdue.get(), 0);
        let hasty = Parked::new(&catalog, Duration::from_millis(1));
        for _ in 0..3 {
            hasty.park(tell("overdue"));
            assert_eq!(heard.recv_timeout(Duration::from_secs(60)), Ok("overdue"));
        }
        assert_eq!(catalog.counts.overdue.get(), 3);
        patient.release(numbers[2]);
        assert_eq!(heard.recv(), Ok("third"));
    }
}
