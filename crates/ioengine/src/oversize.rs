//! Whose turn it is to have an item in flight that is larger than a lane's share of the byte budget.
//!
//! One lane at a time has the right. Lanes that want it while another has it get it in the order in which they asked:
//! it is handed to one of them, and that one alone is woken.

use crate::engine::lock;
use crate::wake::Wake;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The right, as lanes share it.
#[derive(Default)]
pub(crate) struct OversizeRight {
    turns: Mutex<Turns>,
    /// Times that the right was handed on.
    handed_on: AtomicU64,
}

#[derive(Default)]
struct Turns {
    is_taken: bool,
    waiting: VecDeque<Arc<Ticket>>,
}

impl Turns {
    /// True when the right is the ticket's: it was so already, or it was nobody's.
    fn take(&mut self, ticket: &Ticket) -> bool {
        if !self.is_taken {
            self.is_taken = true;
            ticket.has_right.store(true, Ordering::SeqCst);
        }
        ticket.has_right()
    }
}

/// A lane's place in the queue.
pub(crate) struct Ticket {
    wake: Arc<Wake>,
    /// The right is this lane's, until it gives it back.
    has_right: AtomicBool,
    /// In the queue. Changed under its lock.
    is_queued: AtomicBool,
}

impl Ticket {
    /// The ticket of the lane that `wake` wakes.
    pub(crate) fn new(wake: &Arc<Wake>) -> Arc<Ticket> {
        let (has_right, is_queued) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Ticket { wake: Arc::clone(wake), has_right, is_queued })
    }

    /// True from when the lane got the right to when it gives it back. Sequentially consistent, as all that a lane looks
    /// at between announcing that it parks and parking.
    pub(crate) fn has_right(&self) -> bool {
        self.has_right.load(Ordering::SeqCst)
    }
}

impl OversizeRight {
    /// True when the lane has the right now. Otherwise it is in the queue, and is woken when it gets it; asking again
    /// leaves it at its place.
    pub(crate) fn ask(&self, ticket: &Arc<Ticket>) -> bool {
        if ticket.has_right() {
            return true;
        }
        let mut turns = lock(&self.turns);
        if turns.take(ticket) {
            return true;
        }
        if !ticket.is_queued.swap(true, Ordering::Relaxed) {
            turns.waiting.push_back(Arc::clone(ticket));
        }
        false
    }

    /// As [`ask`](OversizeRight::ask), for a lane that does not wait.
    pub(crate) fn take_if_free(&self, ticket: &Ticket) -> bool {
        ticket.has_right() || lock(&self.turns).take(ticket)
    }

    /// Gives the right back: the lane that has waited longest has it at once, and is woken. Nothing happens where the
    /// lane does not have it.
    pub(crate) fn give_back(&self, ticket: &Ticket) {
        if !ticket.has_right() {
            return;
        }
        let next = {
            let mut turns = lock(&self.turns);
            ticket.has_right.store(false, Ordering::SeqCst);
            let next = turns.waiting.pop_front();
            turns.is_taken = next.is_some();
            if let Some(next) = &next {
                next.is_queued.store(false, Ordering::Relaxed);
                next.has_right.store(true, Ordering::SeqCst);
            }
            next
        };
        if let Some(next) = next {
            self.handed_on.fetch_add(1, Ordering::SeqCst);
            next.wake.wake();
        }
    }

    /// Moves whenever a lane gets the right from another.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn handed_on(&self) -> u64 {
        self.handed_on.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tickets<const COUNT: usize>() -> [Arc<Ticket>; COUNT] {
        std::array::from_fn(|_| Ticket::new(&Arc::new(Wake::new().unwrap())))
    }

    #[test]
    fn the_right_goes_round_in_the_order_of_asking() {
        let right = OversizeRight::default();
        let lanes: [_; 3] = tickets();
        assert!(right.ask(&lanes[0]) && right.ask(&lanes[0]));
        assert!(!right.ask(&lanes[1]) && !right.ask(&lanes[2]) && !right.ask(&lanes[1]));
        let mut holders = Vec::new();
        for _ in 0..6 {
            let holder = lanes.iter().position(|lane| lane.has_right()).unwrap();
            holders.push(holder);
            assert_eq!(lanes.iter().filter(|lane| lane.has_right()).count(), 1);
            right.give_back(&lanes[holder]);
            assert!(!right.ask(&lanes[holder]), "others wait");
        }
        assert_eq!(holders, [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn who_does_not_wait_takes_only_what_is_free() {
        let right = OversizeRight::default();
        let [lane, inline] = tickets();
        assert!(right.ask(&lane));
        assert!(!right.take_if_free(&inline));
        right.give_back(&inline);
        right.give_back(&lane);
        assert!(!inline.has_right() && right.take_if_free(&inline));
        assert!(!right.ask(&lane));
        right.give_back(&inline);
        assert!(lane.has_right());
        assert_eq!(right.handed_on(), 1);
    }
}
