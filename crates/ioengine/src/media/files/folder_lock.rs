//! One replacement of a folder's files at a time, in all processes.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// A lock of a folder, for as long as it takes to look at a file and to replace it. Given back when it is dropped.
pub(super) struct FolderLock<'a>(Option<&'a OwnedFd>);

/// Replacements take some ten microseconds. Whoever holds the lock for longer was stopped, or is no writer.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Between two tries to take the lock: doubled with each, up to the longest.
const PAUSE_MIN: Duration = Duration::from_micros(20);
const PAUSE_MAX: Duration = Duration::from_millis(2);

impl<'a> FolderLock<'a> {
    /// Waits for the lock. Where folders cannot be locked there is none, and nothing is waited for.
    pub(super) fn take(folder: &'a OwnedFd) -> io::Result<FolderLock<'a>> {
        let (begun, mut pause) = (Instant::now(), PAUSE_MIN);
        loop {
            match flock(folder, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(FolderLock(Some(folder))),
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) if begun.elapsed() < WAIT_MAX => {
                    std::thread::sleep(pause);
                    pause = pause.saturating_mul(2).min(PAUSE_MAX);
                }
                Err(Errno::WOULDBLOCK) => {
                    let message =
                        format!("another process holds a lock on the folder for {WAIT_MAX:?} by now");
                    return Err(io::Error::new(io::ErrorKind::TimedOut, message));
                }
                Err(_) => return Ok(FolderLock(None)),
            }
        }
    }
}

impl Drop for FolderLock<'_> {
    fn drop(&mut self) {
        // Said aloud: a child that was forked meanwhile keeps the folder open.
        if let Some(folder) = self.0 {
            let _ = flock(folder, FlockOperation::Unlock);
        }
    }
}
