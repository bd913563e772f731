//! Work on several threads at once, where each waits for a network.

use crate::Error;
use crate::store::Store;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use swath_ioengine::with_helpers;

/// Requests to a remote store that are under way at once.
const REMOTE_REQUESTS: usize = 32;

/// Does `work` for each item: of a remote store many at once, of others one after the other. The first error ends it.
pub(super) fn each_at_once<T: Sync>(
    store: &Store,
    items: &[T],
    work: impl Fn(&T) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    if !store.is_remote() {
        return items.iter().try_for_each(work);
    }
    let (next, error) = (AtomicUsize::new(0), Mutex::new(None));
    let run = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(failed) = work(item) {
                next.store(items.len(), Ordering::Relaxed);
                error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failed);
            }
        }
    };
    with_helpers("swath-write", REMOTE_REQUESTS.min(items.len()), |_| run(), run);
    error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}
