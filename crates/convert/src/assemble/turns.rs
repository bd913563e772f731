//! Turns: of many threads, some work at a time, and the others wait for storage or for their turn.

use crate::{Error, ErrorKind};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;
use swath_ioengine::is_interrupted;

/// How often one that waits asks whether it shall go on.
const WAIT_SLICE: Duration = Duration::from_millis(20);

/// Turns that threads take.
pub(super) struct Turns {
    free: Mutex<usize>,
    returned: Condvar,
}

/// A turn, which ends when it is dropped.
pub(super) struct Turn<'a>(&'a Turns);

impl Turns {
    /// So many at a time.
    pub(super) fn new(count: usize) -> Turns {
        Turns { free: Mutex::new(count), returned: Condvar::new() }
    }

    /// Waits until one is free.
    ///
    /// # Errors
    ///
    /// `Cancelled` where this thread's work was interrupted meanwhile.
    pub(super) fn take(&self) -> Result<Turn<'_>, Error> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            free = self.returned.wait_timeout(free, WAIT_SLICE).unwrap_or_else(PoisonError::into_inner).0;
            if *free == 0 && is_interrupted() {
                return Err(Error::new(ErrorKind::Cancelled, "the writing was interrupted"));
            }
        }
        *free -= 1;
        Ok(Turn(self))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use swath_ioengine::interruptible;

    #[test]
    fn as_many_work_as_there_are_turns() {
        let (turns, working, most) = (Turns::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let turn = turns.take().unwrap();
                        most.fetch_max(working.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        working.fetch_sub(1, Ordering::SeqCst);
                        drop(turn);
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 2);
        assert_eq!(turns.free.into_inner().unwrap(), 2);
    }

    #[test]
    fn a_wait_for_a_turn_is_interrupted() {
        let turns = Turns::new(1);
        let _taken = turns.take().unwrap();
        let found = interruptible(Rc::new(|| true), || turns.take().err().map(|error| error.kind()));
        assert_eq!(found, Some(ErrorKind::Cancelled));
    }
}
