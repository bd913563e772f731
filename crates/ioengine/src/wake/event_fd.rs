//! A bell that is a descriptor, so that a lane can wait for it and for its ring in one system call.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

pub(super) struct Bell(OwnedFd);

impl Bell {
    pub(super) fn new() -> io::Result<Bell> {
        let flags = rustix::event::EventfdFlags::CLOEXEC | rustix::event::EventfdFlags::NONBLOCK;
        Ok(Bell(rustix::event::eventfd(0, flags)?))
    }

    pub(super) fn ring(&self) {
        // The counter saturates rather than fails, and the descriptor lives as long as `self`.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Sleeps until it rings or the timeout; at once where it has rung since it was last stilled.
    pub(super) fn wait(&self, timeout: Duration) {
        let mut events = [rustix::event::PollFd::new(&self.0, rustix::event::PollFlags::IN)];
        let timeout = rustix::event::Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(timeout.subsec_nanos()),
        };
        // An interrupted wait is an early return, which callers allow.
        let _ = rustix::event::poll(&mut events, Some(&timeout));
    }

    /// Forgets that it rang.
    pub(super) fn still(&self) {
        let mut counter = [0u8; 8];
        let _ = rustix::io::read(&self.0, &mut counter);
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
