//! The least of the limits that a scenario sets, by arithmetic alone.

use super::Scenario;
use crate::buffer::capacity_for;
use crate::memory_len;

/// What keeps a scenario from being faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The device's reads a second.
    DeviceReads,
    /// The device's bytes a second.
    DeviceBytes,
    /// The reads that the device works on at once.
    DeviceParallelism,
    /// The lanes' cores.
    LaneTime,
    /// Reads that lanes keep in flight, over the time that each takes (Little's law).
    Depth,
    /// Bytes that lanes keep in flight, by the budget and by what their buffer pools hold, over the time that each read
    /// takes.
    ByteBudget,
}

/// The logical reads a second that one limit allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Which limit.
    pub limit: Limit,
    /// What it allows.
    pub reads_per_second: f64,
}

impl Scenario {
    /// What each limit allows by itself, the least first.
    ///
    /// Merging is taken to be as wide as limits and windows allow where the gap pays, and none where it does not.
    pub fn bounds(&self) -> Vec<Bound> {
        let limits = &self.limits;
        let bytes = self.workload.read_bytes_mean();
        let (parts, physical_bytes) = self.merged();
        let lanes = limits.lanes as f64;
        let residence_ns = self.device.latency_mean_ns() + self.device.service_ns(physical_bytes);
        let held = self.held_bytes(parts, physical_bytes);
        let lane_share = (limits.in_flight_bytes_max / (limits.lanes + 1)) as f64;
        // An item larger than a lane's share is admitted alone, over all lanes. Of others a lane has as many in flight as
        // its buffer pool holds, and one in any case.
        let pooled = lane_share.min(limits.pooled_bytes_max as f64);
        let in_budget = if lane_share < held { 1.0 } else { lanes * (pooled / held).floor().max(1.0) };
        let lane_ns = self.costs.logical_read_ns(bytes, parts, limits.submit_batch);
        let mut bounds: Vec<Bound> = [
            (Limit::DeviceReads, self.device.reads_per_second * parts),
            (Limit::DeviceBytes, self.device.bytes_per_second / physical_bytes * parts),
            (
                Limit::DeviceParallelism,
                self.device.parallel_reads as f64 * parts * 1e9 / self.device.latency_mean_ns(),
            ),
            (Limit::LaneTime, lanes * 1e9 / lane_ns),
            (Limit::Depth, lanes * limits.local_depth as f64 * parts * 1e9 / residence_ns),
            (Limit::ByteBudget, in_budget * parts * 1e9 / residence_ns),
        ]
        .into_iter()
        .map(|(limit, reads_per_second)| Bound { limit, reads_per_second })
        .collect();
        bounds.sort_by(|a, b| a.reads_per_second.total_cmp(&b.reads_per_second));
        bounds
    }

    /// Logical reads a second that the device alone allows.
    pub fn device_reads_per_second(&self) -> f64 {
        let device = |bound: &&Bound| matches!(bound.limit, Limit::DeviceReads | Limit::DeviceBytes);
        self.bounds().iter().find(device).map_or(0.0, |bound| bound.reads_per_second)
    }

    /// How many logical reads share a physical one, and the bytes of that.
    fn merged(&self) -> (f64, f64) {
        let (workload, limits) = (&self.workload, &self.limits);
        let (bytes, gap) = (workload.read_bytes_mean(), workload.gap_bytes);
        if self.device.cost().gap_bytes_max() < gap || workload.read_bytes.len() != 1 {
            return (1.0, bytes);
        }
        let fitting = ((limits.merged_bytes_max as f64 + gap as f64) / (bytes + gap as f64)).floor();
        let most = (limits.merged_parts_max as f64).min(workload.window_reads as f64);
        let wanted = fitting.clamp(1.0, most);
        // The last read of a window covers what is left.
        let window_reads = workload.window_reads as f64;
        let parts = window_reads / (window_reads / wanted).ceil();
        (parts, parts * bytes + (parts - 1.0) * gap as f64)
    }

    /// Bytes of the budget that one physical read holds, on average.
    fn held_bytes(&self, parts: f64, physical_bytes: f64) -> f64 {
        let capacity =
            |len: u64| memory_len(len).ok().and_then(capacity_for).map_or(f64::MAX, |len| len as f64);
        if 1.0 < parts {
            return capacity(super::device::whole_ns(physical_bytes));
        }
        let sizes = &self.workload.read_bytes;
        sizes.iter().map(|len| capacity(*len)).sum::<f64>() / sizes.len().max(1) as f64
    }
}
