//! The contract between a lane and what reads for it.

use crate::buffer::AlignedBuffer;
use crate::target::BatchTarget;
use crate::wake::Wake;
use crate::{Error, Limits, OpenObject};
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// Where a driver will run.
#[derive(Clone, Copy)]
pub enum DriverSite<'a> {
    /// On a lane of its own: it may queue reads and wait for them.
    Lane {
        /// The engine's bounds, `local_depth` being what this driver is asked for.
        limits: &'a Limits,
        /// What wakes the lane; a driver that completes reads from other threads calls it.
        wake: &'a Arc<Wake>,
    },
    /// On a caller's thread: each read is done at once, or answered with [`Outcome::WouldBlock`].
    Inline,
}

/// A driver of local reads, owned by one lane.
///
/// Every read submitted completes exactly once, and hands its target back with its completion. What a driver never
/// does: merge reads, sleep outside [`wait`](LocalDriver::wait), allocate for a read, write outside the target, keep a
/// target after its completion, call a sink. Interrupted, short and would-block reads are reported as they are; the
/// lane tries again.
pub trait LocalDriver: Send {
    /// The mechanism's name, for statistics: `io_uring`, `pread threads`, `memory`.
    fn name(&self) -> &'static str;
    /// Whether reads need a target to fill.
    fn target_use(&self) -> TargetUse;
    /// What its reads may wait for.
    fn waits_for(&self) -> WaitsFor;
    /// Queues one read. A queue that is full flushes itself.
    fn submit(&mut self, read: ReadOp<'_>);
    /// Hands everything queued to the medium.
    fn flush(&mut self);
    /// Appends what has completed, without waiting.
    fn reap(&mut self, completions: &mut Vec<Completion>);
    /// Sleeps until a read completes, `wake` is called or `timeout` passes. May return early.
    fn wait(&mut self, wake: &Wake, timeout: Duration);
    /// Asks for a read to end early. Best effort: it completes all the same.
    fn cancel(&mut self, slot: u32);
    /// Reads submitted and not yet reaped.
    fn in_flight(&self) -> usize;
}

/// Whether a driver fills targets or hands out bytes of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetUse {
    /// Reads fill the target that comes with them.
    Fills,
    /// Reads lend or give bytes; they come without a target.
    Lends,
}

/// What the reads of a driver may wait for: it says how many bytes in flight are of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// A device of this machine, or nothing: [`Limits::pooled_bytes_max`] in flight fill it.
    Device,
    /// A network: as much is in flight as the byte budget allows.
    Network,
}

/// One physical read.
pub struct ReadOp<'a> {
    /// Comes back in the completion.
    pub slot: u32,
    /// What to read from.
    pub object: &'a Arc<dyn OpenObject>,
    /// First byte, in bytes from the object's start.
    pub offset: u64,
    /// Bytes to read.
    pub len: usize,
    /// Where they go; `None` for drivers that lend.
    pub target: Option<ReadTarget>,
    /// Bytes of the target that earlier attempts filled: this read goes behind them.
    pub filled: usize,
    /// Whether the read is of whole blocks, and goes past the page cache. What is left of a read that was cut short
    /// within a block goes through it.
    pub caching: Caching,
}

/// What a read has to do with the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// Through it.
    Cached,
    /// Past it, as [`OpenObject::blocks`] said.
    Bypassed,
}

/// Memory that a read fills. It travels into the driver and back, so that whoever holds it is the only one to touch
/// the memory.
pub enum ReadTarget {
    /// A buffer of the lane's pool.
    Pooled(AlignedBuffer),
    /// A piece of the batch's own output.
    Output(BatchTarget),
}

impl ReadTarget {
    /// The memory. Initialised, but to be treated as write-only until it is filled.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        match self {
            ReadTarget::Pooled(buffer) => buffer.as_mut_slice(),
            ReadTarget::Output(target) => target.as_mut_slice(),
        }
    }
}

/// The end of one submitted read.
pub struct Completion {
    /// The slot that the read was submitted with.
    pub slot: u32,
    /// The target that the read was submitted with.
    pub target: Option<ReadTarget>,
    /// How it ended.
    pub outcome: Outcome,
}

/// How a physical read ended.
pub enum Outcome {
    /// This many bytes were written to the target, behind those filled before. Zero means the end of the object.
    Filled(usize),
    /// Bytes that stay the medium's: dropped by the lane as soon as the sink returns.
    Lent(Bytes),
    /// Bytes that are now the lane's.
    Owned(Bytes),
    /// The read would have to wait for the device, which an inline driver may not.
    WouldBlock,
    /// The read failed.
    Failed(Error),
    /// The medium cannot read this object in whole blocks ([`Caching::Bypassed`]), now and later: the lane issues the read
    /// again without that.
    Refused,
    /// The read was interrupted (EINTR) or refused for now (EAGAIN): try again.
    Again,
}
