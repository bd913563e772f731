//! Reads on a caller's thread: there are none, as any of them may wait.

use crate::driver::{Completion, LocalDriver, Outcome, ReadOp, TargetUse, WaitsFor};
use crate::wake::Wake;
use std::time::Duration;

/// Answers every read with [`Outcome::WouldBlock`], which leaves it to the lanes.
#[derive(Default)]
pub(super) struct LeftToLanes(Vec<Completion>);

impl LocalDriver for LeftToLanes {
    fn name(&self) -> &'static str {
        "left to the lanes"
    }

    fn target_use(&self) -> TargetUse {
        TargetUse::Fills
    }

    fn waits_for(&self) -> WaitsFor {
        WaitsFor::Device
    }

    fn submit(&mut self, read: ReadOp<'_>) {
        self.0.push(Completion { slot: read.slot, target: read.target, outcome: Outcome::WouldBlock });
    }

    fn flush(&mut self) {}

    fn reap(&mut self, completions: &mut Vec<Completion>) {
        completions.append(&mut self.0);
    }

    fn wait(&mut self, _wake: &Wake, _timeout: Duration) {}

    fn cancel(&mut self, _slot: u32) {}

    fn in_flight(&self) -> usize {
        self.0.len()
    }
}
