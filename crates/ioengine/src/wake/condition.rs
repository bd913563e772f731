//! A bell for lanes that wait for nothing besides.

use crate::engine::lock;
use std::io;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

#[derive(Default)]
pub(super) struct Bell {
    has_rung: Mutex<bool>,
    rung: Condvar,
}

impl Bell {
    /// Never an error: descriptors, which other platforms use, may be used up.
    pub(super) fn new() -> io::Result<Bell> {
        Ok(Bell::default())
    }

    pub(super) fn ring(&self) {
        *lock(&self.has_rung) = true;
        self.rung.notify_all();
    }

    /// Sleeps until it rings or the timeout; at once where it has rung since it was last stilled.
    pub(super) fn wait(&self, timeout: Duration) {
        let has_rung = lock(&self.has_rung);
        // Whether it rang or the time is up is the caller's to find out.
        drop(self.rung.wait_timeout_while(has_rung, timeout, |has_rung| !*has_rung));
    }

    /// Forgets that it rang.
    pub(super) fn still(&self) {
        *lock(&self.has_rung) = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn it_is_heard_before_and_during_a_wait_until_it_is_stilled() {
        let bell = Bell::new().unwrap();
        let begun = Instant::now();
        bell.ring();
        bell.wait(Duration::from_secs(30));
        bell.still();
        std::thread::scope(|scope| {
            scope.spawn(|| bell.ring());
            bell.wait(Duration::from_secs(30));
        });
        assert!(begun.elapsed() < Duration::from_secs(20));
        bell.still();
        let begun = Instant::now();
        bell.wait(Duration::from_millis(50));
        assert!(Duration::from_millis(50) <= begun.elapsed());
    }
}
