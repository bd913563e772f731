//! A handle on a running batch: cancel it, or see how far it is.

use crate::batch_state::BatchState;
use crate::{Error, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Cancels batches and tells their progress, from any thread. Clones share the state; one control may be given to
/// several batches, which it then cancels together.
#[derive(Clone, Debug, Default)]
pub struct Control(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    cancelled: AtomicBool,
    delivered_reads: AtomicU64,
    delivered_bytes: AtomicU64,
    batches: Mutex<Vec<Weak<BatchState>>>,
}

/// How far a batch is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Logical reads delivered, failed ones included.
    pub delivered_reads: u64,
    /// Stored bytes delivered.
    pub delivered_bytes: u64,
    /// Windows of the batches that still run, done or not.
    pub windows: u64,
    /// Those of them that are not done. What they lead to counts too, so this may grow, up to `windows`.
    pub windows_left: u64,
}

impl Control {
    /// A control that was not cancelled.
    pub fn new() -> Control {
        Control::default()
    }

    /// Cancels the batches that run under this control, and those still to come. Their waiters get an error of kind
    /// [`Cancelled`](ErrorKind::Cancelled) once no read of theirs is in flight any more.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Release);
        let batches = std::mem::take(&mut *self.0.batches.lock().unwrap_or_else(PoisonError::into_inner));
        for batch in batches.iter().filter_map(Weak::upgrade) {
            batch.end_early(cancelled());
        }
    }

    /// How far the batches of this control are, all together.
    pub fn progress(&self) -> Progress {
        let running: Vec<Arc<BatchState>> = {
            let batches = self.0.batches.lock().unwrap_or_else(PoisonError::into_inner);
            batches.iter().filter_map(Weak::upgrade).collect()
        };
        Progress {
            delivered_reads: self.0.delivered_reads.load(Ordering::Relaxed),
            delivered_bytes: self.0.delivered_bytes.load(Ordering::Relaxed),
            windows: running.iter().map(|batch| batch.window_count()).sum(),
            windows_left: running.iter().map(|batch| batch.windows_left()).sum(),
        }
    }

    pub(crate) fn count(&self, reads: u64, bytes: u64) {
        self.0.delivered_reads.fetch_add(reads, Ordering::Relaxed);
        self.0.delivered_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn attach(&self, batch: &Arc<BatchState>) {
        {
            let mut batches = self.0.batches.lock().unwrap_or_else(PoisonError::into_inner);
            batches.retain(|batch| batch.strong_count() != 0);
            batches.push(Arc::downgrade(batch));
        }
        if self.0.cancelled.load(Ordering::Acquire) {
            batch.end_early(cancelled());
        }
    }
}

fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "the batch was cancelled")
}

impl std::fmt::Debug for BatchState {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("BatchState").field("finished", &self.is_finished()).finish_non_exhaustive()
    }
}
