//! Turns for requests to one endpoint: as many at once as [`Concurrency`] allows, first come, first served.

use super::concurrency::{Answered, Bounds, Concurrency, Usage};
use super::history::History;
use crate::engine::lock;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Gives out turns. Cloning shares it.
#[derive(Clone, Debug)]
pub(super) struct Limiter(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Time counts from here.
    epoch: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    concurrency: Concurrency,
    in_flight: usize,
    in_flight_max: usize,
    /// As many as there are fetches without a turn: the lanes' depths bound them.
    waiting: VecDeque<oneshot::Sender<Turn>>,
    history: History,
}

/// The right to have one request under way, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn(Arc<Shared>);

/// What the limiter says of itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    pub(super) in_flight: usize,
    pub(super) in_flight_max: usize,
    pub(super) limit: usize,
    pub(super) history: Vec<(Duration, u64)>,
}

/// What the queue looks like, for the estimate of costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) in_flight: usize,
    pub(super) usage: Usage,
    /// Seconds to the first byte when nothing queues; zero while that is not known.
    pub(super) quickest: f64,
}

impl Limiter {
    pub(super) fn new(bounds: Bounds) -> Limiter {
        let concurrency = Concurrency::new(bounds);
        let (in_flight, in_flight_max) = (0, 0);
        let (waiting, history) = (VecDeque::new(), History::default());
        let state = Mutex::new(State { concurrency, in_flight, in_flight_max, waiting, history });
        Limiter(Arc::new(Shared { epoch: Instant::now(), state }))
    }

    /// Waits for a turn. Whoever stops waiting takes none.
    pub(super) async fn turn(&self) -> Turn {
        loop {
            let receiver = {
                let mut state = lock(&self.0.state);
                if state.waiting.is_empty() && state.in_flight < state.concurrency.limit() {
                    state.take();
                    return Turn(Arc::clone(&self.0));
                }
                let (sender, receiver) = oneshot::channel();
                state.waiting.push_back(sender);
                receiver
            };
            if let Ok(turn) = receiver.await {
                return turn;
            }
        }
    }

    /// A turn that is there at once and that nobody waits for, or none.
    pub(super) fn turn_now(&self) -> Option<Turn> {
        let mut state = lock(&self.0.state);
        if !state.waiting.is_empty() || state.concurrency.limit() <= state.in_flight {
            return None;
        }
        state.take();
        Some(Turn(Arc::clone(&self.0)))
    }

    /// The first byte of the answer to a request of `started` came now.
    pub(super) fn answered(&self, started: Instant) -> Load {
        let shared = &self.0;
        let mut state = lock(&shared.state);
        let usage = state.usage();
        let (started, now) = (shared.time(started), shared.time(Instant::now()));
        state.concurrency.answered(Answered { started, now, usage });
        let load =
            Load { in_flight: state.in_flight, usage, quickest: state.concurrency.quickest().unwrap_or(0.0) };
        state.note(now);
        let given = state.give(shared);
        drop(state);
        hand_out(given);
        load
    }

    /// The server asked for fewer requests in its answer to one of `started`.
    pub(super) fn throttled(&self, started: Instant) {
        let mut state = lock(&self.0.state);
        let now = self.0.time(Instant::now());
        state.concurrency.throttled(self.0.time(started), now);
        state.note(now);
    }

    /// See [`Endpoint::room`](super::endpoint::Endpoint::room).
    pub(super) fn room(&self) -> usize {
        let state = lock(&self.0.state);
        let useful = state.concurrency.useful().min(state.concurrency.limit());
        useful.saturating_sub(state.in_flight)
    }

    /// Requests that may be under way now.
    pub(super) fn limit(&self) -> usize {
        lock(&self.0.state).concurrency.limit()
    }

    /// Seconds to the first byte of an answer when nothing queues; `None` before the first answer.
    pub(super) fn quickest(&self) -> Option<f64> {
        lock(&self.0.state).concurrency.quickest()
    }

    pub(super) fn standing(&self) -> Standing {
        let state = lock(&self.0.state);
        Standing {
            in_flight: state.in_flight,
            in_flight_max: state.in_flight_max,
            limit: state.concurrency.limit(),
            history: state.history.moments(),
        }
    }
}

impl Shared {
    fn time(&self, moment: Instant) -> Duration {
        moment.saturating_duration_since(self.epoch)
    }
}

impl State {
    fn take(&mut self) {
        self.in_flight += 1;
        self.in_flight_max = self.in_flight_max.max(self.in_flight);
        if self.in_flight_max == 1 {
            self.note(Duration::ZERO);
        }
    }

    fn usage(&self) -> Usage {
        let full = !self.waiting.is_empty() || self.concurrency.limit() * 4 <= self.in_flight * 5;
        if full { Usage::Full } else { Usage::Partial }
    }

    fn note(&mut self, now: Duration) {
        self.history.note(now, crate::storage_len(self.concurrency.limit()));
    }

    /// Turns for those who waited longest, as far as the limit goes. They are handed out without the lock: a turn that
    /// nobody takes any more is dropped, which takes it.
    fn give(&mut self, shared: &Arc<Shared>) -> Vec<(oneshot::Sender<Turn>, Turn)> {
        let mut given = Vec::new();
        while self.in_flight < self.concurrency.limit() {
            match self.waiting.pop_front() {
                Some(waiting) if waiting.is_closed() => {}
                Some(waiting) => {
                    self.take();
                    given.push((waiting, Turn(Arc::clone(shared))));
                }
                None => break,
            }
        }
        given
    }
}

fn hand_out(given: Vec<(oneshot::Sender<Turn>, Turn)>) {
    for (waiting, turn) in given {
        // Whoever stopped waiting just now gives the turn back by dropping it.
        drop(waiting.send(turn));
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.in_flight -= 1;
        let given = state.give(&self.0);
        drop(state);
        hand_out(given);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const TWO: Bounds = Bounds { min: 1, initial: 2, max: 2 };

    #[tokio::test(start_paused = true)]
    async fn turns_are_bounded_and_first_come_first_served() {
        let limiter = Limiter::new(TWO);
        let served = Arc::new(Mutex::new(Vec::new()));
        let (under_way, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..20)
            .map(|number| {
                let (limiter, served) = (limiter.clone(), Arc::clone(&served));
                let (under_way, most) = (Arc::clone(&under_way), Arc::clone(&most));
                tokio::spawn(async move {
                    let _turn = limiter.turn().await;
                    lock(&served).push(number);
                    most.fetch_max(under_way.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    under_way.fetch_sub(1, Ordering::SeqCst);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*lock(&served), (0..20).collect::<Vec<_>>());
        assert_eq!(most.load(Ordering::SeqCst), 2);
        let standing = limiter.standing();
        assert_eq!((standing.in_flight, standing.in_flight_max, standing.limit), (0, 2, 2));
        assert_eq!(standing.history, [(Duration::ZERO, 2)]);
    }

    #[tokio::test(start_paused = true)]
    async fn who_stops_waiting_takes_no_turn() {
        let limiter = Limiter::new(TWO);
        let held = (limiter.turn().await, limiter.turn().await);
        assert!(limiter.turn_now().is_none());
        for _ in 0..10 {
            assert!(tokio::time::timeout(Duration::from_millis(1), limiter.turn()).await.is_err());
        }
        // One stops waiting after its turn was sent.
        let mut waiting = Box::pin(limiter.turn());
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        drop(held);
        drop(waiting);
        assert_eq!(limiter.standing().in_flight, 0);
        assert!(limiter.turn_now().is_some());
    }
}
