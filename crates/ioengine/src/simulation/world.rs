//! What all parts of a simulation share: the clock, the events to come, the device.

use super::costs::LaneCosts;
use super::device::{Device, whole_ns};
use crate::engine::lock;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex};

/// A read on its way: whose it is, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Io {
    pub(super) lane: usize,
    pub(super) slot: u32,
    pub(super) len: usize,
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A read reaches the device.
    Arrives(Io),
    /// A read reaches the device's controller.
    Transfers(Io),
    /// A read is complete.
    Completes(Io),
    /// A lane takes a turn.
    Turns(usize),
    /// A lane has nothing to do at present.
    Parks(usize),
}

/// The state of a simulation, shared with its medium and its batches; one thread uses it.
#[derive(Clone)]
pub(super) struct World(Arc<Mutex<State>>);

pub(super) struct State {
    pub(super) costs: LaneCosts,
    device: Device,
    /// In the order of time, and of their making where that is equal.
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    made: u64,
    /// The lane whose turn it is, and its clock: what it does moves it on.
    pub(super) lane: usize,
    clock_ns: f64,
    /// Slots of the reads that are complete and not yet taken, by lane.
    pub(super) complete: Vec<Vec<u32>>,
    /// Reads submitted and not yet taken, by lane.
    pub(super) in_flight: Vec<usize>,
    pub(super) tally: Tally,
}

/// What is counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Logical reads delivered by each lane.
    pub(super) delivered: Vec<u64>,
    pub(super) delivered_bytes: u64,
    pub(super) failed: u64,
    /// Physical reads, and the bytes of them.
    pub(super) physical_reads: u64,
    pub(super) physical_bytes: u64,
    /// Reads at the device, and their sum over time.
    pub(super) at_device: u64,
    pub(super) at_device_ns: f64,
    pub(super) at_device_since_ns: u64,
    pub(super) flushes: u64,
    /// Reads that each batch has left, and when it had none.
    pub(super) left: Vec<u64>,
    pub(super) ended_ns: Vec<u64>,
}

impl World {
    pub(super) fn new(device: Device, costs: LaneCosts, lanes: usize, left: Vec<u64>) -> World {
        let ended_ns = vec![0; left.len()];
        let tally = Tally { delivered: vec![0; lanes], left, ended_ns, ..Tally::default() };
        World(Arc::new(Mutex::new(State {
            costs,
            device,
            events: BinaryHeap::new(),
            made: 0,
            lane: 0,
            clock_ns: 0.0,
            complete: vec![Vec::new(); lanes],
            in_flight: vec![0; lanes],
            tally,
        })))
    }

    /// The state, for a moment.
    pub(super) fn state(&self) -> std::sync::MutexGuard<'_, State> {
        lock(&self.0)
    }
}

impl State {
    pub(super) fn schedule(&mut self, at_ns: u64, event: Event) {
        self.made += 1;
        self.events.push(Reverse((at_ns, self.made, event)));
    }

    pub(super) fn next_event(&mut self) -> Option<(u64, Event)> {
        self.events.pop().map(|Reverse((at_ns, _, event))| (at_ns, event))
    }

    /// A lane's turn begins.
    pub(super) fn begin_turn(&mut self, lane: usize, at_ns: u64) {
        self.lane = lane;
        self.clock_ns = at_ns as f64;
        self.spend(self.costs.turn_ns);
    }

    /// The lane whose turn it is works for this long.
    pub(super) fn spend(&mut self, duration_ns: f64) {
        self.clock_ns += duration_ns;
    }

    /// A logical read of a batch was delivered, of this many bytes.
    pub(super) fn deliver(&mut self, batch: usize, bytes: usize) {
        self.spend(self.costs.deliver_read_ns + self.costs.byte_ns * bytes as f64);
        self.tally.delivered[self.lane] += 1;
        self.tally.delivered_bytes += bytes as u64;
        self.tally.left[batch] -= 1;
        if self.tally.left[batch] == 0 {
            self.tally.ended_ns[batch] = self.clock_ns();
        }
    }

    /// The clock of the lane whose turn it is.
    pub(super) fn clock_ns(&self) -> u64 {
        whole_ns(self.clock_ns)
    }

    pub(super) fn arrive(&mut self, at_ns: u64, io: Io) {
        self.count_at_device(at_ns);
        self.tally.at_device += 1;
        self.tally.physical_reads += 1;
        self.tally.physical_bytes += io.len as u64;
        let left_ns = self.device.arrive(at_ns);
        self.schedule(left_ns, Event::Transfers(io));
    }

    pub(super) fn transfer(&mut self, at_ns: u64, io: Io) {
        let due_ns = self.device.transfer(at_ns, io.len);
        self.schedule(due_ns, Event::Completes(io));
    }

    pub(super) fn finish(&mut self, at_ns: u64, io: Io) {
        self.count_at_device(at_ns);
        self.tally.at_device -= 1;
        self.complete[io.lane].push(io.slot);
    }

    fn count_at_device(&mut self, at_ns: u64) {
        let tally = &mut self.tally;
        tally.at_device_ns += tally.at_device as f64 * (at_ns - tally.at_device_since_ns) as f64;
        tally.at_device_since_ns = at_ns;
    }
}
