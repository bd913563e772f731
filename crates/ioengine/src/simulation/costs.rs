//! What a lane's work costs on the machine that is simulated.

/// Time that a lane's core spends, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaneCosts {
    /// A turn, whatever it does.
    pub turn_ns: f64,
    /// Planning a logical read: the batch's plan, merging, queueing.
    pub plan_read_ns: f64,
    /// Issuing a physical read: budget, buffer, submission entry.
    pub issue_read_ns: f64,
    /// The system call that hands what was issued to the kernel.
    pub flush_ns: f64,
    /// The kernel's work for each physical read that it is handed.
    pub kernel_read_ns: f64,
    /// Taking the completion of a physical read, the kernel's part included.
    pub complete_read_ns: f64,
    /// Delivering a logical read.
    pub deliver_read_ns: f64,
    /// What the sink and the kernel do with each byte.
    pub byte_ns: f64,
    /// From a completion that a lane sleeps for to the lane's next turn.
    pub wake_ns: f64,
}

impl LaneCosts {
    /// The costs of a core that takes `factor` times as long for everything.
    #[must_use]
    pub fn times(self, factor: f64) -> LaneCosts {
        LaneCosts {
            turn_ns: self.turn_ns * factor,
            plan_read_ns: self.plan_read_ns * factor,
            issue_read_ns: self.issue_read_ns * factor,
            flush_ns: self.flush_ns * factor,
            kernel_read_ns: self.kernel_read_ns * factor,
            complete_read_ns: self.complete_read_ns * factor,
            deliver_read_ns: self.deliver_read_ns * factor,
            byte_ns: self.byte_ns * factor,
            wake_ns: self.wake_ns * factor,
        }
    }

    /// Time of the lane for one logical read of `bytes`, `parts` of which share a physical read, when each turn does as
    /// much as it may.
    pub(super) fn logical_read_ns(&self, bytes: f64, parts: f64, submit_batch: usize) -> f64 {
        let turn_ns = (self.turn_ns + self.flush_ns) / submit_batch as f64;
        let physical_ns = self.issue_read_ns + self.kernel_read_ns + self.complete_read_ns + turn_ns;
        self.plan_read_ns + self.deliver_read_ns + bytes * self.byte_ns + physical_ns / parts
    }
}

/// As measured of this engine on one machine, by the processor's time of a million reads and more in one batch: see
/// docs/decisions/0009-scaling.md.
impl LaneCosts {
    /// Reads of cached files through io_uring: the kernel finds the pages and copies them.
    pub const CACHED: LaneCosts = LaneCosts {
        turn_ns: 110.0,
        plan_read_ns: 49.0,
        issue_read_ns: 55.0,
        flush_ns: 140.0,
        kernel_read_ns: 390.0,
        complete_read_ns: 45.0,
        deliver_read_ns: 41.0,
        byte_ns: 0.126,
        wake_ns: 2000.0,
    };

    /// Reads of a device through io_uring with O_DIRECT: the kernel hands them to a driver (a virtual machine's, and
    /// so a dear one), and nobody copies.
    pub const DIRECT: LaneCosts = LaneCosts { kernel_read_ns: 1850.0, byte_ns: 0.0, ..LaneCosts::CACHED };
}
