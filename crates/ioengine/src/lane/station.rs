//! What a lane reads through: one driver for each family of local media and each depth that one of them was measured to
//! want, and one queue for all remote sources.

use crate::driver::{LocalDriver, TargetUse, WaitsFor};
use std::collections::VecDeque;

/// A driver, and the windows that wait for it.
pub(crate) struct Station {
    pub(crate) reader: Reader,
    /// Windows with reads still to issue.
    pub(crate) queue: VecDeque<u32>,
    pub(crate) in_flight: usize,
    pub(crate) depth: usize,
    /// Address of the medium that statistics were last told of; 0 for none.
    pub(crate) noted: usize,
}

/// How a station reads.
pub(crate) enum Reader {
    /// By a driver of the lane's own.
    Local {
        /// The family of media that share the driver.
        family: &'static str,
        /// The driver.
        driver: Box<dyn LocalDriver>,
    },
    /// By whichever remote source the window's object lives on.
    Remote,
}

impl Station {
    pub(crate) fn new(reader: Reader, depth: usize) -> Station {
        Station { reader, queue: VecDeque::new(), in_flight: 0, depth, noted: 0 }
    }

    /// Whether it reads media of this family at this depth; `None` for remote sources.
    pub(crate) fn serves(&self, family: Option<(&str, usize)>) -> bool {
        match &self.reader {
            Reader::Local { family: own, .. } => family == Some((own, self.depth)),
            Reader::Remote => family.is_none(),
        }
    }

    /// True where reads wait for a device of this machine at most.
    pub(crate) fn waits_for_device(&self) -> bool {
        match &self.reader {
            Reader::Local { driver, .. } => driver.waits_for() == WaitsFor::Device,
            Reader::Remote => false,
        }
    }

    /// True when reads need no target, because the bytes come from the medium.
    pub(crate) fn lends(&self) -> bool {
        match &self.reader {
            Reader::Local { driver, .. } => driver.target_use() == TargetUse::Lends,
            Reader::Remote => true,
        }
    }
}
