//! How much a lane has in flight.

use super::station::{Reader, Station};
use super::{Lane, Site};
use crate::driver::{Completion, LocalDriver, ReadOp, TargetUse, WaitsFor};
use crate::wake::Wake;
use crate::{Engine, EngineConfig, Limits};
use std::time::Duration;

/// A driver that is never read by.
struct Unused(WaitsFor);

impl LocalDriver for Unused {
    fn name(&self) -> &'static str {
        "unused"
    }

    fn target_use(&self) -> TargetUse {
        TargetUse::Fills
    }

    fn waits_for(&self) -> WaitsFor {
        self.0
    }

    fn submit(&mut self, _read: ReadOp<'_>) {}

    fn flush(&mut self) {}

    fn reap(&mut self, _completions: &mut Vec<Completion>) {}

    fn wait(&mut self, _wake: &Wake, _timeout: Duration) {}

    fn cancel(&mut self, _slot: u32) {}

    fn in_flight(&self) -> usize {
        0
    }
}

fn station(waits_for: WaitsFor) -> Station {
    Station::new(Reader::Local { family: "unused", driver: Box::new(Unused(waits_for)) }, 1)
}

#[test]
fn only_reads_of_local_devices_stop_at_what_the_pool_holds() {
    let limits =
        Limits { lanes: 1, in_flight_bytes_max: 64 << 20, pooled_bytes_max: 1 << 20, ..Limits::default() };
    let engine = Engine::new(EngineConfig { limits, ..EngineConfig::default() });
    let lane = || Lane::new(engine.shared(), Site::Thread).unwrap();
    let mut near = lane();
    near.add_station(station(WaitsFor::Device));
    assert_eq!(near.issue_bytes_max, 1 << 20);
    let mut far = lane();
    far.add_station(station(WaitsFor::Network));
    assert_eq!(far.issue_bytes_max, 32 << 20);
    let mut remote = lane();
    remote.add_station(Station::new(Reader::Remote, 1));
    assert_eq!(remote.issue_bytes_max, 32 << 20);
    // The device's share of the lane is not told from the network's.
    near.add_station(station(WaitsFor::Network));
    assert_eq!(near.issue_bytes_max, 32 << 20);
}
