//! A lane: claims windows, keeps its queues full, and hands what arrives to the sinks, all on one core.
//!
//! The lane is a state machine that [`Lane::turn`] advances: it never sleeps and never looks at a clock; time comes in
//! as an argument, and everything outside goes through the seams (plan, driver, remote source, sink). The same code runs
//! on a thread of its own, on a caller's thread ([`Lane::run_inline`]) and under the conformance suite's faulty media.

mod arrive;
mod at_hand;
mod candidates;
mod deliver;
mod demand;
mod issue;
mod niceness;
mod open_window;
mod planning;
mod serve;
mod slab;
mod station;
#[cfg(any(test, feature = "simulation"))]
mod stepped;
#[cfg(test)]
mod tests;
mod thread;

pub(crate) use candidates::Candidate;
pub(crate) use open_window::OpenWindow;
#[cfg(any(test, feature = "simulation"))]
pub(crate) use stepped::SteppedLane;
pub(crate) use thread::{LaneThread, is_on_lane_of};

use crate::Error;
use crate::batch_state::{BatchState, Work};
use crate::buffer::BufferPool;
use crate::counters::Counters;
use crate::driver::{Completion, ReadTarget};
use crate::engine::Shared;
use crate::oversize::Ticket;
use crate::remote::{Inbox, RemoteCompletion};
use crate::scratch::Scratch;
use crate::wake::Wake;
use crate::window::Cursor;
use bytes::Bytes;
use open_window::{Flight, WindowMemory};
use slab::Slab;
use station::Station;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Where a lane runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Site {
    /// On a thread of its own.
    Thread,
    /// On a caller's thread, where it must not wait for a device.
    Inline,
}

/// What a turn came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Something was planned, issued or delivered: turn again.
    Worked,
    /// Reads are in flight and nothing else can be done.
    Waiting,
    /// Nothing is in flight and there is nothing to do.
    Idle,
}

pub(crate) struct Lane {
    shared: Arc<Shared>,
    site: Site,
    wake: Arc<Wake>,
    inbox: Arc<Inbox>,
    counters: Arc<Counters>,
    stations: Vec<Station>,
    windows: Slab<Box<OpenWindow>>,
    flights: Slab<Flight>,
    /// Arrived and not yet delivered.
    arrived: VecDeque<Arrived>,
    /// Work of this lane's own: follow-ups, the rest of full windows, stale windows.
    own_work: Vec<(Arc<BatchState>, Work)>,
    candidates: Vec<Candidate>,
    next_candidate: usize,
    /// On a caller's thread: what may still be read there.
    inline_allowance: Allowance,
    epoch_seen: u64,
    /// When the lane was made, and how long ago that was at the beginning of this turn: reads are timed by turns.
    made: Instant,
    now_ns: u64,
    cancel_epoch_seen: u64,
    bytes_in_flight: usize,
    bytes_max: usize,
    /// Bytes in flight at which no more is issued: see [`Lane::add_station`].
    issue_bytes_max: usize,
    /// The lane's turn to read more at once than its share.
    oversize: Arc<Ticket>,
    /// Set while a read waits for that turn.
    oversize_waits: bool,
    /// Set when one asked for it since the lane last began to issue.
    oversize_asked: bool,
    pool: BufferPool,
    scratch: Scratch,
    spare_windows: Vec<WindowMemory>,
    completions: Vec<Completion>,
    remote_completions: Vec<RemoteCompletion>,
    follow_ups: Vec<Cursor>,
    split_plan: Vec<(u32, u32)>,
    /// What one read of resident bytes is copied to, and what a source loads bytes that it has at hand into.
    served: Vec<u8>,
}

/// Reads and bytes that an inline lane still takes on before it leaves the rest to the lanes.
#[derive(Clone, Copy, Debug, Default)]
struct Allowance {
    reads: u64,
    bytes: u64,
}

/// A physical read that ended, and waits for its delivery.
struct Arrived {
    flight: Flight,
    result: Result<Body, Error>,
}

/// Where the bytes of an arrived read are.
enum Body {
    /// In the target, from its first byte.
    Target(ReadTarget),
    /// In bytes that the medium lent or gave.
    Bytes(Bytes),
}

impl Lane {
    fn new(shared: Arc<Shared>, site: Site) -> Result<Lane, Error> {
        let wake = Arc::new(Wake::new().map_err(Error::from_io)?);
        Ok(Lane {
            site,
            inbox: Inbox::new(Arc::clone(&wake)),
            oversize: Ticket::new(&wake),
            wake,
            counters: shared.register_counters(),
            stations: Vec::new(),
            windows: Slab::new(),
            flights: Slab::new(),
            arrived: VecDeque::new(),
            own_work: Vec::new(),
            candidates: Vec::new(),
            next_candidate: 0,
            inline_allowance: Allowance::default(),
            epoch_seen: u64::MAX,
            made: Instant::now(),
            now_ns: 0,
            cancel_epoch_seen: shared.cancel_epoch.load(Ordering::SeqCst),
            bytes_in_flight: 0,
            bytes_max: shared.lane_bytes_max(),
            issue_bytes_max: shared.lane_bytes_max(),
            oversize_waits: false,
            oversize_asked: false,
            pool: BufferPool::new(shared.config.limits.pooled_bytes_max),
            scratch: Scratch::default(),
            spare_windows: Vec::new(),
            completions: Vec::new(),
            remote_completions: Vec::new(),
            follow_ups: Vec::new(),
            split_plan: Vec::new(),
            served: Vec::new(),
            shared,
        })
    }

    /// A lane for callers' threads.
    pub(crate) fn inline(shared: Arc<Shared>) -> Result<Box<Lane>, Error> {
        Lane::new(shared, Site::Inline).map(Box::new)
    }

    /// Runs as much of a batch as needs no waiting, up to so many bytes; the rest is handed to the lanes.
    pub(crate) fn run_inline(&mut self, state: &Arc<BatchState>, bytes_max: u64) {
        let abort = AbortOnPanic;
        self.inline_allowance =
            Allowance { reads: self.shared.config.limits.inline_reads_max, bytes: bytes_max };
        self.counters.inline_batches.add(1);
        self.candidates.push(Candidate::new(state));
        loop {
            match self.turn(Instant::now()) {
                Turn::Worked => {}
                // A read was cut short or interrupted and is being tried again.
                Turn::Waiting => self.wait_inline(),
                Turn::Idle => break,
            }
        }
        self.hand_over_rest();
        if state.has_work() {
            state.engine().publish(state, state.window_count());
        }
        self.candidates.clear();
        self.pool.rest();
        std::mem::forget(abort);
    }

    /// Does what can be done without waiting: takes what has arrived, refills the queues, delivers.
    pub(crate) fn turn(&mut self, now: Instant) -> Turn {
        self.now_ns = u64::try_from(now.saturating_duration_since(self.made).as_nanos()).unwrap_or(u64::MAX);
        self.shared.deadlines.end_due(now);
        self.look_for_batches();
        self.cancel_ended();
        self.reap();
        let issued = self.refill(now);
        let delivered = self.deliver();
        if 0 < issued + delivered {
            Turn::Worked
        } else if self.flights.len() != 0 {
            Turn::Waiting
        } else {
            Turn::Idle
        }
    }

    /// Keeps the queues full: issues planned reads, and plans windows while there is room for more.
    fn refill(&mut self, now: Instant) -> usize {
        let mut worked = 0;
        loop {
            worked += self.issue_all();
            if self.shared.config.limits.submit_batch <= worked || !self.plan_next(now) {
                break;
            }
            worked += 1;
        }
        self.flush();
        self.share_own_work();
        worked
    }

    /// Looks at the list of batches when it grew.
    fn look_for_batches(&mut self) {
        let epoch = self.shared.epoch.load(Ordering::SeqCst);
        if epoch != self.epoch_seen {
            self.epoch_seen = epoch;
            if self.site == Site::Thread {
                self.shared.candidates(&mut self.candidates);
            }
        }
    }

    /// Asks drivers to end the reads of batches that were cancelled since the last look.
    fn cancel_ended(&mut self) {
        let epoch = self.shared.cancel_epoch.load(Ordering::SeqCst);
        if epoch == self.cancel_epoch_seen {
            return;
        }
        self.cancel_epoch_seen = epoch;
        for (slot, flight) in self.flights.iter() {
            let ended = self.windows.get(flight.window).is_some_and(|window| window.batch.is_ended_early());
            if let (true, station::Reader::Local { driver, .. }) =
                (ended, &mut self.stations[flight.station].reader)
            {
                driver.cancel(slot);
            }
        }
    }

    /// True when a source of work other than the lane's own reads has something.
    fn has_news(&self) -> bool {
        self.shared.shutdown.load(Ordering::SeqCst)
            || self.shared.epoch.load(Ordering::SeqCst) != self.epoch_seen
            || self.shared.cancel_epoch.load(Ordering::SeqCst) != self.cancel_epoch_seen
            || !self.inbox.is_empty()
            || self.oversize.has_right() && self.bytes_in_flight == 0
    }
}

/// Ends the process when a panic unwinds past it: a batch lent by a caller could otherwise be freed while the kernel
/// still writes to it. Panics of plans, sinks and media are caught before they come here.
pub(crate) struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}
