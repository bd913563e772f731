//! What is read from the simulated device.

use super::world::World;
use crate::batch::{Arrival, Batch, Estimate, LaneContext, PlanContext};
use crate::random::Random;
use crate::window::{Cursor, Planned, Token, Window};
use crate::{ByteRange, Error, ObjectRef};

/// Reads of one object, in batches of equal size.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Lengths of the reads in bytes; each read has one of them, by the seed.
    pub read_bytes: Vec<u64>,
    /// Bytes between a read and the next; more than any gap that pays, and no two merge.
    pub gap_bytes: u64,
    /// Reads in one window.
    pub window_reads: u64,
    /// Windows in one batch.
    pub windows: u64,
    /// Batches, all there from the start.
    pub batches: usize,
}

/// Wider than any gap that is read over (see [`CostModel::gap_bytes_max`](crate::CostModel::gap_bytes_max)).
pub const SCATTERED_GAP_BYTES: u64 = 32 << 20;

impl Workload {
    /// One batch of reads of one size, none of which merge.
    pub fn scattered(read_bytes: u64, reads: u64) -> Workload {
        Workload::spread(read_bytes, SCATTERED_GAP_BYTES, reads)
    }

    /// One batch of reads of one size with a gap of one size.
    pub fn spread(read_bytes: u64, gap_bytes: u64, reads: u64) -> Workload {
        // As front-ends do: so few of large ones that lanes share the work.
        let window_reads = (WINDOW_BYTES / read_bytes.max(1)).clamp(1, 128);
        let windows = reads.div_ceil(window_reads);
        Workload { read_bytes: vec![read_bytes], gap_bytes, window_reads, windows, batches: 1 }
    }

    /// Bytes of a read on average.
    pub fn read_bytes_mean(&self) -> f64 {
        self.read_bytes.iter().sum::<u64>() as f64 / self.read_bytes.len().max(1) as f64
    }

    pub(super) fn batch_reads(&self) -> u64 {
        self.windows * self.window_reads
    }
}

/// Bytes that a window of a [`Workload`] wants at most, unless one read has more.
const WINDOW_BYTES: u64 = 2 << 20;

pub(super) struct VirtualReads {
    pub(super) world: World,
    pub(super) workload: Workload,
    pub(super) object: ObjectRef,
    pub(super) number: usize,
    pub(super) seed: u64,
}

impl Batch for VirtualReads {
    fn window_count(&self) -> u64 {
        self.workload.windows
    }

    fn estimate(&self) -> Estimate {
        Estimate { reads: u64::MAX, bytes: u64::MAX }
    }

    fn plan<'b>(&'b self, cursor: Cursor, _: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        let Workload { read_bytes, gap_bytes, window_reads, .. } = &self.workload;
        let mut random = Random::new(self.seed ^ cursor.window.wrapping_mul(0x9E37_79B9));
        let stride = read_bytes.iter().max().unwrap_or(&0) + gap_bytes;
        window.set_object(self.object.clone());
        for index in cursor.window * window_reads..(cursor.window + 1) * window_reads {
            let choice = random.below(read_bytes.len() as u64);
            let len = read_bytes.iter().zip(0u64..).find(|(_, at)| *at == choice).map_or(0, |(len, _)| *len);
            window.read(ByteRange::Bounded { offset: index * stride, len }, Token(index));
        }
        let mut state = self.world.state();
        let plan_ns = state.costs.plan_read_ns * *window_reads as f64;
        state.spend(plan_ns);
        Planned::Complete
    }

    fn deliver(&self, _token: Token, result: Result<Arrival<'_>, Error>, _lane: &mut LaneContext<'_>) {
        let bytes = match result {
            Ok(Arrival::Bytes(bytes)) => bytes.len(),
            Ok(Arrival::Placed(bytes)) => bytes,
            Ok(Arrival::Piece(_)) | Err(_) => return self.world.state().tally.failed += 1,
        };
        self.world.state().deliver(self.number, bytes);
    }

    fn stale(&self, _cursor: Cursor) {}

    fn spoiled(&self, _cursor: Cursor, _error: Error, _lane: &mut LaneContext<'_>) {}
}
