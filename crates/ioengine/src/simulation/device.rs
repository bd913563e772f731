//! A model of a device: so many reads at once, each after a latency, over a link of so many reads and bytes a second.

use crate::CostModel;
use crate::random::Random;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a device can do.
///
/// A read waits for one of `parallel_reads` places, takes `latency_ns` and up to `jitter_ns` more there, and then passes
/// the controller, which passes one read after the other: each in the longer of the times that one read and that its
/// bytes take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceModel {
    /// Reads a second, of any size that the bandwidth allows.
    pub reads_per_second: f64,
    /// Bytes a second.
    pub bytes_per_second: f64,
    /// Time that a lone small read takes, without its way through the controller, in ns.
    pub latency_ns: u64,
    /// Up to this much more, uniformly, in ns.
    pub jitter_ns: u64,
    /// Reads that the device works on at once; those beyond it wait.
    pub parallel_reads: usize,
    /// How the device gets slower with time.
    pub slowdown: Option<Slowdown>,
}

/// A device that stops being what its model says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowdown {
    /// When, in ns from the start.
    pub after_ns: u64,
    /// Each read then takes this many times as long, at its place and at the controller.
    pub factor: f64,
}

impl DeviceModel {
    /// A device of this many reads and bytes a second whose places suffice for twice that rate.
    pub fn new(reads_per_second: f64, bytes_per_second: f64, latency_ns: u64, jitter_ns: u64) -> DeviceModel {
        let mut model = DeviceModel {
            reads_per_second,
            bytes_per_second,
            latency_ns,
            jitter_ns,
            parallel_reads: 1,
            slowdown: None,
        };
        let places = 2.0 * reads_per_second * model.latency_mean_ns() / 1e9;
        model.parallel_reads = (16..=1 << 16).find(|count| places <= *count as f64).unwrap_or(1 << 16);
        model
    }

    /// Time that a small read takes on average, in ns.
    pub fn latency_mean_ns(&self) -> f64 {
        self.latency_ns as f64 + self.jitter_ns as f64 / 2.0
    }

    /// What a calibration of this device would find.
    pub fn cost(&self) -> CostModel {
        CostModel { request_cost_ns: 1e9 / self.reads_per_second, byte_cost_ns: 1e9 / self.bytes_per_second }
    }

    /// Time that a read of `len` bytes takes at the controller, in ns.
    pub(super) fn service_ns(&self, len: f64) -> f64 {
        (1e9 / self.reads_per_second).max(len * 1e9 / self.bytes_per_second)
    }
}

/// A device at work. Its methods are called in the order of the clock.
pub(super) struct Device {
    model: DeviceModel,
    random: Random,
    /// When each place becomes free, in ns.
    places: BinaryHeap<Reverse<u64>>,
    controller_free_ns: f64,
}

impl Device {
    pub(super) fn new(model: DeviceModel, seed: u64) -> Device {
        let places = (0..model.parallel_reads.max(1)).map(|_| Reverse(0)).collect();
        Device { model, random: Random::new(seed), places, controller_free_ns: 0.0 }
    }

    /// A read reaches the device; returns when it leaves its place for the controller.
    pub(super) fn arrive(&mut self, now_ns: u64) -> u64 {
        let free_ns = self.places.pop().map_or(0, |Reverse(free_ns)| free_ns);
        let latency_ns = self.model.latency_ns + self.random.below(self.model.jitter_ns + 1);
        let left_ns = free_ns.max(now_ns) + self.slowed(now_ns, latency_ns as f64);
        self.places.push(Reverse(left_ns));
        left_ns
    }

    /// A read reaches the controller; returns when it is complete.
    pub(super) fn transfer(&mut self, now_ns: u64, len: usize) -> u64 {
        let service_ns = self.model.service_ns(len as f64) * self.factor(now_ns);
        self.controller_free_ns = self.controller_free_ns.max(now_ns as f64) + service_ns;
        whole_ns(self.controller_free_ns)
    }

    fn slowed(&self, now_ns: u64, duration_ns: f64) -> u64 {
        whole_ns(duration_ns * self.factor(now_ns))
    }

    fn factor(&self, now_ns: u64) -> f64 {
        self.model.slowdown.filter(|slow| slow.after_ns <= now_ns).map_or(1.0, |slow| slow.factor)
    }
}

/// Simulations last seconds: far below 2^53 ns.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, and is never negative"
)]
pub(super) fn whole_ns(duration_ns: f64) -> u64 {
    duration_ns.ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_read_takes_its_latency_and_its_service() {
        let mut device = Device::new(DeviceModel::new(1e6, 4e9, 80_000, 0), 1);
        let left = device.arrive(1000);
        assert_eq!(left, 81_000);
        assert_eq!(device.transfer(left, 4096), 81_000 + 1024);
        assert_eq!(device.transfer(left, 512), 81_000 + 1024 + 1000);
    }

    #[test]
    fn reads_beyond_the_places_wait() {
        let model = DeviceModel { parallel_reads: 2, ..DeviceModel::new(1e6, 4e9, 80_000, 0) };
        let mut device = Device::new(model, 1);
        assert_eq!([0, 0, 0, 0].map(|now| device.arrive(now)), [80_000, 80_000, 160_000, 160_000]);
    }

    #[test]
    fn a_slow_device_takes_longer() {
        let slowdown = Some(Slowdown { after_ns: 100, factor: 3.0 });
        let mut device = Device::new(DeviceModel { slowdown, ..DeviceModel::new(1e6, 4e9, 1000, 0) }, 1);
        assert_eq!((device.arrive(99), device.arrive(100)), (1099, 3100));
    }
}
