//! What a request and a byte cost on a medium.

/// The marginal cost of reading from a medium with its queue full, which decides where merging pays: bridging a gap
/// pays when `gap × byte_cost < request_cost`.
///
/// The request cost is *not* a latency but latency divided by concurrency: a store that answers in 20 ms with 256
/// requests in flight has a request cost of about 80 µs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostModel {
    /// Nanoseconds that one more request costs.
    pub request_cost_ns: f64,
    /// Nanoseconds that one more byte in a request costs.
    pub byte_cost_ns: f64,
}

impl CostModel {
    /// The page cache of a local file: a second read costs 0.2 µs more than reading on, and a byte 0.1 ns. Measured as
    /// pairs of reads against one that bridges their gap, on Linux 6.18: see docs/decisions/0001-spike.md.
    pub const PAGE_CACHE: CostModel = CostModel { request_cost_ns: 200.0, byte_cost_ns: 0.1 };

    /// A local device read past the page cache with its queue full: 7 µs a request and 0.58 ns a byte. From what `fio`
    /// reached at 4 KiB, 64 KiB and 1 MiB on one virtual disk: see docs/decisions/0006-direct-reads.md.
    pub const DEVICE: CostModel = CostModel { request_cost_ns: 7_000.0, byte_cost_ns: 0.58 };

    /// Bytes already in memory: nothing is gained by merging.
    pub const MEMORY: CostModel = CostModel { request_cost_ns: 0.0, byte_cost_ns: 1.0 };

    /// The widest gap, in bytes, that is cheaper to read over than to skip. Zero merges only what touches.
    pub fn gap_bytes_max(&self) -> u64 {
        let gap = (self.request_cost_ns / self.byte_cost_ns).clamp(0.0, GAP_BYTES_CEILING);
        if gap.is_nan() { 0 } else { float_to_u64(gap) }
    }
}

/// No measured medium makes a gap of more than this pay; it also guards against a cost model with a byte cost of zero.
const GAP_BYTES_CEILING: f64 = 16.0 * 1024.0 * 1024.0;

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to 0..=16 MiB by the caller"
)]
fn float_to_u64(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gap_is_the_ratio_of_the_costs() {
        assert_eq!(CostModel { request_cost_ns: 600.0, byte_cost_ns: 0.15 }.gap_bytes_max(), 4000);
        assert_eq!(CostModel { request_cost_ns: 80_000.0, byte_cost_ns: 0.08 }.gap_bytes_max(), 1_000_000);
        assert_eq!(CostModel::MEMORY.gap_bytes_max(), 0);
        assert_eq!(CostModel { request_cost_ns: 1.0, byte_cost_ns: 0.0 }.gap_bytes_max(), 16 << 20);
        assert_eq!(CostModel { request_cost_ns: 0.0, byte_cost_ns: 0.0 }.gap_bytes_max(), 0);
    }
}
