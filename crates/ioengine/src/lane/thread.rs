//! The thread that a lane runs on.

use super::station::Reader;
use super::{Lane, Site, Turn};
use crate::Error;
use crate::engine::{Shared, lock};
use crate::wake::{Pause, Wake};
use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

thread_local! {
    /// What the lane on this thread, if it is a lane's, shares with its fellows.
    static OWN_SHARED: Cell<*const Shared> = const { Cell::new(std::ptr::null()) };
}

/// True on a lane's thread of the engine that shares `shared`.
pub(crate) fn is_on_lane_of(shared: &Shared) -> bool {
    std::ptr::eq(OWN_SHARED.get(), shared)
}

/// How long a lane sleeps at once while several of its drivers have reads in flight: it can wait in one only.
const SEVERAL_DRIVERS_PARK_MAX: Duration = Duration::from_millis(1);

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
        // A panic here is a bug of the lane (plans, sinks and media are caught); the kernel may still write to buffers
        // that unwinding would free, so the process ends instead.
        let abort = super::AbortOnPanic;
        OWN_SHARED.set(Arc::as_ptr(&self.shared));
        loop {
            match self.turn(Instant::now()) {
                Turn::Worked => {}
                Turn::Waiting => self.park(Pause::Waiting),
                Turn::Idle if self.shared.shutdown.load(Ordering::SeqCst) => break,
                Turn::Idle => {
                    self.pool.rest();
                    self.shared.idle_lanes.fetch_add(1, Ordering::Relaxed);
                    self.park(Pause::Idle);
                    self.shared.idle_lanes.fetch_sub(1, Ordering::Relaxed);
                }
            }
        }
        std::mem::forget(abort);
    }

    /// Sleeps until something completes, arrives or is published.
    fn park(&mut self, pause: Pause) {
        self.wake.prepare_to_park(pause);
        if !self.has_news() {
            self.counters.parks.add(1);
            let timeout = self.shared.deadlines.sleep_max(self.shared.config.limits.park_max);
            self.sleep(timeout);
        }
        self.wake.unpark();
    }

    fn sleep(&mut self, timeout: Duration) {
        let Lane { stations, wake, .. } = self;
        let mut busy = stations.iter_mut().filter_map(|station| match &mut station.reader {
            Reader::Local { driver, .. } if driver.in_flight() != 0 => Some(driver),
            Reader::Local { .. } | Reader::Remote => None,
        });
        match (busy.next(), busy.next()) {
            (None, _) => wake.wait(timeout),
            (Some(driver), None) => driver.wait(wake, timeout),
            (Some(driver), Some(_)) => driver.wait(wake, timeout.min(SEVERAL_DRIVERS_PARK_MAX)),
        }
    }

    /// Waits for reads of a driver that did not end them at once, on a caller's thread.
    pub(super) fn wait_inline(&mut self) {
        self.sleep(SEVERAL_DRIVERS_PARK_MAX);
    }
}
