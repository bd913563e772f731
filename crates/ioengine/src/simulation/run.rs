//! The events in the order of the clock.

use super::Scenario;
use super::device::Device;
use super::medium::VirtualMedium;
use super::workload::VirtualReads;
use super::world::{Event, Tally, World};
use crate::engine::Running;
use crate::lane::{SteppedLane, Turn};
use crate::medium::{LocalMedium, Medium, MediumId, ObjectRef};
use crate::{Engine, EngineConfig, Error, ErrorKind, Freshness, RunOptions};
use std::sync::Arc;
use std::time::Duration;

/// What a simulation came to. Rates are of the middle of the run: from the delivery of a fifth of the reads to that of
/// four fifths.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Logical reads delivered a second.
    pub reads_per_second: f64,
    /// Bytes delivered a second.
    pub bytes_per_second: f64,
    /// Physical reads a second, and the bytes that they fetched.
    pub device_reads_per_second: f64,
    /// Bytes fetched a second.
    pub device_bytes_per_second: f64,
    /// Reads at the device on average.
    pub at_device_mean: f64,
    /// Physical reads handed to the kernel at once, on average.
    pub reads_per_flush: f64,
    /// Times that a sleeping lane was woken, for each physical read.
    pub wakes_per_read: f64,
    /// Part of the time in which lanes worked, on average over the lanes.
    pub lane_busy: f64,
    /// Reads that the slowest lane delivered in the middle of the run, as part of the mean over the lanes.
    pub slowest_lane: f64,
    /// Time to the end of the last batch, as a multiple of the median over the batches.
    pub longest_batch: f64,
    /// Most bytes that lanes held of the budget at the end of a turn.
    pub bytes_in_flight_max: usize,
    /// Virtual time of the whole run in ns.
    pub elapsed_ns: u64,
}

/// Runs a scenario to its end.
///
/// # Errors
///
/// [`Internal`](ErrorKind::Internal) when every lane sleeps and reads are left, or a read failed: the lanes have a
/// bug. Whatever keeps an engine from being made.
pub fn simulate(scenario: &Scenario) -> Result<Report, Error> {
    let config = EngineConfig { limits: scenario.limits.clone(), freshness: Freshness::Immutable };
    let (engine, lanes) = Engine::stepped(config)?;
    let workload = &scenario.workload;
    let left = vec![workload.batch_reads(); workload.batches];
    let device = Device::new(scenario.device, scenario.seed);
    let world = World::new(device, scenario.costs, lanes.len(), left);
    let model = scenario.device;
    let medium = VirtualMedium { id: MediumId::unique(), world: world.clone(), model };
    let medium: Arc<dyn LocalMedium> = Arc::new(medium);
    let object = ObjectRef { medium: Medium::Local(medium), key: Arc::from("endless") };
    let start = |number| {
        let (world, workload) = (world.clone(), workload.clone());
        let seed = scenario.seed.wrapping_add(number as u64);
        let batch = VirtualReads { world, workload, object: object.clone(), number, seed };
        engine.spawn(Arc::new(batch), &RunOptions::default())
    };
    let batches: Vec<Running> = (0..workload.batches).map(start).collect();
    let mut simulation = Simulation {
        news_epoch: engine.news_epoch(),
        sleeping: vec![false; lanes.len()],
        wake_reads: scenario.wake_reads,
        wakes: 0,
        busy_ns: 0,
        bytes_in_flight_max: 0,
        snapshots: Vec::new(),
        engine,
        lanes,
        world,
    };
    let elapsed_ns = simulation.run(workload.batch_reads() * workload.batches as u64)?;
    for batch in batches {
        batch.wait()?;
    }
    Ok(simulation.report(elapsed_ns))
}

struct Simulation {
    world: World,
    engine: Engine,
    lanes: Vec<SteppedLane>,
    /// Lanes that wait for a completion or for news.
    sleeping: Vec<bool>,
    wake_reads: usize,
    wakes: u64,
    news_epoch: u64,
    busy_ns: u64,
    bytes_in_flight_max: usize,
    /// The tallies when a fifth, and when four fifths of the reads were delivered.
    snapshots: Vec<(u64, Tally)>,
}

impl Simulation {
    /// Runs until nothing happens any more; returns when that is.
    fn run(&mut self, reads: u64) -> Result<u64, Error> {
        for lane in 0..self.lanes.len() {
            self.world.state().schedule(0, Event::Turns(lane));
        }
        let mut now_ns = 0;
        loop {
            let Some((at_ns, event)) = self.world.state().next_event() else { break };
            now_ns = at_ns;
            match event {
                Event::Arrives(io) => self.world.state().arrive(at_ns, io),
                Event::Transfers(io) => self.world.state().transfer(at_ns, io),
                Event::Completes(io) => {
                    self.world.state().finish(at_ns, io);
                    if self.is_worth_waking(io.lane) {
                        self.wake(io.lane, at_ns);
                    }
                }
                Event::Turns(lane) => self.turn(lane, at_ns, reads),
                Event::Parks(lane) => self.park(lane, at_ns),
            }
        }
        let tally = self.world.state().tally.clone();
        let delivered = tally.delivered.iter().sum::<u64>();
        if delivered != reads || tally.failed != 0 {
            let message = format!("{delivered} of {reads} reads were delivered, and {} failed", tally.failed);
            return Err(Error::new(ErrorKind::Internal, message));
        }
        Ok(now_ns)
    }

    fn turn(&mut self, lane: usize, at_ns: u64, reads: u64) {
        self.world.state().begin_turn(lane, at_ns);
        let turn = self.lanes[lane].turn(Duration::from_nanos(at_ns));
        let end_ns = {
            let mut state = self.world.state();
            let end_ns = state.clock_ns();
            let next = if turn == Turn::Worked { Event::Turns(lane) } else { Event::Parks(lane) };
            state.schedule(end_ns, next);
            let wanted = [reads / 5, reads - reads / 5].get(self.snapshots.len()).copied();
            if wanted.is_some_and(|wanted| wanted <= state.tally.delivered.iter().sum()) {
                self.snapshots.push((end_ns, state.tally.clone()));
            }
            end_ns
        };
        self.busy_ns += end_ns - at_ns;
        let held = self.lanes.iter().map(SteppedLane::bytes_in_flight).sum();
        self.bytes_in_flight_max = self.bytes_in_flight_max.max(held);
        self.spread_news(end_ns);
    }

    /// Wakes the lanes that have news, as the engine would wake their threads.
    fn spread_news(&mut self, at_ns: u64) {
        let epoch = self.engine.news_epoch();
        if epoch == self.news_epoch {
            return;
        }
        self.news_epoch = epoch;
        for lane in 0..self.lanes.len() {
            if self.lanes[lane].has_news() {
                self.wake(lane, at_ns);
            }
        }
    }

    fn park(&mut self, lane: usize, at_ns: u64) {
        let is_worth_a_turn = self.is_worth_waking(lane) && !self.world.state().complete[lane].is_empty();
        if self.lanes[lane].has_news() || is_worth_a_turn {
            self.world.state().schedule(at_ns, Event::Turns(lane));
        } else {
            self.sleeping[lane] = true;
        }
    }

    fn is_worth_waking(&self, lane: usize) -> bool {
        let state = self.world.state();
        let complete = state.complete[lane].len();
        self.wake_reads <= complete || complete == state.in_flight[lane]
    }

    fn wake(&mut self, lane: usize, at_ns: u64) {
        if std::mem::take(&mut self.sleeping[lane]) {
            self.wakes += 1;
            let mut state = self.world.state();
            let woken_ns = at_ns + super::device::whole_ns(state.costs.wake_ns);
            state.schedule(woken_ns, Event::Turns(lane));
        }
    }

    fn report(&self, elapsed_ns: u64) -> Report {
        let tally = self.world.state().tally.clone();
        let start = (0, Tally { delivered: vec![0; self.lanes.len()], ..Tally::default() });
        let end = (elapsed_ns, tally.clone());
        let (from_ns, from) = self.snapshots.first().unwrap_or(&start);
        let (to_ns, to) = self.snapshots.get(1).unwrap_or(&end);
        let seconds = to_ns.saturating_sub(*from_ns).max(1) as f64 / 1e9;
        let lanes = self.lanes.len() as f64;
        let by_lane: Vec<u64> =
            to.delivered.iter().zip(&from.delivered).map(|(to, from)| to - from).collect();
        let delivered = by_lane.iter().sum::<u64>() as f64;
        let slowest = by_lane.iter().min().copied().unwrap_or(0) as f64;
        let mut ended_ns = tally.ended_ns.clone();
        ended_ns.sort_unstable();
        let longest_ns = ended_ns.last().copied().unwrap_or(0) as f64;
        Report {
            reads_per_second: delivered / seconds,
            bytes_per_second: (to.delivered_bytes - from.delivered_bytes) as f64 / seconds,
            device_reads_per_second: (to.physical_reads - from.physical_reads) as f64 / seconds,
            device_bytes_per_second: (to.physical_bytes - from.physical_bytes) as f64 / seconds,
            at_device_mean: (to.at_device_ns - from.at_device_ns) / seconds / 1e9,
            reads_per_flush: tally.physical_reads as f64 / tally.flushes.max(1) as f64,
            wakes_per_read: self.wakes as f64 / tally.physical_reads.max(1) as f64,
            lane_busy: self.busy_ns as f64 / (elapsed_ns.max(1) as f64 * lanes),
            slowest_lane: slowest * lanes / delivered.max(1.0),
            longest_batch: longest_ns
                / ended_ns.get(ended_ns.len() / 2).map_or(1.0, |ns| (*ns).max(1) as f64),
            bytes_in_flight_max: self.bytes_in_flight_max,
            elapsed_ns,
        }
    }
}
