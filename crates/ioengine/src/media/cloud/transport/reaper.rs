//! Closing connections that nobody has used for a while.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::time::sleep;

/// What holds idle connections.
pub(super) trait IdleShelf: Send + Sync + 'static {
    /// Drops what was idle for too long or is closed; returns how long the next one has, at least. `None` when nothing is
    /// left, and then the shelf counts itself as not watched.
    fn prune(&self, now: Instant) -> Option<Duration>;

    /// Told when watching ended early, with the runtime: the shelf counts itself as not watched.
    fn unwatched(&self);
}

/// Prunes a shelf until it is empty or gone. The shelf itself sees to it that only one watches.
pub(super) fn watch<S: IdleShelf>(shelf: &Arc<S>, runtime: &Handle) {
    let watching = Watching { shelf: Arc::downgrade(shelf) };
    runtime.spawn(async move {
        while let Some(wait) = watching.shelf.upgrade().and_then(|shelf| shelf.prune(Instant::now())) {
            sleep(wait).await;
        }
        watching.end();
    });
}

/// Tells the shelf when the runtime drops the task before its end.
struct Watching<S: IdleShelf> {
    shelf: Weak<S>,
}

impl<S: IdleShelf> Watching<S> {
    /// The shelf knows already, and may be watched by another by now.
    fn end(mut self) {
        self.shelf = Weak::new();
    }
}

impl<S: IdleShelf> Drop for Watching<S> {
    fn drop(&mut self) {
        if let Some(shelf) = self.shelf.upgrade() {
            shelf.unwatched();
        }
    }
}
