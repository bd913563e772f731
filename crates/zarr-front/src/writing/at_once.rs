//! Work on several threads at once, where each waits for a network.

use crate::Error;
use crate::store::Store;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use swath_ioengine::{InterruptFlag, Waited, wait_for};

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
    on_threads(REMOTE_REQUESTS.min(items.len()), |_| run(), run);
    error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Works on so many threads at once: this one does its `own` share, the others `help` by their number, from 1 on. They are fewer
/// where the system has no more. What interrupts this thread interrupts all of them, also once its own share is done.
pub(super) fn on_threads(count: usize, help: impl Fn(usize) + Sync, own: impl FnOnce()) {
    let (flag, help) = (&InterruptFlag::of_thread(), &help);
    std::thread::scope(|scope| {
        let (ending, ended) = mpsc::channel::<()>();
        for number in 1..count {
            let ending = ending.clone();
            let work = move || {
                flag.followed(|| help(number));
                drop(ending);
            };
            // With fewer threads it only takes longer.
            let _ = std::thread::Builder::new().name("swath-write".to_owned()).spawn_scoped(scope, work);
        }
        drop(ending);
        own();
        // Nothing is sent: this waits for the last one's end, and says so once if it shall be sooner.
        let _: Waited<()> = wait_for(&ended);
    });
}
