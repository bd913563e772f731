//! How a parked lane is woken.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Wakes one lane. An eventfd, so that a lane can wait for it and for its ring in one system call; a lane that is not
/// parked costs its wakers one atomic exchange.
pub struct Wake {
    event: std::os::fd::OwnedFd,
    parked: AtomicBool,
}

impl Wake {
    pub(crate) fn new() -> std::io::Result<Wake> {
        let flags = rustix::event::EventfdFlags::CLOEXEC | rustix::event::EventfdFlags::NONBLOCK;
        Ok(Wake { event: rustix::event::eventfd(0, flags)?, parked: AtomicBool::new(false) })
    }

    /// Wakes the lane if it is parked; otherwise its next attempt to park returns at once.
    pub fn wake(&self) {
        if self.parked.swap(false, Ordering::AcqRel) {
            // The counter saturates rather than fails, and the descriptor lives as long as `self`.
            let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
        }
    }

    /// Announces that the lane is about to park. It then looks once more at every source of work, and either parks or
    /// calls [`unpark`](Wake::unpark).
    pub(crate) fn prepare_to_park(&self) {
        self.parked.store(true, Ordering::SeqCst);
        std::sync::atomic::fence(Ordering::SeqCst);
    }

    /// Takes the announcement back, and the wake-ups that came meanwhile.
    pub(crate) fn unpark(&self) {
        if !self.parked.swap(false, Ordering::AcqRel) {
            self.drain();
        }
    }

    /// The descriptor that becomes readable on a wake-up, for drivers that wait for it along with their own events.
    pub fn descriptor(&self) -> std::os::fd::BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.event)
    }

    /// Sleeps until a wake-up or the timeout; for drivers that have nothing else to wait for.
    pub fn wait(&self, timeout: Duration) {
        let mut events = [rustix::event::PollFd::new(&self.event, rustix::event::PollFlags::IN)];
        let timeout = rustix::event::Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(timeout.subsec_nanos()),
        };
        // An interrupted wait is an early return, which callers allow.
        let _ = rustix::event::poll(&mut events, Some(&timeout));
    }

    fn drain(&self) {
        let mut counter = [0u8; 8];
        let _ = rustix::io::read(&self.event, &mut counter);
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
        wake.prepare_to_park();
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
        wake.prepare_to_park();
        let thread = std::thread::spawn(move || other.wake());
        wake.wait(Duration::from_secs(30));
        wake.unpark();
        thread.join().unwrap();
    }
}
