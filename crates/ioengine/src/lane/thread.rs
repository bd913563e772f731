//! The thread that a lane runs on.

use super::station::Reader;
use super::{Lane, Site, Turn};
use crate::Error;
use crate::engine::{Shared, lock};
use crate::wake::Wake;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

/// A lane's thread, seen from outside.
pub(crate) struct LaneThread {
    pub(crate) wake: Arc<Wake>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl LaneThread {
    /// Starts lane number `index`.
    pub(crate) fn start(shared: Arc<Shared>, index: usize) -> Result<LaneThread, Error> {
        let mut lane = Lane::new(shared, Site::Thread)?;
        let wake = Arc::clone(&lane.wake);
        let thread = std::thread::Builder::new()
            .name(format!("swath-lane-{index}"))
            .spawn(move || lane.run())
            .map_err(Error::from_io)?;
        Ok(LaneThread { wake, thread: Mutex::new(Some(thread)) })
    }

    /// Lets the lane end once nothing of it is in flight, and waits for that, unless called from the lane itself.
    pub(crate) fn stop(&self) {
        self.wake.wake();
        let Some(thread) = lock(&self.thread).take() else { return };
        if thread.thread().id() != std::thread::current().id() && thread.join().is_err() {
            tracing::error!("a lane thread panicked");
        }
    }
}

impl Lane {
    fn run(&mut self) {
        // A panic here is a bug of the lane (plans and sinks are caught); the kernel may still write to buffers that
        // unwinding would free, so the process ends instead.
        let abort = super::AbortOnPanic;
        loop {
            match self.turn(Instant::now()) {
                Turn::Worked => {}
                Turn::Waiting => self.park(),
                Turn::Idle if self.shared.shutdown.load(Ordering::SeqCst) => break,
                Turn::Idle => {
                    // Batches end, and free what they own, while this lane sleeps.
                    self.batches.clear();
                    self.park();
                    self.epoch_seen = self.epoch_seen.wrapping_sub(1);
                }
            }
        }
        std::mem::forget(abort);
    }

    /// Sleeps until something completes, arrives or is published.
    fn park(&mut self) {
        self.wake.prepare_to_park();
        if self.has_news() {
            return self.wake.unpark();
        }
        self.counters.parks.add(1);
        let timeout = self.shared.config.limits.park_max;
        let Lane { stations, wake, .. } = self;
        let waits_in_driver = stations.iter_mut().find_map(|station| match &mut station.reader {
            Reader::Local { driver, .. } if driver.in_flight() != 0 => Some(driver),
            Reader::Local { .. } | Reader::Remote => None,
        });
        match waits_in_driver {
            Some(driver) => driver.wait(wake, timeout),
            None => wake.wait(timeout),
        }
        self.wake.unpark();
    }
}
