//! Which work a lane takes next.

use super::station::Reader;
use super::{Lane, Site};
use crate::batch_state::{BatchState, Reach, Work};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

/// A batch that a lane may take work from. Lanes keep no batch alive that they have nothing of.
pub(crate) struct Candidate {
    batch: Weak<BatchState>,
    pub(crate) priority: i32,
}

impl Candidate {
    pub(crate) fn new(batch: &Arc<BatchState>) -> Candidate {
        Candidate { batch: Arc::downgrade(batch), priority: batch.priority }
    }

    /// The candidate that a listed batch is, if it has work.
    pub(crate) fn with_work(batch: Weak<BatchState>) -> Option<Candidate> {
        let state = batch.upgrade().filter(|state| state.has_work())?;
        Some(Candidate { batch, priority: state.priority })
    }
}

/// Windows planned ahead of full queues, for batches of which nobody knows yet where they read.
const PLANNED_AHEAD_MAX: usize = 4;

impl Lane {
    /// The next piece of work: the lane's own first, then of the batches, the urgent ones first, in turn.
    pub(super) fn take_work(&mut self) -> Option<(Arc<BatchState>, Work)> {
        let own = self.own_work.iter().rposition(|(batch, _)| self.has_room_for(batch));
        if let Some(own) = own {
            return Some(self.own_work.remove(own));
        }
        let mut start = 0;
        while let Some(first) = self.candidates.get(start) {
            let priority = first.priority;
            let alike =
                self.candidates[start..].iter().take_while(|other| other.priority == priority).count();
            if let Some(work) = self.take_in_turn(start, alike) {
                return Some(work);
            }
            start += alike;
        }
        self.candidates.retain(|candidate| candidate.batch.strong_count() != 0);
        None
    }

    fn take_in_turn(&mut self, start: usize, count: usize) -> Option<(Arc<BatchState>, Work)> {
        for step in 0..count {
            let turn = (self.next_candidate + step) % count;
            let Some(batch) = self.candidates[start + turn].batch.upgrade() else { continue };
            if !self.has_room_for(&batch) {
                continue;
            }
            if let Some(work) = batch.take_work() {
                self.next_candidate = turn + 1;
                return Some((batch, work));
            }
            self.candidates[start + turn].batch = Weak::new();
        }
        None
    }

    /// True when another window of this batch would be issued at once, as far as its last one tells.
    fn has_room_for(&self, batch: &BatchState) -> bool {
        let mut queued = self.stations.iter().map(|station| (&station.reader, station.queue.len()));
        match batch.reach() {
            Reach::Unknown => queued.map(|(_, windows)| windows).sum::<usize>() < PLANNED_AHEAD_MAX,
            Reach::Local => queued.all(|(reader, windows)| windows == 0 || matches!(reader, Reader::Remote)),
            Reach::Remote => {
                queued.all(|(reader, windows)| windows == 0 || !matches!(reader, Reader::Remote))
            }
        }
    }

    /// Gives half of the lane's own work away when other lanes have nothing to do.
    pub(super) fn share_own_work(&mut self) {
        let idle = self.site == Site::Thread && self.shared.idle_lanes.load(Ordering::Relaxed) != 0;
        if idle && 1 < self.own_work.len() {
            for (batch, work) in self.own_work.drain(..self.own_work.len() / 2) {
                batch.make_ready(work);
            }
        }
    }
}
