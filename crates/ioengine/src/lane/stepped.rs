//! A lane without a thread: whoever holds it has it take its turns, and says what time it is.

use super::{Lane, Site, Turn};
use crate::Error;
use crate::engine::Shared;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A lane as a thread would run it, between two calls of its holder.
pub(crate) struct SteppedLane {
    lane: Lane,
    counts_as_idle: bool,
}

impl SteppedLane {
    pub(crate) fn new(shared: Arc<Shared>) -> Result<SteppedLane, Error> {
        Ok(SteppedLane { lane: Lane::new(shared, Site::Thread)?, counts_as_idle: false })
    }

    /// One turn, `since_made` after the lane was made.
    pub(crate) fn turn(&mut self, since_made: Duration) -> Turn {
        self.count_as_idle(false);
        let turn = self.lane.turn(self.lane.made + since_made);
        self.count_as_idle(turn == Turn::Idle);
        turn
    }

    /// True when something else than the lane's own reads asks for a turn.
    pub(crate) fn has_news(&self) -> bool {
        self.lane.has_news()
    }

    /// Bytes that the lane holds of the budget.
    pub(crate) fn bytes_in_flight(&self) -> usize {
        self.lane.bytes_in_flight
    }

    fn count_as_idle(&mut self, idle: bool) {
        let idle_lanes = &self.lane.shared.idle_lanes;
        match (self.counts_as_idle, idle) {
            (false, true) => drop(idle_lanes.fetch_add(1, Ordering::Relaxed)),
            (true, false) => drop(idle_lanes.fetch_sub(1, Ordering::Relaxed)),
            _ => {}
        }
        self.counts_as_idle = idle;
    }
}
