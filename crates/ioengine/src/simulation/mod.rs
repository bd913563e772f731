//! The lanes on a device that is not there, under a clock that is none: for tests, and for planning sizes that a machine
//! does not have.
//!
//! Everything is the engine's own (planning, merging, byte budget, depth, delivery, fairness between batches) but for
//! two things. Reads go to a [`DeviceModel`], which completes them at times of a virtual clock. And each lane has a clock
//! of its own, which moves on by what its work costs on the machine that is simulated ([`LaneCosts`]), and to the next
//! completion when it waits. One thread runs it all, in the order of the clock, so that equal scenarios have equal
//! reports.
//!
//! ```
//! use swath_ioengine::Limits;
//! use swath_ioengine::simulation::{DeviceModel, LaneCosts, Scenario, Workload, simulate};
//!
//! let scenario = Scenario {
//!     device: DeviceModel::new(100_000.0, 0.5e9, 90_000, 20_000),
//!     costs: LaneCosts::DIRECT,
//!     limits: Limits { lanes: 4, ..Limits::default() },
//!     workload: Workload::scattered(4096, 10_000),
//!     wake_reads: 1,
//!     seed: 1,
//! };
//! let report = simulate(&scenario)?;
//! assert!(0.97 * scenario.device_reads_per_second() < report.reads_per_second);
//! # Ok::<(), swath_ioengine::Error>(())
//! ```
//!
//! What it does not know: threads and what they do to each other (caches, locks, the operating system's scheduler), the
//! page cache, interrupts. Lanes are as fast with 64 of them as with one.

mod bounds;
mod costs;
mod device;
mod medium;
mod run;
#[cfg(test)]
mod tests;
mod workload;
mod world;

pub use bounds::{Bound, Limit};
pub use costs::LaneCosts;
pub use device::{DeviceModel, Slowdown};
pub use run::{Report, simulate};
pub use workload::{SCATTERED_GAP_BYTES, Workload};

use crate::Limits;

/// What is simulated. Equal scenarios come to equal reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The device.
    pub device: DeviceModel,
    /// What the lanes' work costs.
    pub costs: LaneCosts,
    /// The engine's bounds; `lanes` of them are simulated.
    pub limits: Limits,
    /// What is read.
    pub workload: Workload,
    /// Completions that a sleeping lane sleeps on for, as long as more are to come. Drivers wait for one.
    pub wake_reads: usize,
    /// Seed of the device's jitter and of the choice of lengths.
    pub seed: u64,
}
