//! Cursors whose plan waits for something outside the engine.

use crate::batch_state::BatchState;
use crate::window::Cursor;
use std::sync::Weak;
use std::sync::atomic::{AtomicU8, Ordering};

/// The plan that asked for a way to be resumed has not returned yet.
const PLANNING: u8 = 0;
/// It answered that it waits.
const PARKED: u8 = 1;
/// It was resumed, or answered that it does not wait: nothing more happens.
const SPENT: u8 = 2;

/// One cursor's stay, shared by the lane that plans it and every [`Resume`](crate::Resume) handed out for it. The first
/// of those that is dropped counts.
///
/// It holds no batch: who waits for the batch does, and when nobody does there is nothing to resume.
pub(crate) struct Parking {
    state: Weak<BatchState>,
    cursor: Cursor,
    stage: AtomicU8,
}

/// What became of a plan that answered that it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parked {
    /// It waits, or its batch has ended.
    Waiting,
    /// What it waits for came before the plan had returned: it is to be planned again at once.
    Resumed,
}

impl Parking {
    pub(crate) fn new(state: Weak<BatchState>, cursor: Cursor) -> Parking {
        Parking { state, cursor, stage: AtomicU8::new(PLANNING) }
    }

    /// Called under the lock of the batch's shelf, which [`BatchState::unpark`] takes as well.
    pub(crate) fn park(&self) -> Parked {
        match self.stage.compare_exchange(PLANNING, PARKED, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Parked::Waiting,
            Err(_) => Parked::Resumed,
        }
    }

    /// The plan did not wait after all.
    pub(crate) fn forget(&self) {
        self.stage.store(SPENT, Ordering::Release);
    }

    pub(crate) fn resume(&self) {
        if self.stage.swap(SPENT, Ordering::AcqRel) == PARKED
            && let Some(state) = self.state.upgrade()
        {
            state.unpark(self.cursor);
        }
    }
}
