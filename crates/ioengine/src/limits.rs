//! Every bound of the engine, in one place.

use std::time::Duration;

/// The bounds of an engine. Beyond a bound there is back-pressure or an error, never growth.
///
/// Peak memory of a batch is its output, plus `in_flight_bytes_max`, plus one item larger than the budget (such an
/// item is admitted alone), plus per lane one window, `pooled_bytes_max`, 4 MiB of bytes served from mappings, and the
/// codecs' scratch.
///
/// A bound of zero where nothing could work (no lane, no read in flight) is taken as one; reads are split into parts of at
/// least a page. [`Engine::config`](crate::Engine::config) tells what is in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Lanes, each a thread. Default: the processors this process may run on, at most 64.
    pub lanes: usize,
    /// Physical reads that one lane keeps in flight on a local medium. Default 64 for up to 8 lanes, beyond that 1,024
    /// over all lanes but at least 32 each: simulated devices of up to 5 million reads a second that answer within 0.15 ms
    /// are full then (docs/decisions/0009-scaling.md), and one virtual disk was slower with 128 a lane
    /// (docs/decisions/0006-direct-reads.md). Volumes that a network attaches want more: calibrated devices are asked for
    /// what was measured, up to this.
    pub local_depth: usize,
    /// Reads handed to a local driver before it is flushed. Default 32: the cost of one submission system call is
    /// then spread thin, while buffers of 8 KiB still fit a 1 MiB second-level cache.
    pub submit_batch: usize,
    /// Bytes handed to a local driver before it is flushed. Default 256 KiB: the buffers of what was just read and of what
    /// is read next are then in a 2 MiB second-level cache together. Cached reads of 64 KiB, summed up, take 18 % less
    /// processor time than with 4 MiB (docs/decisions/0006-direct-reads.md).
    pub submit_bytes_max: usize,
    /// Physical reads that one lane keeps in flight on remote media. Default 256.
    pub remote_depth: usize,
    /// Threads, over all lanes, that wait for reads of network file systems, each for one read. A lane has its share,
    /// but at least 16, and no more than `local_depth`. Default 512: see docs/decisions/0007-slow-file-systems.md.
    pub waiting_threads_max: usize,
    /// Bytes in flight (asked for, or read and not yet delivered), over all lanes. Default 256 MiB, or 16 MiB for each lane
    /// and one more where that is larger: reads above a lane's share are admitted one at a time over all lanes.
    pub in_flight_bytes_max: usize,
    /// Bytes of one merged read of a local medium. Default 256 KiB, so that the bytes are still in a 1 MiB second-level cache
    /// when they are decoded. Not measured against other values.
    pub merged_bytes_max: usize,
    /// Logical reads in one merged read of a local medium. Default 64, so that one lane is not handed a whole crop.
    pub merged_parts_max: usize,
    /// A logical read of a local medium of more bytes than this is split into parallel parts. Default 2 MiB.
    pub split_bytes: usize,
    /// Bytes of one merged read of a remote medium. Default 8 MiB: there a request costs more than a cache miss. Not
    /// measured against other values.
    pub remote_merged_bytes_max: usize,
    /// Logical reads in one merged read of a remote medium. Default 4,096, which bounds what one answer has a lane decode.
    pub remote_merged_parts_max: usize,
    /// A logical read of a remote medium of more bytes than this is split into parallel parts. Default 8 MiB. Not measured
    /// against other values.
    pub remote_split_bytes: usize,
    /// Bytes that reads of a remote medium may bring beside what is wanted, where that saves requests: so many of a hundred
    /// wanted bytes of a window (or [`Limits::remote_bridged_bytes`], where that is more). The narrowest gaps are read
    /// over first. Costs alone decide where the store is [near](crate::RemoteSource::is_near). Default 25.
    pub remote_bridged_percent: u64,
    /// Bytes that reads of a window of a remote medium may bring beside what is wanted, however little that is. Default
    /// 4 KiB: not much more than the headers of a request and its answer.
    pub remote_bridged_bytes: u64,
    /// Logical reads in one window. A plan that pushes more is refused. Default 16,384.
    pub window_reads_max: usize,
    /// Bytes that the plan of one read may take for elements that are named one by one: 20 for each, or for each run of
    /// neighbours, and up to twice as much while they are sorted. Default 2 GiB.
    pub plan_bytes_max: usize,
    /// Batches of at most this many reads, by their own estimate, run on the calling thread. Default 64.
    pub inline_reads_max: u64,
    /// Batches of at most this many stored bytes, by their own estimate, run on the calling thread. Default 512 KiB.
    pub inline_bytes_max: u64,
    /// Open file handles kept between batches. Default: a quarter of `RLIMIT_NOFILE`, at most 4096.
    pub open_handles_max: usize,
    /// Times in a row that one physical read is issued again after EINTR or EAGAIN. A short read that brought bytes
    /// starts the count anew. Default 16.
    pub retries_max: u32,
    /// Times that a window is planned again because its object was replaced under a cached plan. Default 4.
    pub replans_max: u32,
    /// Bytes of buffers that a lane keeps for its next reads; reads of local devices have no more in flight, but for one
    /// read that is larger. Reads that wait for a network (of a file system or of a remote source) have as much as the byte
    /// budget allows. Default 16 MiB, which at 10 GB/s is 1.6 ms of reading: longer than any local device takes to answer.
    pub pooled_bytes_max: usize,
    /// Longest sleep of a parked lane. It wakes for work at once; this only bounds the harm of a lost wake-up.
    pub park_max: Duration,
}

impl Default for Limits {
    /// As many lanes as this process may use processors: what its affinity and the quotas of its control groups leave it.
    fn default() -> Limits {
        Limits::for_lanes(std::thread::available_parallelism().map_or(1, usize::from).min(64))
    }
}

impl Limits {
    /// The defaults for so many lanes: some of the others depend on them.
    #[must_use]
    pub fn for_lanes(lanes: usize) -> Limits {
        Limits {
            lanes,
            local_depth: if lanes <= 8 { 64 } else { (1024 / lanes).max(32) },
            submit_batch: 32,
            submit_bytes_max: 256 << 10,
            remote_depth: 256,
            waiting_threads_max: 512,
            in_flight_bytes_max: (256 << 20).max((16_usize << 20).saturating_mul(lanes.saturating_add(1))),
            merged_bytes_max: 256 << 10,
            merged_parts_max: 64,
            split_bytes: 2 << 20,
            remote_merged_bytes_max: 8 << 20,
            remote_merged_parts_max: 4096,
            remote_split_bytes: 8 << 20,
            remote_bridged_percent: 25,
            remote_bridged_bytes: 4 << 10,
            window_reads_max: 16_384,
            plan_bytes_max: 2 << 30,
            inline_reads_max: 64,
            inline_bytes_max: 512 << 10,
            open_handles_max: open_handles_default(),
            retries_max: 16,
            replans_max: 4,
            pooled_bytes_max: 16 << 20,
            park_max: Duration::from_secs(1),
        }
    }

    /// The same bounds, each raised to the least (or lowered to the most) that an engine can work with: zero lanes
    /// become one, and so on.
    #[must_use]
    pub(crate) fn workable(self) -> Limits {
        Limits {
            lanes: self.lanes.clamp(1, LANES_MAX),
            local_depth: self.local_depth.clamp(1, DEPTH_MAX),
            submit_batch: self.submit_batch.max(1),
            remote_depth: self.remote_depth.clamp(1, DEPTH_MAX),
            in_flight_bytes_max: self.in_flight_bytes_max.max(1),
            merged_parts_max: self.merged_parts_max.max(1),
            split_bytes: self.split_bytes.max(SPLIT_BYTES_MIN),
            remote_merged_parts_max: self.remote_merged_parts_max.max(1),
            remote_split_bytes: self.remote_split_bytes.max(SPLIT_BYTES_MIN),
            window_reads_max: self.window_reads_max.clamp(1, WINDOW_READS_MAX),
            park_max: self.park_max.max(PARK_MIN),
            ..self
        }
    }

    /// Threads of one lane that may wait for reads.
    pub(crate) fn waiting_threads(&self) -> usize {
        (self.waiting_threads_max / self.lanes.max(1)).max(LANE_THREADS_MIN)
    }
}

/// A lane with fewer threads would leave a network idle.
const LANE_THREADS_MIN: usize = 16;

/// More threads than any machine has processors for.
const LANES_MAX: usize = 4096;

/// Reads in flight that one lane can keep apart; io_uring's own bound is half of this.
const DEPTH_MAX: usize = 65_536;

/// Splitting below a page only repeats the read of that page.
const SPLIT_BYTES_MIN: usize = 4096;

/// Windows index their reads by 32 bits, pieces included.
const WINDOW_READS_MAX: usize = 1 << 24;

/// A lane that slept less would be busy.
const PARK_MIN: Duration = Duration::from_millis(1);

#[cfg(unix)]
fn open_handles_default() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(4096);
    usize::try_from(limit / 4).unwrap_or(usize::MAX).clamp(16, 4096)
}

#[cfg(not(unix))]
fn open_handles_default() -> usize {
    256
}
