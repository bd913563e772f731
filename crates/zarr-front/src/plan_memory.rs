//! Memory of finished reads' plans, used again for the next ones.

use std::sync::{Mutex, PoisonError};
use swath_codecs::OutputMemory;

/// What an engine keeps of them.
#[derive(Default)]
pub(crate) struct PlanMemory(Mutex<Vec<OutputMemory>>);

/// Plans whose memory is kept: as many as threads are likely to read at a time.
const KEPT_MAX: usize = 8;

/// Bytes of one plan's memory that are kept, at most: what a read of 10,000 crops takes.
const KEPT_BYTES_MAX: usize = 4 << 20;

impl PlanMemory {
    /// Memory for a plan, empty where none is kept.
    pub(crate) fn take(&self) -> OutputMemory {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Keeps the memory of a plan that is done.
    pub(crate) fn put(&self, memory: OutputMemory) {
        if KEPT_BYTES_MAX < memory.bytes() {
            return;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT_MAX {
            kept.push(memory);
        }
    }
}
