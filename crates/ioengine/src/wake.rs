//! How a parked lane is woken.

#[cfg(any(test, not(target_os = "linux")))]
mod condition;
#[cfg(target_os = "linux")]
mod event_fd;

#[cfg(not(target_os = "linux"))]
use condition::Bell;
#[cfg(target_os = "linux")]
use event_fd::Bell;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// Wakes one lane. On Linux by an eventfd, so that a lane can wait for it and for its ring in one system call; a lane that is
/// not parked costs its wakers one atomic exchange.
pub struct Wake {
    bell: Bell,
    state: AtomicU8,
}

const RUNNING: u8 = 0;

/// Why a lane parks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Its reads are in flight.
    Waiting = 1,
    /// It has nothing to do at all.
    Idle = 2,
}

impl Wake {
    pub(crate) fn new() -> std::io::Result<Wake> {
        Ok(Wake { bell: Bell::new()?, state: AtomicU8::new(RUNNING) })
    }

    /// Wakes the lane if it is parked; a lane that is about to park looks at its sources of work once more.
    pub fn wake(&self) {
        self.rouse();
    }

    /// As [`wake`](Wake::wake); tells whether the lane was parked.
    pub(crate) fn rouse(&self) -> bool {
        // The swap synchronises with the lane's own: either this one sees that the lane has parked, or the lane's look
        // after its swap sees what was published before this one.
        let was_parked = self.state.swap(RUNNING, Ordering::SeqCst) != RUNNING;
        if was_parked {
            self.bell.ring();
        }
        was_parked
    }

    /// Wakes the lane if it is parked for this reason; tells whether it was.
    pub(crate) fn rouse_from(&self, pause: Pause) -> bool {
        let parked = self.state.compare_exchange(pause as u8, RUNNING, Ordering::SeqCst, Ordering::SeqCst);
        if parked.is_ok() {
            self.bell.ring();
        }
        parked.is_ok()
    }

    /// Announces that the lane is about to park. It then looks once more at every source of work, and in any case calls
    /// [`unpark`](Wake::unpark) afterwards.
    pub(crate) fn prepare_to_park(&self, pause: Pause) {
        self.state.swap(pause as u8, Ordering::SeqCst);
    }

    /// Takes the announcement back, and the wake-ups that came meanwhile. A wake-up may still be on its way: its waker
    /// has taken the announcement and not yet rung. It then ends the next wait early, once.
    pub(crate) fn unpark(&self) {
        self.state.swap(RUNNING, Ordering::SeqCst);
        self.bell.still();
    }

    /// The descriptor that becomes readable on a wake-up, for drivers that wait for it along with their own events.
    #[cfg(target_os = "linux")]
    pub fn descriptor(&self) -> std::os::fd::BorrowedFd<'_> {
        self.bell.descriptor()
    }

    /// Sleeps until a wake-up or the timeout; for drivers that have nothing else to wait for.
    pub fn wait(&self, timeout: Duration) {
        self.bell.wait(timeout);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Instant;

    #[test]
    fn a_wake_up_between_announcing_and_parking_is_not_lost() {
        let wake = Arc::new(Wake::new().unwrap());
        wake.prepare_to_park(Pause::Waiting);
        wake.wake();
        let start = Instant::now();
        wake.wait(Duration::from_secs(30));
        wake.unpark();
        assert!(start.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_wake_up_crosses_threads() {
        let wake = Arc::new(Wake::new().unwrap());
        let other = Arc::clone(&wake);
        wake.prepare_to_park(Pause::Waiting);
        let thread = std::thread::spawn(move || other.wake());
        wake.wait(Duration::from_secs(30));
        wake.unpark();
        thread.join().unwrap();
    }

    #[test]
    fn a_wake_up_that_rings_late_ends_one_wait_and_no_more() {
        let wake = Wake::new().unwrap();
        wake.prepare_to_park(Pause::Idle);
        assert_eq!(wake.state.swap(RUNNING, Ordering::SeqCst), Pause::Idle as u8, "the waker's first half");
        wake.unpark();
        wake.bell.ring();
        let mut early = 0;
        for _ in 0..3 {
            wake.prepare_to_park(Pause::Idle);
            let start = Instant::now();
            wake.wait(Duration::from_millis(50));
            wake.unpark();
            early += u32::from(start.elapsed() < Duration::from_millis(40));
        }
        assert_eq!(early, 1);
    }
}
