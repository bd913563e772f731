//! What the engine counts.

use std::sync::atomic::{AtomicU64, Ordering};

/// Buckets of the latency histogram: bucket `i` counts reads that took less than 2^i µs, the last all others.
pub const LATENCY_BUCKETS: usize = 24;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// One lane's counters. Only the lane writes them, so an addition needs no locked instruction.
        #[derive(Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter,)*
            pub(crate) in_flight_high_water: Counter,
            pub(crate) latency: [Counter; LATENCY_BUCKETS],
        }

        /// The engine's counters since it started, summed over its lanes and the inline path.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Stats {
            $($(#[$doc])* pub $name: u64,)*
            /// Most physical reads that one lane had in flight.
            pub in_flight_high_water: u64,
            /// Physical reads by the time from submission to completion, in powers of two of a microsecond.
            pub latency: [u64; LATENCY_BUCKETS],
            /// The drivers in use, each with why it was chosen: `io_uring: probe read 4096 bytes of /data`;
            /// with the reads in flight a lane where they were measured: `io_uring, depth 32: ...`.
            pub drivers: Vec<String>,
        }

        impl Counters {
            pub(crate) fn add_to(&self, stats: &mut Stats) {
                $(stats.$name += self.$name.get();)*
                stats.in_flight_high_water = stats.in_flight_high_water.max(self.in_flight_high_water.get());
                for (sum, counter) in stats.latency.iter_mut().zip(&self.latency) {
                    *sum += counter.get();
                }
            }
        }
    };
}

counters! {
    /// Windows planned.
    windows,
    /// Logical reads planned.
    logical_reads,
    /// Logical reads of bytes that were there already (a mapping, memory): no physical read was issued for them.
    served_reads,
    /// Physical reads issued, again after a short read or an interruption included.
    physical_reads,
    /// Bytes that plans wanted.
    bytes_wanted,
    /// Bytes that media were asked for.
    bytes_fetched,
    /// Logical reads that shared a physical read with another.
    merged_reads,
    /// Physical reads that were a piece of a split logical read.
    split_reads,
    /// Physical reads issued again.
    retries,
    /// Merged reads that failed and were issued again one by one.
    unmerged,
    /// Logical reads delivered as errors.
    failed_reads,
    /// Objects opened.
    opens,
    /// Objects found open from an earlier batch.
    handle_hits,
    /// Cursors planned by a sink's request.
    follow_ups,
    /// Windows planned again because their object had been replaced.
    replans,
    /// Windows that the inline path handed to the lanes because they would have waited for the device.
    deferred_windows,
    /// Batches that ran on their caller's thread.
    inline_batches,
    /// Batches that ran on the lanes.
    lane_batches,
    /// Times that a lane slept.
    parks,
}

/// A counter with one writer.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, amount: u64) {
        self.0.store(self.get().wrapping_add(amount), Ordering::Relaxed);
    }

    pub(crate) fn raise_to(&self, value: u64) {
        if self.get() < value {
            self.0.store(value, Ordering::Relaxed);
        }
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Counters {
    pub(crate) fn record_latency(&self, elapsed_ns: u64) {
        let micros = elapsed_ns / 1000;
        let bucket = (u64::BITS - micros.leading_zeros()) as usize;
        self.latency[bucket.min(LATENCY_BUCKETS - 1)].add(1);
    }
}

impl Stats {
    /// Bytes fetched for each byte wanted; 0 when nothing was wanted.
    pub fn read_amplification(&self) -> f64 {
        if self.bytes_wanted == 0 { 0.0 } else { self.bytes_fetched as f64 / self.bytes_wanted as f64 }
    }
}
