//! Turns: of many threads, some work at a time, and the others wait for storage or for their turn.

use std::sync::{Condvar, Mutex, PoisonError};

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

    /// Waits until one is free. Others work meanwhile, which ends on an interrupt.
    pub(super) fn take(&self) -> Turn<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free =
            self.returned.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Turn(self)
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn as_many_work_as_there_are_turns() {
        let (turns, working, most) = (Turns::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let turn = turns.take();
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
}
